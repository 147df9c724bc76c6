"""How scores of a model are read: each row once, and decision values at a scale of their own."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from clustcal import CalibratedClassifier, ClusteredCalibration
from clustcal.model_scores import COMPARED, ModelScores

X, y = make_classification(1000, n_features=6, n_informative=4, flip_y=0.2, random_state=0)


class Counting(LogisticRegression):
    """Counts the rows for which it is asked for anything."""

    asked = 0

    def decision_function(self, X):
        self.asked += len(X)
        return super().decision_function(X)

    def predict_proba(self, X):
        asked = self.asked + len(X)
        P = super().predict_proba(X)
        self.asked = asked  # scikit-learn asks its own decision function
        return P


def test_rows_are_predicted_once_and_a_few_twice():
    model = Counting().fit(X, y)
    scores = ModelScores(model, model.classes_)
    np.testing.assert_allclose(scores.learn(X)[:, 1], LogisticRegression().fit(X, y).decision_function(X))
    assert scores.are_logits
    assert model.asked <= 1000 + COMPARED
    model.asked = 0
    scores.probabilities(X)
    assert model.asked == 1000
    wrapped = CalibratedClassifier(FrozenEstimator(model), ClusteredCalibration(n_clusters=2)).fit(X, y, Z=X)
    model.asked = 0
    wrapped.cluster_summary(X, y, Z=X)
    assert model.asked == 1000


@pytest.mark.parametrize("wrong_rows", [slice(0, 30), slice(-30, None)], ids=["least certain", "most certain"])
def test_values_that_differ_for_a_few_rows_at_either_end_are_no_logits(wrong_rows):
    """Probabilities of 3,000 rows are a sigmoid of x but for 1 % of them."""

    class Nearly:
        classes_ = np.array([0, 1])

        def decision_function(self, X):
            return X[:, 0]

        def predict_proba(self, X):
            x = X[:, 0]
            p = expit(np.where(X[:, 1] == 1, -x - 0.5, x))
            return np.column_stack([1 - p, p])

    x = np.linspace(0, 8, 3000)
    flipped = np.zeros(3000)
    flipped[wrong_rows] = 1
    rows = np.column_stack([x, flipped])
    scores = ModelScores(Nearly(), Nearly.classes_)
    np.testing.assert_allclose(scores.learn(rows), Nearly().predict_proba(rows))
    assert not scores.are_logits


class TestTheScaleOfDecisionValues:
    model = LinearSVC(random_state=0).fit(X[:500], y[:500])

    def scale_of(self, model, rows, weights=None):
        scores = ModelScores(model, model.classes_)
        scores.learn_scale(scores.learn(rows), weights)
        return scores.scale

    def test_is_their_root_mean_square(self):
        values = self.model.decision_function(X)
        assert self.scale_of(self.model, X) == pytest.approx(np.sqrt(np.mean(values**2)))

    def test_counts_a_row_of_weight_2_twice(self):
        weights = np.random.default_rng(0).integers(0, 3, 1000)
        repeated = self.scale_of(self.model, np.repeat(X, weights, axis=0))
        assert self.scale_of(self.model, X, weights) == pytest.approx(repeated, rel=1e-12)

    def test_of_more_classes_is_that_of_all_columns(self):
        three = LinearSVC(random_state=0).fit(X, np.where(X[:, 0] > 1, 2, y))
        values = three.decision_function(X)
        assert self.scale_of(three, X) == pytest.approx(np.sqrt(np.mean(values**2)))

    def test_does_not_count_classes_that_the_model_does_not_know(self):
        scores = ModelScores(self.model, np.array([0, 1, 7]))
        scores.learn_scale(scores.learn(X), None)
        assert scores.scale == pytest.approx(np.sqrt(np.mean(self.model.decision_function(X) ** 2)))

    @pytest.mark.parametrize("factor", [1e200, 1e-200])
    def test_values_whose_squares_no_float_holds_serve(self, factor):
        class Huge(LinearSVC):
            def decision_function(self, X):
                return factor * super().decision_function(X)

        plain, huge = (CalibratedClassifier(kind(random_state=0), cv=3).fit(X, y) for kind in (LinearSVC, Huge))
        np.testing.assert_allclose(huge.predict_proba(X), plain.predict_proba(X), atol=1e-9)

    def test_a_model_with_probabilities_is_not_scaled(self):
        model = LogisticRegression().fit(X, y)
        scores = ModelScores(model, model.classes_)
        scores.learn_scale(scores.learn(X), None)
        assert scores.scale == 1
