"""Verdicts on relations follow from the rows of the study by the rules, on rows that are made up."""

from types import SimpleNamespace

import pandas as pd
import pytest

from clustcal.experiments.deep.relation_verdicts import VERDICTS, choose_cells, find_sign, judge
from clustcal.experiments.deep.relations import find_relations

SEEDS = range(5)


def row(calibrator, seed, nll, layer="", n_clusters=1, shrinkage=0.0, temperature=0.0, nll_cv=None, **metrics):
    found = {"brier": nll / 4, "ada_ece": nll / 10, "accuracy": 0.9} | metrics
    return {
        "calibrator": calibrator, "seed": seed, "layer": layer, "n_clusters": n_clusters, "shrinkage": shrinkage,
        "temperature": temperature, "nll": nll, "nll_cv": nll_cv, **found,
    }  # fmt: skip


@pytest.fixture
def emotion():
    """The methods of the paper's table on Emotion, with the printed log-losses; every clustered one in two cells."""
    printed = {
        "Base": 0.167, "Vector": 0.158, "Dirichlet": 0.159, "TS": 0.158, "Binwise-Vector": 0.152, "Binwise-TS": 0.156
    }  # fmt: skip
    clustered = {"Vector": 0.157, "Dirichlet": 0.162, "TS": 0.160}
    rows = [row(name, seed, nll + seed / 100) for name, nll in printed.items() for seed in SEEDS]
    for name, nll in clustered.items():
        for seed in SEEDS:
            rows.append(row(name, seed, nll + seed / 100, "cls", 25, 1.0, 1.0, nll_cv=0.2))
            rows.append(row(name, seed, 0.01, "mean", 4, 5.0, 1.0, nll_cv=0.3))  # better on the test half alone
            rows.append(row(name, seed, 0.01, "cls", 25, 1.0, 0.1, nll_cv=0.1))  # at another temperature
    return pd.DataFrame(rows)


def test_cells_are_chosen_by_cross_validation_at_the_papers_temperature(emotion):
    table = choose_cells(emotion)
    assert table.groupby("method").size().eq(5).all()
    chosen = table[table["method"] == "TS clustered"]
    assert set(chosen["n_clusters"]) == {25}
    assert chosen["nll"].min() == pytest.approx(0.160)
    assert choose_cells(emotion, 0.1).set_index("method").loc["TS clustered", "nll"].tolist() == [0.01] * 5


def test_rows_with_the_printed_log_losses_bear_out_every_relation_of_them(emotion):
    judged = judge({"Emotion": choose_cells(emotion)})
    ours = judged[(judged["dataset"] == "Emotion") & judged["metric"].isin(["NLL", "K", "shrinkage"])]
    # As much lower than the base, but of losses that are 0.02 higher on average: ratios are judged within a factor.
    assert set(ours["verdict"]) == {"holds"}
    others = judged[judged["dataset"] != "Emotion"]
    assert set(others.loc[others["dataset"] == "ImageNet", "verdict"]) == {"blocked"}
    assert set(others.loc[others["dataset"] != "ImageNet", "verdict"]) == {"not attempted"}


def test_what_is_the_other_way_round_fails(emotion):
    emotion.loc[(emotion["calibrator"] == "TS") & (emotion["layer"] == ""), "nll"] += 0.1
    judged = judge({"Emotion": choose_cells(emotion)}).set_index("id")
    assert judged.loc["text/Emotion/TS/NLL/sign against base", ["ours", "verdict"]].tolist() == ["higher", "fails"]
    assert judged.loc["text/Emotion/TS/NLL/ratio to base", "verdict"] == "fails"
    assert judged.loc["text/Emotion/NLL/last", ["ours", "verdict"]].tolist() == ["TS", "fails"]
    assert judged.loc["text/Emotion/TS clustered/NLL/sign against global", "verdict"] == "fails"
    assert judged.loc["text/Emotion/Vector/NLL/sign against base", "verdict"] == "holds"


def test_a_sign_that_changes_between_splits_is_undecided(emotion):
    is_ts = (emotion["calibrator"] == "TS") & (emotion["layer"] == "")
    emotion.loc[is_ts & (emotion["seed"] == 0), "nll"] += 0.02
    judged = judge({"Emotion": choose_cells(emotion)}).set_index("id")
    assert judged.loc["text/Emotion/TS/NLL/sign against base", ["ours", "verdict"]].tolist() == ["open", "undecided"]


def test_equal_digits_and_other_digits_are_neither_right_nor_wrong(emotion):
    emotion.loc[emotion["calibrator"] == "Dirichlet", "accuracy"] = 0.9  # printed lower than the base
    judged = judge({"Emotion": choose_cells(emotion)}).set_index("id")
    line = judged.loc["text/Emotion/Dirichlet/Acc/sign against base"]
    assert line[["expected", "ours", "verdict"]].tolist() == ["lower", "equal", "equal or not"]


def test_a_network_without_one_of_the_methods_is_judged_by_the_others(emotion):
    judged = judge({"Emotion": choose_cells(emotion[emotion["calibrator"] != "Dirichlet"])}).set_index("id")
    assert judged.loc["text/Emotion/Dirichlet/NLL/sign against base", "verdict"] == "not attempted"
    assert judged.loc["text/Emotion/NLL/first", "verdict"] == "not attempted"
    assert judged.loc["text/Emotion/TS/NLL/sign against base", "verdict"] == "holds"


def test_a_method_of_fewer_splits_is_held_against_the_same_splits(emotion):
    """One split of clustered TS, in which it is 0.002 above global TS; the five of global TS have another mean."""
    one_split = emotion[(emotion["calibrator"] != "TS") | (emotion["layer"] == "") | (emotion["seed"] == 4)]
    judged = judge({"Emotion": choose_cells(one_split)}).set_index("id")
    ratio = judged.loc["text/Emotion/TS clustered/NLL/ratio to global"]
    assert ratio["splits"] == 1
    assert float(ratio["ours"]) == pytest.approx(1 - 0.200 / 0.198, abs=1e-4)
    assert judged.loc["text/Emotion/TS clustered/NLL/sign against global", ["ours", "splits"]].tolist() == ["higher", 1]


def test_every_relation_gets_one_of_the_verdicts(emotion):
    judged = judge({"Emotion": choose_cells(emotion)})
    assert len(judged) == len(find_relations())
    assert set(judged["verdict"]) <= set(VERDICTS)


@pytest.mark.parametrize(
    ("printed", "ours", "verdict"),
    [("0.30", "0.16", "holds"), ("0.30", "0.61", "fails"), ("-0.45", "-0.80", "holds"), ("-0.45", "0.10", "fails"),
     ("0.0100", "0.0001", "holds"), ("0.0000", "0.0101", "fails")],
)  # fmt: skip
def test_ratios_are_judged_by_a_factor_of_two_or_a_hundredth(printed, ours, verdict):
    from clustcal.experiments.deep import relation_verdicts

    assert relation_verdicts._verdict(SimpleNamespace(kind="ratio to base", expected=printed), ours) == verdict


def test_a_difference_below_half_of_the_last_digit_is_equal():
    assert find_sign([0.3004] * 5, [0.3] * 5, 0.001) == "equal"
    assert find_sign([0.3004] * 5, [0.3] * 5, 0.0001) == "higher"
