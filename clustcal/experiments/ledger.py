"""The ledger: every number of the paper beside ours, with a verdict that follows from the results by a fixed rule.

Builds on `paper` for what is printed, on the studies for ours, and on `verdicts` for the rule; ``clustcal claims``
writes and checks it.
"""

import difflib
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd

from clustcal.datasets import list_datasets
from clustcal.experiments import stated_settings
from clustcal.experiments.deep import judgement, levels
from clustcal.experiments.deep.network_tables import STAND_INS as NETWORKS
from clustcal.experiments.paper import load_claims
from clustcal.experiments.tabular import from_paper
from clustcal.experiments.tabular.arms import is_judged_by_arm
from clustcal.experiments.tabular.grid import GATED, PAPER_DATASETS, STAND_INS
from clustcal.experiments.tabular.readings import cluster_tables as readings
from clustcal.experiments.tabular.recompute import compute
from clustcal.experiments.tabular.runs import complete_datasets
from clustcal.experiments.verdicts import JUDGED, OTHER_MODEL, VERDICTS, find_noise, find_tolerance, judge

# Where no function of ours computes a number: what stands in the way, by the first word of its id.
NOT_YET = {
    "images": "no results yet for {study}",
    "text": "no results yet for {study}",
    "deep-text": "no results yet for {study}",
    "overhead": "the cost of calibration has not been measured on all networks",
    "datasets": "no loader of ours reads it",
}
# Numbers that come from a network: ours is another.
OF_NETWORKS = re.compile(r"(images|text|deep-text)/[^/]+/.+|overhead/deep/.+")
# The numbers by the first word of their ids, in words.
GROUPS = {
    "toy": "Toy example: table",
    "toy-text": "Toy example: text",
    "datasets": "Data sets",
    "performance": "Tabular: all methods",
    "capacity": "Tabular: by capacity",
    "improvement": "Tabular: gain by data set",
    "stroke-clusters": "Stroke: clusters",
    "rejection": "Stroke: rejection",
    "images": "Images",
    "text": "Text",
    "correlations": "Correlations: table",
    "protocol": "Size of the study",
    "settings": "Settings",
    "figures": "Tabular: text",
    "stroke-text": "Stroke: text",
    "deep-text": "Images and text: text",
    "correlations-text": "Correlations: text",
    "overhead": "Overhead",
}
# Counts of files that only a user can bring: ours are those of the publishers' descriptions.
FROM_PUBLISHERS = {
    *(f"datasets/WiDS/{word}" for word in ("features", "samples")),
    *(f"datasets/{name}/samples" for name in ("BloodMNIST", "CIFAR-100")),
}
# What a number is, by the first word of its id; all others are measured.
KINDS = {"toy": "computed", "toy-text": "computed", "datasets": "counted", "protocol": "setting", "settings": "setting"}
SETTINGS = ("stroke-text/clusters", "figures/pairs", *levels.SETTINGS)
# The same number printed a second time, by patterns of ids: it counts once.
TWINS = (
    (r"toy-text/(before|after)/(.+)", r"toy/\1/\2"),
    (r"correlations-text/(.+)", r"correlations/\1"),
    (r"stroke-text/(rate)/(\d)", r"stroke-clusters/\2/\1"),
    (r"stroke-text/age/(\d)/(.+)", r"stroke-clusters/\1/age/\2"),
    (r"figures/improvement/(\w+)/mean", r"improvement/All/\1/mean"),
    (r"figures/improvement/(\w+)/(?:low|high)", r"improvement/All/\1/ci"),
    (r"figures/base/NLL", r"performance/base/Baseline/NLL"),
    (r"figures/(?:summary|consistency)/NLL-wins", r"figures/slope/NLL-wins"),
    (r"figures/summary/AUC-wins", r"figures/slope/AUC-wins"),
    (r"overhead/percent/(\w+)", r"overhead/ratio/\1"),
    (r"settings/toy-text/bins", r"settings/toy/bins"),
    (r"settings/clusters", r"stroke-text/clusters"),
    (r"deep-text/IMDB/binwise-NLL", r"text/IMDB/Binwise-Platt/NLL"),
    (r"deep-text/IMDB/clustered-NLL", r"text/IMDB/Beta clustered/NLL"),
)
# Printed numbers that come from one split, not from a mean over five.
ONE_SPLIT = ("rejection", "stroke-clusters", "stroke-text")
# Sets that a user must bring, beside those under use agreements.
OWN_COPY = ("/ImageNet/",)
# The columns that follow from results by a rule.
JUDGEMENTS = ("verdict", "noise_verdict", "consistent", "weighted_verdict", "reading_verdict", "relations")
# Which function gives a number, by the column ``recompute``.
_TABULAR = "clustcal.experiments.tabular"
RECOMPUTED_BY = {
    "toy": f"{_TABULAR}.recompute.compute",
    "protocol": f"{_TABULAR}.recompute.compute",
    "datasets": "clustcal.datasets.list_datasets",
    "settings": "clustcal.experiments.stated_settings.compute",
    **{name: f"{_TABULAR}.tables.{name}" for name in ("performance", "capacity", "improvement", "correlations")},
    "overhead": f"{_TABULAR}.text_numbers.overhead_figures",
    "text_figures": f"{_TABULAR}.text_numbers.text_figures",
    "stroke_clusters": f"{_TABULAR}.stroke.stroke_clusters",
    "rejection": f"{_TABULAR}.stroke.rejection",
    "deep": "clustcal.experiments.deep.levels.compute",
}
# The chapter that a number belongs to, by patterns of ids; the first that fits.
CHAPTERS = (
    (r"toy/.+|toy-text/.+|settings/toy.+", "theory/when-ece-misranks"),
    (r"figures/(K7|no-shrinkage)/.+|settings/sensitivity/.+|protocol/shrinkage", "reproduction/robustness"),
    (r"performance/.+|capacity/.+|improvement/.+|figures/.+|settings/interval", "reproduction/tabular-results"),
    (r"stroke-clusters/.+|stroke-text/.+|rejection/.+|settings/diagram/.+", "reproduction/stroke"),
    (r"images/.+|settings/(resnet|dirichlet|grid)/.+|deep-text/(splits|share)", "reproduction/images"),
    (r"text/.+|deep-text/.+|settings/distilbert/.+", "reproduction/text"),
    (r"correlations/.+|correlations-text/.+", "reproduction/which-metric"),
    (r"overhead/.+", "appendix/overhead"),
    (r"datasets/.+|protocol/.+|settings/.+", "reproduction/protocol-and-data"),
)
FEWEST_DECIMALS = 4  # of a number so small that it is better written with an exponent
LARGE_ERROR = 0.5  # of calibration: that of forecasts as wrong as those of the toy example can be
SHOWN_IDS = 8  # of those that begin as one that is not there
MINUS = "\N{MINUS SIGN}"
ROUNDING = 1e-9


