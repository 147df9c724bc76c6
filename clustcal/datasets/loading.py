"""One call for every data set: fetch the raw files, read them, check the counts, hand over one `Bunch`."""

import warnings

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import Bunch

from clustcal.datasets import icu, registry, tabular
from clustcal.datasets.fetching import cache_dir, fetch, is_available

READERS = {
    "adult": tabular.read_adult,
    "credit_approval": tabular.read_credit_approval,
    "credit_card_default": tabular.read_credit_card_default,
    "diabetes130": tabular.read_diabetes130,
    "diabetes130-any": tabular.read_diabetes130_any,
    "diabetes130-los": tabular.read_diabetes130_los,
    "stroke": tabular.read_stroke,
    "support2": tabular.read_support2,
    "mimic-los": icu.read_mimic_los,
    "mimic-los-demo": icu.read_mimic_los,
    "wids": icu.read_wids,
}


def load(name: str, *, demo: bool | None = None) -> Bunch:
    """Load a binary classification data set.

    Parameters
    ----------
    name : str
        One of ``"adult"``, ``"credit_approval"``, ``"credit_card_default"``, ``"diabetes130"``, ``"diabetes130-any"``,
        ``"diabetes130-los"``, ``"stroke"``, ``"support2"``, ``"mimic-los"``, ``"mimic-los-demo"``, ``"wids"``; see
        :func:`list_datasets`.
    demo : bool, default=None
        For ``"mimic-los"`` only. False: your own copy of MIMIC-IV, in the folder ``mimic_iv`` of the data folder.
        True: the open demo of 140 stays, the same as ``"mimic-los-demo"``. None: your own copy; where there is none
        but the demo is in place, the demo, with a warning.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        X : DataFrame of shape (n, n_features)
            Identifiers dropped. Numbers, with NaN where missing, and columns of dtype ``category``.
        y : ndarray of shape (n,), int64
            1 for the positive class, else 0.
        data, target : X and y
            Under the names that scikit-learn's data sets have.
        categorical : list of str
            The columns of X of dtype ``category``.
        target_name : str
            What y = 1 says.
        name, title, description : str
            What it is, and what was dropped and why.
        source, licence, citation : str
            The page it comes from, under which terms, and how to cite it.

    Raises
    ------
    ValueError
        If the name is unknown; if `demo` is given for another data set; if what was read does not have the
        rows, features and positives that the registry states.
    FileNotFoundError, ImportError, PermissionError
        If raw files are not there and cannot be had: see :func:`fetch`.

    See Also
    --------
    list_datasets : All names, with sizes and licences.
    fetch : The raw files alone.
    make_subpopulations : Data whose true probabilities are known.

    Examples
    --------
    >>> from clustcal.datasets import load
    >>> stroke = load("stroke")  # doctest: +SKIP
    >>> stroke.X.shape, int(stroke.y.sum())  # doctest: +SKIP
    ((5110, 10), 249)
    """
    dataset = registry.get_dataset(name)
    if demo is not None and name != "mimic-los":
        raise ValueError(f"demo={demo!r} was given for {name!r}; expected it only for 'mimic-los'.")
    if name == "mimic-los" and _use_demo(demo):
        dataset = registry.get_dataset("mimic-los-demo")
    X, y = READERS[dataset.name](fetch(dataset.name))
    _check_counts(dataset, X, y)
    return Bunch(
        X=X,
        y=y,
        data=X,
        target=y,
        categorical=X.select_dtypes("category").columns.tolist(),
        target_name=dataset.target,
        name=dataset.name,
        title=dataset.title,
        description=dataset.description,
        source=dataset.source.page,
        licence=dataset.source.licence,
        citation=dataset.source.citation,
    )


def list_datasets() -> pd.DataFrame:
    """List the data sets that :func:`load` knows.

    Returns
    -------
    table : DataFrame, indexed by name
        With the columns ``title``, ``rows`` and ``features`` (missing where a user's own copy decides), ``positives``
        (missing where it is not fixed), ``licence``, and ``available``: whether the raw files lie in the data folder.

    Examples
    --------
    >>> from clustcal.datasets import list_datasets
    >>> int(list_datasets().loc["adult", "rows"])
    48842
    """
    datasets = [registry.get_dataset(name) for name in registry.dataset_names()]
    counts = ["rows", "features", "positives"]
    table = pd.DataFrame(
        {
            "name": [dataset.name for dataset in datasets],
            "title": [dataset.title for dataset in datasets],
            **{count: [getattr(dataset, count) for dataset in datasets] for count in counts},
            "licence": [dataset.source.licence for dataset in datasets],
            "available": [is_available(dataset.source) for dataset in datasets],
        }
    )
    return table.astype(dict.fromkeys(counts, "Int64")).set_index("name")


def _use_demo(demo: bool | None) -> bool:
    """Whether the demo of MIMIC-IV answers: as asked, or for want of the full set."""
    if demo is not None:
        return demo
    full, small = registry.get_source("mimic_iv"), registry.get_source("mimic_iv_demo")
    if is_available(full) or not is_available(small):
        return False
    warnings.warn(
        f"There is no copy of MIMIC-IV in {cache_dir() / full.name}; loading the open demo of 140 ICU stays instead. "
        "Pass demo=True to ask for the demo, or demo=False to require the full set.",
        stacklevel=3,
    )
    return True


def _check_counts(dataset: registry.Dataset, X: pd.DataFrame, y: NDArray[np.int64]) -> None:
    found = {"rows": len(X), "features": X.shape[1], "positives": int(y.sum())}
    expected = {count: getattr(dataset, count) for count in found}
    wrong = [
        f"{found[count]:,} {count} instead of {expected[count]:,}"
        for count in found
        if expected[count] is not None and found[count] != expected[count]
    ]
    if wrong:
        raise ValueError(f"The raw files of {dataset.name!r} are not the expected ones: {', '.join(wrong)}.")
