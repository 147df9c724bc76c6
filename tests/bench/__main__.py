"""Measure CPU seconds of every contender's fit, print ratios, and write results/bench/fit_times.csv.

CPU time of one thread, median of several fits; the ratio is to the fastest other library on the same data. Run with
`make bench`, or `python -m tests.bench --sizes 10000`.
"""

import argparse
import io
import platform
import time
import warnings
from contextlib import redirect_stderr
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, softmax
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from tests.bench.contenders import CONTENDERS

RESULTS = Path(__file__).resolve().parents[2] / "results" / "bench"
SIZES = (10_000, 100_000, 1_000_000)
MULTICLASS_SIZES = ((10_000, 10), (5_000, 100))


def make_scores(n, n_classes, rng):
    """Over-confident scores and labels, of which the true probabilities are a softened and shifted version."""
    if n_classes == 2:
        z = rng.normal(-1, 2, n)
        p = expit(z)
        return np.column_stack([1 - p, p]), (rng.random(n) < expit(0.6 * z + 0.3)).astype(int)
    z = rng.normal(0, 2, (n, n_classes))
    truth = softmax(0.5 * z + rng.normal(0, 0.3, n_classes), axis=1)
    return softmax(z, axis=1), (truth.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def median_cpu_seconds(fit, P, y, repeats):
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        predict = fit(P, y)
        seconds.append(time.process_time() - start)
    return float(np.median(seconds)), predict


def measure(sizes, repeats):
    """Yield one row per contender and size."""
    cases = [(n, 2) for n in sizes] + [case for case in MULTICLASS_SIZES if case[0] <= max(sizes)]
    for n, n_classes in cases:
        P, y = make_scores(n, n_classes, np.random.default_rng(0))
        P_test, y_test = make_scores(10_000, n_classes, np.random.default_rng(0 if n_classes > 2 else 1))
        for contender in CONTENDERS:
            wanted = contender.multiclass == (n_classes > 2) and n <= contender.up_to
            if not (wanted and contender.is_installed()):
                continue
            with warnings.catch_warnings(), threadpool_limits(1), redirect_stderr(io.StringIO()):
                warnings.simplefilter("ignore")
                seconds, predict = median_cpu_seconds(contender.fit, P, y, repeats if n < 10**6 else 3)
                nll = log_loss(y_test, predict(P_test), labels=range(n_classes))
            yield {
                "method": contender.method,
                "n": n,
                "n_classes": n_classes,
                "library": contender.library,
                "version": version(contender.library),
                "cpu_seconds": round(seconds, 5),
                "test_nll": round(nll, 5),
            }


def with_ratios(rows):
    """Add our time divided by that of the fastest other library, on our rows."""
    frame = pd.DataFrame(rows)
    is_ours = frame.library == "clustcal"
    keys = ["method", "n", "n_classes"]
    fastest = frame[~is_ours].groupby(keys).cpu_seconds.min().rename("fastest_other")
    frame = frame.join(fastest, on=keys)
    frame["ratio"] = (frame.cpu_seconds / frame.fastest_other).where(is_ours).round(3)
    return frame.drop(columns="fastest_other").sort_values(["n_classes", "method", "n", "cpu_seconds"])


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of rows, binary")
    parser.add_argument("--repeats", type=int, default=7, help="fits per contender; 3 at a million rows")
    arguments = parser.parse_args()
    rows = []
    for row in measure(arguments.sizes, arguments.repeats):
        rows.append(row)
        print("{method:12s} {n:>8d} x {n_classes:<3d} {library:14s} {cpu_seconds:9.4f} s".format(**row), flush=True)
    frame = with_ratios(rows)
    RESULTS.mkdir(parents=True, exist_ok=True)
    partial = RESULTS / "fit_times.csv.partial"
    frame.assign(python=platform.python_version(), numpy=np.__version__).to_csv(partial, index=False)
    partial.replace(RESULTS / "fit_times.csv")
    print("\nOurs, as a ratio to the fastest other library:")
    ratios = frame.dropna(subset="ratio").pivot(index=["n_classes", "method"], columns="n", values="ratio")
    print(ratios.to_string(na_rep="-"))


if __name__ == "__main__":
    main()
