"""The door to all calibrators: what comes in is checked once, also at prediction."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score
from sklearn.utils import get_tags

from clustcal import (
    ClusteredCalibration,
    DirichletCalibration,
    EnsembleTemperatureScaling,
    HistogramBinning,
    LocalRecalibration,
    PlattScaling,
    SoftKMeans,
)
from clustcal.calibrators.base import read_calibration_set
from tests.calibrators.interface import make_data

P, Y, Z = make_data(2)


def test_some_rows_of_a_set():
    data = read_calibration_set(P, Y, Z, np.arange(200) + 1.0, needs_representation=True)
    part = data.take([3, 5])
    assert (len(data), len(part), part.n_classes) == (200, 2, 2)
    np.testing.assert_array_equal(part.scores.P, P[[3, 5]])
    np.testing.assert_array_equal(part.Z, Z[[3, 5]])
    np.testing.assert_array_equal(part.codes, Y[[3, 5]])
    np.testing.assert_array_equal(part.weights, [4, 6])
    assert read_calibration_set(P, Y, Z).Z is None
    assert read_calibration_set(P, Y).take([0]).Z is None


def test_a_representation_is_needed_where_it_is_used_and_ignored_elsewhere():
    with pytest.raises(ValueError, match="Z is missing"):
        ClusteredCalibration().fit(P, Y)
    fitted = ClusteredCalibration(n_clusters=2).fit(P, Y, Z)
    for Z_new, message in (
        (None, "Z is missing"),
        (Z[:, :2], "2 columns; expected 3"),
        (Z[:9], "9 rows and P has 200"),
    ):
        with pytest.raises(ValueError, match=message):
            fitted.predict_proba(P, Z_new)
    plain = PlattScaling().fit(P, Y, Z="whatever")
    np.testing.assert_array_equal(plain.predict_proba(P, Z="whatever"), PlattScaling().fit(P, Y).predict_proba(P))


def test_the_score_is_the_accuracy_with_weights():
    weights = np.arange(200)
    fitted = PlattScaling().fit(P, Y)
    assert fitted.score(P, Y, sample_weight=weights) == accuracy_score(Y, fitted.predict(P), sample_weight=weights)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_z_in_another_order_than_in_fit_are_refused(library):
    frame = pytest.importorskip(library).DataFrame
    Z = np.random.default_rng(0).normal(size=(200, 2))
    named = frame({"age": Z[:, 0], "weight": Z[:, 1]})
    swapped = frame({"weight": Z[:, 1], "age": Z[:, 0]})
    fitted = ClusteredCalibration(n_clusters=2, random_state=0).fit(P, Y, named)
    np.testing.assert_array_equal(fitted.predict_proba(P, named), fitted.predict_proba(P, Z))
    with pytest.raises(ValueError, match="Z has the column 'weight' where fit had 'age'"):
        fitted.predict_proba(P, swapped)
    nameless = ClusteredCalibration(n_clusters=2, random_state=0).fit(P, Y, Z)
    np.testing.assert_array_equal(nameless.predict_proba(P, named), fitted.predict_proba(P, Z))


def test_the_score_takes_labels_as_objects():
    objects = Y.astype(object)
    assert PlattScaling().fit(P, objects).score(P, objects) == PlattScaling().fit(P, Y).score(P, Y)


def test_prediction_before_fit_is_refused_for_scores_and_labels():
    for ask in (PlattScaling().predict, PlattScaling().predict_proba):
        with pytest.raises(NotFittedError):
            ask(P)


def test_scikit_learn_is_told_that_one_column_will_do():
    assert get_tags(PlattScaling()).input_tags.one_d_array


def test_names_of_columns_serve_at_prediction_alone():
    fitted = PlattScaling().fit(P, np.array(["no", "yes"])[Y])
    swapped = pd.DataFrame({"yes": P[:, 1], "no": P[:, 0]})
    np.testing.assert_array_equal(fitted.predict_proba(swapped), fitted.predict_proba(P))
    np.testing.assert_allclose(fitted.predict_proba(swapped["no"]), fitted.predict_proba(P), atol=1e-12)


@pytest.mark.parametrize(
    ("calibrator", "expected"),
    [
        (ClusteredCalibration(shrinkage=np.float64(-1)), "shrinkage is -1.0;"),
        (ClusteredCalibration(n_clusters=np.int64(0)), "n_clusters is 0;"),
        (ClusteredCalibration(n_clusters=np.int64(999)), "n_clusters is 999;"),
        (HistogramBinning(prior=np.array([-1.0, 1.0])), "prior is array"),
        (HistogramBinning(prior=[np.float64(-1), 1.0]), r"prior is \[-1.0, 1.0\]"),
        (LocalRecalibration(bandwidth=np.float32(-1)), "bandwidth is -1.0;"),
        (PlattScaling(classes=[np.int64(7), np.int64(7)]), r"classes is \[7, 7\]"),
    ],
)
def test_numbers_of_numpy_stand_in_errors_as_numbers(calibrator, expected):
    with pytest.raises(ValueError, match=expected) as error:
        calibrator.fit(P, Y, Z)
    assert "np." not in str(error.value)
    with pytest.raises(ValueError, match=r"temperature is -2\.0;"):
        SoftKMeans(2, temperature=np.float64(-2)).fit(Z)


@pytest.mark.parametrize(
    "calibrator",
    [
        HistogramBinning(prior="ab"),
        HistogramBinning(prior=(None, 1)),
        EnsembleTemperatureScaling(bounds="ab"),
        EnsembleTemperatureScaling(bounds=(1, "x")),
        DirichletCalibration(odir="ab"),
        DirichletCalibration(odir={}),
    ],
)
def test_parameters_that_are_no_numbers_are_named(calibrator):
    with pytest.raises(ValueError, match=r"^(prior|bounds|odir) is .*; expected"):
        calibrator.fit(P, Y)


@pytest.mark.parametrize("y", [None, 3, iter([0, 1])])
def test_what_is_no_sequence_of_labels_is_refused(y):
    with pytest.raises(ValueError, match=r"^y is .*; expected one value for every row"):
        PlattScaling().fit(P, y)
