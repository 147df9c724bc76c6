"""The example of the README prints what the README says that it prints, and its links lead somewhere."""

import re
import subprocess
import sys

from book_sources import ROOT

from clustcal.experiments.alternatives import confirmation, confirmation_tables

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
HEADING = "## A first calibration"


def block(language):
    """Return the first block of a language after the heading of the example."""
    return re.search(rf"^```{language}\n(.*?)^```$", TEXT[TEXT.index(HEADING) :], re.MULTILINE | re.DOTALL)[1]


def test_example_prints_what_stands_below_it(tmp_path):
    command = [sys.executable, "-c", block("python")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == block("text")


def test_sentences_below_the_example_are_those_of_its_numbers():
    rate = float(re.search(r"([\d.]+)% of", block("text"))[1])
    found = re.findall(r"^(.*?)  +mean risk ([\d.]+)%  log-loss ([\d.]+)$", block("text"), re.MULTILINE)
    risk = {name: float(mean) for name, mean, _ in found}
    loss = {name: float(value) for name, _, value in found}
    assert risk["as it is"] < rate - 1, "The model's risks were too low."
    assert abs(risk["Beta"] - rate) < 0.5, "One correction for everybody sets the mean right"
    assert loss["clustered Beta"] < loss["Beta"] < loss["as it is"], "one for each group comes a little closer still"


def test_links_lead_to_files_and_chapters_have_the_page_that_is_named():
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", TEXT) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []
    for name in re.findall(r"_build/html/([\w/-]+)\.html", TEXT):
        assert name == "index" or (ROOT / "book" / f"{name}.md").is_file()


def test_the_gains_of_other_methods_are_those_of_the_rows():
    text, of_all = " ".join(TEXT.split()), confirmation_tables.methods(confirmation.read_rows())
    numbers = r"([\d.]+) % in log-loss \(95 % interval ([\d.]+) to ([\d.]+)\) over the better of two global calibrators"
    for start, name in (("Leaving out", "cut off + Platt"), ("A ridge", confirmation.PRIMARY)):
        said = re.search(rf"- {start}\b.*?{numbers} on (the whole model|eight data sets)", text)
        line = of_all.loc[name, ["mean", "low", "high"]]
        assert [float(said[k]) for k in (1, 2, 3)] == [round(value, 1) for value in line]
    assert of_all.loc[confirmation.PRIMARY, "sets"] == 8
    clusters = of_all.loc[confirmation.CLUSTERS, "mean"]
    assert f"Our clusters gained {clusters:.1f} %" in text


def test_what_the_readme_says_beside_the_gain_of_the_ridge():
    text, gains = " ".join(TEXT.split()), confirmation.gains(confirmation.read_rows())
    assert "Six of the eight are the sets on which the ridge was designed" in text
    means = confirmation.means_of_sets(gains[confirmation.PRIMARY])
    assert sum(name in confirmation.TRIAL for name in means.index) == 6
    like = confirmation.over_sets(gains[confirmation.SHAP] - gains[confirmation.CLUSTERS])
    assert f"on SHAP values alone it leads our clusters by {like['mean']:.1f} points" in text
    after = confirmation.over_sets(gains["cut off + ridge"] - gains["cut off + Platt"])
    assert f"a ridge adds {after['mean']:.1f} points ({after['low']:.1f} to {after['high']:.1f})" in text
    over = confirmation.over_sets(gains["retrained in folds"] - gains[confirmation.PRIMARY])
    of_sets = confirmation.means_of_sets(gains["retrained in folds"] - gains[confirmation.PRIMARY])
    assert (of_sets > 0).all(), "ahead of the ridge by the mean of each set"
    assert over["low"] < 0, "with an interval over sets that contains 0"
    others = ["stopped + Platt", "retrained as it is", *(name for name in gains if name.startswith("CalibratedC"))]
    ridge = confirmation.over_sets(gains[confirmation.PRIMARY])["mean"]
    assert all(confirmation.over_sets(gains[name])["mean"] < ridge for name in others), "other ways gained less"
    rival = confirmation.over_sets(gains[confirmation.PRIMARY] - gains["logistic by folds"])
    assert "A plain logistic regression whose strength folds choose gains as much." in text
    assert rival["verdict"] == "open"
    assert abs(rival["mean"]) < 0.1
    assert "neither leaving out trees, nor the ridge, nor clusters had a gain over the sets that was confirmed" in text
    on_stopped = lambda name: confirmation_tables.across_models(name).loc["xgb-stopped-4"]
    without = ["cut off + Platt", confirmation.PRIMARY, confirmation.CLUSTERS, "clusters of the paper"]
    assert {on_stopped(name)["verdict"] for name in without} == {"open"}
    assert "training again in folds had one, by little" in text
    assert 0 < on_stopped("retrained in folds")["low"] < 0.1
    assert f"with 138 calibration rows, it lost {-gains['cut off + Platt'].drop('breast_cancer').min():.1f} %" in text
