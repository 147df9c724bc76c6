"""The ledger: verdicts follow from results by the stated rule, and from nothing else."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from clustcal.experiments import ledger
from clustcal.experiments.deep.further_statements import Known
from clustcal.experiments.paper import load_claims
from clustcal.experiments.store import Store
from clustcal.experiments.tabular.grid import PAPER_DATASETS, STAND_INS
from tests.experiments.deep.made_up_rows import make_rows
from tests.experiments.tabular.rows import make_paper_rows, make_variants

EVERY = [*PAPER_DATASETS.values(), *STAND_INS.values()]
OPEN = [name for name in EVERY if name not in ("mimic-los", "wids")]
CELL = "performance/Platt/SHAP/NLL"


@pytest.fixture(scope="module")
def rows():
    """Results in which every method has the value of the paper's main table, on every data set."""
    return make_paper_rows(EVERY)


@pytest.fixture(scope="module")
def full(rows):
    return ledger.make_ledger(rows).set_index("id")


@pytest.fixture(scope="module")
def open_only(rows):
    return ledger.make_ledger(rows[rows["dataset"].isin(OPEN)]).set_index("id")


class TestColumns:
    def test_kinds_are_four_and_a_twin_is_a_number_of_the_paper(self, full):
        assert set(full["kind"]) == {"measured", "computed", "counted", "setting"}
        twins = full.loc[full["same_as"] != "", "same_as"]
        assert set(twins) <= set(full.index)
        assert len(twins) > 35
        same = twins[~twins.index.str.contains("low|high|overhead")]
        np.testing.assert_allclose(full.loc[same.index, "value"], full.loc[same, "value"], rtol=0.03)

    def test_constants_are_said_to_be_unable_to_fail(self, full):
        assert full.loc["protocol/shrinkage", "strength"].startswith("cannot fail")
        assert full.loc["improvement/Stroke/NLL/mean", "strength"] == ""

    def test_what_the_papers_tables_contradict_is_found(self, full):
        """1 of 6 x 21 x 6 x 5 = 3780, and four figures that do not follow from the table of capacities."""
        wrong = full.index[full["consistent"] == "no"]
        assert "protocol/points" in wrong
        assert full.loc["protocol/points", "from_paper"] == 3780
        assert {name for name in wrong if name != "protocol/points"} == {
            f"figures/slope/{name}" for name in ("NLL-R2", "AUC-R2", "AUC-median", "AUC-median-relative")
        }
        assert full.loc["figures/wilcoxon/NLL", "from_paper"] == pytest.approx(2 * 0.5**36)

    def test_the_jackknife_error_of_a_mean_is_that_of_the_mean(self, rows):
        shifted = ledger.make_ledger(rows.assign(nll=rows["nll"] + 0.01 * rows["seed"])).set_index("id")
        assert shifted.loc[CELL, "error"] == pytest.approx(shifted.loc[CELL, "sd"] / np.sqrt(5))

    def test_the_second_arm_judges_what_depends_on_it_and_did_not_choose_it(self, rows):
        other = rows.assign(nll=rows["nll"] * 1.1)
        found = ledger.make_ledger(rows, weighted=other).set_index("id")
        assert found.loc[CELL, ["verdict", "weighted_verdict"]].tolist() == ["match", "differs"]
        assert found.loc[CELL, "weighted"] == pytest.approx(1.1 * 0.2983)
        for name in (
            "performance/base/Baseline/ECE",
            "performance/TS/Baseline/ECE",
            "toy/after/NLL",
            "protocol/points",
        ):
            assert found.loc[name, "weighted_verdict"] == ""


