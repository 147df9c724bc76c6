"""Refinement and calibration against the authors' library, a closed form and simulations with known truth."""

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from clustcal import (
    BetaCalibration,
    BinwiseCalibration,
    ClusteredCalibration,
    PlattScaling,
    TemperatureScaling,
    metrics,
)
from clustcal.calibrators.base import Calibrator
from clustcal.metrics import refinement_decomposition

# For p uniform and a forecast with twice its logits: mean entropy 1/2, mean divergence (pi - 3) / 2.
REFINEMENT, CALIBRATION = 0.5, (np.pi - 3) / 2


def made(n, seed):
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    return (rng.random(n) < p).astype(int), p, p**2 / (p**2 + (1 - p) ** 2)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_agrees_with_probmetrics_of_the_authors(n_classes):
    """Temperature scaling in the same five stratified folds, with probmetrics' own calibrator and scores.

    Its Brier score counts both of two classes.
    """
    library = pytest.importorskip("probmetrics.metrics")
    import torch
    from probmetrics.calibrators import get_calibrator
    from probmetrics.splitters import CVSplitter

    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(n_classes), 600)
    y = np.array([rng.choice(n_classes, p=row) for row in P**0.5 / (P**0.5).sum(axis=1, keepdims=True)])
    scores = library.Metrics.from_names(["logloss", "brier"])
    theirs = library.MetricsWithCalibration(scores, get_calibrator("temp-scaling"), CVSplitter(5), "ts", 3)
    found = theirs.compute_all_from_labels_probs(torch.tensor(y), torch.tensor(P))
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    for score, name, scale in [("log_loss", "logloss", 1), ("brier", "brier", 2 if n_classes == 2 else 1)]:
        ours = refinement_decomposition(y, P, score=score, cv=folds)
        assert ours.refinement == pytest.approx(found[f"refinement_{name}_ts_cv-5"].item() / scale, rel=1e-4)
        assert ours.calibration == pytest.approx(found[f"calib-err_{name}_ts_cv-5"].item() / scale, rel=1e-3)


@pytest.mark.parametrize("calibrator", [None, TemperatureScaling(), PlattScaling(), BetaCalibration()])
def test_it_finds_the_closed_form(calibrator):
    """40,000 rows: standard errors near .002."""
    y, _, extreme = made(40_000, 1)
    parts = refinement_decomposition(y, extreme, calibrator=calibrator)
    assert parts.refinement == pytest.approx(REFINEMENT, abs=0.007)
    assert parts.calibration == pytest.approx(CALIBRATION, abs=0.007)


@pytest.mark.parametrize("score", ["log_loss", "brier"])
def test_the_parts_add_up_to_the_score(score):
    y, _, extreme = made(500, 2)
    parts = refinement_decomposition(y, extreme, score=score)
    assert parts.score == pytest.approx(getattr(metrics, score)(y, extreme))
    assert parts.refinement + parts.calibration == pytest.approx(parts.score)
    for name in ("refinement", "calibration"):
        low, high = parts[f"{name}_interval"]
        assert low < parts[name] < high


@pytest.mark.parametrize("forecast", ["calibrated", "extreme"])
def test_intervals_cover(forecast):
    """150 sets of 1,000 rows, a binomial error of .018; of a calibrated forecast the calibration part is 0."""
    held = np.zeros(2)
    for seed in range(150):
        y, p, extreme = made(1000, seed)
        parts = refinement_decomposition(y, p if forecast == "calibrated" else extreme)
        truths = (REFINEMENT, 0.0 if forecast == "calibrated" else CALIBRATION)
        intervals = (parts.refinement_interval, parts.calibration_interval)
        held += [low <= truth <= high for truth, (low, high) in zip(truths, intervals, strict=True)]
    assert (held / 150 >= 0.9).all()


def test_it_is_not_fitted_to_the_rows_that_it_scores():
    """In sample, recalibration never loses; here it may, and of calibrated forecasts it does on average."""
    parts = [refinement_decomposition(*made(200, seed)[:2], calibrator=BetaCalibration()) for seed in range(40)]
    assert np.mean([part.calibration for part in parts]) < 0


def test_weights_enter_the_fit_and_the_mean():
    y, _, extreme = made(400, 3)
    weights = np.where(np.arange(400) < 200, 1.0, 0.0)
    folds = [(np.arange(400) % 2 == k).nonzero()[0] for k in (0, 1)]
    halves = PredefinedHalves(folds)
    weighted = refinement_decomposition(y, extreme, sample_weight=weights, cv=halves)
    alone = refinement_decomposition(y[:200], extreme[:200], cv=PredefinedHalves([rows[rows < 200] for rows in folds]))
    assert weighted.refinement == pytest.approx(alone.refinement, rel=1e-6)
    assert weighted.calibration_interval == pytest.approx(alone.calibration_interval, rel=1e-5)


class PredefinedHalves:
    def __init__(self, parts):
        self.parts = parts

    def split(self, X, y):
        first, second = self.parts
        return [(first, second), (second, first)]


