"""The other readings change what they should, and leave the verdicts by the written rules alone."""

import pandas as pd
import pytest

from clustcal.experiments.deep import further_statements, judgement, measured, other_readings
from tests.experiments.deep.made_up_rows import make_rows


def nll(calibrator, layer, n_clusters, shrinkage, temperature, seed):
    """Bins of equal width are worse than all else, and clusters lower the loss a little."""
    return {"Base": 0.30, "Binwise-Vector": 0.35, "Binwise-TS": 0.34}.get(calibrator, 0.2899 if layer else 0.29)


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    known = further_statements.Known(folder)
    known.rows = make_rows("emotion", 6, nll)
    units = [{"name": "emotion", "seed": seed} for seed in range(5)]
    rows = [
        {"method": f"Binwise-{family}", "strategy": strategy, "kind": "top-label", "nll": loss, "brier": loss / 2,
         "ada_ece": loss / 10, "accuracy": 0.9, "nll_cv": loss}
        for family, best in (("Vector", 0.26), ("TS", 0.27))
        for strategy, loss in (("uniform", 0.35), ("quantile", best))
    ]  # fmt: skip
    measured.extend(folder / "deep" / "binwise_bins.csv", units, lambda unit: rows, progress=False)
    units = [
        {"name": name, "seed": seed, "layer": layer}
        for name, layer in (("imdb-overconfident", "cls"), ("stroke", "coverage"))
        for seed in range(5)
    ]
    compute = lambda unit: [{"n_clusters": 4, "equal_ratio": 3.0 if unit["name"] == "stroke" else 2.0}]
    measured.extend(folder / "deep" / "reliability_spread.csv", units, compute, progress=False)
    return known


@pytest.fixture(scope="module")
def judged(known):
    return other_readings.judge_arms(known).set_index(["id", "part"])


def test_places_of_binwise_methods_follow_their_bins(judged):
    line = judged.loc[("text/Emotion/NLL/first", "")]
    assert line[["arm", "arm_ours", "arm_verdict"]].tolist() == [other_readings.EQUAL_MASS, "Binwise-Vector", "holds"]
    sign = judged.loc[("text/Emotion/Binwise-TS/NLL/sign against base", "")]
    assert sign["arm_verdict"] == "holds"
    assert ("text/Emotion/TS/NLL/sign against base", "") not in judged.index


def test_the_geometry_is_judged_on_the_test_half(judged):
    line = judged.loc[("cone-geometry", "c")]
    assert line["arm_ours"] == "IMDB 2.00 (2.00 to 2.00), Stroke 3.00 (3.00 to 3.00)"
    assert line["arm_verdict"] == "holds"


def test_without_the_word_equal_signs_are_those_of_all_splits(judged):
    line = judged.loc[("emotion-clustered", "")]
    assert line["arm_ours"] == "Vector: lower, Dirichlet: lower, TS: lower"
    assert line["arm_verdict"] == "fails"  # the paper has the last two higher


def test_verdicts_by_the_rules_stay_and_the_others_stand_beside(known):
    verdicts = judgement.judge_all(known)
    line = verdicts.set_index("id").loc["text/Emotion/NLL/first"]
    assert (line["verdict"], line["arm_verdict"]) == ("fails", "holds")
    assert (verdicts.loc[verdicts["role"] == "beside", "arm"] == "").all()
    assert isinstance(verdicts["splits"].iloc[0], (int, pd.Int64Dtype().type))


def test_counts_leave_out_what_cannot_differ_what_is_weak_and_what_is_noise(known):
    counts = judgement.weigh(judgement.judge_all(known))
    parts = counts[["could not differ", "weak", "within noise", "left"]].sum(axis=1)
    assert (parts == counts["all"]).all()
    assert counts.loc["holds", "could not differ"] >= 2  # accuracies of temperature scaling
