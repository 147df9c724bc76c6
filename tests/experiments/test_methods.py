"""The registry of methods against the names and settings that the paper prints."""

import pickle

import numpy as np
import pytest
from scipy.special import expit, logit

from clustcal.experiments.methods import Uncalibrated, get_cv_methods, get_methods
from clustcal.experiments.protocol import REPRESENTATIONS

# The first two columns of the paper's table of overall performance, in its order.
MAIN_TABLE = """
Platt SHAP | Platt Coverage | Beta Coverage | Platt Data | Beta Data | Beta SHAP | Beta Baseline | Platt Baseline |
Histogram Binning Baseline | Binwise-Beta Baseline | Binwise-Platt Baseline | Bayesian Binning Baseline |
Binwise-TS Baseline | LoRe Baseline | TS SHAP | Isotonic Baseline | TS Coverage | TS Data | ensemble-TS Baseline |
TS Baseline | base Baseline
"""
EVERY = [*get_methods(), *get_cv_methods()]
each = pytest.mark.parametrize("method", EVERY, ids=lambda method: f"{method.name}-{method.clustered}")


def make_data(n=300, n_classes=2):
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(n_classes), n)
    return P, (P.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1), rng.normal(size=(n, 5))


def test_the_names_are_those_of_the_main_table():
    printed = sorted(row.strip() for row in MAIN_TABLE.split("|"))
    assert sorted(f"{method.name} {method.clustered}" for method in get_methods()) == printed


def test_clustered_methods_have_the_papers_settings():
    clustered = [method for method in get_methods() if method.clustered != "Baseline"]
    assert len(clustered) == 9
    for method in clustered:
        calibrator = method.make(seed=3)
        settings = (calibrator.n_clusters, calibrator.shrinkage, calibrator.temperature, calibrator.random_state)
        assert settings == (4, 0.05, 1.0, 3)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("Histogram Binning", {"prior": (1, 1)}),
        ("Bayesian Binning", {"criterion": "BIC", "strategy": "uniform"}),
        ("Isotonic", {"out_of_bounds": "clip"}),
        ("Binwise-TS", {"n_bins": 10, "min_bin_size": 30}),
        ("ensemble-TS", {"loss": "ce", "bounds": (0.05, 5.0)}),
    ],
)
def test_baselines_have_the_papers_settings(name, settings):
    calibrator = next(method for method in get_methods() if method.name == name).make(seed=0)
    assert {key: getattr(calibrator, key) for key in settings} == settings


@each
def test_representations_are_known_to_the_protocol(method):
    assert method.representation is None or method.representation in REPRESENTATIONS
    assert method.clustered in {"Coverage", "SHAP", "Data", "Baseline"}


@each
def test_every_method_fits_and_predicts_with_what_it_says_it_needs(method):
    P, y, Z = make_data()
    Z = None if method.representation is None else Z
    Q = method.make(seed=0).fit(P, y, Z).predict_proba(P, Z)
    assert Q.shape == P.shape
    np.testing.assert_allclose(Q.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("method", get_methods(3), ids=lambda method: f"{method.name}-{method.clustered}")
def test_every_method_of_the_paper_serves_three_classes(method):
    P, y, Z = make_data(n_classes=3)
    Q = method.make(seed=0).fit(P, y, Z).predict_proba(P, Z)
    np.testing.assert_allclose(Q.sum(axis=1), 1, atol=1e-12)


@each
def test_two_calibrators_of_a_method_share_nothing_and_travel(method):
    first, second = method.make(seed=0), method.make(seed=0)
    assert first is not second
    assert repr(pickle.loads(pickle.dumps(method)).make(seed=0)) == repr(first)


def test_ours_are_one_per_family_on_the_representation_that_the_paper_ranks_first():
    assert [(m.name, m.clustered) for m in get_cv_methods()] == [
        ("Platt-CV", "SHAP"),
        ("Beta-CV", "SHAP"),
        ("TS-CV", "SHAP"),
    ]


def test_base_leaves_probabilities_as_they_are():
    P, y, _ = make_data()
    labels = np.array(["no", "yes"])
    base = Uncalibrated().fit(P, labels[y])
    np.testing.assert_allclose(base.predict_proba(P), P, atol=1e-15)
    assert not np.shares_memory(base.predict_proba(P), P)
    assert base.predict([0.2, 0.9]).tolist() == ["no", "yes"]


def test_base_refuses_what_every_calibrator_refuses():
    with pytest.raises(ValueError, match="only the label"):
        Uncalibrated().fit([0.2, 0.3], [1, 1])


def test_the_registry_tells_clustered_from_global_methods_where_groups_differ():
    """Two groups, whose scores are off by one logit in opposite directions: only a clustered method can know."""
    rng = np.random.default_rng(1)
    group = np.arange(3000) % 2
    p = rng.uniform(0.1, 0.9, 3000)
    y = (rng.random(3000) < expit(logit(p) + 2 * group - 1)).astype(int)
    Z = np.eye(2)[group] + rng.normal(0, 0.1, (3000, 2))
    loss = {}
    for method in EVERY:
        if method.name in ("Platt", "Platt-CV") and method.clustered in ("SHAP", "Baseline"):
            q = method.make(seed=0).fit(p, y, Z).predict_proba(p, Z)[np.arange(3000), y]
            loss[method.name, method.clustered] = -np.log(q).mean()
    assert loss["Platt-CV", "SHAP"] < loss["Platt", "SHAP"] < loss["Platt", "Baseline"]
