"""The paper's two tables of images and texts with ours beside them, from the rows of the study.

Which network stands for which data set is fixed in ``results/deep/relations.yml``, and said again here as data. Of the
cells of a clustered method (layer, K and shrinkage) one is chosen in every split, as the captions say: by validation
log-loss. Builds on `study` for the rows and on `paper` for what is printed.
"""

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from clustcal.experiments.deep import design
from clustcal.experiments.deep.outputs import read_table
from clustcal.experiments.deep.study import DeepStudy, Shape, open_store
from clustcal.experiments.paper import load_claims
from clustcal.experiments.results import FOLDER

CLUSTERED = " clustered"
# The paper's columns, and ours.
METRICS = {"NLL": "nll", "Brier": "brier", "ECE": "ada_ece", "Acc": "accuracy"}
CHOICES = {"K": "n_clusters", "shrinkage": "shrinkage"}
PAPER_TEMPERATURE = 1.0


class StandIn(NamedTuple):
    """The study that is judged in the place of one of the paper's networks, and those that are reported beside it."""

    judged: str | None
    beside: tuple[str, ...] = ()


STAND_INS = {
    "BloodMNIST": StandIn("bloodmnist-rebuilt", ("bloodmnist-rebuilt-cut",)),
    "CIFAR-100": StandIn("cifar100-overconfident", ("cifar100-resnet20", "cifar100-wideresnet", "cifar100-densenet")),
    "ImageNet": StandIn(None, ("tiny-imagenet",)),
    "IMDB": StandIn("imdb-overconfident", ("imdb",)),
    "Emotion": StandIn("emotion"),
}


def read_rows(folder=FOLDER):
    """Return the rows of all studies that are complete, as they are in the store.

    Parameters
    ----------
    folder : path, default=FOLDER
        Of the results.

    Examples
    --------
    >>> from clustcal.experiments.deep.network_tables import read_rows
    >>> rows = read_rows()
    >>> sorted(rows.loc[(rows["dataset"] == "emotion") & (rows["layer"] != ""), "layer"].unique())
    ['cls', 'cls-1', 'mean']
    """
    store = open_store(Path(folder))
    if not store.folder.exists():
        return store.read()
    return keep_complete(store.read(), read_table(Path(folder) / "deep" / "models.csv"))


def keep_complete(rows, networks):
    """Keep the rows of the studies of which no row is missing.

    Parameters
    ----------
    rows : DataFrame
        As the store of the study has them.
    networks : DataFrame
        The table of networks, see `outputs.read_table`, which knows the layers of each.

    Returns
    -------
    rows : DataFrame
    """
    networks = networks.set_index("name")
    complete = []
    for name, found in rows.groupby("dataset"):
        network = design.STUDIES[name].network if name in design.STUDIES else None
        if network not in networks.index:
            continue
        layers = tuple(entry.partition(":")[0] for entry in networks.loc[network, "representations"].split())
        shape = Shape(int(networks.loc[network, "n_scored"]), int(found["n_classes"].iloc[0]), layers)
        one = DeepStudy({name: shape})
        known = set(found[list(open_store(FOLDER).key)].itertuples(index=False, name=None))
        if not any(one.missing(unit, known) for unit in one.units()):
            complete.append(name)
    return rows[rows["dataset"].isin(complete)].reset_index(drop=True)


def choose_cells(rows, temperature=PAPER_TEMPERATURE):
    """Return the methods of one network under the paper's names, a clustered one with the cell chosen for it.

    Parameters
    ----------
    rows : DataFrame
        Of one network, as the store of the study has them.
    temperature : float
        Of the memberships.

    Returns
    -------
    table : DataFrame
        One row per seed and ``method``, with all columns of `rows`. Of the cells of a clustered method (layer, K and
        shrinkage) that of the lowest cross-validated log-loss within the calibration half is kept, for each seed.
    """
    without = rows[rows["layer"] == ""]
    cells = rows[(rows["layer"] != "") & (rows["temperature"] == temperature)]
    chosen = cells.loc[cells.groupby(["seed", "calibrator"])["nll_cv"].idxmin()]
    return pd.concat(
        [
            without.assign(method=without["calibrator"]),
            chosen.assign(method=chosen["calibrator"] + CLUSTERED),
        ],
        ignore_index=True,
    )


