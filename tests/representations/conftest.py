"""Fitted trees that the tests of several representations share."""

import pytest

from tests.representations.tree_data import fit_xgboost, make_data


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def model(data):
    return fit_xgboost(*data)


@pytest.fixture(scope="module")
def three_class_model():
    return fit_xgboost(*make_data(n_classes=3))
