"""The rules of the protocol of the alternatives, on rows made by hand."""

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats

from clustcal.experiments.alternatives import alternatives_study as study
from clustcal.experiments.alternatives import confirmation
from clustcal.experiments.alternatives.lineup import ALTERNATIVES
from clustcal.experiments.results import FOLDER

METHODS = ("Platt", "Beta", "ridge SHAP+coverage", "ridge SHAP", "ridge raw", "clusters CV", "ridge permuted",
           "ridge SHAP+raw", "ridge SHAP+coverage, caution 0")  # fmt: skip


def made_up_rows(sets=("stroke", "adult", "support2"), gain=2.0, n=2000):
    """Platt has a log-loss of 1, Beta of 1.5, the ridges one that is lower by the gain, more or less by seed."""
    rows = []
    for place, name in enumerate(sets):
        for seed in study.SEEDS:
            noise = 0.1 * (seed - 7) + 0.2 * place
            nll = dict.fromkeys(METHODS, 1.0) | {"Beta": 1.5, "ridge permuted": 1.0001}
            nll |= dict.fromkeys(METHODS[2:4], 1 - (gain + noise) / 100)
            rows += [
                {"dataset": name, "base_model": study.MAIN_MODEL, "seed": seed, "arm": "", "method": method}
                | {"nll": value, "n_calibration": n}
                for method, value in nll.items()
            ]
    return pd.DataFrame(rows)


def test_gains_are_over_the_better_of_platt_and_beta():
    table = confirmation.gains(made_up_rows())
    assert table.loc[("stroke", 7), "ridge SHAP"] == pytest.approx(2)
    assert table.loc[("stroke", 7), "Platt"] == 0
    assert table.loc[("stroke", 7), "Beta"] == pytest.approx(-50)
    other = made_up_rows()
    other.loc[other["method"] == "Beta", "nll"] = 0.5
    assert confirmation.gains(other).loc[("stroke", 7), "Platt"] == pytest.approx(-100)


def test_intervals_within_a_set_have_the_correction_for_overlapping_splits():
    """By the formula of Nadeau and Bengio: the variance of the mean is (1 / J + test / train) times that of a value."""
    line = confirmation.by_set(confirmation.gains(made_up_rows())["ridge SHAP"]).loc["stroke"]
    values = 2 + 0.1 * np.arange(-2, 3)
    half = stats.t.ppf(0.975, 4) * values.std(ddof=1) * np.sqrt(1 / 5 + 0.25)
    assert line["mean"] == pytest.approx(2)
    assert line["high"] - line["mean"] == pytest.approx(half)
    assert line["worst"] == pytest.approx(1.8)
    assert line["verdict"] == "confirmed"


def test_over_sets_each_is_one_observation_and_targets_of_the_same_patients_are_one():
    sets = ("stroke", "diabetes130", "diabetes130-los", "breast_cancer")
    found = confirmation.over_sets(confirmation.gains(made_up_rows(sets))["ridge SHAP"])
    expected = stats.ttest_1samp([2.0, 2.3], 0).confidence_interval(0.95)
    assert found["sets"] == 2
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high))


def test_verdicts():
    assert set(confirmation.verdicts(made_up_rows()).values()) == {"confirmed"}
    none = confirmation.verdicts(made_up_rows(gain=-0.2))
    assert none["primary"] == none["it beats clusters"] == none["it is what the model knows"] == "not confirmed"
    assert none["it is safe"] == "confirmed"
    harmful = confirmation.verdicts(made_up_rows(gain=-2))
    assert harmful["it is safe"] == "not confirmed"
    assert confirmation.by_set(confirmation.gains(made_up_rows(gain=-2))["ridge SHAP"])["verdict"].iloc[0] == "refuted"
    small = confirmation.verdicts(made_up_rows(n=100))
    assert small["it is safe"] == "not confirmed"


