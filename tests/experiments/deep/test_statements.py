"""Statements of the text are judged by their rules, on rows that are made up; the paper's own numbers serve as ours."""

import pandas as pd
import pytest

from clustcal.experiments.deep import statements
from clustcal.experiments.deep.statements import Tables
from clustcal.experiments.paper import load_claims

METRICS = {"NLL": "nll", "Brier": "brier", "ECE": "ada_ece", "Acc": "accuracy"}
DATASETS = ("BloodMNIST", "CIFAR-100", "IMDB", "Emotion")


def printed_table(name):
    """The lines that the paper prints of a data set, as if all five splits were alike."""
    claims = load_claims()
    parts = claims["id"].str.split("/", expand=True)
    cells = parts.assign(value=claims["value"])[
        (parts[1] == name) & parts[3].isin(METRICS) & parts[0].isin(["images", "text"])
    ]
    wide = cells.pivot_table(index=2, columns=3, values="value").rename(columns=METRICS).reset_index(names="method")
    return pd.concat([wide.assign(seed=seed, auc=0.95) for seed in range(5)], ignore_index=True)


@pytest.fixture(scope="module")
def printed():
    return Tables({name: printed_table(name) for name in DATASETS})


@pytest.fixture(scope="module")
def verdicts(printed):
    lines = statements.judge_statements(statements.STATEMENTS, printed)
    return {(line["id"], line["part"]): line for line in lines}


@pytest.mark.parametrize(
    ("name", "part", "verdict"),
    [
        # Worked out from the printed tables by hand.
        ("images-all-improve", "", "fails"),  # Binwise-Vector .3334 against .3185
        ("images-clustered-vector-competitive", "", "holds"),
        ("images-clustering-gains", "", "holds"),
        ("images-clustered-vector-first", "CIFAR-100", "holds"),
        ("images-ece-ranks-differently", "", "holds"),
        ("ece-against-nll-share", "BloodMNIST", "holds"),  # 12 of 34
        ("ece-against-nll-share", "Emotion", "fails"),  # 1 of 33
        ("images-dirichlet-collapse", "CIFAR-100", "holds"),
        ("images-dirichlet-clustered-collapse", "CIFAR-100", "holds"),
        ("dirichlet-few-classes", "", "holds"),
        ("imdb-parametric-reduce", "", "holds"),
        ("imdb-global-reduction", "", "holds"),
        ("imdb-binwise-reduction", "", "holds"),
        ("imdb-clustering-helps", "", "holds"),
        ("emotion-global-gains", "", "holds"),
        ("emotion-clustered", "", "holds"),
        ("emotion-binwise", "", "holds"),
        ("text-binwise-first", "", "holds"),
        ("text-ece-against-nll", "IMDB", "holds"),
        ("text-ece-against-nll", "Emotion", "holds"),
    ],
)
def test_the_papers_own_numbers_get_this_verdict(verdicts, name, part, verdict):
    assert verdicts[name, part]["verdict"] == verdict, verdicts[name, part]["ours"]


def test_what_needs_imagenet_is_blocked(verdicts):
    blocked = {key for key, line in verdicts.items() if line["verdict"] == "blocked"}
    assert {part for _, part in blocked} == {"ImageNet"}
    assert len(blocked) == 4


def test_pairs_in_opposite_order_are_those_of_the_rules(printed):
    found = {name: statements.count_opposite_pairs(printed, name) for name in DATASETS}
    assert found == {"BloodMNIST": (12, 34), "CIFAR-100": (9, 36), "IMDB": (12, 48), "Emotion": (1, 33)}


def change(printed, name, method, **columns):
    """Return the printed tables with some metrics of a method multiplied; a list gives a factor for each split."""
    table = printed[name].copy()
    rows = table["method"] == method
    for column, factors in columns.items():
        table.loc[rows, column] = table.loc[rows, column].to_numpy() * factors
    return Tables(printed | {name: table})


@pytest.mark.parametrize(
    ("statement", "name", "method", "columns", "verdict"),
    [
        ("images-clustered-vector-competitive", "BloodMNIST", "Vector clustered", {"nll": 1.2}, "fails"),
        ("images-clustering-gains", "CIFAR-100", "Vector clustered", {"nll": 1.2}, "fails"),
        ("images-clustering-gains", "CIFAR-100", "Vector clustered", {"nll": [0.9, 0.9, 0.9, 0.9, 1.1]}, "undecided"),
        ("images-dirichlet-collapse", "CIFAR-100", "Dirichlet", {"nll": 0.5}, "fails"),
        ("images-dirichlet-collapse", "CIFAR-100", "Dirichlet", {"accuracy": 1.12}, "fails"),
        ("dirichlet-few-classes", "Emotion", "Dirichlet", {"nll": 1.1}, "fails"),
        ("imdb-parametric-reduce", "IMDB", "TS", {"auc": 0.9}, "fails"),
        ("imdb-global-reduction", "IMDB", "Base", {"nll": 0.75}, "fails"),
        ("imdb-binwise-reduction", "IMDB", "Beta", {"brier": 0.5}, "fails"),
        ("imdb-clustering-helps", "IMDB", "Beta clustered", {"nll": [1.1, 0.7, 0.7, 0.7, 0.7]}, "undecided"),
        ("emotion-global-gains", "Emotion", "Vector", {"nll": 0.8}, "fails"),
        ("emotion-clustered", "Emotion", "TS clustered", {"nll": 0.9}, "fails"),
        ("emotion-binwise", "Emotion", "TS", {"ada_ece": 0.1}, "fails"),
        ("text-binwise-first", "BloodMNIST", "Binwise-TS", {"nll": 0.5}, "fails"),
        ("text-ece-against-nll", "IMDB", "Beta clustered", {"ada_ece": 0.5}, "fails"),
    ],
)
def test_what_is_otherwise_is_seen(printed, statement, name, method, columns, verdict):
    changed = change(printed, name, method, **columns)
    found = list(statements.STATEMENTS[statement](changed))
    assert found[0].verdict == verdict, found[0].ours


def test_a_network_without_rows_is_not_attempted(printed):
    without = Tables({name: table for name, table in printed.items() if name != "IMDB"})
    lines = statements.judge_statements(statements.STATEMENTS, without)
    missing = [line["id"] for line in lines if line["verdict"] == "not attempted"]
    assert "imdb-global-reduction" in missing
    assert "emotion-binwise" not in missing
