"""The committed runs of the tabular study, in the words of the paper.

Builds on `store` for the rows and on `tables` for the names.
"""

from itertools import product
from pathlib import Path

from clustcal.experiments import protocol
from clustcal.experiments.results import FOLDER
from clustcal.experiments.store import Store
from clustcal.experiments.tabular import tables
from clustcal.experiments.tabular.grid import PAPER_DATASETS, get_entries

# The columns of a run, and the values that the paper's protocol gives them.
RUN = {"n_estimators": protocol.N_ESTIMATORS, "max_depth": protocol.MAX_DEPTHS, "seed": protocol.SEEDS}
METHOD_KEY = ("calibrator", "representation", "settings")  # the columns of `Entry.key`


def read_runs(datasets=PAPER_DATASETS, group="paper", folder=FOLDER):
    """Return the committed runs of the tabular study.

    Parameters
    ----------
    datasets : dict of str to str, or sequence of str, default=PAPER_DATASETS
        Data sets by our names; a dict gives each the name that the rows are to carry. Those of which a run is missing
        are left out.
    group : {"paper", "cv", "variants"}, default="paper"
        Which methods: see `clustcal.experiments.tabular.grid`.
    folder : path, default=FOLDER
        Holds the folder ``tabular``.

    Returns
    -------
    runs : DataFrame
        One row per data set, capacity, seed and method; columns as in ``results/README.md``, metrics under the names of
        the paper. See :func:`clustcal.experiments.tabular.tables.as_paper_rows`.

    Examples
    --------
    >>> from clustcal.experiments.tabular.runs import read_runs
    >>> runs = read_runs(["stroke"])
    >>> runs.groupby(["n_estimators", "max_depth"]).size().unique()  # 21 methods and 5 seeds
    array([105])
    """
    names = datasets if isinstance(datasets, dict) else {name: name for name in datasets}
    return tables.as_paper_rows(keep_complete(read_rows(folder), group), names, group)


def read_rows(folder=FOLDER, arm=""):
    """Return all rows of one arm of the tabular study in a folder of results, as they are in its store."""
    return Store(Path(folder) / "tabular").read(arm=arm)


def keep_complete(rows, group="paper"):
    """Keep the complete data sets, and of them the runs of the paper's grid."""
    on_grid = rows["dataset"].isin(complete_datasets(rows, group))
    for column, values in RUN.items():
        on_grid &= rows[column].isin(values)
    return rows[on_grid]


def complete_datasets(rows, group="paper"):
    """Return the data sets of which every method of a group has been run at all capacities and seeds, as a set.

    A mean over fewer would be another number.
    """
    keys = [entry.key for entry in get_entries(group)]
    grid = list(product(*RUN.values()))
    wanted = {(*run, *key) for run in grid for key in keys}
    columns = ["dataset", *RUN, *METHOD_KEY]
    found = {}
    for dataset, *run in rows[columns].itertuples(index=False, name=None):
        found.setdefault(dataset, set()).add(tuple(run))
    return {dataset for dataset, runs in found.items() if wanted <= runs}
