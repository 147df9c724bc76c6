"""Where the results of our own runs are, and the runs of the tabular study in the words of the paper.

In a checkout they are in its folder ``results``; a wheel carries a copy inside the package, so that every chapter runs
wherever the package is installed. Builds on `store` for the rows and on `tables` for the names.
"""

from pathlib import Path

from clustcal.experiments import tables
from clustcal.experiments.grid import PAPER_DATASETS
from clustcal.experiments.store import Store

_INSTALLED = Path(__file__).resolve().parents[1] / "results"
FOLDER = _INSTALLED if _INSTALLED.exists() else Path(__file__).resolve().parents[2] / "results"


def read_runs(datasets=PAPER_DATASETS, group="paper", folder=FOLDER):
    """Return the committed runs of the tabular study.

    Parameters
    ----------
    datasets : dict of str to str, or sequence of str, default=PAPER_DATASETS
        Data sets by our names; a dict gives each the name that the rows are to carry. Those without rows are left out.
    group : {"paper", "cv", "variants"}, default="paper"
        Which methods: see `clustcal.experiments.grid`.
    folder : path, default=FOLDER
        Holds the folder ``tabular``.

    Returns
    -------
    runs : DataFrame
        One row per data set, capacity, seed and method; columns as in ``results/README.md``, metrics under the names of
        the paper. See :func:`clustcal.experiments.tables.as_paper_rows`.

    Examples
    --------
    >>> from clustcal.experiments.results import read_runs
    >>> runs = read_runs(["stroke"])
    >>> runs.groupby(["n_estimators", "max_depth"]).size().unique()  # 21 methods and 5 seeds
    array([105])
    """
    names = datasets if isinstance(datasets, dict) else {name: name for name in datasets}
    return tables.as_paper_rows(Store(Path(folder) / "tabular").read(), names, group)
