"""Measure our fits and predictions, print what came out, and write results/bench/*.csv.

``fit_times.csv``: CPU seconds of every contender's fit (one thread, median of several fits), and the ratio to the
fastest other library on the same data. ``inference_times.csv``: CPU seconds of predictions. ``checks.csv``: ratios,
memory and exponents, each with the largest value that it should have. Run with `make bench`; `python -m tests.bench
--sizes 10000` measures fits of fewer rows, `--methods Platt Beta` those of some methods and keeps the other results,
`--only checks` leaves out the other libraries.
"""

import argparse
import io
import platform
import warnings
from contextlib import redirect_stderr
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from tests.bench import checks
from tests.bench.contenders import CONTENDERS
from tests.bench.timing import make_parts, median_cpu_seconds

RESULTS = Path(__file__).resolve().parents[2] / "results" / "bench"
SIZES = (10_000, 100_000, 1_000_000)
MULTICLASS_SIZES = ((10_000, 10), (5_000, 100))
METHODS = {contender.method for contender in CONTENDERS}
ORDER = ["n_classes", "method", "n", "cpu_seconds"]


def measure(sizes, repeats, methods, multiclass_alone=False):
    """Yield one row per contender and size."""
    cases = [] if multiclass_alone else [(n, 2) for n in sizes]
    cases += [case for case in MULTICLASS_SIZES if case[0] <= max(sizes)]
    for n, n_classes in cases:
        P, y, P_test, y_test = make_parts(n, 10_000, n_classes)
        for contender in CONTENDERS:
            wanted = contender.method in methods and contender.multiclass == (n_classes > 2) and n <= contender.up_to
            if not (wanted and contender.is_installed()):
                continue
            with warnings.catch_warnings(), threadpool_limits(1), redirect_stderr(io.StringIO()):
                warnings.simplefilter("ignore")
                seconds, predict = median_cpu_seconds(contender.fit, P, y, repeats=repeats if n < 10**6 else 3)
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
    return frame.drop(columns="fastest_other").sort_values(ORDER)


def write(frame, name):
    """Write a table of results in one go."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    partial = RESULTS / f"{name}.csv.partial"
    frame.to_csv(partial, index=False)
    partial.replace(RESULTS / f"{name}.csv")


def with_versions(frame):
    return frame.assign(python=platform.python_version(), numpy=np.__version__)


def compare_fits(sizes, repeats, methods, multiclass_alone=False):
    rows = []
    for row in measure(sizes, repeats, methods, multiclass_alone):
        rows.append(row)
        print("{method:18s} {n:>8d} x {n_classes:<3d} {library:14s} {cpu_seconds:9.4f} s".format(**row), flush=True)
    frame = with_versions(with_ratios(rows))
    if set(methods) < METHODS or multiclass_alone:
        before = pd.read_csv(RESULTS / "fit_times.csv")
        is_new = before["method"].isin(methods) & ((before["n_classes"] > 2) | (not multiclass_alone))
        frame = pd.concat([before[~is_new], frame]).sort_values(ORDER)
    write(frame, "fit_times")
    print("\nOurs, as a ratio to the fastest other library:")
    ratios = frame.dropna(subset="ratio").pivot(index=["n_classes", "method"], columns="n", values="ratio")
    print(ratios.to_string(na_rep="-"))


def check_costs():
    with threadpool_limits(1):
        times = checks.inference_times()
        found = [*checks.cost_of_clusters(), *checks.peak_memory(), *checks.growth_of_inference(times)]
    write(with_versions(times), "inference_times")
    frame = pd.DataFrame(found).assign(met=lambda frame: frame["value"] <= frame["at_most"]).round({"value": 3})
    write(with_versions(frame), "checks")
    print("\nOur own costs, and what they should not exceed:")
    print(frame.to_string(index=False))


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of rows, binary")
    parser.add_argument("--repeats", type=int, default=7, help="fits per contender; 3 at a million rows")
    parser.add_argument("--methods", choices=sorted(METHODS), nargs="+", default=sorted(METHODS), help="whose fits")
    parser.add_argument(
        "--only",
        choices=["fits", "multiclass", "checks"],
        help="measure one part; of fits perhaps those alone with more than two classes",
    )
    arguments = parser.parse_args()
    if arguments.only != "checks":
        compare_fits(arguments.sizes, arguments.repeats, arguments.methods, arguments.only == "multiclass")
    if arguments.only in (None, "checks"):
        check_costs()


if __name__ == "__main__":
    main()