class TestExplanation:
    def test_every_function_that_is_named_exists(self):
        for address in ledger.RECOMPUTED_BY.values():
            module, _, name = address.rpartition(".")
            assert callable(getattr(import_module(module), name))
        assert set(load_claims()["recompute"]) - {""} <= set(ledger.RECOMPUTED_BY)

    def test_a_number_is_explained(self, full):
        text = ledger.explain(full.reset_index(), CELL)
        for part in (CELL, "0.2983 nat (Table: overall performance)", "match", "tables.performance"):
            assert part in text

    def test_an_unknown_id_is_refused_with_those_that_are_near(self, full):
        with pytest.raises(
            ValueError, match=r"id is 'performance/Platt/SHAP/NNL'; expected .*performance/Platt/SHAP/NLL"
        ):
            ledger.explain(full.reset_index(), "performance/Platt/SHAP/NNL")

    @pytest.mark.parametrize("name", ["performance/platt/shap", "PERFORMANCE/Platt/SHAP"])
    def test_ids_that_begin_so_are_named_whatever_the_case(self, full, name):
        with pytest.raises(ValueError, match="such as performance/Platt/SHAP/NLL, performance/Platt/SHAP/AUC, "):
            ledger.explain(full.reset_index(), name)

    def test_a_number_that_follows_from_others_says_whether_it_does(self, full):
        lines = full.reset_index()
        assert "3780: does not agree within rounding" in ledger.explain(lines, "protocol/points")
        assert "2.06818: agrees within rounding" in ledger.explain(lines, "overhead/deep/ratio/low")

    def test_a_zero_with_a_tolerance_of_a_half_is_said_to_be_unable_to_fail(self, full):
        assert full.loc["toy-text/before/ECE", "strength"].startswith("cannot fail")
        assert full.loc["toy/before/ECE", "strength"] == ""


