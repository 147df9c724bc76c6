"""The files in `results/` that are kept by hand, and the ledger: in form, and in agreement with what they speak of."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import yaml

from clustcal.experiments import ledger
from clustcal.experiments.deep import judgement, study
from clustcal.experiments.deep.further_statements import Known
from clustcal.experiments.deep.network_tables import STAND_INS
from clustcal.experiments.paper import load_claims
from clustcal.experiments.store import COLUMNS
from clustcal.experiments.tabular import tables
from clustcal.experiments.tabular.grid import OPEN_DATASETS, PAPER_DATASETS
from clustcal.experiments.tabular.grid import STAND_INS as STAND_INS_OF_TABLES
from clustcal.experiments.tabular.readings import cluster_tables as clusters
from clustcal.experiments.tabular.runs import keep_complete, read_rows, read_runs

RESULTS = Path(__file__).resolve().parents[2] / "results"
ERRATA = yaml.safe_load((RESULTS / "errata.yml").read_text(encoding="utf-8"))
DEVIATIONS = yaml.safe_load((RESULTS / "deviations.yml").read_text(encoding="utf-8"))
PRINTED = load_claims().set_index("id")["value"]
NUMBERS = {entry["id"]: entry.get("numbers", {}) for entry in ERRATA}


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry["id"])
def test_every_slip_has_its_evidence_and_names_numbers_of_the_paper(entry):
    assert set(entry) - {"numbers"} == {"id", "place", "printed", "instead", "evidence", "claims"}
    assert set(entry["claims"]) <= set(PRINTED.index)


@pytest.mark.parametrize("entry", DEVIATIONS, ids=lambda entry: entry["id"])
def test_every_deviation_says_what_why_and_with_what_effect(entry):
    assert set(entry) == {"id", "subject", "paper", "ours", "why", "effect"}


@pytest.mark.parametrize("entries", [ERRATA, DEVIATIONS], ids=["errata", "deviations"])
def test_ids_are_unique(entries):
    ids = [entry["id"] for entry in entries]
    assert len(set(ids)) == len(ids)


def test_number_of_runs():
    sizes = [PRINTED[f"protocol/{name}"] for name in ("datasets", "methods", "configurations", "repeats")]
    assert NUMBERS["number-of-runs"]["product"] == np.prod(sizes) != PRINTED["protocol/points"]


def test_toy_example():
    expected = -(0.7 * np.log(0.6) + 0.3 * np.log(0.4))
    assert NUMBERS["toy-rounding"]["nll"] == pytest.approx(expected, abs=5e-7)


def test_cross_entropy_is_not_a_function_of_the_distance():
    for name, value in NUMBERS["proof-monotonicity"].items():
        p, q = (float(part) for part in name.removeprefix("ce_").split("_at_"))
        assert value == pytest.approx(-p * np.log(q) - (1 - p) * np.log(1 - q), abs=5e-7)


def test_smallest_p_values():
    assert list(NUMBERS["p-values-are-sign-patterns"].values()) == pytest.approx([2 / 2**36, 2 / 2**6], rel=1e-6)


def test_least_and_largest_gain():
    globals_ = min(PRINTED[f"performance/{name}/Baseline/NLL"] for name in ("Platt", "Beta"))
    clustered = [PRINTED[f"performance/{name}/{Z}/NLL"] for name in ("Platt", "Beta") for Z in ("SHAP", "Coverage")]
    gains = [100 * (1 - nll / globals_) for nll in clustered]
    assert list(NUMBERS["least-gain"].values()) == pytest.approx([min(gains), max(gains)], abs=0.0005)


def test_median_gain_in_auc():
    keys = [f"capacity/{n}/{d}/AUC" for n in (100, 300, 1000) for d in (6, 8)]
    before, after = (np.array([PRINTED[f"{key}_{kind}"] for key in keys]) for kind in ("non", "cl"))
    found = NUMBERS["median-gain-in-auc"]
    assert found["median"] == pytest.approx(np.median(after - before))
    assert found["relative"] == pytest.approx(100 * np.median((after - before) / before), abs=0.0005)


def test_beta_with_shap_against_data():
    for metric in ("NLL", "Brier", "ECE"):
        shap, data = (PRINTED[f"performance/Beta/{Z}/{metric}"] for Z in ("SHAP", "Data"))
        assert NUMBERS["learned-against-data"][metric.lower()] == [shap, data]
        assert shap > data


def test_errors_behind_the_rejection_table():
    """The printed rates are these counts over the accepted rows, of which ties may leave a few more."""
    for quantile, counts in NUMBERS["rejection-is-one-split"].items():
        accepted = np.arange(round(1022 * (1 - float(quantile))) - 1, round(1022 * (1 - float(quantile))) + 7)
        for method, count in zip(("base", "Beta", "clustered Beta"), counts, strict=True):
            assert np.abs(count / accepted - PRINTED[f"rejection/{quantile}/{method}"]).min() <= 5e-5


def test_images_that_calibration_makes_worse():
    found = NUMBERS["all-methods-improve-images"]
    assert found["BloodMNIST_nll"]["Binwise-TS"] == PRINTED["images/BloodMNIST/Binwise-TS/NLL"]
    assert found["CIFAR-100_nll"]["clustered Dirichlet"] == PRINTED["images/CIFAR-100/Dirichlet clustered/NLL"]
    assert found["BloodMNIST_nll"]["base"] < min(
        found["BloodMNIST_nll"][f"Binwise-{name}"] for name in ("Vector", "TS")
    )


def test_stored_verdicts_follow_from_the_results():
    stored = ledger.read_ledger(RESULTS / "claims.csv")
    deep = Known(RESULTS)
    fresh = ledger.make_ledger(
        read_rows(RESULTS), weighted=read_rows(RESULTS, "weighted"), clusters=clusters.read(RESULTS), deep=deep
    )
    assert ledger.compare_ledgers(stored, fresh) == []
    assert judgement.compare(judgement.read_verdicts(RESULTS), judgement.judge_all(deep)) == []


def test_every_statement_of_the_rules_is_judged_and_no_other():
    rules = yaml.safe_load((RESULTS / "deep" / "relations.yml").read_text(encoding="utf-8"))
    verdicts = judgement.read_verdicts(RESULTS)
    judged = verdicts.loc[verdicts["kind"] == judgement.STATEMENT, "id"]
    assert set(judged) == {statement["id"] for statement in rules["statements"]}
    assert set(verdicts["verdict"]) <= set(rules["verdicts"])


def test_the_networks_that_are_judged_are_those_of_the_rules():
    rules = yaml.safe_load((RESULTS / "deep" / "relations.yml").read_text(encoding="utf-8"))
    ours = {name: {"judged": one.judged, "beside": list(one.beside)} for name, one in STAND_INS.items()}
    assert ours == rules["networks"]


def test_every_column_of_the_results_is_explained():
    text = (RESULTS / "README.md").read_text(encoding="utf-8")
    assert [column for column in (*COLUMNS, *study.COLUMNS) if f"`{column}`" not in text] == []


def test_blocked_numbers_are_as_many_as_the_deviations_say():
    (entry,) = [entry for entry in DEVIATIONS if entry["id"] == "gated-data"]
    ledger_ = ledger.read_ledger(RESULTS / "claims.csv")
    assert f"{ledger_['reason'].str.contains('data use agreement').sum()} numbers are blocked" in entry["effect"]


def test_effects_of_class_weights_and_of_the_choice_are_those_of_the_rows():
    """Numbers of `deviations.yml` that move with every new computation of the rows."""
    effects = {entry["id"]: entry["effect"] for entry in DEVIATIONS}
    six = PAPER_DATASETS | STAND_INS_OF_TABLES
    gains = []
    for arm in ("", "weighted"):
        rows = tables.as_paper_rows(keep_complete(read_rows(RESULTS, arm)), six)
        gains.append(tables.improvement(rows).loc["All", ("NLL", "mean")])
    assert f"is {gains[0]:.2f} and {gains[1]:.2f} % (0.49)" in " ".join(effects["class-weights"].split())
    seven = read_runs(list(OPEN_DATASETS), folder=RESULTS)
    means = [tables.improvement(seven, where).loc["All", ("NLL", "mean")] for where in ("test", "calibration")]
    assert f"the mean gain is {means[0]:.2f} % and {means[1]:.2f} %" in effects["selection-of-pairs"]


def test_reach_of_rounding_in_the_errata():
    """All corners of the table of capacities: how far R squared can be off because the table is rounded."""
    claims = load_claims().set_index("id")
    capacities = [(n, d) for n in (100, 300, 1000) for d in (6, 8)]
    (entry,) = [entry for entry in ERRATA if entry["id"] == "slopes"]
    for metric, words in (("NLL", "{:.2f} to {:.2f} for NLL"), ("AUC", "{:.2f} to {:.2f} for AUC")):
        ids = [[f"capacity/{n}/{d}/{metric}_{kind}" for n, d in capacities] for kind in ("non", "cl")]
        gain = claims.loc[ids[0], "value"].to_numpy() - claims.loc[ids[1], "value"].to_numpy()
        reach = claims.loc[ids[0], "half_digit"].to_numpy() + claims.loc[ids[1], "half_digit"].to_numpy()
        size = np.prod(capacities, axis=1)
        moved = [gain + reach * np.array(signs) for signs in product((-1, 1), repeat=6)]
        found = [np.corrcoef(size, one)[0, 1] ** 2 for one in moved]
        assert words.format(min(found), max(found)) in " ".join(entry["evidence"].split())
