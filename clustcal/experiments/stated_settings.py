"""The settings that the paper states as numbers, beside those that our studies run with.

Each is read off what is run (the methods, the protocol, the networks), not off a list of its own, so that a change of a
study shows in the ledger. Builds on `protocol`, `methods` and both studies.
"""

from inspect import signature

from clustcal import metrics
from clustcal.datasets.icu import LONG_STAY
from clustcal.experiments import protocol
from clustcal.experiments.deep import design, networks
from clustcal.experiments.methods import BASELINE, get_methods
from clustcal.experiments.tabular import recompute
from clustcal.experiments.tabular.grid import VARIATIONS
from clustcal.experiments.verdicts import Computed
from clustcal.plots import ReliabilityDisplay


def compute():
    """Return our value of every setting that the paper states.

    Returns
    -------
    computed : dict of str to Computed
        By the id of the claim.
    """
    values = {**_tabular(), **_calibrators(), **_deep(), **_metrics()}
    return {name: Computed(float(value)) for name, value in values.items()}


def _tabular():
    (sensitivity,) = [changes["n_clusters"] for changes in VARIATIONS if "n_clusters" in changes]
    return {
        **_numbered("settings/n_estimators", protocol.N_ESTIMATORS),
        **_numbered("settings/max_depth", protocol.MAX_DEPTHS),
        **{f"settings/{name}": value for name, value in protocol.BOOSTING.items()},
        "settings/components": protocol.N_COMPONENTS,
        "settings/clusters": _method("Platt", "SHAP").n_clusters,
        "settings/sensitivity/clusters": sensitivity,
        "settings/long-stay": LONG_STAY,
    }


def _calibrators():
    alpha, beta = _method("Histogram Binning").prior
    low, high = _method("ensemble-TS").bounds
    binwise = _method("Binwise-Platt")
    return {
        "settings/histogram/alpha": alpha,
        "settings/histogram/beta": beta,
        "settings/binwise/bins": binwise.n_bins,
        "settings/binwise/least": binwise.min_bin_size,
        "settings/ensemble-TS/low": low,
        "settings/ensemble-TS/high": high,
        "settings/dirichlet/decay": _method("Beta", n_classes=3).l2,
    }


def _deep():
    image, text = networks.NETWORKS["bloodmnist"].settings, networks.NETWORKS["emotion"].settings
    return {
        "settings/resnet/learning_rate": image.learning_rate,
        "settings/resnet/epochs": image.epochs,
        "settings/resnet/patience": image.patience,
        "settings/distilbert/learning_rate": text.learning_rate,
        "settings/distilbert/weight_decay": text.weight_decay,
        "settings/distilbert/warmup": text.warmup_steps,
        "settings/distilbert/epochs": text.epochs,
        **_numbered("settings/grid/shrinkage", design.SHRINKAGES),
        **_numbered("settings/grid/clusters", design.N_CLUSTERS),
        "settings/grid/folds": design.FOLDS,
    }


def _metrics():
    """The interval, the bins of the paper's first figure, and the toy example's."""
    return {
        "settings/interval": 100 * _default(metrics.t_interval, "confidence_level"),
        "settings/diagram/bins": _default(ReliabilityDisplay.from_predictions, "n_bins"),
        **{f"settings/{place}/bins": recompute.TOY_BINS for place in ("toy", "toy-text")},
    }


def _default(function, argument):
    return signature(function).parameters[argument].default


def _numbered(name, values):
    return {f"{name}/{number}": value for number, value in enumerate(values, start=1)}


def _method(name, clustered=BASELINE, n_classes=2):
    """The calibrator behind a row of the main table."""
    (found,) = [method.calibrator for method in get_methods(n_classes) if method[:2] == (name, clustered)]
    return found
