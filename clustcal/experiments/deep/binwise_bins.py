"""Bin-wise methods under each reading of "ten bins": of equal width or of equal mass, of the confidence or of P(y = 1).

``python -m clustcal.experiments.deep.binwise_bins [STUDY ...]`` writes ``results/deep/binwise_bins.csv``; it can be
stopped, and then goes on. The study has bins of equal width of max(p, 1 - p), the defaults of the package. The paper
names neither, and with two classes half of these ten bins stay empty. Here is every reading on the splits of the
study, with the log-loss of five-fold cross-validation within the calibration half, by which one of the methods can be
chosen without a look at the rows that test it.
"""

from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

from clustcal import metrics
from clustcal.experiments.deep import design, measured, study
from clustcal.experiments.deep.confidence_signal import BINWISE, find_judged, get_halves
from clustcal.experiments.deep.network_tables import find_tables, read_rows
from clustcal.experiments.deep.outputs import load_outputs
from clustcal.experiments.results import FOLDER

PATH = FOLDER / "deep" / "binwise_bins.csv"
STRATEGIES = ("uniform", "quantile")  # equal width, equal mass
KINDS = ("top-label", "positive")
OTHER_READING = {2: ("quantile", "positive")}  # of two classes; of more the confidence is that of the first class
EQUAL_MASS = ("quantile", "top-label")


def measure(unit, load=load_outputs):
    """Return the rows of one study and split: every bin-wise method of the paper under every reading of its bins."""
    with threadpool_limits(1):
        cal, test = get_halves(unit["name"], unit["seed"], load)
        n_classes = design.count_classes(cal.P)
        rows = []
        for name, method in design.get_global_methods(n_classes, has_layers=False).items():
            if name.startswith(BINWISE) and not name.endswith("Dirichlet-TS"):  # ours is not among the paper's
                for strategy, kind in find_readings(n_classes):
                    one = clone(method).set_params(strategy=strategy, kind=kind)
                    Q = clone(one).fit(cal.P, cal.y).predict_proba(test.P)
                    row = {"method": name, "strategy": strategy, "kind": kind}
                    rows.append(row | study.judge(test.y, Q) | {"nll_cv": validate(one, cal, unit["seed"])})
        return rows


def find_readings(n_classes):
    """Return the pairs of ``strategy`` and ``kind`` that bins of so many classes can have.

    Examples
    --------
    >>> from clustcal.experiments.deep.binwise_bins import find_readings
    >>> find_readings(8)
    [('uniform', 'top-label'), ('quantile', 'top-label')]
    """
    return [(strategy, kind) for kind in KINDS[: 2 if n_classes == 2 else 1] for strategy in STRATEGIES]


def validate(method, part, seed):
    """Return the mean log-loss of a method in five-fold cross-validation."""
    folds = StratifiedKFold(design.FOLDS, shuffle=True, random_state=seed)
    labels = None if part.P.ndim == 1 else np.arange(part.P.shape[1])
    losses = []
    for fit, held in folds.split(part.P, part.y):
        Q = clone(method).fit(part.P[fit], part.y[fit]).predict_proba(part.P[held])
        Q = Q[:, 1] if labels is None else Q
        losses.append(float(metrics.log_loss(part.y[held], Q, labels=labels)))
    return float(np.mean(losses))


def replace_binwise(tables, rows):
    """Return tables of methods whose bin-wise ones have bins of equal mass, of P(y = 1) with two classes.

    Parameters
    ----------
    tables : dict of str to DataFrame
        By the name of a study, see `network_tables.choose_cells`.
    rows : DataFrame
        As `read` returns them.

    Returns
    -------
    tables : dict of str to DataFrame
        Those of the studies that have been measured. Methods that have not been, such as ours, are left out.
    """
    replaced = {}
    for name, table in tables.items():
        found = rows[rows["name"] == name] if len(rows) else rows
        if len(found):
            strategy, kind = OTHER_READING.get(int(table["n_classes"].iloc[0]), EQUAL_MASS)
            found = found[(found["strategy"] == strategy) & (found["kind"] == kind)].drop(columns="name")
            kept = table[~table["method"].str.startswith(BINWISE)]
            replaced[name] = kept.merge(found, how="outer", on=[c for c in found.columns if c in kept.columns])
    return replaced


def choose_family(rows, name, strategy, kind):
    """Return the family whose bin-wise method has the lowest cross-validated log-loss, in the mean over the splits."""
    found = rows[(rows["name"] == name) & (rows["strategy"] == strategy) & (rows["kind"] == kind)]
    return found.groupby("method")["nll_cv"].mean().idxmin().removeprefix(BINWISE)


def read(folder=FOLDER):
    """Return the stored rows; they may be empty."""
    return measured.read(Path(folder) / "deep" / "binwise_bins.csv")


def main(arguments=None):
    judged = find_judged(find_tables(read_rows()))
    find = lambda names: [{"name": name, "seed": seed} for name in names or judged for seed in design.SEEDS]
    said = "default: Stroke, and the judged studies that are complete"
    measured.run_command(__doc__, PATH, find, measure, arguments, names=said)


if __name__ == "__main__":
    main()
