"""What there is to run: the data sets of the study, and its methods in three groups, each under a key of its own.

``paper`` are the 21 methods of the main table, ``cv`` our methods that choose their parameters themselves, ``variants``
the paper's clustered methods with one setting changed: for its ablations, and for what it leaves open.
"""

from sklearn.base import clone

from clustcal.experiments.methods import BASELINE, Entry, get_cv_methods, get_methods

# The paper's name of a data set, and ours. "Credit" is the one that the paper describes; its citation is another.
PAPER_DATASETS = {
    "Adult": "adult",
    "Credit": "credit_approval",
    "Diabetes130": "diabetes130",
    "LOS": "mimic-los",
    "Stroke": "stroke",
    "WiDS": "wids",
}
# Open data beside those that need a data use agreement; never in the paper's rows.
STAND_INS = {"LOS": "diabetes130-los", "WiDS": "support2"}
GATED = ("mimic-los", "wids")
OPEN_DATASETS = (
    "credit_approval",
    "stroke",
    "support2",
    "credit_card_default",
    "adult",
    "diabetes130",
    "diabetes130-los",
)
VARIATIONS = (
    {"n_clusters": 7},
    {"shrinkage": 0.0},
    {"loss": "sum"},
    {"membership": "chord"},
    {"temperature": 0.3},
    {"temperature": 0.1},
    {"temperature": 0.03},
)
GROUPS = ("paper", "cv", "variants")


def get_entries(group):
    """Return the methods of one group.

    Parameters
    ----------
    group : {"paper", "cv", "variants"}

    Returns
    -------
    entries : list of Entry

    Examples
    --------
    >>> from clustcal.experiments.tabular.grid import get_entries
    >>> len(get_entries("paper"))
    21
    >>> get_entries("variants")[0].key
    ('Platt', 'Coverage', 'n_clusters=7')
    """
    if group == "paper":
        return [Entry(method) for method in get_methods()]
    if group == "cv":
        return [Entry(method) for method in get_cv_methods()]
    clustered = [method for method in get_methods() if method.clustered != BASELINE]
    return [_vary(method, changes) for changes in VARIATIONS for method in clustered]


def select_entries(words=("paper", "cv")):
    """Return the methods that a list of words names.

    Parameters
    ----------
    words : sequence of str
        Groups (``"paper"``, ``"cv"``, ``"variants"``), methods of the first two (``"Platt"``: with every
        representation), or a method with its representation (``"Platt/SHAP"``, ``"Platt/Baseline"``).

    Returns
    -------
    entries : list of Entry
        In the order of the groups, each once.

    Raises
    ------
    ValueError
        If a word names nothing.
    """
    named = {entry.key: entry for group in ("paper", "cv") for entry in get_entries(group)}
    chosen = {}
    for word in words:
        found = get_entries(word) if word in GROUPS else [named[key] for key in named if word in _names(key)]
        if not found:
            known = sorted({name for name, _, _ in named})
            raise ValueError(f"methods has {word!r}; expected {', '.join(GROUPS)}, or one of {known}.")
        chosen |= {entry.key: entry for entry in found}
    everything = [entry.key for group in GROUPS for entry in get_entries(group)]
    return [chosen[key] for key in everything if key in chosen]


def _names(key):
    name, clustered, _ = key
    return name, f"{name}/{clustered}"


def _vary(method, changes):
    return Entry(method._replace(calibrator=clone(method.calibrator).set_params(**changes)), tuple(changes.items()))
