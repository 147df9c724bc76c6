"""What calibrators that contain others read of their own parameters, and what of those within."""

import numpy as np
import pytest

from clustcal import (
    BinwiseCalibration,
    ClusteredCalibration,
    ClusteredCalibrationCV,
    IsotonicCalibration,
    PlattScaling,
    StructuredScaling,
)
from tests.calibrators.interface import make_data

P, Y, Z = make_data(2)
CONTAINING = [BinwiseCalibration, ClusteredCalibration, ClusteredCalibrationCV]
each = pytest.mark.parametrize("kind", CONTAINING)


@each
def test_what_is_no_parametric_calibrator_is_refused(kind):
    for wrong in (IsotonicCalibration(), PlattScaling, "platt"):
        with pytest.raises(ValueError, match="expected a parametric one"):
            kind(wrong).fit(P, Y, Z)


@each
def test_of_structured_scaling_it_is_said_what_serves_instead(kind):
    with pytest.raises(ValueError, match=r"is StructuredScaling\(\).* MatrixScaling\(\) has its structure\."):
        kind(StructuredScaling()).fit(P, Y, Z)


@each
def test_two_orders_of_the_classes_are_refused(kind):
    for own, within in (([1, 0], [0, 1]), (np.array([1, 0]), np.array([0, 1]))):
        with pytest.raises(ValueError, match=r"classes is given as \[\[1, 0\], \[0, 1\]\]; expected one order"):
            kind(PlattScaling(classes=within), classes=own).fit(P, Y, Z)


def test_the_same_order_twice_is_one_order():
    for own, within in (([1, 0], np.array([1, 0])), (np.array(["b", "a"]), ["b", "a"])):
        labels = np.asarray(own)[Y]
        assert BinwiseCalibration(PlattScaling(classes=within), classes=own).fit(P, labels).classes_.tolist() == list(
            own
        )


@pytest.mark.parametrize(
    "calibrator", [BinwiseCalibration(PlattScaling(classes=["b", "a"])), BinwiseCalibration(classes=["b", "a"])]
)
def test_the_order_of_the_classes_may_be_said_once(calibrator):
    assert calibrator.fit(P, np.array(["b", "a"])[Y]).classes_.tolist() == ["b", "a"]


def test_logits_may_be_said_within_or_without():
    logits = np.log(P)
    expected = BinwiseCalibration(PlattScaling()).fit(P, Y).predict_proba(P)
    for calibrator in (
        BinwiseCalibration(PlattScaling(from_logits=True)),
        BinwiseCalibration(PlattScaling(), from_logits=True),
    ):
        np.testing.assert_allclose(calibrator.fit(logits, Y).predict_proba(logits), expected, atol=1e-9)


def test_the_calibrator_within_stays_as_it_was_given():
    within = PlattScaling()
    fitted = BinwiseCalibration(within, from_logits=True).fit(np.log(P), Y)
    assert not within.from_logits
    assert not hasattr(within, "theta_")
    assert fitted.calibrator_.from_logits