class TestLedger:
    def test_one_line_for_every_claim(self, full):
        assert list(full.index) == load_claims()["id"].tolist()
        assert set(full["verdict"]) <= set(ledger.VERDICTS)

    def test_the_papers_own_values_match(self, full):
        cells = full[full.index.str.startswith("performance/")]
        assert set(cells["verdict"]) == {"match"}
        np.testing.assert_allclose(cells["ours"], cells["value"])
        assert (cells["sd"] < 1e-12).all()

    def test_a_value_that_is_lower_is_better_and_one_that_is_higher_differs(self, rows):
        is_cell = (rows["calibrator"] == "Platt") & (rows["representation"] == "SHAP")
        for factor, verdict in ((0.9, "better"), (1.1, "differs")):
            changed = ledger.make_ledger(rows.assign(nll=np.where(is_cell, factor, 1) * rows["nll"])).set_index("id")
            assert changed.loc[CELL, "verdict"] == verdict
            assert changed.loc["performance/Platt/Data/NLL", "verdict"] == "match"

    def test_spread_over_seeds_widens_the_tolerance(self, rows):
        """Log-losses of the seeds 0 to 4 lie -0.02, -0.01, 0, 0.01 and 0.02 off, and all 0.02 too high."""
        shifted = ledger.make_ledger(rows.assign(nll=rows["nll"] + 0.01 * rows["seed"])).set_index("id")
        assert shifted.loc[CELL, "ours"] == pytest.approx(0.2983 + 0.02)
        assert shifted.loc[CELL, "sd"] == pytest.approx(0.01 * np.sqrt(2.5))
        assert shifted.loc[CELL, "tolerance"] == pytest.approx(0.02 * np.sqrt(2.5))
        assert shifted.loc[CELL, "verdict"] == "within tolerance"

    def test_without_gated_data_the_means_over_six_are_blocked(self, open_only):
        assert open_only.loc[CELL, "verdict"] == "blocked"
        assert open_only.loc[CELL, "reason"] == "needs LOS and WiDS, under a data use agreement"
        assert np.isnan(open_only.loc[CELL, "ours"])
        assert open_only.loc["improvement/LOS/NLL/mean", "verdict"] == "blocked"

    def test_open_data_stand_beside_what_is_blocked(self, open_only):
        assert open_only.loc[CELL, "open"] == pytest.approx(0.2983)

    def test_counts_of_a_blocked_set_have_no_stand_in(self, open_only):
        assert open_only.loc[["datasets/LOS/samples", "datasets/WiDS/samples"], "open"].isna().all()

    def test_numbers_on_open_data_need_no_others(self, open_only):
        assert open_only.loc["improvement/Adult/NLL/mean", "ours"] == pytest.approx(100 * (1 - 0.2983 / 0.2997))
        assert np.isnan(open_only.loc["improvement/Adult/NLL/mean", "open"])

    @pytest.mark.parametrize(
        "lost",
        [
            {"seed": 4},
            {"n_estimators": 300, "max_depth": 8},
            {"calibrator": "LoRe"},
        ],
        ids=str,
    )
    def test_a_data_set_with_a_hole_is_not_judged(self, rows, lost):
        is_lost = (rows[list(lost)] == list(lost.values())).all(axis=1) & (rows["dataset"] == "stroke")
        holed = ledger.make_ledger(rows[~is_lost]).set_index("id")
        assert holed.loc[CELL, "verdict"] == "not attempted"
        assert holed.loc[CELL, "reason"] == "no results yet for Stroke"
        assert np.isnan(holed.loc["improvement/Stroke/NLL/mean", "ours"])
        assert not np.isnan(holed.loc["improvement/Adult/NLL/mean", "ours"])

    def test_other_seeds_do_not_count(self, rows, full):
        more = ledger.make_ledger(pd.concat([rows, rows.assign(seed=rows["seed"] + 5, nll=9.0)])).set_index("id")
        assert more.loc[CELL, "ours"] == full.loc[CELL, "ours"]

    def test_ablations_need_their_variants(self, rows, full):
        assert full.loc["figures/K7/NLL", "verdict"] == "not attempted"
        assert full.loc["figures/K7/NLL", "reason"] == "the results lack the rows for it"
        clustered = make_variants(rows[rows["dataset"].isin(["adult", "wids"])], "n_clusters=7", -0.001)
        every = [make_variants(clustered, f"{name}", -0.001) for name in variant_settings()]
        found = ledger.make_ledger(pd.concat([rows, *every])).set_index("id")
        assert found.loc["figures/K7/NLL", "ours"] == pytest.approx(100 * (0.999**2 - 1))

    def test_without_results_only_what_needs_none_is_judged(self):
        empty = ledger.make_ledger(Store("nowhere").read()).set_index("id")
        assert empty.loc["toy/after/NLL", "verdict"] == "match"
        assert empty.loc["protocol/points", ["ours", "verdict"]].tolist() == [3780, "differs"]
        assert empty.loc["datasets/Adult/samples", "verdict"] == "match"
        assert empty.loc["improvement/Adult/NLL/mean", "verdict"] == "not attempted"
        assert empty.loc["images/CIFAR-100/TS/NLL", "verdict"] == "not attempted"
        assert (empty.loc[empty["verdict"].isin(["not attempted", "blocked"]), "reason"] != "").all()


class TestFile:
    def test_what_is_written_comes_back(self, full, tmp_path):
        ledger.write_ledger(full.reset_index(), tmp_path / "claims.csv")
        again = ledger.read_ledger(tmp_path / "claims.csv").set_index("id")
        assert again["verdict"].equals(full["verdict"])
        np.testing.assert_allclose(again["ours"], full["ours"], rtol=1e-5)
        assert ledger.compare_ledgers(again.reset_index(), full.reset_index()) == []

    def test_a_changed_verdict_is_found(self, full):
        stored = full.reset_index()
        stored.loc[stored["id"] == CELL, "verdict"] = "differs"
        assert ledger.compare_ledgers(stored, full.reset_index()) == [
            f"{CELL}: the ledger says 'differs', the results say 'match'."
        ]

    def test_a_missing_line_is_found(self, full):
        stored = full.drop(CELL).reset_index()
        found = ledger.compare_ledgers(stored, full.reset_index())
        assert found[0] == f"{CELL}: the ledger says 'nothing', the results say 'match'."
        assert all(sentence.startswith(CELL) for sentence in found)

    def test_summary_counts_every_claim_once(self, full):
        counts = ledger.summarise(full.reset_index())
        assert counts.loc["performance", "match"] == 105
        assert counts.loc["total"].sum() == len(full)
        assert list(counts.columns) == list(ledger.VERDICTS)


