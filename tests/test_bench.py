"""The measurements of `make bench` measure what they say, tried on few rows; no time is asserted."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from clustcal import ClusteredCalibration, PlattScaling, VectorScaling, metrics
from clustcal.datasets import make_subpopulations
from tests.bench import checks
from tests.bench.timing import make_parts


def test_fit_with_known_memberships_is_that_of_a_clustered_calibrator():
    data = make_subpopulations(600, random_state=0)
    fitted = ClusteredCalibration(PlattScaling(), random_state=0).fit(data.P, data.y, data.Z)
    found = checks.fit_clusters(data.P, data.y, fitted.memberships(data.Z), PlattScaling())
    assert_allclose(found.theta, fitted.theta_, rtol=1e-9)


def test_every_check_gives_a_number():
    found = [*checks.cost_of_clusters(n=500, repeats=1), *checks.peak_memory(n=500)]
    assert len(found) == 2 + len(checks.CALIBRATORS) + 1
    assert all(np.isfinite(check.value) and check.value > 0 for check in found)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_rows_to_fit_to_and_to_test_on_are_of_one_classifier_and_not_the_same(n_classes):
    """A softened, shifted truth: fitted to one part, its parameters hold in the other, where no row is repeated."""
    P, y, P_test, y_test = make_parts(20_000, 20_000, n_classes)
    assert not np.isin(P[:, 0], P_test[:, 0]).any()
    calibrator = PlattScaling(prior=None) if n_classes == 2 else VectorScaling(prior=None)
    here, there = (calibrator.fit(*part).predict_proba(P_test) for part in ((P, y), (P_test, y_test)))
    assert metrics.log_loss(y_test, here) - metrics.log_loss(y_test, there) < 1e-3