def make_ledger(rows, claims=None, weighted=None, clusters=None, deep=None, verdicts=None):
    """Judge every number of the paper.

    Parameters
    ----------
    rows : DataFrame
        All results, as :meth:`clustcal.experiments.store.Store.read` returns them.
    claims : DataFrame, optional
        By default the paper's: see :func:`clustcal.experiments.paper.load_claims`.
    weighted : DataFrame, optional
        The results of the arm with balanced class weights.
    clusters : DataFrame, optional
        The clusters of Stroke under every reading, see `clustcal.experiments.tabular.readings.cluster_tables`.
    deep : further_statements.Known, optional
        What the results hold of images and texts.
    verdicts : DataFrame, optional
        The verdicts on relations, as `judgement.judge_all` makes them of ``deep``, for a caller that needs them too.

    Returns
    -------
    ledger : DataFrame
        The paper's columns and:

        - ``kind``: ``"measured"``, ``"computed"``, ``"counted"`` or ``"setting"``; ``same_as``, the id of a number that
          is printed here a second time; ``strength``, empty or what the verdict cannot show.
        - ``ours``; ``sd``, its standard deviation over seeds; ``tolerance``; ``verdict``; ``reason``, for those not
          judged; and ``open``, the same number with open data in the place of the two data sets under use agreements,
          which is never judged.
        - ``error``, the jackknife error of ours, and ``noise_verdict``, the verdict if the paper's seeds are as noisy
          (see :func:`clustcal.experiments.verdicts.find_noise`).
        - ``from_paper``, the value that follows from other numbers of the paper, and ``consistent``, whether it agrees
          within what rounding can do.
        - ``weighted``, ``weighted_verdict``, ``weighted_open``: the same in the arm with balanced class weights, for
          the numbers that depend on it and did not choose it.
        - ``reading``, ``reading_verdict``: the same for the cells of the Stroke clusters under the reading that the
          other half of the cells chose.
        - ``relations``: of a number on images and texts the verdicts on its relations to others, counted.
    """
    claims = load_claims() if claims is None else claims
    inside, rounding = from_paper.compute(claims), from_paper.worst_rounding(claims)
    of_networks = ({}, {}) if deep is None else (levels.compute(deep), levels.compute_open(deep))
    printed_arm = _judge_arm(rows, claims, *of_networks)
    by_arm = claims.apply(is_judged_by_arm, axis=1)
    frames = [
        claims.reset_index(drop=True),
        _describe(claims, printed_arm),
        printed_arm,
        pd.DataFrame([_compare_inside(claim, inside, rounding) for claim in claims.itertuples(index=False)]),
        _second_arm(weighted, claims, by_arm.to_numpy()),
        _chosen_reading(clusters, claims),
        _relations(judgement.judge_all(deep) if verdicts is None and deep is not None else verdicts, claims),
    ]
    return pd.concat(frames, axis=1)


