"""The same relations and statements under another reading, beside the verdicts by the rules as they were written.

Three choices were made when the rules were written and turned out to matter: that ten bins have equal width and lie
on the confidence; that the best bin-wise method is picked by the rows that judge it; and that reliability is measured
on the rows of the fit. A fourth is that a difference below half of the last printed digit is called equal. Each is
judged here the other way round. Builds on the rows of `binwise_bins` and `reliability_spread`.
"""

import pandas as pd

from clustcal.experiments.deep import binwise_bins, further_statements, statements
from clustcal.experiments.deep.confidence_signal import BINWISE, STROKE
from clustcal.experiments.deep.network_tables import CLUSTERED, STAND_INS
from clustcal.experiments.deep.relation_verdicts import find_common, find_sign, judge
from clustcal.experiments.deep.relations import find_relations
from clustcal.experiments.deep.statements import FAILS, HIGHER, HOLDS, LOWER, TEXTS, Tables

COLUMNS = ("arm", "arm_ours", "arm_verdict")
EQUAL_MASS = "bins of equal mass, of P(y = 1) with two classes"
BY_VALIDATION = "bin-wise method chosen by cross-validation"
TEST_HALF = "test half, as many rows of each, K = 4"
WITHOUT_EQUAL = "by the sign in all splits, however small"
WITH_BINS = (
    "images-all-improve",
    "images-clustered-vector-competitive",
    "images-ece-ranks-differently",
    "ece-against-nll-share",
    "imdb-binwise-reduction",
    "emotion-binwise",
    "text-binwise-first",
    "text-ece-against-nll",
)


def judge_arms(known):
    """Judge what depends on one of these choices the other way round, on the networks that are judged.

    Parameters
    ----------
    known : further_statements.Known

    Returns
    -------
    judged : DataFrame
        ``id``, ``part``, and `COLUMNS`: what is changed, ours, and the verdict.
    """
    lines = []
    bins = known.measured("binwise_bins")
    by_study = {STAND_INS[paper].judged: table for paper, table in known.tables.items()}
    replaced = binwise_bins.replace_binwise(by_study, bins)
    tables = Tables({paper: replaced[one.judged] for paper, one in STAND_INS.items() if one.judged in replaced})
    lines += _judge_relations(tables)
    chosen = {name: statements.STATEMENTS[name] for name in WITH_BINS}
    lines += [line | {"arm": EQUAL_MASS} for line in statements.judge_statements(chosen, tables)]
    for arm, name, statement in (
        (BY_VALIDATION, "confidence-signal", _binwise_by_validation),
        (TEST_HALF, "cone-geometry", _spread_on_test_half),
        (WITHOUT_EQUAL, "emotion-clustered", _emotion_by_sign),
    ):
        lines += [line | {"arm": arm} for line in statements.judge_statements({name: statement}, known)]
    found = pd.DataFrame(lines).rename(columns={"ours": "arm_ours", "verdict": "arm_verdict"})
    found = found[found["arm_verdict"] != statements.NOT_ATTEMPTED]
    return found[["id", "part", *COLUMNS]]


def _judge_relations(tables):
    relations = find_relations()
    is_about = relations["method"].str.startswith(BINWISE) | relations["listed"].str.contains(BINWISE)
    judged = judge(tables, relations[is_about & relations["dataset"].isin(list(tables))])
    return [
        {"id": line.id, "part": "", "ours": line.ours, "verdict": line.verdict, "arm": EQUAL_MASS}
        for line in judged.itertuples()
    ]


def _binwise_by_validation(known):
    """Part (a) of the statement on the confidence, with one method for all splits that no test row has chosen."""
    rows, gains = known.measured("binwise_bins"), {}
    for paper in TEXTS:
        study = STAND_INS[paper].judged
        if rows.empty or study not in set(rows["name"]):
            raise statements.MissingRows(f"{paper} in binwise_bins.csv")
        family = binwise_bins.choose_family(rows, study, "uniform", "top-label")
        base = known.tables.mean(paper, family)
        gains[f"{paper}, {family}"] = [
            1 - known.tables.mean(paper, form) / base for form in (BINWISE + family, family + CLUSTERED)
        ]
    said = "; ".join(f"{name}: bin-wise {one:.4f}, clustered {two:.4f}" for name, (one, two) in gains.items())
    yield statements.Judgement("a", said, HOLDS if all(one > two for one, two in gains.values()) else FAILS)


def _spread_on_test_half(known):
    found = {}
    for name, layer in {"IMDB": "cls", STROKE: "coverage"}.items():
        rows = known.of_network("reliability_spread", name)
        is_cell = (rows["layer"] == layer) & (rows["n_clusters"] == further_statements.GEOMETRY_CLUSTERS)
        found[name] = rows.loc[is_cell, "equal_ratio"]
    imdb, stroke = found["IMDB"], found[STROKE]
    said = f"IMDB {imdb.mean():.2f} ({imdb.min():.2f} to {imdb.max():.2f}), "
    said += f"Stroke {stroke.mean():.2f} ({stroke.min():.2f} to {stroke.max():.2f})"
    yield statements.Judgement("c", said, HOLDS if imdb.mean() < stroke.mean() else FAILS)


def _emotion_by_sign(known):
    expected = {"Vector": LOWER, "Dirichlet": HIGHER, "TS": HIGHER}
    signs = {}
    for name in expected:
        signs[name] = find_sign(*find_common(known.tables["Emotion"], name + CLUSTERED, name, "nll"), 0.0)
    said = ", ".join(f"{name}: {sign}" for name, sign in signs.items())
    yield statements.Judgement("", said, statements.find_verdict(signs.values(), expected.values()))
