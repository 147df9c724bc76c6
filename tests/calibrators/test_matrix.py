"""Matrix scaling, against scikit-learn's logistic regression and Dirichlet calibration."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from clustcal import (
    BinwiseCalibration,
    ClusteredCalibration,
    DirichletCalibration,
    MatrixScaling,
    TemperatureScaling,
    metrics,
)
from tests.calibrators.interface import CHECKS, make_data, name_of


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("prior", ["auto", None])
def test_interface(check, n_classes, prior):
    check(MatrixScaling(prior=prior), n_classes)


def test_without_a_prior_it_is_a_logistic_regression_on_log_probabilities():
    P, y, _ = make_data(3, n=600)
    model = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-12, max_iter=10_000).fit(np.log(P), y)
    Q = MatrixScaling(prior=None).fit(P, y).predict_proba(P)
    np.testing.assert_allclose(Q, model.predict_proba(np.log(P)), atol=1e-6)


@pytest.mark.parametrize(("prior", "l2"), [("auto", "auto"), (None, 0.0)])
def test_its_fits_are_those_of_dirichlet_calibration_without_its_penalties(prior, l2):
    P, y, _ = make_data(4, n=300)
    matrix, dirichlet = MatrixScaling(prior=prior).fit(P, y), DirichletCalibration(l2=l2).fit(P, y)
    np.testing.assert_allclose(matrix.theta_, dirichlet.theta_, atol=1e-6)


def test_with_few_rows_it_predicts_about_as_temperature_scaling_does():
    P, y, _ = make_data(5, n=5000)
    rows, rest = slice(30), slice(30, None)
    loss = lambda one: metrics.log_loss(y[rest], one.fit(P[rows], y[rows]).predict_proba(P[rest]))
    assert loss(MatrixScaling()) < loss(TemperatureScaling()) + 0.1 < loss(MatrixScaling(prior=None)) - 0.5


def test_it_serves_in_clusters_and_bins():
    P, y, Z = make_data(3, n=600)
    for calibrator in (
        ClusteredCalibration(MatrixScaling(), 2, shrinkage=1e6, random_state=0),
        BinwiseCalibration(MatrixScaling(), min_bin_size=np.inf),
    ):
        Q = calibrator.fit(P, y, Z).predict_proba(P, Z)
        np.testing.assert_allclose(Q, MatrixScaling().fit(P, y).predict_proba(P), atol=1e-4)