def _judge_arm(rows, claims, of_networks=None, of_open_networks=None):
    """Return what the rows of one arm say of every number, a line each."""
    available = complete_datasets(rows)
    ours = stated_settings.compute() | compute(rows, PAPER_DATASETS) | (of_networks or {})
    stand_ins = compute(rows, PAPER_DATASETS | STAND_INS, spread=False)
    lines = []
    for claim in claims.itertuples(index=False):
        missing = _missing(claim.needs, PAPER_DATASETS, available, claim.recompute)
        found = ours.get(claim.id) if not missing else None
        gated = [name for name in _needed(claim.needs) if PAPER_DATASETS[name] in GATED]
        with_open = not _missing(claim.needs, PAPER_DATASETS | STAND_INS, available, claim.recompute)
        is_mean = gated and with_open and claim.recompute != "datasets"  # counts of a set are not those of another
        open_value = stand_ins.get(claim.id) if is_mean else (of_open_networks or {}).get(claim.id)
        lines.append(
            {
                "ours": np.nan if found is None else found.value,
                "sd": np.nan if found is None else found.sd,
                **_judge(claim, found, missing),
                "open": np.nan if open_value is None else open_value.value,
                "error": np.nan if found is None else found.error,
                "noise_verdict": _judge_by_noise(claim, found),
            }
        )
    return pd.DataFrame(lines)


def _describe(claims, judged):
    """Say of every number what it is, whether it stands elsewhere too, and what its verdict cannot show."""
    lines = []
    for claim, verdict in zip(claims.itertuples(index=False), judged.itertuples(index=False), strict=True):
        kind = "setting" if claim.id in SETTINGS else KINDS.get(claim.id.split("/")[0], "measured")
        twin = next((re.sub(old, new, claim.id) for old, new in TWINS if re.fullmatch(old, claim.id)), "")
        strength = ""
        if kind == "setting" and verdict.verdict == "match":
            strength = "cannot fail: a constant of ours, set to the paper's"
        elif claim.value == 0 and verdict.tolerance >= LARGE_ERROR:
            strength = "cannot fail: no calibration error of this example is outside of the tolerance"
        elif kind == "measured" and verdict.verdict in JUDGED and verdict.tolerance >= abs(claim.value):
            strength = "weak: zero would be within the tolerance"
        elif claim.id in FROM_PUBLISHERS and verdict.verdict in JUDGED:
            strength = "not counted by us: as the publishers of the file state it"
        lines.append({"kind": kind, "same_as": twin, "strength": strength})
    return pd.DataFrame(lines)


def _compare_inside(claim, inside, rounding):
    """Hold a number against what follows from others of the paper."""
    if claim.id not in inside:
        return {"from_paper": np.nan, "consistent": ""}
    reach = claim.half_digit + rounding[claim.id]
    agrees = abs(inside[claim.id] - claim.value) <= reach * (1 + ROUNDING)
    return {"from_paper": inside[claim.id], "consistent": "yes" if agrees else "no"}


def _second_arm(weighted, claims, by_arm):
    """Return ours, verdict and value with open data in the second arm, empty where the number does not depend on it."""
    columns = {"weighted": np.nan, "weighted_verdict": "", "weighted_open": np.nan}
    nothing = pd.DataFrame(columns, index=range(len(claims)))
    if weighted is None or weighted.empty:
        return nothing
    found = _judge_arm(weighted, claims)
    found["verdict"] = found["verdict"].where(found["ours"].notna(), "")
    shown = found[["ours", "verdict", "open"]].set_axis(list(columns), axis=1)
    nothing.loc[by_arm] = shown.loc[by_arm]
    return nothing


def _chosen_reading(clusters, claims):
    """Judge the half of the Stroke clusters that did not choose the reading, under the reading that was chosen."""
    found = {} if clusters is None or clusters.empty else readings.compute_judged(clusters)
    lines = []
    for claim in claims.itertuples(index=False):
        if claim.id in found:
            tolerance = find_tolerance(claim, found[claim.id])
            verdict = judge(claim.value, found[claim.id].value, tolerance, claim.half_digit, claim.better)
            lines.append({"reading": found[claim.id].value, "reading_verdict": verdict})
        else:
            lines.append({"reading": np.nan, "reading_verdict": ""})
    return pd.DataFrame(lines)


