"""The measurements of `make bench` measure what they say, tried on few rows; no time is asserted."""

import numpy as np
from numpy.testing import assert_allclose

from clustcal import ClusteredCalibration, PlattScaling
from clustcal.datasets import make_subpopulations
from tests.bench import checks


def test_fit_with_known_memberships_is_that_of_a_clustered_calibrator():
    data = make_subpopulations(600, random_state=0)
    fitted = ClusteredCalibration(PlattScaling(), random_state=0).fit(data.P, data.y, data.Z)
    found = checks.fit_clusters(data.P, data.y, fitted.memberships(data.Z), PlattScaling())
    assert_allclose(found.theta, fitted.theta_, rtol=1e-9)


def test_every_check_gives_a_number():
    found = [*checks.cost_of_clusters(n=500, repeats=1), *checks.peak_memory(n=500)]
    assert len(found) == 2 + len(checks.CALIBRATORS) + 1
    assert all(np.isfinite(check.value) and check.value > 0 for check in found)
