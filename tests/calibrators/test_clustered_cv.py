"""Choosing by cross-validation: the estimate, the rule, the folds, and what comes out, against plain computations."""

import ast
import pickle
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, RepeatedStratifiedKFold

from clustcal import BetaCalibration, ClusteredCalibration, PlattScaling, TemperatureScaling, VectorScaling
from clustcal.calibrators.clustered_cv import ClusteredCalibrationCV, _choose
from clustcal.core.folds import make_folds
from tests.calibrators.interface import CHECKS, check_classes_of_a_prefit_model_may_stand_in_any_order, name_of

TINY = {"n_clusters": (2,), "shrinkages": (0.05,), "temperatures": (0.3,), "cv": 2, "n_repeats": 1, "random_state": 0}
INTERFACE = [
    (ClusteredCalibrationCV(**TINY), 2),
    (ClusteredCalibrationCV([PlattScaling(), BetaCalibration()], **TINY), 2),
    (ClusteredCalibrationCV(VectorScaling(), **TINY), 3),
]
# Folds are drawn row by row: other rows, or the same ones in another order, fall into others.
NOT_OWED = ("smallest_set", "no_noise", "weights_equal", "order_of_rows", "relabelling")


@pytest.mark.parametrize("check", [one for one in CHECKS if not any(word in one.__name__ for word in NOT_OWED)])
@pytest.mark.parametrize(("calibrator", "n_classes"), INTERFACE, ids=name_of)
def test_interface(check, calibrator, n_classes):
    check(calibrator, n_classes)


def test_classes_of_a_prefit_model_may_stand_in_any_order_with_default_arguments_too():
    check_classes_of_a_prefit_model_may_stand_in_any_order(ClusteredCalibrationCV(random_state=0), 2)


SMALL = {"n_clusters": (2, 3), "shrinkages": (0.1, 0.01), "temperatures": (1.0, 0.1), "n_repeats": 1}


