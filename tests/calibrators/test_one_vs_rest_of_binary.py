"""One binary calibrator per class: by hand, and against scikit-learn's logistic regressions."""

import numpy as np
import pytest
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from clustcal import (
    BetaCalibration,
    ClusteredCalibration,
    HistogramBinning,
    OneVsRestCalibration,
    PlattScaling,
    VennAbersCalibration,
)
from tests.calibrators.interface import CHECKS, make_data, name_of

EVERY = [
    (OneVsRestCalibration(), 2),
    (OneVsRestCalibration(), 3),
    (OneVsRestCalibration(BetaCalibration()), 3),
    (OneVsRestCalibration(HistogramBinning()), 3),
]


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize(("calibrator", "n_classes"), EVERY, ids=name_of)
def test_interface(check, calibrator, n_classes):
    check(calibrator, n_classes)


def test_platt_is_one_logistic_regression_per_class_divided_by_the_sum():
    P, y, _ = make_data(4, n=500)
    alone = lambda k: LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(logit(P[:, [k]]), y == k)
    expected = np.column_stack([alone(k).predict_proba(logit(P[:, [k]]))[:, 1] for k in range(4)])
    expected /= expected.sum(axis=1, keepdims=True)
    Q = OneVsRestCalibration(PlattScaling(prior=None)).fit(P, y).predict_proba(P)
    np.testing.assert_allclose(Q, expected, atol=1e-6)


def test_calibrators_that_do_this_themselves_give_the_same():
    P, y, _ = make_data(3)
    for one in (HistogramBinning(), VennAbersCalibration()):
        Q = OneVsRestCalibration(one).fit(P, y).predict_proba(P)
        np.testing.assert_allclose(Q, one.fit(P, y).predict_proba(P), atol=1e-12)


@pytest.mark.parametrize("wrong", [ClusteredCalibration(), "platt", PlattScaling(from_logits=True)])
def test_what_cannot_serve_is_refused(wrong):
    P, y, _ = make_data(3)
    with pytest.raises(ValueError, match=r"calibrator is .*; expected one"):
        OneVsRestCalibration(wrong).fit(P, y)
