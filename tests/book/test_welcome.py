"""The first page: its results are those of the stored runs, its picture shows what the words beside it say."""

import re

import pandas as pd
import pytest
import results_at_a_glance
from book_sources import ROOT
from scipy import stats

from clustcal import BetaCalibration, datasets, metrics

PAGE = (ROOT / "book" / "index.md").read_text(encoding="utf-8")
TABLE = results_at_a_glance.compare()


@pytest.mark.parametrize("name", TABLE.index)
def test_a_line_is_that_of_the_file_of_its_data_set(name):
    rows = pd.read_csv(ROOT / "results" / "tabular" / f"{name}.csv", low_memory=False)
    rows = rows[(rows["n_estimators"] == 300) & (rows["max_depth"] == 8) & rows["settings"].isna()]
    of = lambda calibrator, kind: rows.query(
        "calibrator == @calibrator and representation == @kind"
    ).set_index("seed")["nll"]  # fmt: skip
    raw, beta, clustered = of("base", "Baseline"), of("Beta", "Baseline"), of("Beta", "SHAP")
    assert list(map(len, (raw, beta, clustered))) == [5, 5, 5]
    line = TABLE.loc[name]
    assert line[list(results_at_a_glance.METHODS)].tolist() == pytest.approx(
        [raw.mean(), beta.mean(), clustered.mean()], abs=1e-12
    )
    gain = 1000 * (beta - clustered)
    assert line["gain"] == pytest.approx(gain.mean(), abs=1e-9)
    # Five splits with a fifth of the rows each: overlapping, so the variance is that of Nadeau and Bengio.
    half = stats.t.ppf(0.975, 4) * gain.std() * (1 / 5 + 1 / 4) ** 0.5
    assert line["half_width"] == pytest.approx(half, rel=1e-9)


def test_the_sentence_counts_the_lines():
    text = results_at_a_glance.write()
    lines = [row.strip("| ").split(" | ") for row in text.splitlines() if row.startswith("|")][2:]
    assert len(lines) == len(TABLE) == 7
    beyond = [float(gain) for gain, half in (line[-1].split(" ± ") for line in lines) if abs(float(gain)) > float(half)]
    helps = sum(float(line[2]) < float(line[1]) for line in lines)
    assert re.findall(r"\d+|none", text.splitlines()[-1]) == [
        str(helps), "7", str(sum(gain > 0 for gain in beyond)), str(sum(gain < 0 for gain in beyond) or "none")
    ]  # fmt: skip


def test_the_page_asks_for_the_table_the_picture_and_both_tracks():
    assert "```{from-results} results at a glance\n```" in PAGE
    assert "```{image} _assets/welcome.png" in PAGE
    assert (ROOT / "book" / "_assets" / "welcome.png").is_file()
    assert all(f"{{grid-item-card}} The {track}\n" in PAGE for track in ("course", "paper"))


def test_the_words_beside_the_picture_are_true_of_it():
    s = datasets.load_scores("stroke")
    calibrated = BetaCalibration(prior=None).fit(s.P_cal, s.y_cal).predict_proba(s.P_test)[:, 1]
    raw, fitted = (
        metrics.reliability_curve(s.y_test, P, n_bins=8, strategy="quantile") for P in (s.P_test, calibrated)
    )
    assert f"{len(s.y_test):,} patients" in PAGE
    low = raw.confidence < 0.005
    assert low.sum() == 6
    assert f"{raw.frequency[low].max():.2f}" == "0.11"
    assert f"{raw.confidence[-1]:.2f}" == "0.22"
    assert raw.frequency[-1] < 0.75 * raw.confidence[-1]
    assert f"{fitted.confidence[-1]:.2f}" == "0.19"
    for words in (
        "six of eight groups",
        "below 0.005",
        "rate of 0.11",
        "0.22, lies well below",
        "up to a promised risk of 0.19",
    ):
        assert words in PAGE