def test_rare_classes_do_not_stop_it():
    y, P = np.array([0] * 30 + [1] * 28 + [2] * 2), np.tile([0.5, 0.4, 0.1], (60, 1))
    P[::2] = [0.3, 0.6, 0.1]
    assert np.isfinite(refinement_decomposition(y, P).calibration)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "auc"}, "score is 'auc'"),
        ({"calibrator": "platt"}, "calibrator is 'platt'"),
        ({"calibrator": PlattScaling}, "expected an unfitted one"),
        ({"cv": 1}, "cv is 1"),
        ({"cv": 99}, "cv is 99"),
        ({"cv": "five"}, "cv"),
        ({"cv": PredefinedHalves([np.array([0, 1]), np.array([2, 3, 4])])}, "cv does not score every row once"),
        ({"cv": 2.5}, r"cv is 2\.5"),
        ({"cv": RepeatedKFold(n_splits=4, n_repeats=2)}, "cv does not score every row once"),
        ({"cv": ShuffleSplit(3)}, "cv does not score every row once"),
        ({"cv": [(np.arange(40), np.arange(40))]}, "cv has a fold that trains on row 0 and holds it out"),
        ({"cv": [(np.arange(20), [99])]}, "cv could not be read as folds"),
        ({"cv": [1, 2]}, "cv could not be read as folds"),
        ({"confidence_level": 2}, "confidence_level is 2"),
        ({"calibrator": TemperatureScaling(from_logits=True)}, "calibrator has from_logits=True"),
        ({"calibrator": BinwiseCalibration(PlattScaling(from_logits=True))}, "calibrator has from_logits=True"),
        ({"calibrator": PlattScaling(classes=["no", "yes"])}, r"calibrator has classes=\['no', 'yes'\]"),
        ({"calibrator": PlattScaling(classes=[1, 0])}, r"calibrator has classes=\[1, 0\]"),
        ({"calibrator": KNeighborsClassifier()}, "expected one that is fitted with sample_weight"),
        ({"calibrator": ClusteredCalibration()}, "needs a representation"),
        ({"calibrator": PlattScaling(prior="no such")}, "prior is 'no such'"),
        ({"cv": [(np.arange(1), np.arange(1, 40)), (np.arange(1, 40), np.arange(1))]}, "labels of one class only"),
    ],
)
def test_options_that_decompose_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        refinement_decomposition(*made(40, 0)[:2], **options)


def test_labels_of_one_class_are_refused():
    with pytest.raises(ValueError, match="y_true holds labels of one class only, 1; expected"):
        refinement_decomposition([1, 1, 1], [0.2, 0.3, 0.4], labels=[0, 1], cv=2)


def test_a_calibrator_with_a_door_of_its_own_is_entered_through_it():
    class Clipped(PlattScaling):
        def fit(self, P, y, Z=None, sample_weight=None):
            return super().fit(np.clip(P, 0.2, 0.8), y, Z, sample_weight)

        def predict_proba(self, P, Z=None):
            return super().predict_proba(np.clip(P, 0.2, 0.8), Z)

    y, p, _ = made(200, 3)
    expected = [
        log_loss(y[test], Clipped().fit(p[train], y[train]).predict_proba(p[test])) for train, test in KFold(4).split(p)
    ]
    found = refinement_decomposition(y, p, calibrator=Clipped(), cv=KFold(4))
    assert found.refinement == pytest.approx(np.mean(expected), rel=1e-12)


def test_labels_are_read_once_for_all_folds(monkeypatch):
    """The door of the calibrators is not passed again in every fold, and the numbers are those of the open door."""
    y, p, _ = made(200, 3)
    expected = [
        log_loss(y[test], PlattScaling().fit(p[train], y[train]).predict_proba(p[test]))
        for train, test in KFold(4).split(p)
    ]

    def read_anew(self, P, y, Z=None, sample_weight=None):
        pytest.fail("a fold reads its labels anew")

    monkeypatch.setattr(Calibrator, "fit", read_anew)
    found = refinement_decomposition(y, p, calibrator=PlattScaling(), cv=KFold(4))
    assert found.refinement == pytest.approx(np.mean(expected), rel=1e-12)


@pytest.mark.parametrize("name", ["calibrator", "calibrator within"])
def test_a_calibrator_that_knows_the_classes_is_as_good_as_one_that_does_not(name):
    y, _, extreme = made(400, 5)
    y = np.array(["no", "yes"])[y]
    named, plain = PlattScaling(classes=["no", "yes"]), PlattScaling()
    if name == "calibrator within":
        named, plain = BinwiseCalibration(named), BinwiseCalibration(plain)
    found, expected = (refinement_decomposition(y, extreme, calibrator=one) for one in (named, plain))
    assert found == expected
    assert "no" in str(named)  # what was given is left as it was


def test_any_splitter_that_partitions_the_rows_will_do():
    y, p, _ = made(100, 4)
    assert np.isfinite(refinement_decomposition(y, p, cv=KFold(4)).refinement)
