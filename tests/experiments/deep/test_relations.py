"""The relations by which images and texts are judged are those of the paper's tables, and were written down first."""

from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest

from clustcal.datasets import registry
from clustcal.experiments.deep import relations
from clustcal.experiments.deep.network_runs import NAMES
from clustcal.experiments.paper import load_claims

yaml = pytest.importorskip("yaml")

FOLDER = Path(__file__).resolve().parents[3] / "results" / "deep"


@pytest.fixture(scope="module")
def found():
    return relations.find_relations().set_index("id")


@pytest.fixture(scope="module")
def rules():
    return yaml.safe_load((FOLDER / "relations.yml").read_text())


def test_the_stored_relations_are_those_of_the_tables(found):
    stored = pd.read_csv(FOLDER / "relations.csv", dtype=str, keep_default_na=False)
    pd.testing.assert_frame_equal(stored, found.reset_index(), check_dtype=False)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Read off the two tables by eye.
        ("images/BloodMNIST/Vector clustered/NLL/sign against global", "equal"),
        ("images/CIFAR-100/Vector clustered/NLL/sign against global", "lower"),
        ("images/CIFAR-100/TS clustered/NLL/sign against global", "higher"),
        ("images/BloodMNIST/Binwise-TS/NLL/sign against base", "higher"),
        ("images/ImageNet/Dirichlet/Acc/sign against base", "lower"),
        ("text/IMDB/Beta clustered/ECE/sign against global", "higher"),
        ("images/CIFAR-100/NLL/first", "Vector clustered"),
        ("images/ImageNet/NLL/last", "Dirichlet clustered"),
        ("text/IMDB/NLL/first", "Binwise-Platt; Binwise-Beta"),
        ("text/Emotion/ECE/first", "Binwise-TS"),
        ("text/Emotion/Vector clustered/K/choice", "25"),
        ("images/CIFAR-100/TS clustered/shrinkage/choice", "0.05"),
        ("text/IMDB/Platt/NLL/ratio to base", "0.3479"),  # 1 - 0.328 / 0.503
    ],
)
def test_a_relation_is_as_printed(found, name, expected):
    assert found.loc[name, "expected"] == expected


def test_every_method_of_the_tables_is_held_against_its_base(found):
    against = found[found["kind"] == "sign against base"].groupby("dataset")["method"].nunique()
    assert against.to_dict() == {"BloodMNIST": 8, "CIFAR-100": 8, "ImageNet": 8, "Emotion": 8, "IMDB": 10}


def test_every_judged_network_exists(rules):
    named = [name for entry in rules["networks"].values() for name in [entry["judged"], *entry["beside"]]]
    assert set(named) - {None} <= set(NAMES)
    assert set(rules["networks"]) == set(relations.find_relations()["dataset"])
    assert set(rules["why"]) <= set(rules["networks"])


def test_every_statement_has_a_rule_of_its_own_and_says_where_it_stands(rules):
    ids = [statement["id"] for statement in rules["statements"]]
    assert len(ids) == len(set(ids))
    for statement in rules["statements"]:
        assert set(statement) - {"added"} == {"id", "place", "says", "printed", "rule"}  # "added": when, if later
        assert statement["rule"]
        assert statement["place"].startswith(("Section", "Table"))


def test_what_came_later_has_its_date(rules):
    assert all(str(note["date"]).startswith(("2026-11-28 ", "2026-11-29 ")) for note in rules["notes"])
    added = {statement["id"] for statement in rules["statements"] if "added" in statement}
    assert added == {"ece-against-nll-share"}


def leaves(value):
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in leaves(one)]
    if isinstance(value, list):
        return [leaf for one in value for leaf in leaves(one)]
    return [value]


def test_the_numbers_of_the_statements_are_printed_in_the_paper(rules):
    claims = load_claims()
    printed = set(claims["value"])
    clustered_over_global = claims.set_index("id")["value"].pipe(
        lambda value: {
            round(value[f"overhead/deep/{family}/clustered"] / value[f"overhead/deep/{family}/global"], 2)
            for family in ("Beta", "Vector", "Dirichlet", "TS")
        }
    )
    for statement in rules["statements"]:
        for value in leaves(statement["printed"]):
            if isinstance(value, float):
                assert value in printed | clustered_over_global, statement["id"]


def test_the_printed_places_of_clustered_vector_scaling(rules):
    (statement,) = [one for one in rules["statements"] if one["id"] == "images-clustered-vector-first"]
    value = load_claims().set_index("id")["value"]
    for dataset in ("CIFAR-100", "ImageNet"):
        for metric in ("NLL", "Brier"):
            column = value[value.index.str.match(f"images/{dataset}/.*/{metric}$")]
            place = 1 + (column < column[f"images/{dataset}/Vector clustered/{metric}"]).sum()
            word = f"{dataset} place by {metric}" if metric == "NLL" else "by Brier"
            assert place == statement["printed"].get(word, 1)


def test_the_printed_pairs_in_opposite_order_are_counted_right(rules):
    (statement,) = [one for one in rules["statements"] if one["id"] == "ece-against-nll-share"]
    value = load_claims().set_index("id")["value"]
    for dataset, printed in statement["printed"].items():
        nll = value[value.index.str.contains(f"^(?:images|text)/{dataset}/.*/NLL$")]
        ece = value[nll.index.str.replace("NLL", "ECE")]
        products = [
            (nll.iloc[i] - nll.iloc[j]) * (ece.iloc[i] - ece.iloc[j]) for i, j in combinations(range(len(nll)), 2)
        ]
        assert [sum(product < 0 for product in products), sum(product != 0 for product in products)] == printed


def test_counts_are_the_printed_ones_beside_those_that_the_readers_check(rules):
    value = load_claims().set_index("id")["value"]
    for name, entry in rules["counts"].items():
        assert entry["printed"] == value[f"datasets/{name}/samples"]
        assert entry["ours"] == registry.get_dataset(entry["data"]).rows
