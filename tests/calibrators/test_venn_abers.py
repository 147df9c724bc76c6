"""Venn-Abers prediction against its definition and the package of its authors' circle."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from clustcal import VennAbersCalibration
from tests.calibrators.interface import CHECKS, make_data, name_of


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_interface(check, n_classes):
    check(VennAbersCalibration(), n_classes)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), digits=st.sampled_from([1, 8]))
def test_the_interval_is_two_isotonic_regressions_with_the_row_added(seed, n, digits):
    rng = np.random.default_rng(seed)
    p = rng.random(n).round(digits)
    y = (rng.random(n) < p).astype(int)
    y[:2] = 0, 1
    fresh = np.concatenate([rng.random(10).round(digits), p[:3]])
    interval = VennAbersCalibration().fit(p, y).predict_interval(fresh)
    for label in (0, 1):
        by_definition = [IsotonicRegression().fit(np.append(p, s), np.append(y, label)).predict([s])[0] for s in fresh]
        np.testing.assert_allclose(interval[:, label], by_definition, atol=1e-9)


def test_it_is_that_of_the_package_venn_abers():
    peer_package = pytest.importorskip("venn_abers")
    rng = np.random.default_rng(0)
    p = rng.random(500)
    y, fresh = (rng.random(500) < p**2).astype(int), rng.random(200)
    peer = peer_package.VennAbers()
    peer.fit(np.column_stack([1 - p, p]), y)
    Q, interval = peer.predict_proba(np.column_stack([1 - fresh, fresh]))
    fitted = VennAbersCalibration().fit(p, y)
    np.testing.assert_allclose(fitted.predict_interval(fresh), interval, atol=1e-6)
    np.testing.assert_allclose(fitted.predict_proba(fresh), Q, atol=1e-6)


def test_one_number_loses_as_much_for_either_label():
    """log(p_1 / q) = log((1 - p_0) / (1 - q)): the minimax choice of Vovk et al."""
    P, y, _ = make_data(2)
    fitted = VennAbersCalibration().fit(P, y)
    low, high = fitted.predict_interval(P).T
    q = fitted.predict_proba(P)[:, 1]
    np.testing.assert_allclose(high / q, (1 - low) / (1 - q))
    assert (low <= q).all()
    assert (q <= high).all()


def test_few_rows_give_no_certainty():
    q = VennAbersCalibration().fit([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]).predict_proba([0.0, 1.0])[:, 1]
    np.testing.assert_allclose(q, [1 / 4, 3 / 4])  # (0, 1/3) and (2/3, 1)


def test_intervals_of_many_classes_are_one_per_class():
    P, y, _ = make_data(3)
    interval = VennAbersCalibration().fit(P, y).predict_interval(P)
    assert interval.shape == (200, 3, 2)
    alone = VennAbersCalibration().fit(P[:, 2], y == 2).predict_interval(P[:, 2])
    np.testing.assert_allclose(interval[:, 2], alone)


def test_other_columns_are_refused_by_the_interval():
    with pytest.raises(ValueError, match="3 columns; expected 2"):
        VennAbersCalibration().fit([0.3, 0.7], [0, 1]).predict_interval(make_data(3)[0])


def test_columns_of_a_frame_are_taken_by_name():
    rng = np.random.default_rng(3)
    p = rng.random(200)
    frame = pd.DataFrame({"no": 1 - p, "yes": p})
    fitted = VennAbersCalibration(classes=["no", "yes"]).fit(frame, np.where(rng.random(200) < p, "yes", "no"))
    turned = frame[["yes", "no"]]
    np.testing.assert_array_equal(fitted.predict_interval(turned), fitted.predict_interval(frame))
