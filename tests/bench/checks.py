"""What our own fits and predictions cost beside each other: clusters, memory, growth with n, K and L (`make bench`).

Each check is one number with the value that it should not exceed.
"""

import tracemalloc
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from clustcal import BetaCalibration, ClusteredCalibration, PlattScaling, SoftKMeans, TemperatureScaling, VectorScaling
from clustcal.calibrators.base import read_calibration_set
from clustcal.calibrators.bayesian_binning import BayesianBinning
from clustcal.calibrators.histogram import HistogramBinning
from clustcal.calibrators.isotonic import IsotonicCalibration
from clustcal.datasets import make_subpopulations
from tests.bench.timing import make_scores, median_cpu_seconds

N_CLUSTERS = 4
CALIBRATORS = [
    PlattScaling(prior=None),
    TemperatureScaling(prior=None),
    BetaCalibration(prior=None),
    HistogramBinning(n_bins=15),
    IsotonicCalibration(),
    BayesianBinning(),
]
# Rows, clusters and classes around which each in turn is doubled three times.
MIDDLE = {"n": 40_000, "n_clusters": 4, "n_classes": 5}
DOUBLINGS = 2.0 ** np.arange(4)


@dataclass(frozen=True)
class Check:
    """A measured value and the largest that it should have."""

    check: str
    value: float
    at_most: float


def fit_clusters(P, y, W, calibrator):
    """Fit a clustered calibrator whose memberships W are known; return what its solver found for the clusters."""
    data = read_calibration_set(P, y)
    return ClusteredCalibration(calibrator)._fit_clusters(data, calibrator._fit_to(data), W)


def cost_of_clusters(n=100_000, repeats=15):
    """Yield the cost of clustered Platt scaling with given memberships, in fits of global Platt scaling."""
    data = make_subpopulations(n, random_state=0)
    P = np.column_stack([1 - data.P, data.P]) if data.P.ndim == 1 else data.P
    for temperature in (1.0, 0.1):
        soft = SoftKMeans(N_CLUSTERS, temperature=temperature, n_init=1, random_state=0)
        W = soft.fit(data.Z[:10_000]).transform(data.Z)
        alone, clustered = [], []
        for _ in range(repeats):  # in turn, so that both meet the same load
            alone.append(median_cpu_seconds(PlattScaling(prior=None).fit, P, data.y)[0])
            clustered.append(median_cpu_seconds(fit_clusters, P, data.y, W, PlattScaling(prior=None))[0])
        name = f"clustered Platt / Platt (n={n}, K={N_CLUSTERS}, memberships given, temperature {temperature:g})"
        yield Check(name, np.median(clustered) / np.median(alone), 2.0)


def peak_memory(n=1_000_000):
    """Yield the largest memory of each fit while it runs, without that of its input, in sizes of that input."""
    P, y = make_scores(n, 2, np.random.default_rng(0))
    W = np.random.default_rng(1).dirichlet(np.ones(N_CLUSTERS), n)
    fits = {type(calibrator).__name__: (calibrator.fit, P, y) for calibrator in CALIBRATORS}
    fits["ClusteredCalibration (memberships given)"] = (
        partial(fit_clusters, calibrator=PlattScaling(prior=None)),
        P,
        y,
        W,
    )
    for name, (fit, *data) in fits.items():
        tracemalloc.start()
        fit(*data)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        yield Check(f"peak memory of {name}.fit / input (n={n})", peak / sum(array.nbytes for array in data), 10.0)


def seconds_to_predict(n, n_clusters, n_classes, n_cal=2_000, repeats=5):
    """Return the CPU seconds of one prediction of clustered vector scaling for n rows."""
    rng = np.random.default_rng(0)
    P_cal, y_cal = make_scores(n_cal, n_classes, rng)
    P, _ = make_scores(n, n_classes, rng)
    Z_cal, Z = rng.normal(size=(n_cal, 8)), rng.normal(size=(n, 8))
    model = ClusteredCalibration(VectorScaling(prior=None), n_clusters, random_state=0).fit(P_cal, y_cal, Z_cal)
    return median_cpu_seconds(model.predict_proba, P, Z, repeats=repeats)[0]


def inference_times():
    """Return CPU seconds of predictions as rows, clusters and classes are doubled in turn, one row per size."""
    rows = []
    for size in MIDDLE:
        for factor in DOUBLINGS:
            sizes = MIDDLE | {size: int(MIDDLE[size] * factor)}
            rows.append({"grows": size, **sizes, "cpu_seconds": round(seconds_to_predict(**sizes), 5)})
    return pd.DataFrame(rows)


def growth_of_inference(times):
    """Yield the exponents with which a prediction grows, and how much it costs after more calibration rows."""
    for size, of_size in times.groupby("grows"):
        exponent = np.polyfit(np.log(of_size[size]), np.log(of_size["cpu_seconds"]), 1)[0]
        yield Check(f"exponent of the time of a prediction in {size}", exponent, 1.1)
    few, many = (seconds_to_predict(**MIDDLE, n_cal=n_cal) for n_cal in (500, 50_000))
    yield Check("time of a prediction after 50,000 / after 500 calibration rows", many / few, 1.1)