def _relations(verdicts, claims):
    """Count the verdicts on the relations that a number is part of."""
    counts = {} if verdicts is None else judgement.count_by_cell(verdicts)
    return pd.DataFrame({"relations": [counts.get(name, "") for name in claims["id"]]})


def write_ledger(ledger, path):
    """Write the ledger as CSV, numbers to six digits."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    ledger.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")


def read_ledger(path):
    """Read what `write_ledger` wrote."""
    text = ["id", "place", "printed", "unit", "metric", "better", "rule", "recompute", "needs", "verdict", "reason"]
    text += ["kind", "same_as", "strength", "noise_verdict", "consistent", "weighted_verdict", "reading_verdict"]
    text += ["relations"]
    numbers = ["value", "half_digit", "ours", "sd", "tolerance", "open", "error", "from_paper"]
    numbers += ["weighted", "weighted_open", "reading"]
    ledger = pd.read_csv(path, dtype=dict.fromkeys(text, str), keep_default_na=False)
    return ledger.assign(**{name: pd.to_numeric(ledger[name]) for name in numbers})


def compare_ledgers(stored, fresh):
    """Return one sentence for everything that the stored ledger says and that does not follow from the results."""
    stored, fresh = stored.set_index("id"), fresh.set_index("id")
    sentences = []
    for column in JUDGEMENTS:
        together = pd.DataFrame({"stored": stored[column], "fresh": fresh[column]}).fillna("nothing")
        wrong = together[together["stored"] != together["fresh"]]
        what = "" if column == "verdict" else f" ({column})"
        sentences += [
            f"{row.Index}{what}: the ledger says {row.stored!r}, the results say {row.fresh!r}."
            for row in wrong.itertuples()
        ]
    return sentences


def explain(ledger, name):
    """Return in words where one number stands, what ours is, how it is judged, and what recomputes it.

    Parameters
    ----------
    ledger : DataFrame
    name : str
        Its id.

    Returns
    -------
    text : str
        Several lines.

    Raises
    ------
    ValueError
        If there is no such number.
    """
    lines = ledger.set_index("id")
    if name not in lines.index:
        raise ValueError(f"id is {name!r}; expected one of the ledger, such as {', '.join(_near(name, lines.index))}.")
    line = lines.loc[name]
    said = [
        ("printed", f"{line['printed']} {line['unit']}".strip() + f" ({line['place']})"),
        ("what, as read here", line["metric"]),
        ("kind", line["kind"] + (f", the same number as {line['same_as']}" if line["same_as"] else "")),
        ("ours", _with_spread(line)),
        (
            "rule",
            f"{line['rule']}: at most {line['tolerance']:.4g} away" if pd.notna(line["tolerance"]) else line["rule"],
        ),
        ("verdict", line["verdict"] + (f": {line['reason']}" if line["reason"] else "")),
        ("if the paper's seeds are as noisy", line["noise_verdict"]),
        (
            "with balanced class weights",
            f"{line['weighted']:.6g}: {line['weighted_verdict']}" if line["weighted_verdict"] else "",
        ),
        (
            "under the chosen reading",
            f"{line['reading']:.6g}: {line['reading_verdict']}" if line["reading_verdict"] else "",
        ),
        ("with open data", f"{line['open']:.6g}, not judged" if pd.notna(line["open"]) else ""),
        (
            "with open data and class weights",
            f"{line['weighted_open']:.6g}, not judged" if pd.notna(line["weighted_open"]) else "",
        ),
        ("from the paper's other numbers", _inside(line)),
        ("its relations to others", line["relations"]),
        ("strength of the verdict", line["strength"]),
        ("recomputed by", RECOMPUTED_BY.get(line["recompute"], "nothing yet")),
        ("chapter of the book", find_chapter(name)),
    ]
    width = max(len(word) for word, _ in said)
    return "\n".join([name, *(f"  {word:{width}}  {text}" for word, text in said if text)])


def find_chapter(name):
    """Return the chapter of the book that the number with this id belongs to, as a path without ending.

    Examples
    --------
    >>> from clustcal.experiments.ledger import find_chapter
    >>> find_chapter("figures/K7/NLL"), find_chapter("figures/wins/NLL")
    ('reproduction/robustness', 'reproduction/tabular-results')
    """
    return next((chapter for pattern, chapter in CHAPTERS if re.fullmatch(pattern, name)), "")


def _near(name, ids):
    """Return some ids that may have been meant: those that begin so, or else those that are spelled alike."""
    folded = {known.casefold(): known for known in ids}
    begin = [known for key, known in folded.items() if key.startswith(name.casefold())]
    alike = difflib.get_close_matches(name.casefold(), folded, n=3, cutoff=0)
    return begin[:SHOWN_IDS] or [folded[key] for key in alike]


def _inside(line):
    """Say what the paper's other numbers give, and whether this one follows from them."""
    if not line["consistent"]:
        return ""
    agrees = "agrees within rounding" if line["consistent"] == "yes" else "does not agree within rounding"
    return f"{line['from_paper']:.6g}: {agrees}"