def test_incomplete_sets_are_left_out(tmp_path):
    rows = made_up_rows()
    rows = rows[~((rows["dataset"] == "adult") & (rows["seed"] == 9) & (rows["method"] == "ridge SHAP+coverage"))]
    more = pd.DataFrame([rows.iloc[0].to_dict() | {"seed": 3}])  # a seed of the trial
    store = study.open_store(tmp_path)
    for name, of_set in pd.concat([rows, more]).groupby("dataset"):
        store.append(name, of_set.to_dict("records"))
    found = confirmation.read_rows(tmp_path)
    assert set(found["dataset"]) == {"stroke", "support2"}
    assert set(found["seed"]) == set(study.SEEDS)


def test_a_verdict_that_hangs_on_one_set():
    """Means 1, 1, 1 and -2: without the last they do not differ, and the interval is 1; without another it is open."""
    sets = ["stroke", "adult", "affairs", "support2"]
    index = pd.MultiIndex.from_product([sets, [5, 6]], names=["dataset", "seed"])
    values = pd.Series(np.repeat([1.0, 1.0, 1.0, -2.0], 2), index)
    assert confirmation.over_sets(values)["verdict"] == "open"
    assert confirmation.hangs_on(values) == ["support2"]


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (-0.2, 0.1, "as good"),
        (0.1, 0.3, "as good"),
        (-0.2, -0.1, "slightly worse"),
        (-1, -0.1, "worse"),
        (-1, 1, "open"),
    ],
)
def test_words_for_cheap_representations(low, high, word):
    assert confirmation.judge_cheap({"low": low, "high": high}) == word


def test_the_rules_are_those_of_the_protocol():
    said = yaml.safe_load((FOLDER / "alternatives" / "protocol.yml").read_text(encoding="utf-8"))
    assert said["method"]["primary"] == confirmation.PRIMARY
    assert tuple(said["sets"]["beside"]) == confirmation.BESIDE
    assert set(confirmation.TRIAL) == set(said["sets"]["open"])
    assert set(confirmation.verdicts(made_up_rows())) == set(said["confirmed"]) - {"otherwise"}
    assert "at least -0.1 %" in said["confirmed"]["it is safe"]
    assert "below -0.5 %" in said["confirmed"]["it is safe"]
    assert len(confirmation.compare(confirmation.gains(made_up_rows()))) == len(said["comparisons"]["secondary"])
    assert f"above -{confirmation.CLOSE} points" in said["added"][2]["judged"]


@pytest.fixture(scope="module")
def rows():
    found = study.open_store(FOLDER).read(arm=None)
    assert not found.empty
    return found


class TestStored:
    def test_rows_are_runs_of_the_protocol(self, rows):
        assert set(rows["seed"]) <= set(study.SEEDS)
        assert set(rows["dataset"]) <= set(study.DATASETS)
        assert set(rows["method"]) <= set(ALTERNATIVES)
        units = set(study.AlternativesStudy(arms=study.ARMS).units())
        found = rows[["dataset", "base_model", "seed", "arm"]].fillna("").drop_duplicates()
        assert {study.Unit(*line) for line in found.itertuples(index=False)} <= units

    def test_no_method_of_ours_failed(self, rows):
        ours = rows[rows["method"].map(lambda name: ALTERNATIVES[name].group != "libraries")]
        assert ours["nll"].notna().all()
        assert not rows.duplicated(list(study.KEY)).any()

    def test_splits_of_a_unit_are_the_same_for_all_methods(self, rows):
        per_unit = rows.groupby(["dataset", "base_model", "seed", "arm"], dropna=False)
        sizes = per_unit[["n_train", "n_calibration", "n_test"]]
        assert (sizes.max() == sizes.min()).all(axis=None)
        uncertainty = (rows["nll"] - rows["miscalibration"] + rows["discrimination"]).groupby(per_unit.ngroup())
        assert (uncertainty.max() - uncertainty.min()).max() < 1e-9