def find_tables(rows, temperature=PAPER_TEMPERATURE):
    """Return what `choose_cells` returns for every study that has rows, by its name."""
    return {name: choose_cells(found, temperature) for name, found in rows.groupby("dataset")}


def most_frequent_cell(table, method):
    """Return the K and the shrinkage that were chosen together in most splits, and the layer chosen with them.

    Of equally frequent ones the smallest numbers, and the first layer by name.

    Parameters
    ----------
    table : DataFrame
        As `choose_cells` returns it.
    method : str
        A clustered one.

    Returns
    -------
    layer : str
    n_clusters : int
    shrinkage : float
    """
    chosen = table[table["method"] == method]
    n_clusters, shrinkage = chosen.groupby(["n_clusters", "shrinkage"]).size().idxmax()
    there = chosen[(chosen["n_clusters"] == n_clusters) & (chosen["shrinkage"] == shrinkage)]
    return there.groupby("layer").size().idxmax(), int(n_clusters), float(shrinkage)


def compare(table, rows=None, study_of=None):
    """Return a table of the paper with ours beside it.

    Parameters
    ----------
    table : {"images", "text"}
    rows : DataFrame, optional
        By default those of `read_rows`.
    study_of : dict of str to str, optional
        By the paper's name of a data set the study that stands for it; by default the judged ones, and Tiny ImageNet.

    Returns
    -------
    compared : DataFrame
        One line per data set and method as printed, with ``study``; for each metric and choice (``"NLL"``, ``"K"``)
        the columns ``("NLL", "paper")``, ``("NLL", "ours")``, a mean over the splits, and ``("NLL", "sd")``; of a
        choice ours is that of the cell chosen most often, and ``("layer", "ours")`` its layer. What is missing is NaN.

    Examples
    --------
    >>> from clustcal.experiments.deep.network_tables import compare
    >>> text = compare("text")
    >>> float(text.loc[("Emotion", "TS"), ("NLL", "paper")])
    0.158
    """
    tables = find_tables(read_rows() if rows is None else rows)
    study_of = {name: one.judged or one.beside[0] for name, one in STAND_INS.items()} if study_of is None else study_of
    parts = load_claims().pipe(lambda claims: claims["id"].str.split("/", expand=True).assign(value=claims["value"]))
    cells = parts[(parts[0] == table) & parts[3].notna()]
    as_printed = pd.MultiIndex.from_frame(cells[[1, 2]].drop_duplicates())
    printed = cells.pivot_table(index=[1, 2], columns=3, values="value").loc[as_printed]
    lines = {}
    for dataset, method in printed.index:
        study = study_of.get(dataset)
        line = {("study", ""): study} | {
            (name, "paper"): value for name, value in printed.loc[(dataset, method)].items()
        }
        lines[dataset, method] = line | summarise_method(tables.get(study), method)
    compared = pd.DataFrame.from_dict(lines, orient="index")
    compared.columns = pd.MultiIndex.from_tuples(compared.columns)
    order = [("study", "")]
    order += [(name, kind) for name in CHOICES for kind in ("paper", "ours")] + [("layer", "ours")]
    order += [(name, kind) for name in METRICS for kind in ("paper", "ours", "sd")]
    return compared.reindex(columns=pd.MultiIndex.from_tuples(order)).rename_axis(index=["dataset", "method"])


def summarise_method(table, method):
    """Return mean and standard deviation over the splits of each metric of a method, and the cell chosen most often.

    Parameters
    ----------
    table : DataFrame or None
        As `choose_cells` returns it.
    method : str

    Returns
    -------
    line : dict
        By the paper's name of a metric or choice and ``"ours"`` or ``"sd"``; empty where the method has no rows.
    """
    found = None if table is None else table[table["method"] == method]
    if found is None or found.empty:
        return {}
    line = {}
    for name, column in METRICS.items():
        line[name, "ours"], line[name, "sd"] = found[column].mean(), found[column].std(ddof=1)
    if method.endswith(CLUSTERED):
        line["layer", "ours"], line["K", "ours"], line["shrinkage", "ours"] = most_frequent_cell(table, method)
    return line
