"""Centred isotonic regression by hand and against another package."""

import numpy as np
import pytest

from clustcal import CentredIsotonicCalibration
from tests.calibrators.interface import CHECKS, name_of


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_interface(check, n_classes):
    check(CentredIsotonicCalibration(), n_classes)


def test_steps_shrink_to_their_weighted_centres():
    """Steps of 1/3 at 0.1, 0.2 and 0.3 with weights 1, 1, 1 and of 3/4 at 0.6 and 0.8 with weights 1 and 3."""
    p, y, w = [0.1, 0.2, 0.3, 0.6, 0.8, 0.8], [1, 0, 0, 1, 1, 0], [1, 1, 1, 1, 2, 1]
    fitted = CentredIsotonicCalibration().fit(p, y, sample_weight=w)
    q = fitted.predict_proba([0.0, 0.2, 0.475, 0.75, 1.0])[:, 1]
    np.testing.assert_allclose(q, [1 / 3, 1 / 3, (1 / 3 + 3 / 4) / 2, 3 / 4, 3 / 4])


def test_between_the_ends_the_map_increases_strictly():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = (rng.random(300) < p).astype(int)
    one = CentredIsotonicCalibration().fit(p, y).maps_[0]
    inside = (one.values > 0) & (one.values < 1)
    assert inside.sum() > 5
    assert (np.diff(one.scores[inside]) > 0).all()
    assert (np.diff(one.values[inside]) > 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_it_is_that_of_the_package_cir_model(seed):
    cir_model = pytest.importorskip("cir_model")
    rng = np.random.default_rng(seed)
    p = rng.random(150).round(2)
    y, w = (rng.random(150) < p).astype(int), rng.integers(1, 4, 150)
    fresh = rng.uniform(p.min(), p.max(), 50)
    peer = cir_model.CenteredIsotonicRegression().fit(p, y.astype(float), w.astype(float)).transform(fresh)
    ours = CentredIsotonicCalibration().fit(p, y, sample_weight=w).predict_proba(fresh)[:, 1]
    np.testing.assert_allclose(ours, peer, atol=1e-6)
