"""What a verdict on images and texts cannot show: what holds by arithmetic, and what follows from the design.

The rules of ``results/deep/relations.yml`` were written before the networks were calibrated, and stay as they are.
Looked at afterwards, some of them cannot fail, or nearly: these are marked here, by reasons that need no result of
ours, so that counts can leave them out. Builds on `relations` alone.
"""

from clustcal.experiments.deep.relation_verdicts import RATIO_MARGIN
from clustcal.experiments.deep.relations import CLUSTERED

CANNOT_FAIL, CANNOT_HOLD, WEAK = "cannot fail", "cannot hold", "weak"
TUNED = ("IMDB", "CIFAR-100")  # whose networks were trained until they were as over-confident as the paper's
KEEPS_ORDER = ("TS", f"TS{CLUSTERED}")
# Methods that `design.get_cells` runs for the smaller two of the paper's four K, but for one split.
FEW_K = tuple(("CIFAR-100", f"{name}{CLUSTERED}") for name in ("Vector", "Dirichlet"))
LARGE_SHARE = 0.5  # of the methods: a place that so many of them would pass is weak

# By statement and part. A part that is missing here has its own say.
STATEMENTS = {
    ("imdb-overconfident", ""): f"{CANNOT_FAIL}: the network was trained until it was over-confident",
    ("imdb-parametric-reduce", ""): f"{WEAK}: how much there is to reduce was set when training was stopped",
    ("imdb-global-reduction", ""): f"{WEAK}: how much there is to reduce was set when training was stopped",
    ("dirichlet-reference-code", ""): f"{CANNOT_FAIL}, nearly: one estimator in two programs, and an 'or' in the rule",
    ("cone-geometry", "a"): f"{WEAK}: any cosine above that of Stroke would pass, a cone or not",
    ("cone-geometry", "b"): f"{WEAK}: any silhouette above that of Stroke would pass",
    ("cone-geometry", "c"): f"{WEAK}: of mean gaps, not at one forecast; grows with the rows, those of the fit",
    (
        "confidence-signal",
        "a",
    ): f"{WEAK}: the rows that judge it choose the bin-wise method, and not the clustered",
    ("confidence-signal", "b"): f"{WEAK}: with memberships this soft clusters change next to nothing, bins or no bins",
    ("imdb-shrinkage-5", ""): f"{CANNOT_HOLD}, nearly: against a mean loss a shrinkage of 5 leaves no clusters",
    ("images-clustered-vector-competitive", ""): f"{WEAK}: the threshold was set with the printed ratios in view",
    ("images-clustering-gains", ""): f"{WEAK}: half of the last printed digit on one data set is enough",
    ("sensitivity", "worse on texts"): f"{WEAK}: two medians are compared, however small both are",
} | {
    ("ece-against-nll-share", name): f"{WEAK}: of pairs in random order half would count, and 5 % are asked for"
    for name in ("BloodMNIST", "CIFAR-100", "IMDB", "Emotion")
}


def describe_relation(relation):
    """Return what a verdict on a relation cannot show; empty where nothing is known against it.

    Parameters
    ----------
    relation : object
        A line of `relations.find_relations`, with its columns as attributes.

    Returns
    -------
    strength : str

    Examples
    --------
    >>> from clustcal.experiments.deep.relations import find_relations
    >>> from clustcal.experiments.deep.verdict_strength import describe_relation
    >>> lines = find_relations().set_index("id")
    >>> describe_relation(lines.loc["text/Emotion/TS/Acc/sign against base"])
    'cannot fail: a temperature leaves the order of the classes as it is'
    >>> describe_relation(lines.loc["text/Emotion/TS/NLL/sign against base"])
    ''
    >>> describe_relation(lines.loc["images/CIFAR-100/Vector clustered/K/choice"])
    'weak: with so many classes only K of 4 and 10 were run in all splits'
    """
    is_sign = relation.kind.startswith("sign")
    if is_sign and relation.metric == "Acc" and relation.method in KEEPS_ORDER:
        can = CANNOT_FAIL if relation.expected == "equal" else CANNOT_HOLD
        return f"{can}: a temperature leaves the order of the classes as it is"
    if relation.kind.startswith("ratio") and abs(float(relation.expected)) <= RATIO_MARGIN:
        return f"{WEAK}: no change at all would pass"
    if relation.kind == "choice" and (relation.dataset, relation.method) in FEW_K and relation.metric == "K":
        return f"{WEAK}: with so many classes only K of 4 and 10 were run in all splits"
    if relation.kind in ("first", "last"):
        passing, listed = len(relation.expected.split("; ")), len(relation.listed.split("; "))
        return f"{WEAK}: {passing} of {listed} methods would pass" if passing >= LARGE_SHARE * listed else ""
    if relation.dataset in TUNED and relation.kind in ("sign against base", "ratio to base"):
        is_gain = relation.expected == "lower" if is_sign else float(relation.expected) > 0
        if is_gain and relation.metric != "Acc":
            return f"{WEAK}: the network was trained until there was as much to gain as in the paper"
    return ""


def describe_statement(name, part):
    """Return the same of a statement, or of a part of it."""
    return STATEMENTS.get((name, part), "")


def can_fail(strength):
    """Whether a verdict with this strength could have come out either way by the rule; a Series of such.

    Examples
    --------
    >>> import pandas as pd
    >>> from clustcal.experiments.deep.verdict_strength import can_fail
    >>> can_fail(pd.Series(["", "weak: no change at all would pass", "cannot fail: ..."])).tolist()
    [True, True, False]
    """
    return ~strength.str.startswith((CANNOT_FAIL, CANNOT_HOLD))
