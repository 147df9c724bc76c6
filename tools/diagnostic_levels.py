"""Type-I errors of the tests of calibration and coverage of the intervals, in simulations with a known truth.

`python tools/diagnostic_levels.py --sets 1000` prints a table: how many of the sets were rejected, or covered, of how
many, with the exact interval of the share, beside the level. Chances are drawn from Beta(1, 2), and outcomes from them.
Some minutes on one core; `--only compare` takes the rows whose name holds that word.
"""

import argparse

import numpy as np
from scipy.special import expit, logit

from clustcal import metrics

ROWS = 1000
# For p uniform and a forecast with twice its logits: mean entropy 1/2, mean divergence (pi - 3) / 2.
REFINEMENT, CALIBRATION = 0.5, (np.pi - 3) / 2


def drawn(rng, n=ROWS, prior=(1, 2)):
    """Return the chances of n rows and outcomes from them."""
    t = rng.beta(*prior, n)
    return t, (rng.random(n) < t).astype(int)


def rejected_by(test):
    def once(rng):
        t, y = drawn(rng)
        return test(y, t).pvalue < 0.05

    return once


def halves(t):
    """Return the mean of t below and above its median: calibrated, if t is."""
    above = t > np.median(t)
    return np.where(above, t[above].mean(), t[~above].mean())


def compared(column):
    def once(rng):
        t, y = drawn(rng)
        pairs = metrics.compare_calibration(y, {"fine": t, "halves": halves(t)}, n_draws=1000, random_state=rng).pairs
        return pairs[column][0] < 0.05

    return once


def in_any_group(rng):
    t, y = drawn(rng)
    groups = np.column_stack([np.ones(ROWS, bool), rng.random(ROWS) < 0.5, rng.random(ROWS) < 0.1])
    return metrics.multicalibration_error(y, t, groups, n_draws=99, random_state=rng).pvalue <= 0.05


def cox_interval(name, truth):
    def once(rng):
        p, _ = drawn(rng)
        y = (rng.random(ROWS) < expit(0.3 + 0.8 * logit(p))).astype(int)
        low, high = metrics.cox_calibration(y, p)[f"{name}_interval"]
        return low <= truth <= high

    return once


def in_the_large(name):
    def once(rng):
        p, _ = drawn(rng)
        shifted = expit(0.3 + logit(p))
        found = metrics.calibration_in_the_large((rng.random(ROWS) < shifted).astype(int), p)
        truth = {"intercept": 0.3, "difference": (shifted - p).mean()}[name]
        low, high = found[f"{name}_interval"]
        return low <= truth <= high

    return once


def difference_of_errors(rng):
    t = rng.uniform(0.1, 0.9, 2000)
    y = (rng.random(2000) < t).astype(int)
    pair = metrics.compare_calibration(y, {"a": t + 0.05, "b": t}, n_draws=1).pairs.iloc[0]
    return pair["low"] <= 0.0025 <= pair["high"]


def corp_band(band, at):
    def once(rng):
        t, y = drawn(rng, 300)
        curve = metrics.corp_curve(y, t, band=band, n_resamples=200, random_state=rng)
        if band == "confidence":
            return ((curve.low <= curve.forecast) & (curve.forecast <= curve.high)).all()
        place = np.searchsorted(curve.forecast, at)
        return curve.low[place] <= curve.frequency[place] <= curve.high[place]

    return once


def net_benefit(rng):
    t, y = drawn(rng, 300)
    # Of rows with chances from Beta(1, 2), those of at least 1/2 are a quarter; their mean chance is 2/3.
    curve = metrics.decision_curve(y, t, thresholds=[0.5])
    truth = 0.25 * (2 / 3) - 0.25 * (1 / 3)
    return curve.low[0] <= truth <= curve.high[0]


def part_of_score(name, truth):
    def once(rng):
        t, y = drawn(rng, prior=(1, 1))
        low, high = metrics.refinement_decomposition(y, t**2 / (t**2 + (1 - t) ** 2))[f"{name}_interval"]
        return low <= truth <= high

    return once


def proportion(method):
    def once(rng):
        low, high = metrics.proportion_interval(rng.binomial(128, 0.01), 128, method=method, random_state=rng)
        return low <= 0.01 <= high

    return once


# What is counted (rejections or covered truths), and the share that it should be: (name, level, of one set).
SIMULATIONS = (
    ("rejected: spiegelhalter_test", 0.05, rejected_by(metrics.spiegelhalter_test)),
    ("rejected: cox_calibration", 0.05, rejected_by(metrics.cox_calibration)),
    ("rejected: calibration_in_the_large", 0.05, rejected_by(metrics.calibration_in_the_large)),
    ("rejected: compare_calibration, same error (at most)", 0.05, compared("pvalue")),
    ("rejected: compare_calibration, both calibrated", 0.05, compared("pvalue_calibrated")),
    ("rejected: multicalibration_error", 0.05, in_any_group),
    ("covered: Cox's intercept", 0.95, cox_interval("intercept", 0.3)),
    ("covered: Cox's slope", 0.95, cox_interval("slope", 0.8)),
    ("covered: intercept in the large", 0.95, in_the_large("intercept")),
    ("covered: difference in the large", 0.95, in_the_large("difference")),
    ("covered: difference of squared errors", 0.95, difference_of_errors),
    ("covered: consistency band at 0.3", 0.95, corp_band("consistency", 0.3)),
    ("covered: confidence band, everywhere (at least)", 0.95, corp_band("confidence", None)),
    ("covered: net benefit at 1/2", 0.95, net_benefit),
    ("covered: refinement part", 0.95, part_of_score("refinement", REFINEMENT)),
    ("covered: calibration part", 0.95, part_of_score("calibration", CALIBRATION)),
    ("covered: proportion of 0.01 in 128, exact (at least)", 0.95, proportion("clopper-pearson")),
    ("covered: proportion of 0.01 in 128, Wilson", 0.95, proportion("wilson")),
    ("covered: proportion of 0.01 in 128, bootstrap", 0.95, proportion("bootstrap")),
)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=1000, help="simulated data sets per row")
    parser.add_argument("--only", default="", help="rows whose name holds this")
    options = parser.parse_args(arguments)
    for name, level, once in SIMULATIONS:
        if options.only not in name:
            continue
        rng = np.random.default_rng(0)
        counted = sum(bool(once(rng)) for _ in range(options.sets))
        low, high = metrics.proportion_interval(counted, options.sets)
        print(
            f"{name:54s} {level:.2f}  {counted / options.sets:.3f} of {options.sets} ({low:.3f} to {high:.3f})",
            flush=True,
        )


if __name__ == "__main__":
    main()
