"""Calibrators that share their centroids: the same results as without, from one K-means."""

from unittest import mock

import pytest
from numpy.testing import assert_array_equal
from sklearn.cluster import KMeans

from clustcal import BetaCalibration, ClusteredCalibration, PlattScaling
from clustcal.datasets import make_subpopulations
from clustcal.experiments.tabular.readings.shared_centroids import share_centroids

VARIANTS = (
    {},
    {"calibrator": BetaCalibration(prior=None), "temperature": 0.1},
    {"membership": "chord", "shrinkage": 0.0, "loss": "sum"},
    {"normalize": False},
    {"normalize": False, "temperature": 0.0},
)


@pytest.mark.parametrize("order", [VARIANTS, VARIANTS[::-1]])
def test_results_are_those_of_calibrators_that_share_nothing(order):
    data, known = make_subpopulations(300, random_state=1), {}
    for changes in order:
        alone = ClusteredCalibration(PlattScaling(prior=None), random_state=3).set_params(**changes)
        shared = share_centroids(alone, known)
        assert shared.get_params() == alone.get_params()
        forecasts = (one.fit(data.P, data.y, data.Z).predict_proba(data.P, data.Z) for one in (alone, shared))
        assert_array_equal(*forecasts)


def test_k_means_runs_once_for_directions_and_once_for_rows():
    data, known = make_subpopulations(300, random_state=1), {}
    with mock.patch.object(KMeans, "fit", autospec=True, side_effect=KMeans.fit) as fit:
        for changes in VARIANTS:
            calibrator = ClusteredCalibration(PlattScaling(prior=None), random_state=3).set_params(**changes)
            share_centroids(calibrator, known).fit(data.P, data.y, data.Z)
    assert fit.call_count == len(known) == 2
