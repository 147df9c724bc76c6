"""Direction 1: intervals of calibrated probabilities, judged where the true probabilities are known.

Scores of two kinds: simulated ones of groups that need different corrections, and those of boosted trees on labels that
were drawn anew from known probabilities.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit
from scipy.stats import norm, spearmanr
from sklearn.base import clone
from sklearn.cluster import KMeans

from clustcal import ClusteredCalibration, PlattScaling, RidgeCalibration, VennAbersCalibration, metrics
from clustcal.core.folds import make_folds
from clustcal.core.probabilities import logits
from clustcal.datasets import make_subpopulations
from clustcal.experiments import protocol
from clustcal.experiments.alternatives import base_models
from clustcal.experiments.directions.direction_study import MAIN_MODEL, SEEDS

SIMULATED, KNOWN_TRUTH = "subpopulations", "known-truth"
SIZES = (300, 1000, 3000)  # calibration rows of the simulated data
TEST_ROWS = 5000
DATASETS = {
    SIMULATED: ([f"n{n}" for n in SIZES], SEEDS),
    **dict.fromkeys(("credit_approval", "stroke", "affairs", "support2"), ((KNOWN_TRUTH,), SEEDS)),
}
LEVELS = (0.5, 0.8, 0.95)
RESAMPLES = 30  # of the bootstrap, whose standard deviation is used
REGIONS, FINE_REGIONS = 8, 16
DRAWS = 50  # of regions at random


class Case(NamedTuple):
    """Scores, labels and representations of both parts, and the truth of the test part.

    ``given_score`` is the probability given the score alone, where that is known.
    """

    P_cal: np.ndarray
    y_cal: np.ndarray
    Z_cal: np.ndarray
    P_test: np.ndarray
    y_test: np.ndarray
    Z_test: np.ndarray
    truth: np.ndarray
    given_score: np.ndarray | None
    seed: int


class Intervals(NamedTuple):
    """Middle and standard deviation of the logit of every test row (n,)."""

    middle: np.ndarray
    sd: np.ndarray

    def at(self, level):
        """Return lower and upper probabilities (n,) each."""
        reach = norm.ppf((1 + level) / 2) * self.sd
        return expit(self.middle - reach), expit(self.middle + reach)


def compute(data, unit):
    """Return the measures of every method; see `judge`."""
    case = simulate(unit) if unit.dataset == SIMULATED else train_on_known_truth(data, unit.seed)
    regions = {
        "clusters": KMeans(REGIONS, n_init=10, random_state=unit.seed)
        .fit(_directions(case.Z_cal))
        .predict(_directions(case.Z_test)),
        "score-bins": np.searchsorted(np.quantile(case.P_cal, np.arange(1, REGIONS) / REGIONS), case.P_test),
    }
    return {name: judge(make(case), case, regions) for name, make in METHODS.items()}


def simulate(unit):
    """Return scores of groups that are wrong in different ways."""
    n = int(unit.arm[1:])
    made = make_subpopulations(n + TEST_ROWS, 4, separation=3.0, random_state=unit.seed)
    cal, test = slice(n), slice(n, None)
    s = logits(made.p[test])
    given_score = expit(s[:, None] * made.theta[:, 0] + made.theta[:, 1]).mean(axis=1)
    parts = (made[name][part] for part in (cal, test) for name in ("p", "y", "Z"))
    return Case(*parts, made.true_probability[test], given_score, unit.seed)


def train_on_known_truth(data, seed):
    """Return scores and SHAP values of boosted trees that were trained on labels drawn anew."""
    data = base_models.with_known_truth(data, seed)
    parts = protocol.split(data.y, seed)
    model = base_models.train(data, parts.train, MAIN_MODEL, seed)
    X_cal, X_test = data.X.iloc[parts.calibration], data.X.iloc[parts.test]
    shap = protocol.make_representation("shap", model, seed)
    Z_cal, Z_test = shap.fit_transform(X_cal), shap.transform(X_test)
    P_cal, P_test = (model.predict_proba(X)[:, 1].astype(float) for X in (X_cal, X_test))
    y_cal, y_test = data.y[parts.calibration], data.y[parts.test]
    return Case(P_cal, y_cal, Z_cal, P_test, y_test, Z_test, data.truth[parts.test], None, seed)


def platt_by_laplace(case):
    """The ridge without a representation is Platt scaling by maximum likelihood."""
    return _laplace(case, np.zeros((len(case.P_cal), 1)), np.zeros((len(case.P_test), 1)))


def ridge_by_laplace(case):
    """The posterior of the logit, precisions taken as known."""
    return _laplace(case, case.Z_cal, case.Z_test)


def slopes_by_laplace(case):
    """The same with the products of representation and score beside it, so that slopes differ too."""
    with_slopes = lambda P, Z: [Z, Z * logits(P)[:, None]]
    return _laplace(case, with_slopes(case.P_cal, case.Z_cal), with_slopes(case.P_test, case.Z_test))


def ridge_with_clusters(case):
    """The same, widened by how much more the residuals of clusters vary than labels and fit explain.

    In cluster k the logit is off by a normal error of variance tau^2, the same for all; cross-fitted forecasts give
    its estimate by moments, 0 at least.
    """
    plain = _laplace(case, case.Z_cal, case.Z_test)
    folds = make_folds(5, case.y_cal, np.ones(len(case.y_cal)), case.seed)
    q = np.empty(len(case.y_cal))
    for train, held_out in folds:
        fitted = RidgeCalibration().fit(case.P_cal[train], case.y_cal[train], case.Z_cal[train])
        q[held_out] = fitted.predict_proba(case.P_cal[held_out], case.Z_cal[held_out])[:, 1]
    k = min(FINE_REGIONS, len(case.y_cal) // 20)
    cluster = KMeans(k, n_init=10, random_state=case.seed).fit_predict(_directions(case.Z_cal))
    information = np.bincount(cluster, q * (1 - q), k)
    residual = np.bincount(cluster, case.y_cal - q, k)
    # E residual^2 = information + information^2 tau^2
    tau2 = max(0.0, float(np.sum(residual**2 - information) / np.sum(information**2)))
    return Intervals(plain.middle, np.sqrt(plain.sd**2 + tau2))


def ridge_by_bootstrap(case):
    return _bootstrap(RidgeCalibration(), case)


def clusters_by_bootstrap(case):
    return _bootstrap(ClusteredCalibration(PlattScaling(), temperature=0.1, random_state=case.seed), case)


def venn_abers(case):
    """Both frequencies of Venn-Abers prediction, which has no level."""
    return VennAbersCalibration().fit(case.P_cal, case.y_cal)


METHODS = {
    "Platt, Laplace": platt_by_laplace,
    "ridge, Laplace": ridge_by_laplace,
    "ridge with slopes, Laplace": slopes_by_laplace,
    "ridge, Laplace and clusters": ridge_with_clusters,
    "ridge, bootstrap": ridge_by_bootstrap,
    "clusters, bootstrap": clusters_by_bootstrap,
    "Venn-Abers": venn_abers,
}


def judge(intervals, case, regions):
    """Return coverage, widths, scores, and how coverage differs between regions of the test part.

    Returns
    -------
    measures : dict
        ``coverage-50`` and so on, the share of test rows whose true probability is in the interval;
        ``coverage-given-score-95``, the same for the probability given the score, where it is known; ``width-95``, mean
        in probability; ``interval-score-95``, width plus 40 times the miss; ``nll`` and ``excess``, the mean divergence
        of the middle from the truth; of regions the standard deviation of their coverage ``sd``, what regions at
        random show ``sd-chance``, the smallest and largest, and ``found``: Spearman's correlation over regions of the
        misses with |observed - forecast| in standard errors, which a user can compute from labels.
    """
    if isinstance(intervals, Intervals):
        bounds = {level: intervals.at(level) for level in LEVELS}
        q = expit(intervals.middle)
    else:
        bounds = {0.95: tuple(intervals.predict_interval(case.P_test).T)}
        q = intervals.predict_proba(case.P_test)[:, 1]
    found = {f"coverage-{100 * level:.0f}": _covers(*of, case.truth).mean() for level, of in bounds.items()}
    low, high = bounds[0.95]
    miss = np.maximum(low - case.truth, 0) + np.maximum(case.truth - high, 0)
    found |= {"width-95": (high - low).mean(), "interval-score-95": (high - low + 2 / 0.05 * miss).mean()}
    if case.given_score is not None:
        found["coverage-given-score-95"] = _covers(low, high, case.given_score).mean()
    kept = np.clip(q, 1e-15, 1 - 1e-15)
    t = case.truth
    found["excess"] = np.mean(t * np.log(t / kept) + (1 - t) * np.log((1 - t) / (1 - kept)))
    found["nll"] = metrics.log_loss(case.y_test, q)
    covered = _covers(low, high, case.truth)
    rng = np.random.default_rng(case.seed)
    for name, region in regions.items():
        share, spread = _spread(covered, region)
        by_chance = np.mean([_spread(covered, rng.permutation(region))[1] for _ in range(DRAWS)])
        found |= {f"{name}-sd": spread, f"{name}-sd-chance": by_chance}
        found |= {f"{name}-lowest": share.min(), f"{name}-highest": share.max()}
        found[f"{name}-found"] = _found(1 - share, case.y_test, q, region)
    return found


def _laplace(case, Z_cal, Z_test):
    fitted = RidgeCalibration().fit(case.P_cal, case.y_cal, Z_cal)
    middle = logits(fitted.predict_proba(case.P_test, Z_test)[:, 1])
    upper = logits(fitted.predict_interval(case.P_test, Z_test, confidence_level=2 * norm.cdf(1) - 1)[:, 1])
    return Intervals(middle, upper - middle)


def _bootstrap(calibrator, case):
    """The fit to all rows, and the standard deviation of fits to rows drawn with replacement."""
    rng = np.random.default_rng(case.seed)
    forecast = lambda rows: logits(
        clone(calibrator)
        .fit(case.P_cal[rows], case.y_cal[rows], case.Z_cal[rows])
        .predict_proba(case.P_test, case.Z_test)[:, 1]
    )
    n, draws = len(case.y_cal), []
    while len(draws) < RESAMPLES:
        rows = rng.integers(n, size=n)
        if len(np.unique(case.y_cal[rows])) == 2:
            draws.append(forecast(rows))
    return Intervals(forecast(np.arange(n)), np.std(draws, axis=0, ddof=1))


def _directions(Z):
    return Z / np.maximum(np.linalg.norm(Z, axis=1, keepdims=True), 1e-12)


def _covers(low, high, truth):
    return (low <= truth) & (truth <= high)


def _spread(covered, region):
    """Return the coverage of every region that has rows, and its standard deviation, weighted by rows."""
    size = np.bincount(region)
    has = size > 0
    share = np.bincount(region, covered)[has] / size[has]
    return share, np.sqrt(np.average((share - covered.mean()) ** 2, weights=size[has]))


def _found(misses, y, q, region):
    has = np.bincount(region) > 0
    off = np.bincount(region, y - q)[has] / np.sqrt(np.bincount(region, q * (1 - q))[has] + 1e-12)
    if np.ptp(misses) == 0:
        return 0.0
    return spearmanr(misses, np.abs(off)).statistic
