"""Whether clusters find anything that the confidence does not show: clustered calibration after a bin-wise one.

``python -m clustcal.experiments.deep.confidence_signal [STUDY ...]`` writes ``results/deep/confidence_signal.csv``,
with Stroke beside the networks; it can be stopped, and then goes on. In every split the best bin-wise method is fitted
to the calibration half; a clustered calibrator of the same family is then fitted to what it says about that half, at
every K and shrinkage of the study and at the layer of the paper, and judged on the other half.
"""

from pathlib import Path

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from clustcal import metrics
from clustcal.datasets import load_scores
from clustcal.experiments.deep import design, measured, study
from clustcal.experiments.deep.network_tables import PAPER_TEMPERATURE, STAND_INS, find_tables, read_rows
from clustcal.experiments.deep.outputs import load_outputs
from clustcal.experiments.results import FOLDER

PATH = FOLDER / "deep" / "confidence_signal.csv"
STROKE = "stroke"
BINWISE = "Binwise-"


def find_best_binwise(table):
    """Return the family of the bin-wise method with the lowest mean log-loss on the test halves.

    Parameters
    ----------
    table : DataFrame
        Of one network, see `tables.choose_cells`; ours that shrinks to temperature scaling is not among the paper's.
    """
    means = table[table["method"].str.startswith(BINWISE)].groupby("method")["nll"].mean()
    return means.drop(f"{BINWISE}Dirichlet-TS", errors="ignore").idxmin().removeprefix(BINWISE)


def measure(unit, load=load_outputs):
    """Return the rows of one study, seed and family: the bin-wise method alone, and each clustered cell after it."""
    with threadpool_limits(1):
        cal, test = get_halves(unit["name"], unit["seed"], load)
        n_classes = design.count_classes(cal.P)
        binwise = clone(design.get_global_methods(n_classes, has_layers=False)[BINWISE + unit["family"]])
        binwise.fit(cal.P, cal.y)
        cal, test = (part._replace(P=_as_part(binwise.predict_proba(part.P))) for part in (cal, test))
        layer = next(iter(cal.Z))
        rows = [{"layer": "", "n_clusters": 1, "shrinkage": 0.0, "nll_cv": np.nan, "nll": _log_loss(test)}]
        for n_clusters in design.N_CLUSTERS:
            cell = study.Unit(unit["name"], unit["seed"], layer, n_clusters, unit["family"])
            found = [row for row in study.run_cells(cal, test, cell) if row["temperature"] == PAPER_TEMPERATURE]
            rows += [{name: row[name] for name in rows[0]} for row in found]
        return rows


def get_halves(name, seed, load=load_outputs):
    """Return the rows to calibrate and to test on, of a study or of Stroke with its coverage representation."""
    if name == STROKE:
        scores = load_scores(STROKE, seed)
        return tuple(
            design.Part(scores[f"P_{part}"], scores[f"y_{part}"], {"coverage": scores[f"Z_{part}"]["coverage"]})
            for part in ("cal", "test")
        )
    one = design.STUDIES[name]
    return design.halve(design.prepare(load(one.network), one.only_classes_that_occur), seed)


def find_gains(rows):
    """Return by how much the clustered calibrator after the bin-wise one lowers the log-loss, of every study and seed.

    Parameters
    ----------
    rows : DataFrame
        As `read` returns them.

    Returns
    -------
    gains : DataFrame
        ``name``, ``seed``, ``family``, the ``n_clusters`` and ``shrinkage`` chosen by cross-validation, and the
        ``gain``, a share of the log-loss of the bin-wise method.
    """
    key = ["name", "seed", "family"]
    alone = rows[rows["layer"].isna()].set_index(key)["nll"]
    cells = rows[rows["layer"].notna()]
    chosen = cells.loc[cells.groupby(key)["nll_cv"].idxmin()].set_index(key)
    chosen["gain"] = 1 - chosen["nll"] / alone[chosen.index]
    return chosen.reset_index()[[*key, "n_clusters", "shrinkage", "gain"]]


def read(folder=FOLDER):
    """Return the stored rows; they may be empty."""
    return measured.read(Path(folder) / "deep" / "confidence_signal.csv")


def find_stroke_family(seeds=design.SEEDS):
    """Return the family of the bin-wise method with the lowest mean log-loss on Stroke."""
    losses = {}
    for name, method in design.get_global_methods(2, has_layers=False).items():
        if name.startswith(BINWISE):
            halves = [get_halves(STROKE, seed) for seed in seeds]
            found = [
                _log_loss(test._replace(P=_as_part(clone(method).fit(cal.P, cal.y).predict_proba(test.P))))
                for cal, test in halves
            ]
            losses[name.removeprefix(BINWISE)] = np.mean(found)
    return min(losses, key=losses.get)


def find_units(names, tables):
    """Return the units of some studies, each with its best family."""
    families = {name: find_stroke_family() if name == STROKE else find_best_binwise(tables[name]) for name in names}
    return [{"name": name, "seed": seed, "family": families[name]} for name in names for seed in design.SEEDS]


def _as_part(Q):
    return Q[:, 1] if Q.shape[1] == 2 else Q


def _log_loss(part):
    labels = None if part.P.ndim == 1 else np.arange(part.P.shape[1])
    return float(metrics.log_loss(part.y, part.P, labels=labels))


def find_judged(tables):
    """Return Stroke and the judged studies that are complete."""
    return [STROKE, *(one.judged for one in STAND_INS.values() if one.judged in tables)]


def main(arguments=None):
    tables = find_tables(read_rows())
    find = lambda names: find_units(names or find_judged(tables), tables)
    said = "default: Stroke, and the judged studies that are complete"
    measured.run_command(__doc__, PATH, find, measure, arguments, names=said)


if __name__ == "__main__":
    main()