def variant_settings():
    """The settings of all variants: a data set is complete only with every one of them."""
    from clustcal.experiments.tabular.grid import get_entries

    return sorted({entry.key[2] for entry in get_entries("variants")})


def test_every_number_of_the_paper_is_in_a_group_with_a_name():
    assert set(load_claims()["id"].str.split("/").str[0]) == set(ledger.GROUPS)


class TestDigits:
    @pytest.mark.parametrize(
        ("value", "half_digit", "text"),
        [
            (0.298349, 5e-5, "0.29835"),
            (0.62, 0.005, "0.620"),
            (36.0, 0.5, "36"),
            (57.4, 0.5, "57.4"),
            (48842.0, 0.5, "48,842"),
            (-4.5, 0.005, "\N{MINUS SIGN}4.500"),
            (2.9e-11, 5e-13, "2.9e-11"),
            (6e-4, 5e-5, "0.00060"),
            (float("nan"), 0.5, ""),
        ],
    )
    def test_one_digit_more_than_printed(self, value, half_digit, text):
        assert ledger.as_printed(value, half_digit) == text


@pytest.fixture(scope="module")
def with_networks(tmp_path_factory):
    known = Known(tmp_path_factory.mktemp("results"))
    nll = lambda calibrator, layer, n_clusters, shrinkage, temperature, seed: 0.2 + 0.01 * seed + n_clusters / 1000
    frames = [make_rows("emotion", 6, nll), make_rows("tiny-imagenet", 200, nll, layers=("pooled",))]
    known.rows = pd.concat(frames, ignore_index=True)
    return ledger.make_ledger(Store("nowhere").read(), deep=known).set_index("id")


class TestNetworks:
    """Numbers on images and texts stand beside ours, whose levels are those of other networks."""

    def test_ours_stands_beside_and_is_not_judged(self, with_networks):
        line = with_networks.loc["text/Emotion/TS clustered/NLL"]
        assert line["verdict"] == "other model"
        assert line["ours"] == pytest.approx(0.22 + 0.004)
        assert line["sd"] == pytest.approx(0.01 * np.sqrt(2.5))
        assert np.isnan(line["tolerance"])
        assert line["noise_verdict"] == ""
        assert with_networks.loc["text/Emotion/TS clustered/K", "ours"] == 4

    def test_its_relations_are_judged(self, with_networks):
        """Higher than base and global, as printed against the global one; the ratios are within 0.01 or are not."""
        assert with_networks.loc["text/Emotion/TS clustered/NLL", "relations"] == "fails 2, holds 2"
        assert with_networks.loc["text/IMDB/TS/NLL", "relations"] == "not attempted 2"

    def test_imagenet_is_blocked_and_has_an_open_value(self, with_networks):
        line = with_networks.loc["images/ImageNet/TS/NLL"]
        assert (line["verdict"], line["open"]) == ("blocked", pytest.approx(0.221))
        assert np.isnan(line["ours"])

    def test_a_network_without_rows_is_named(self, with_networks):
        line = with_networks.loc["text/IMDB/TS/NLL"]
        assert (line["verdict"], line["reason"]) == ("not attempted", "no results yet for imdb-overconfident")

    def test_settings_are_judged_as_settings(self, with_networks):
        assert with_networks.loc["deep-text/splits", ["verdict", "kind"]].tolist() == ["match", "setting"]
        assert with_networks.loc["deep-text/share", "ours"] == 50