def _with_spread(line):
    if pd.isna(line["ours"]):
        return ""
    return f"{line['ours']:.6g}" + (f" (standard deviation over seeds {line['sd']:.2g})" if line["sd"] > 0 else "")


def summarise(ledger):
    """Count the verdicts, by table or kind of figure and in total."""
    group = ledger["id"].str.split("/").str[0]
    counts = pd.crosstab(group, ledger["verdict"]).reindex(columns=list(VERDICTS), fill_value=0)
    counts = counts.loc[list(dict.fromkeys(group))]
    counts.loc["total"] = counts.sum()
    return counts.rename_axis(index="numbers", columns=None)


def as_printed(value, half_digit):
    """Return a number with one digit more than the paper prints; nothing where there is none.

    Examples
    --------
    >>> from clustcal.experiments.ledger import as_printed
    >>> as_printed(0.298349, half_digit=0.00005), as_printed(2.91e-11, half_digit=5e-13)
    ('0.29835', '2.9e-11')
    """
    if pd.isna(value):
        return ""
    decimals = max(0, round(-math.log10(2 * half_digit)))
    small = 0 < abs(value) < 10.0**-FEWEST_DECIMALS and decimals > FEWEST_DECIMALS
    # A count has no more digits than it is printed with, unless ours is a mean of counts.
    text = f"{value:.1e}" if small else f"{value:,.{decimals + (decimals > 0 or value != round(value))}f}"
    return text.replace("-", MINUS) if text.startswith("-") else text


def _judge(claim, found, missing):
    """Return tolerance, verdict and reason."""
    if found is not None and OF_NETWORKS.fullmatch(claim.id):
        return {"tolerance": np.nan, "verdict": OTHER_MODEL, "reason": "from another network than the paper's"}
    if found is not None:
        tolerance = find_tolerance(claim, found)
        verdict = judge(claim.value, found.value, tolerance, claim.half_digit, claim.better)
        return {"tolerance": tolerance, "verdict": verdict, "reason": ""}
    return {"tolerance": np.nan, **_say_why_not(claim, missing)}


def _say_why_not(claim, missing):
    gated = [name for name in missing if PAPER_DATASETS[name] in GATED]
    if gated:
        return {"verdict": "blocked", "reason": f"needs {' and '.join(gated)}, under a data use agreement"}
    if any(name in claim.id for name in OWN_COPY):
        return {"verdict": "blocked", "reason": "needs ImageNet, which its users must ask for themselves"}
    if missing:
        return {"verdict": "not attempted", "reason": f"no results yet for {', '.join(missing)}"}
    group, _, rest = claim.id.partition("/")
    study = NETWORKS[rest.split("/")[0]].judged if rest.split("/")[0] in NETWORKS else ""
    is_open = not claim.recompute or OF_NETWORKS.fullmatch(claim.id)
    reason = NOT_YET.get(group, "").format(study=study) if is_open else "the results lack the rows for it"
    return {"verdict": "not attempted", "reason": reason}


def _judge_by_noise(claim, found):
    if found is not None and OF_NETWORKS.fullmatch(claim.id):
        return ""
    noise = find_noise(found, claim.half_digit, claim.id.split("/")[0] in ONE_SPLIT)
    return "" if pd.isna(noise) else judge(claim.value, found.value, noise, claim.half_digit, claim.better)


def _needed(needs):
    if not needs:
        return []
    return list(PAPER_DATASETS) if needs == "all six" else needs.split("+")


def _missing(needs, names, available, recompute):
    """Return the paper's names of data sets that a claim needs and that are not there."""
    if recompute in ("stroke_clusters", "rejection"):
        return []  # from the scores that the package ships
    if recompute == "datasets":
        return [name for name in _needed(needs) if pd.isna(list_datasets().loc[names[name], "rows"])]
    return [name for name in _needed(needs) if names[name] not in available]
