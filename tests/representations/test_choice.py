"""Which representation a model is given where none is named."""

import subprocess
import sys

import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from clustcal.representations import LeafCoverage, ShapValues, StandardizedFeatures, default_representation

CHOICES = [
    (RandomForestClassifier(), LeafCoverage),
    (ExtraTreesClassifier(), LeafCoverage),
    (DecisionTreeClassifier(), LeafCoverage),
    (GradientBoostingClassifier(), ShapValues),
    (HistGradientBoostingClassifier(), ShapValues),
    (LogisticRegression(), StandardizedFeatures),
]


@pytest.mark.parametrize(("model", "expected"), CHOICES)
def test_the_last_step_decides(model, expected):
    for given in (model, make_pipeline(StandardScaler(), model), make_pipeline(make_pipeline(model))):
        assert type(default_representation(given)) is expected
        assert default_representation(given).model is None


@pytest.mark.parametrize(
    ("package", "name"),
    [("xgboost", "XGBClassifier"), ("lightgbm", "LGBMClassifier"), ("catboost", "CatBoostClassifier")],
)
def test_boosted_trees_of_other_packages(package, name):
    boosting = getattr(pytest.importorskip(package), name)
    assert type(default_representation(boosting())) is ShapValues
    assert type(default_representation(type("Own", (boosting,), {})())) is ShapValues


def test_gradient_boosting_of_more_classes_has_leaves_only():
    three = GradientBoostingClassifier(n_estimators=1).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    assert type(default_representation(three)) is LeafCoverage
    assert type(default_representation(FrozenEstimator(three))) is LeafCoverage
    assert type(default_representation(GradientBoostingClassifier(), n_classes=3)) is LeafCoverage
    assert type(default_representation(GradientBoostingClassifier(), n_classes=2)) is ShapValues


def test_asking_imports_no_library_of_trees():
    code = (
        "import sys; from sklearn.naive_bayes import GaussianNB;"
        "from clustcal.representations import default_representation; default_representation(GaussianNB());"
        "assert not {'xgboost', 'lightgbm', 'catboost', 'shap'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