def make_groups(n=600, shift=1.0, seed=0, n_classes=2):
    """Three groups, far apart in Z, whose logits are off by -shift, 0 and +shift: K-means finds them from any start."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 3
    Z = np.eye(3)[group] + rng.normal(0, 0.03, (n, 3))
    if n_classes == 2:
        p = rng.uniform(0.1, 0.9, n)
        return np.column_stack([1 - p, p]), (rng.random(n) < expit(logit(p) + shift * (group - 1))).astype(int), Z
    P = rng.dirichlet(np.ones(n_classes), n)
    truth = P * np.exp(shift * np.eye(n_classes)[group % n_classes])
    truth /= truth.sum(axis=1, keepdims=True)
    return P, (truth.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1), Z


def held_out_losses(candidate, P, y, Z, folds):
    """The log-loss of every row, by fits of ClusteredCalibration to the other folds."""
    losses = np.empty(len(y))
    for train, held_out in folds:
        fitted = ClusteredCalibration(random_state=0, **candidate).fit(P[train], y[train], Z[train])
        Q = fitted.predict_proba(P[held_out], Z[held_out])
        losses[held_out] = -np.log(Q[np.arange(len(held_out)), y[held_out]])
    return losses


def parameters(row):
    return {key: row[key] for key in ("calibrator", "n_clusters", "temperature", "shrinkage")}


class TestEstimate:
    P, y, Z = make_groups()
    folds = make_folds(4, y, np.ones(len(y)), seed=1)
    cv = ClusteredCalibrationCV(**SMALL, cv=folds, random_state=0).fit(P, y, Z)

    def test_losses_are_those_of_fits_to_the_other_folds(self):
        """K-means goes on from the centroids of all rows; with groups this far apart that is where it ends anyway."""
        for _, row in self.cv.cv_results_[lambda results: results["n_clusters"] != 2].iterrows():
            expected = held_out_losses(parameters(row), self.P, self.y, self.Z, self.folds).mean()
            assert row["log_loss"] == pytest.approx(expected, abs=2e-6)

    def test_the_global_candidate_is_the_global_calibrator(self):
        losses = [
            log_loss(self.y[out], PlattScaling().fit(self.P[train], self.y[train]).predict_proba(self.P[out]))
            for train, out in self.folds
        ]
        assert self.cv.cv_results_.loc[0, "n_clusters"] == 1
        assert self.cv.cv_results_.loc[0, "log_loss"] == pytest.approx(np.mean(losses), abs=1e-7)

    def test_excess_and_its_error_are_of_differences_on_the_same_rows(self):
        best = self.cv.cv_results_.loc[self.cv.cv_results_["log_loss"].idxmin()]
        row = self.cv.cv_results_.loc[0]
        losses = [held_out_losses(parameters(one), self.P, self.y, self.Z, self.folds) for one in (row, best)]
        difference = losses[0] - losses[1]
        assert row["excess"] == pytest.approx(difference.mean(), abs=1e-6)
        assert row["excess_se"] == pytest.approx(difference.std() / np.sqrt(len(difference)), rel=1e-4)

    def test_the_error_of_the_losses_themselves_would_hide_what_the_paired_one_shows(self):
        P, y, Z = make_groups(600, shift=0.4)
        results = clone(self.cv).fit(P, y, Z).cv_results_
        plain = results.loc[0]
        error_of_loss = held_out_losses(parameters(plain), P, y, Z, self.folds).std() / np.sqrt(600)
        assert plain["excess_se"] < plain["excess"] < error_of_loss

    def test_candidates_stand_in_the_documented_order(self):
        results = self.cv.cv_results_
        keys = list(zip(results["n_clusters"], -results["temperature"], -results["shrinkage"], strict=True))
        assert keys == sorted(keys)
        assert len(keys) == 1 + 2 * 2 * 2

    def test_repeats_average_the_losses_of_each_row(self):
        repeated = clone(self.cv).set_params(cv=3, n_repeats=2).fit(self.P, self.y, self.Z)
        once = [make_folds(3, self.y, np.ones(600), seed) for seed in (0, 1)]
        single = [clone(self.cv).set_params(cv=folds).fit(self.P, self.y, self.Z).cv_results_ for folds in once]
        expected = (single[0]["log_loss"] + single[1]["log_loss"]) / 2
        np.testing.assert_allclose(repeated.cv_results_["log_loss"], expected, atol=1e-7)

    def test_small_sets_are_dealt_out_several_times_and_large_ones_once(self):
        cv = ClusteredCalibrationCV(cv=2)
        rows = lambda n: SimpleNamespace(codes=np.zeros(n, int), weights=np.ones(n))
        assert [len(cv._repeated_folds(rows(n), 0)) for n in (100, 2500, 9000)] == [10, 4, 2]


class TestChoice:
    def test_groups_that_differ_are_told_apart(self):
        cv = ClusteredCalibrationCV(random_state=0).fit(*make_groups(1500))
        assert cv.best_params_["n_clusters"] > 1
        assert cv.best_params_["temperature"] < 1
        P, y, Z = make_groups(6000, seed=1)
        paper = ClusteredCalibration(random_state=0).fit(*make_groups(1500))
        plain = PlattScaling().fit(*make_groups(1500))
        gain, papers_gain = (
            log_loss(y, plain.predict_proba(P)) - log_loss(y, fitted.predict_proba(P, Z)) for fitted in (cv, paper)
        )
        assert gain > 2 * papers_gain > 0

    @pytest.mark.parametrize("seed", range(5))
    def test_one_standard_error_keeps_the_global_calibrator_where_groups_are_alike(self, seed):
        cv = ClusteredCalibrationCV(**SMALL, random_state=0).fit(*make_groups(300, shift=0.0, seed=seed))
        assert cv.best_params_["n_clusters"] == 1

    @pytest.mark.parametrize("selection", ["one_se", "best"])
    @pytest.mark.parametrize("seed", range(5))
    def test_the_choice_is_never_worse_than_the_global_calibrator_by_the_estimate(self, selection, seed):
        cv = ClusteredCalibrationCV(**SMALL, selection=selection, random_state=0)
        cv.fit(*make_groups(200, shift=0.5, seed=seed))
        assert cv.cv_results_.loc[cv.best_index_, "log_loss"] <= cv.cv_results_.loc[0, "log_loss"]

    def test_best_is_the_lowest_loss(self):
        cv = ClusteredCalibrationCV(**SMALL, selection="best", random_state=0).fit(*make_groups(200, shift=0.2))
        assert cv.best_index_ == cv.cv_results_["log_loss"].idxmin()

    def test_one_se_is_the_first_candidate_within_its_standard_error(self):
        cv = ClusteredCalibrationCV(**SMALL, random_state=0).fit(*make_groups(200, shift=0.7))
        simpler = cv.cv_results_.loc[: cv.best_index_ - 1]
        chosen = cv.cv_results_.loc[cv.best_index_]
        assert chosen["excess"] <= chosen["excess_se"]
        assert (simpler["excess"] > simpler["excess_se"]).all()

    def test_the_global_calibrator_can_be_left_out(self):
        cv = ClusteredCalibrationCV(**SMALL, include_global=False, random_state=0).fit(*make_groups(300, shift=0.0))
        assert set(cv.cv_results_["n_clusters"]) == {2, 3}
        assert cv.best_params_["n_clusters"] > 1

    def test_a_global_choice_is_the_global_fit(self):
        P, y, Z = make_groups(300, shift=0.0)
        cv = ClusteredCalibrationCV(**SMALL, random_state=0).fit(P, y, Z)
        assert cv.best_params_["n_clusters"] == 1
        np.testing.assert_allclose(cv.predict_proba(P, Z), PlattScaling().fit(P, y).predict_proba(P), atol=1e-9)

    def test_the_family_is_chosen_where_several_are_given(self):
        """Scores that are off by a constant: a temperature alone cannot mend them."""
        P, y, Z = make_groups(1500, shift=0.0)
        shifted = expit(logit(P[:, 1]) - 1)
        families = [BetaCalibration(), TemperatureScaling(), PlattScaling()]
        cv = ClusteredCalibrationCV(families, **SMALL, random_state=0).fit(shifted, y, Z)
        assert repr(cv.best_params_["calibrator"]) == "PlattScaling()"
        names = [repr(calibrator) for calibrator in cv.cv_results_["calibrator"][:3]]
        assert names == ["TemperatureScaling()", "PlattScaling()", "BetaCalibration()"]
        assert cv.cv_results_["n_clusters"][:3].tolist() == [1, 1, 1]

    def test_more_classes_are_served(self):
        P, y, Z = make_groups(900, shift=2.0, n_classes=3)
        cv = ClusteredCalibrationCV(VectorScaling(), **SMALL, random_state=0).fit(P, y, Z)
        assert cv.best_params_["n_clusters"] > 1
        assert cv.predict_proba(P, Z).shape == (900, 3)


class TestFolds:
    @pytest.mark.parametrize("n_folds", [2, 3, 5])
    def test_every_fold_gets_its_share_of_each_class(self, n_folds):
        codes = np.random.default_rng(0).choice(3, 101, p=[0.8, 0.15, 0.05])
        for _, held_out in make_folds(n_folds, codes, np.ones(101), seed=0):
            shares = np.bincount(codes[held_out], minlength=3) - np.bincount(codes) / n_folds
            assert (np.abs(shares) < 1).all()

    def test_every_row_is_held_out_once(self):
        folds = make_folds(4, np.arange(30) % 3, np.ones(30), seed=0)
        assert sorted(np.concatenate([held_out for _, held_out in folds])) == list(range(30))
        for train, held_out in folds:
            assert sorted([*train, *held_out]) == list(range(30))

    def test_rows_without_weight_take_no_ones_place(self):
        weights = np.repeat([1.0, 0.0], [20, 40])
        for _, held_out in make_folds(5, np.zeros(60, int), weights, seed=0):
            assert weights[held_out].sum() == 4

    def test_a_class_with_one_row_is_no_obstacle(self):
        P, y, Z = make_groups(300)
        y = np.zeros(300, int)
        y[0] = 1
        Q = ClusteredCalibrationCV(**SMALL, random_state=0).fit(P, y, Z).predict_proba(P, Z)
        assert np.isfinite(Q).all()

    def test_given_folds_keep_groups_together(self):
        """One patient, many rows: scikit-learn's folds are taken as they are."""
        P, y, Z = make_groups(300)
        folds = list(GroupKFold(3).split(P, y, np.arange(300) // 10))
        cv = ClusteredCalibrationCV(**SMALL, cv=folds, random_state=0).fit(P, y, Z)
        candidate = parameters(cv.cv_results_.loc[0])
        expected = held_out_losses(candidate, P, y, Z, folds).mean()
        assert cv.cv_results_.loc[0, "log_loss"] == pytest.approx(expected, abs=1e-7)

    def test_a_splitter_is_accepted(self):
        splitter = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0)
        cv = ClusteredCalibrationCV(**SMALL, cv=splitter, random_state=0).fit(*make_groups(200))
        assert np.isfinite(cv.cv_results_["log_loss"]).all()


class TestWeights:
    def test_weights_equal_repetition_within_given_folds(self):
        P, y, Z = make_groups(300)
        counts = np.random.default_rng(0).integers(0, 4, 300)
        fold = np.arange(300) // 3 % 4
        again = np.repeat(np.arange(300), counts)
        results = []
        for rows, weights in ((np.arange(300), counts), (again, None)):
            folds = [(np.flatnonzero(fold[rows] != f), np.flatnonzero(fold[rows] == f)) for f in range(4)]
            cv = ClusteredCalibrationCV(**{**SMALL, "n_clusters": (3,)}, cv=folds, random_state=0)
            results.append(cv.fit(P[rows], y[rows], Z[rows], sample_weight=weights).cv_results_)
        np.testing.assert_allclose(results[0]["log_loss"], results[1]["log_loss"], atol=1e-6)
        np.testing.assert_allclose(results[0]["excess"], results[1]["excess"], atol=1e-6)

    def test_the_scale_of_weights_changes_nothing(self):
        P, y, Z = make_groups(300)
        weights = np.random.default_rng(0).uniform(0.5, 2, 300)
        one, other = (
            ClusteredCalibrationCV(PlattScaling(prior=None), **SMALL, random_state=0)
            .fit(P, y, Z, sample_weight=scale * weights)
            .cv_results_
            for scale in (1.0, 1e-3)
        )
        columns = ["log_loss", "excess", "excess_se"]
        np.testing.assert_allclose(one[columns], other[columns], atol=1e-8)


class TestInterface:
    P, y, Z = make_groups()
    cv = ClusteredCalibrationCV(**SMALL, random_state=4).fit(P, y, Z)

    def test_it_is_the_clustered_calibration_of_its_parameters(self):
        alone = ClusteredCalibration(random_state=4, **self.cv.best_params_).fit(self.P, self.y, self.Z)
        for name in ("theta_", "global_theta_", "centroids_", "classes_", "n_iter_"):
            np.testing.assert_array_equal(getattr(self.cv, name), getattr(alone, name))
        np.testing.assert_array_equal(self.cv.memberships(self.Z), alone.memberships(self.Z))
        np.testing.assert_array_equal(self.cv.predict_proba(self.P, self.Z), alone.predict_proba(self.P, self.Z))
        assert isinstance(self.cv.calibrator_, PlattScaling)

    @pytest.mark.parametrize("random_state", [0, np.random.RandomState(0)])
    def test_clone_refit_and_pickle_keep_predictions(self, random_state):
        again = clone(self.cv).set_params(random_state=random_state)
        Q = again.fit(self.P, self.y, self.Z).predict_proba(self.P, self.Z)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(again)).predict_proba(self.P, self.Z), Q)
        if random_state == 0:
            np.testing.assert_array_equal(again.fit(self.P, self.y, self.Z).predict_proba(self.P, self.Z), Q)

    def test_containers_give_the_same(self):
        names = np.array(["no", "yes"])
        frames = clone(self.cv).fit(pd.DataFrame(self.P), pd.Series(names[self.y]), pd.DataFrame(self.Z))
        np.testing.assert_allclose(
            frames.predict_proba(self.P, self.Z), self.cv.predict_proba(self.P, self.Z), atol=1e-12
        )
        assert set(frames.predict(self.P, self.Z)) == {"no", "yes"}
        from_sparse = clone(self.cv).fit(self.P[:, 1], self.y, sparse.csr_matrix(self.Z))
        np.testing.assert_allclose(from_sparse.cv_results_["log_loss"], self.cv.cv_results_["log_loss"], atol=1e-6)

    def test_it_is_silent(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            clone(self.cv).fit(self.P, self.y, self.Z)

    def test_an_absent_class_is_warned_of_once(self):
        P, y, Z = make_groups(300, n_classes=3)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            cv = ClusteredCalibrationCV(TemperatureScaling(), **SMALL).fit(P[y != 1], y[y != 1], Z[y != 1])
        assert sum("[1]" in str(warning.message) for warning in caught) == 1
        assert cv.classes_.tolist() == [0, 1, 2]

    def test_nothing_is_to_be_had_before_fit(self):
        unfitted = clone(self.cv)
        assert not hasattr(unfitted, "theta_")
        for ask in (lambda: unfitted.predict_proba(self.P, self.Z), lambda: unfitted.memberships(self.Z)):
            with pytest.raises(NotFittedError):
                ask()

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"n_clusters": 4}, "n_clusters is 4; expected a sequence"),
            ({"n_clusters": ()}, "n_clusters"),
            ({"n_clusters": (2, 2.5)}, r"n_clusters is 2\.5"),
            ({"n_clusters": (2, 500)}, "n_clusters is 500"),
            ({"shrinkages": (0.1, -1)}, "shrinkages"),
            ({"temperatures": ("low",)}, "temperatures"),
            ({"membership": "far"}, "membership"),
            ({"cv": 1}, "cv is 1"),
            ({"cv": 601}, "cv is 601"),
            ({"n_repeats": 0}, "n_repeats"),
            ({"selection": "two_se"}, "selection"),
            ({"calibrator": []}, "calibrator"),
            ({"calibrator": [PlattScaling(), "platt"]}, "calibrator is 'platt'"),
            ({"calibrator": ClusteredCalibration()}, "calibrator"),
            ({"calibrator": [PlattScaling(classes=[0, 1]), PlattScaling(classes=[1, 0])]}, "one order of the columns"),
        ],
    )
    def test_bad_parameters_are_named(self, wrong, message):
        unfitted = clone(self.cv).set_params(**wrong)
        with pytest.raises(ValueError, match=message):
            unfitted.fit(self.P, self.y, self.Z)
        assert not hasattr(unfitted, "best_estimator_")

    @pytest.mark.parametrize(("Z", "message"), [(None, "Z is missing"), (np.ones((3, 2)), "3 rows and P has 600")])
    def test_bad_representations_are_named(self, Z, message):
        with pytest.raises(ValueError, match=message):
            clone(self.cv).fit(self.P, self.y, Z)
        with pytest.raises(ValueError, match=message):
            self.cv.predict_proba(self.P, Z)

    def test_one_class_only_is_refused(self):
        with pytest.raises(ValueError, match="only the label"):
            clone(self.cv).fit(self.P, np.ones(600), self.Z)


@pytest.mark.parametrize(("selection", "chosen"), [("best", 2), ("one_se", 1)])
def test_the_best_is_the_lowest_loss_and_one_standard_error_allows_the_simplest_within_it(selection, chosen):
    results = pd.DataFrame({"excess": [0.5, 0.2, 0.0, 0.1], "excess_se": [0.3, 0.3, 0.0, 0.3]})
    assert _choose(results, selection) == chosen


def test_the_defaults_are_those_of_its_documentation():
    parameters = ClusteredCalibrationCV().get_params(deep=False)
    for name in ("n_clusters", "shrinkages", "temperatures", "selection", "cv"):
        documented = re.search(rf"{name} : .*default=(.*)", ClusteredCalibrationCV.__doc__).group(1)
        assert parameters[name] == ast.literal_eval(documented)
