"""One call for every data set: fetch the raw files, read them, check the counts, hand over one `Bunch`."""

from typing import Any

import pandas as pd
from sklearn.utils import Bunch

from clustcal.core.user_warnings import warn_user
from clustcal.datasets import icu, images, registry, tabular, texts
from clustcal.datasets.fetching import cache_dir, fetch, is_available

READERS = {
    "adult": tabular.read_adult,
    "bank_marketing": tabular.read_bank_marketing,
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
    "emotion": texts.read_emotion,
    "imdb": texts.read_imdb,
    "bloodmnist": images.read_bloodmnist,
    "bloodmnist-rebuilt": images.read_bloodmnist_rebuilt,
    "breastmnist": images.read_breastmnist,
    "cifar100": images.read_cifar100,
    "cifar100-test": images.read_cifar100_test,
    "tiny-imagenet": images.read_tiny_imagenet,
    "imagenet": images.read_imagenet,
}


def load(name: str, *, demo: bool | None = None) -> Bunch:
    """Load a data set: a table with two classes, or texts or images with two or more.

    Parameters
    ----------
    name : str
        A table: one of ``"adult"``, ``"bank_marketing"``, ``"credit_approval"``, ``"credit_card_default"``,
        ``"diabetes130"``, ``"diabetes130-any"``, ``"diabetes130-los"``, ``"stroke"``, ``"support2"``,
        ``"mimic-los"``, ``"mimic-los-demo"``, ``"wids"``. Texts: ``"emotion"``, ``"imdb"``. Images: ``"bloodmnist"``,
        ``"bloodmnist-rebuilt"``, ``"breastmnist"``, ``"cifar100"``, ``"cifar100-test"``, ``"tiny-imagenet"``,
        ``"imagenet"``. See :func:`list_datasets`.
    demo : bool, default=None
        For ``"mimic-los"`` only. False: your own copy of MIMIC-IV, in the folder ``mimic_iv`` of the data folder.
        True: the open demo of 140 stays, the same as ``"mimic-los-demo"``. None: your own copy; where there is none
        but the demo is in place, the demo, with a warning.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        With the attributes

        X : DataFrame of shape (n, n_features), or ndarray
            Of a table: identifiers dropped; numbers, with NaN where missing, and columns of dtype ``category``. Of
            texts: n of them, in an array of objects. Of images: shape (n, height, width, 3), uint8; for ``"imagenet"``,
            whose images differ in shape, the n paths of their files.
        y : ndarray of shape (n,), int64
            Of a table: 1 for the positive class, else 0. Of texts and images: the number of the class.
        data, target : X and y
            Under the names that scikit-learn's data sets have.
        categorical : list of str
            Of a table only: the columns of X of dtype ``category``.
        part : ndarray of shape (n,)
            Of texts and images only: ``"train"``, ``"val"`` or ``"test"``, as published.
        classes : list of str
            Of texts and images only: the names of the classes, in the order of their numbers.
        target_name : str
            What y = 1 says of a table; else what the classes are.
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
    content = _read(dataset)
    return Bunch(
        **content,
        data=content["X"],
        target=content["y"],
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
        With the columns ``title``; ``kind`` (table, text or image); ``rows`` (missing where a user's own copy decides);
        ``features`` (of tables), ``positives`` (of tables, missing where not fixed) and ``classes`` (of texts and
        images); ``licence``; and ``available``: whether the raw files lie in the data folder.

    Examples
    --------
    >>> from clustcal.datasets import list_datasets
    >>> int(list_datasets().loc["adult", "rows"])
    48842
    """
    datasets = [registry.get_dataset(name) for name in registry.dataset_names()]
    counts = ["rows", "features", "positives", "classes"]
    table = pd.DataFrame(
        {
            "name": [dataset.name for dataset in datasets],
            "title": [dataset.title for dataset in datasets],
            "kind": [dataset.kind for dataset in datasets],
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
    warn_user(
        f"There is no copy of MIMIC-IV in {cache_dir() / full.name}; loading the open demo of 140 ICU stays instead. "
        "Pass demo=True to ask for the demo, or demo=False to require the full set."
    )
    return True


def _read(dataset: registry.Dataset) -> dict[str, Any]:
    """Read a data set, check its counts, and return what its kind has."""
    content = READERS[dataset.name](fetch(dataset.name))
    if dataset.kind == "table":
        X, y = content
        _check_counts(dataset, {"rows": len(X), "features": X.shape[1], "positives": int(y.sum())})
        return {"X": X, "y": y, "categorical": X.select_dtypes("category").columns.tolist()}
    X, y, part, classes = content
    _check_counts(dataset, {"rows": len(X), "classes": len(classes)})
    return {"X": X, "y": y, "part": part, "classes": list(classes)}


def _check_counts(dataset: registry.Dataset, found: dict[str, int]) -> None:
    wrong = [
        f"{found[count]:,} {count} instead of {expected:,}"
        for count in found
        if (expected := getattr(dataset, count)) is not None and found[count] != expected
    ]
    if wrong:
        raise ValueError(f"The raw files of {dataset.name!r} are not the expected ones: {', '.join(wrong)}.")
