"""The transcription of the paper, held against itself: its numbers depend on each other."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from clustcal.experiments.methods import get_methods
from clustcal.experiments.paper import RULES, load_claims, printed
from clustcal.experiments.tabular.grid import PAPER_DATASETS

PAIRED = ("NLL", "AUC", "Brier", "ECE")
CLAIMS = load_claims()
VALUES = CLAIMS.set_index("id")["value"]
HALF = CLAIMS.set_index("id")["half_digit"]


def table(prefix):
    """The numbers whose id starts so, as a frame: the last part of the id in columns."""
    chosen = VALUES[VALUES.index.str.startswith(prefix + "/")]
    parts = chosen.index.str.removeprefix(prefix + "/").str.rsplit("/", n=1, expand=True)
    return chosen.set_axis(parts).unstack()


def test_ids_are_unique():
    assert CLAIMS["id"].is_unique


def test_every_line_says_what_it_is():
    assert (CLAIMS[["id", "place", "printed", "metric", "rule"]] != "").all(axis=None)
    assert set(CLAIMS["rule"]) == set(RULES)
    assert set(CLAIMS["better"]) == {"lower", "higher", ""}


def test_values_are_what_is_printed():
    printed = CLAIMS["printed"].str.replace("[≈,+]", "", regex=True).str.replace("M", "e6")
    assert_allclose(CLAIMS["value"], printed.astype(float))


def test_half_digits_are_half_of_the_last_place():
    for line in CLAIMS.itertuples():
        digits = re.fullmatch(r"[≈+-]*[\d,]+(?:\.(\d+))?(?:e(-?\d+)|(M))?", line.printed)
        places, exponent, million = digits.groups()
        power = int(exponent or 0) + (6 if million else 0) - len(places or "")
        assert line.half_digit == pytest.approx(0.5 * 10.0**power), line.id


def test_data_needed_are_known():
    names = {name for needs in CLAIMS["needs"] for name in needs.split("+")} - {"", "all six"}
    assert names == set(PAPER_DATASETS)


def test_main_table_has_every_method_with_five_metrics():
    found = table("performance")
    assert found.notna().all(axis=None)
    assert sorted(found.index) == sorted(f"{method.name}/{method.clustered}" for method in get_methods())
    assert set(found.columns) == {"NLL", "AUC", "Brier", "ECE", "LCE"}


@pytest.mark.parametrize(
    ("metric", "best"),
    [
        ("NLL", {"Platt/SHAP", "Platt/Coverage"}),
        ("AUC", {"Platt/SHAP"}),
        ("Brier", {"Platt/SHAP", "Platt/Coverage", "Platt/Data"}),
        ("ECE", {"Platt/Baseline"}),
        ("LCE", {"Histogram Binning/Baseline"}),
    ],
)
def test_best_of_the_main_table_is_what_the_paper_sets_in_bold(metric, best):
    column = table("performance")[metric]
    assert set(column.index[column == (column.max() if metric == "AUC" else column.min())]) == best


def test_main_table_is_ranked_by_log_loss():
    nll = [value for key, value in VALUES.items() if re.fullmatch("performance/.*/NLL", key)]
    assert nll == sorted(nll)
    assert len(nll) == 21


@pytest.mark.parametrize(("metric", "losses"), [("NLL", 0), ("AUC", 0), ("Brier", 0), ("ECE", 3)])
def test_bold_values_of_the_capacities_are_those_of_the_paper(metric, losses):
    """Ties of the Brier score are bold on both sides; of ECE three are bold on the other side."""
    found = table("capacity")
    gain = (found[f"{metric}_cl"] - found[f"{metric}_non"]) * (1 if metric == "AUC" else -1)
    assert (gain < 0).sum() == losses


def test_capacities_average_to_values_near_the_main_table():
    """The best method of a capacity is at least as good as the method that is best on average."""
    capacities, main = table("capacity"), table("performance")
    is_baseline = main.index.str.endswith("Baseline")
    half = HALF["performance/Platt/SHAP/NLL"]
    assert capacities["NLL_cl"].mean() <= main.loc[~is_baseline, "NLL"].min() + half
    assert capacities["NLL_non"].mean() <= main.loc[is_baseline, "NLL"].min() + half


@pytest.mark.parametrize("metric", PAIRED)
def test_improvement_of_all_is_the_mean_of_the_six(metric):
    six = [VALUES[f"improvement/{name}/{metric}/mean"] for name in PAPER_DATASETS]
    assert VALUES[f"improvement/All/{metric}/mean"] == pytest.approx(np.mean(six), abs=0.0101)


@pytest.mark.parametrize("metric", PAIRED)
def test_interval_of_all_is_that_of_36_pairs(metric):
    """From means and intervals of six data sets with six capacities each follow the variance within and between."""
    means = np.array([VALUES[f"improvement/{name}/{metric}/mean"] for name in PAPER_DATASETS])
    half_widths = np.array([VALUES[f"improvement/{name}/{metric}/ci"] for name in PAPER_DATASETS])
    sd = half_widths * np.sqrt(6) / stats.t.ppf(0.975, 5)
    total = 5 * (sd**2).sum() + 6 * ((means - means.mean()) ** 2).sum()
    expected = stats.t.ppf(0.975, 35) * np.sqrt(total / 35 / 36)
    assert VALUES[f"improvement/All/{metric}/ci"] == pytest.approx(expected, rel=0.04)


@pytest.mark.parametrize("metric", PAIRED)
def test_intervals_in_the_text_are_mean_and_half_width_of_the_table(metric):
    mean, ci = (VALUES[f"improvement/All/{metric}/{part}"] for part in ("mean", "ci"))
    assert VALUES[f"figures/improvement/{metric}/mean"] == mean
    assert VALUES[f"figures/improvement/{metric}/low"] == pytest.approx(mean - ci, abs=0.0101)
    assert VALUES[f"figures/improvement/{metric}/high"] == pytest.approx(mean + ci, abs=0.0101)


def test_median_gain_in_log_loss_in_the_text_follows_from_the_table():
    found = table("capacity")
    nll = found["NLL_non"] - found["NLL_cl"]
    assert VALUES["figures/slope/NLL-median"] == pytest.approx(nll.median(), abs=1.01e-4)
    relative = 100 * nll / found["NLL_non"]
    assert VALUES["figures/slope/NLL-median-relative"] == pytest.approx(relative.median(), abs=0.03)


def test_median_gain_in_auc_in_the_text_is_not_that_of_the_table():
    """A slip of the paper, see the errata: the gains of the table are 4, 13, 21, 36, 54 and 77 ten-thousandths."""
    found = table("capacity")
    gain = 1e4 * (found["AUC_cl"] - found["AUC_non"])
    assert sorted(gain.round()) == [4, 13, 21, 36, 54, 77]
    assert gain.median() == pytest.approx(28.5)
    assert VALUES["figures/slope/AUC-median"] == 17.5e-4


@pytest.mark.parametrize(("metric", "expected"), [("NLL", 0.208), ("AUC", 0.959)])
def test_slopes_in_the_text_are_not_those_of_the_table(metric, expected):
    """A slip of the paper, see the errata: its table gives other R squared than its text, whatever the rounding."""
    found = table("capacity")
    size = np.array([np.prod([int(part) for part in key.split("/")]) for key in found.index])
    gain = (found[f"{metric}_cl"] - found[f"{metric}_non"]) * (1 if metric == "AUC" else -1)
    assert stats.linregress(size, gain).rvalue ** 2 == pytest.approx(expected, abs=0.0005)
    rng = np.random.default_rng(0)
    possible = [stats.linregress(size, gain + rng.uniform(-1e-4, 1e-4, 6)).rvalue ** 2 for _ in range(2000)]
    assert not min(possible) <= VALUES[f"figures/slope/{metric}-R2"] <= max(possible)


def test_gains_in_auc_in_the_text_follow_from_the_table():
    found = table("capacity")
    relative = 100 * (found["AUC_cl"] / found["AUC_non"] - 1)
    for n in (100, 1000):
        low, high = sorted(relative[[f"{n}/6", f"{n}/8"]])
        assert VALUES[f"figures/capacity/AUC-gain/{n}/low"] == pytest.approx(low, abs=0.02)
        assert VALUES[f"figures/capacity/AUC-gain/{n}/high"] == pytest.approx(high, abs=0.02)


def test_p_values_are_those_of_pairs_that_all_agree():
    assert VALUES["figures/wilcoxon/NLL"] == pytest.approx(2 / 2**36, rel=0.01)
    assert VALUES["figures/wilcoxon-datasets/NLL"] == pytest.approx(2 / 2**6, abs=0.0005)


def test_rejection_table_is_one_split_of_1022_rows():
    """Every entry is a whole number of errors among the accepted rows of one test part."""
    found = table("rejection")
    for quantile, row in found.iterrows():
        accepted = 1022 - int(float(quantile) * 1022) + np.arange(-8, 9)  # ties leave some room
        for error in row:
            whole = np.round(error * accepted) / accepted
            assert np.abs(whole - error).min() <= 5e-5 * 1.01


def test_correlations_in_the_text_are_those_of_the_table():
    text, printed = table("correlations-text"), table("correlations")
    assert_allclose(text, printed, atol=0.0061)


def test_deep_tables_have_four_metrics_for_each_method():
    for kind, rows in (("images", 27), ("text", 20)):
        chosen = CLAIMS["id"].str.startswith(f"{kind}/")
        counts = CLAIMS[chosen]["id"].str.rsplit("/", n=1).str[1].value_counts()
        assert counts[["NLL", "Brier", "ECE", "Acc"]].tolist() == [rows] * 4


def test_reductions_on_imdb_in_the_text_follow_from_the_table():
    nll = {name: VALUES[f"text/IMDB/{name}/NLL"] for name in ("Base", "Platt", "Binwise-Platt")}
    assert VALUES["deep-text/IMDB/global-reduction"] == pytest.approx(100 * (1 - nll["Platt"] / nll["Base"]), abs=0.5)
    assert VALUES["deep-text/IMDB/binwise-reduction"] == pytest.approx(
        100 * (1 - nll["Binwise-Platt"] / nll["Base"]), abs=0.5
    )


def test_reader_gives_text_for_empty_cells():
    assert not CLAIMS.isna().any(axis=None)
    assert isinstance(CLAIMS, pd.DataFrame)


def test_printed_tables_are_those_of_the_paper():
    performance = printed(load_claims(), "performance").unstack()
    assert performance.shape == (21, 5)
    assert performance.loc[("Platt", "SHAP")].to_dict() == {
        **{"NLL": 0.2983, "AUC": 0.8244, "Brier": 0.0897, "ECE": 0.0266, "LCE": 0.6620},
    }
    capacity = printed(load_claims(), "capacity")
    assert capacity[300, 8, "AUC_cl"] == 0.8225
    improvement = printed(load_claims(), "improvement").unstack([1, 2])
    assert improvement.loc["Stroke", ("AUC", "ci")] == 1.21
