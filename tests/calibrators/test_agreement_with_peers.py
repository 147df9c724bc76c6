"""Where another library defines a calibrator as we do, it gives the same probabilities."""

import numpy as np
import pytest

from clustcal import (
    BetaCalibration,
    CentredIsotonicCalibration,
    HistogramBinning,
    IsotonicCalibration,
    MatrixScaling,
    OneVsRestCalibration,
    PlattScaling,
    QuadraticScaling,
    TemperatureScaling,
    VectorScaling,
    VennAbersCalibration,
    metrics,
)
from tests.calibrators.interface import make_data

pytestmark = pytest.mark.filterwarnings("ignore")  # of what their libraries are built on
calibrators = pytest.importorskip("probmetrics.calibrators")
get = calibrators.get_calibrator


def both(ours, theirs, n_classes):
    """Return the probabilities of both for rows that neither saw, and the rows of the fit."""
    P, y, _ = make_data(n_classes, n=600)
    fresh = np.random.default_rng(0).dirichlet(np.ones(n_classes), 200)
    found = [np.asarray(one.fit(P, y).predict_proba(fresh), dtype=float) for one in (ours, theirs)]
    return *found, P, y


SAME = {
    "temperature": (TemperatureScaling(prior=None), lambda: get("temp-scaling", ts_max_bisection_steps=60), (2, 3)),
    "isotonic": (IsotonicCalibration(), lambda: get("isotonic-naive-ovr"), (2, 3)),
    "Venn-Abers": (VennAbersCalibration(), lambda: get("ivap"), (2, 3)),
    "centred isotonic": (
        CentredIsotonicCalibration(),
        lambda: calibrators.CenteredIsotonicRegressionCalibrator(),
        (2,),
    ),
    "histogram": (HistogramBinning(prior=(0, 0)), lambda: calibrators.BinaryHistogramBinningCalibrator(), (2,)),
}


@pytest.mark.parametrize(
    ("name", "n_classes"), [(name, n_classes) for name, (_, _, numbers) in SAME.items() for n_classes in numbers]
)
def test_the_same_definition_gives_the_same_probabilities(name, n_classes):
    ours, theirs, _ = SAME[name]
    Q, R, _, _ = both(ours, theirs(), n_classes)
    np.testing.assert_allclose(Q, R, atol=1e-6)


# Their solvers stop at gradients of about 1e-4 or 1e-5; tests of the calibrators compare with exact ones.
STOPPED_EARLY = {
    "Platt": (PlattScaling(prior=None), lambda: get("affine-scaling"), 2),
    "quadratic": (QuadraticScaling(prior=None), lambda: get("quadratic-scaling"), 2),
    "Beta": (BetaCalibration(prior=None), lambda: get("beta"), 2),
    "vector": (VectorScaling(prior=None), lambda: calibrators.VectorScalingCalibrator(), 3),
    "matrix": (MatrixScaling(prior=None), lambda: calibrators.MatrixScalingCalibrator(), 3),
    "one vs rest": (
        OneVsRestCalibration(PlattScaling(prior=None)),
        lambda: calibrators.MulticlassOneVsRestCalibrator(calibrators.BinaryLogisticCalibrator("affine")),
        3,
    ),
}


@pytest.mark.parametrize("name", STOPPED_EARLY)
def test_where_their_solver_stops_early_ours_is_close_and_fits_at_least_as_well(name):
    ours, theirs, n_classes = STOPPED_EARLY[name]
    other = theirs()
    Q, R, P, y = both(ours, other, n_classes)
    np.testing.assert_allclose(Q, R, atol=5e-4)
    if name != "one vs rest":  # each class is fitted on its own there
        assert metrics.log_loss(y, ours.predict_proba(P)) <= metrics.log_loss(y, other.predict_proba(P)) + 1e-9
