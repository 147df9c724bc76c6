"""The tables of the pages on the alternatives, on rows made by hand and on the stored ones."""

import numpy as np
import pandas as pd
import pytest

from clustcal.experiments.alternatives import alternatives_study as study
from clustcal.experiments.alternatives import confirmation, confirmation_tables
from clustcal.experiments.alternatives.lineup import ALTERNATIVES

PRIMARY = confirmation.PRIMARY


def rows_of(values, sets=("stroke", "adult"), arm="", n=1000, **more):
    """Rows of every seed, with the same measures for each set: ``values`` is method to dict of measures."""
    return pd.DataFrame(
        [
            {"dataset": name, "base_model": study.MAIN_MODEL, "seed": seed, "arm": arm, "method": method}
            | {"n_calibration": n, "method_seconds": 1.0, "extraction_seconds": 2.0, **more, **measures}
            for name in sets
            for seed in study.SEEDS
            for method, measures in values.items()
        ]
    )


def part(nll, miscalibration, discrimination, excess=np.nan):
    return {"nll": nll, "miscalibration": miscalibration, "discrimination": discrimination, "excess": excess}


def put(folder, *frames):
    store = study.open_store(folder)
    for (name, arm), rows in pd.concat(frames).groupby(["dataset", "arm"]):
        store.append(name, rows.assign(arm=arm).to_dict("records"))
    store.merge()


def test_a_gain_is_split_by_hand():
    """Uncertainty 0.7: 0.5 = 0.7 + 0.05 - 0.25 becomes 0.4 = 0.7 + 0.03 - 0.33: a gain of 20 %, 4 and 16 of it."""
    values = {"Platt": part(0.5, 0.05, 0.25), "Beta": part(0.6, 0.2, 0.3), PRIMARY: part(0.4, 0.03, 0.33)}
    rows = rows_of(values)
    calibration, refinement = confirmation_tables.split_gains(rows)
    assert calibration[PRIMARY].to_numpy() == pytest.approx(4)
    assert refinement[PRIMARY].to_numpy() == pytest.approx(16)
    assert (calibration + refinement)[PRIMARY].to_numpy() == pytest.approx(confirmation.gains(rows)[PRIMARY])
    assert calibration["Platt"].abs().max() == 0


def test_methods_are_compared_on_the_sets_that_all_have():
    values = {"Platt": part(1.0, 0, 0), "Beta": part(1.1, 0, 0), "a": part(0.9, 0, 0), "b": part(1.02, 0, 0)}
    rows = rows_of(values)
    rows = rows[~((rows["dataset"] == "adult") & (rows["seed"] == 9) & (rows["method"] == "b"))]
    table = confirmation_tables.methods(rows)
    assert "b" not in table.index
    assert table.loc["a", ["mean", "worst", "lost", "splits"]].tolist() == pytest.approx([10, 10, 0, 10])
    of_both = confirmation_tables.methods(rows, ["a", "b"])
    # The split that b lacks is left out for both.
    assert of_both["splits"].tolist() == [9, 9]
    assert of_both.loc["b", "worst"] == pytest.approx(-2)
    assert of_both.loc["b", "lost"] == 9
    assert of_both.loc["a", ["seconds", "extraction"]].tolist() == [1, 2]


def test_true_excess_by_hand():
    """Beta has the lower log-loss, so that its excess of 0.2 is the measure; one of 0.05 removes three quarters."""
    values = {"Platt": part(1.0, 0, 0, 0.1), "Beta": part(0.9, 0, 0, 0.2), "a": part(0.8, 0, 0, 0.05)}
    table = confirmation_tables.true_excess(rows_of(values, arm="known-truth"), ["a"])
    assert table["baseline"].to_numpy() == pytest.approx(0.2)
    assert table["a"].to_numpy() == pytest.approx(75)


def test_a_curve_has_the_whole_part_last(tmp_path):
    few = {"Platt": {"nll": 1.0}, "Beta": {"nll": 1.1}, PRIMARY: {"nll": 1.0}}
    all_of_it = few | {PRIMARY: {"nll": 0.9}}
    put(tmp_path, rows_of(few, arm="curve-100", n=100), rows_of(all_of_it, sets=("stroke",), n=1022))
    table = confirmation_tables.curve([PRIMARY], tmp_path)
    assert table.loc["stroke", PRIMARY].to_dict() == pytest.approx({100: 0, 1022: 10})
    assert table.loc["adult", PRIMARY].to_dict() == {100: 0}
    assert table["half_width"].max() == pytest.approx(0)


def test_completeness_counts_what_is_there(tmp_path):
    post = [name for name, one in ALTERNATIVES.items() if one.group == "post"]
    put(tmp_path, rows_of({name: {"nll": 1.0} for name in post}, sets=("stroke",)))
    put(tmp_path, rows_of({name: {"nll": 1.0} for name in post[:3]}, sets=("adult",)))
    table = confirmation_tables.completeness(tmp_path)
    line = table.loc[("as printed", study.MAIN_MODEL, "post")]
    assert (line["complete"], line["of"]) == (1, len(study.DATASETS))
    assert "adult" in line["lacking"]
    assert "stroke" not in line["lacking"]
    # Balanced weights are for three sets.
    assert table.loc[("weighted", study.MAIN_MODEL, "post"), "of"] == 3
    assert table["complete"].sum() == 1
    models = confirmation_tables.across_models(folder=tmp_path)
    assert models.index.tolist() == [study.MAIN_MODEL]


def test_a_difference_across_models_by_hand(tmp_path):
    """The ridge gains 10 % on one model and 20 % on another, where its rival gains 15 %; the first has no rival."""
    main = {"Platt": {"nll": 1.0}, "Beta": {"nll": 1.1}, PRIMARY: {"nll": 0.9}}
    other = main | {PRIMARY: {"nll": 0.8}, "logistic by folds": {"nll": 0.85}}
    put(tmp_path, rows_of(main), rows_of(other).assign(base_model="xgb-100x3"))
    gained = confirmation_tables.across_models(folder=tmp_path)
    assert gained["mean"].to_dict() == pytest.approx({study.MAIN_MODEL: 10, "xgb-100x3": 20})
    assert gained["worst"].to_dict() == pytest.approx({study.MAIN_MODEL: 10, "xgb-100x3": 20})
    apart = confirmation_tables.across_models(minus="logistic by folds", folder=tmp_path)
    assert apart["mean"].to_dict() == pytest.approx({"xgb-100x3": 5})
    assert apart["sets"].tolist() == [2]


def test_cheap_representations_by_hand():
    """The ridge gains 10 % everywhere, one cheap method 9.9 %, another 5 %; extraction takes 2 s in every row."""
    cheap = [name for name, one in ALTERNATIVES.items() if one.group == "cheap"]
    nll = dict.fromkeys(["Platt", "Beta"], 1.0) | {PRIMARY: 0.9} | dict.fromkeys(cheap, 0.95) | {"ridge paths": 0.901}
    rows = rows_of({name: {"nll": loss} for name, loss in nll.items()}, sets=("stroke", "adult", "breast_cancer"))
    found = confirmation_tables.cheap(confirmation.gains(rows), rows)
    assert found.index[0] == "ridge paths"
    assert set(found.index) == set(cheap)
    assert found.loc["ridge paths", ["gain", "mean", "extraction"]].tolist() == pytest.approx([9.9, -0.1, 2])
    assert found["judged"].tolist() == ["slightly worse"] + ["worse"] * (len(cheap) - 1)


def test_sets_on_which_a_method_is_ahead_leave_out_what_stands_beside():
    values = {"Platt": part(1.0, 0, 0), "Beta": part(1.1, 0, 0), "a": part(0.9, 0, 0), "b": part(0.95, 0, 0)}
    table = confirmation.gains(rows_of(values, sets=("stroke", "adult", "breast_cancer")))
    assert confirmation_tables.sets_ahead(table, "a", "b") == (2, 2)
    assert confirmation_tables.sets_ahead(table, "b", "a") == (0, 2)
    assert confirmation_tables.paired(table, "a", "b")["mean"].to_numpy() == pytest.approx(5)


def test_gains_on_another_model_are_of_the_main_baseline(tmp_path):
    """1.0 is the better baseline of the main model; on another 0.8 is a gain of 20 %, of the set that both have."""
    main = {"Platt": {"nll": 1.0}, "Beta": {"nll": 1.1}, PRIMARY: {"nll": 0.9}}
    other = rows_of({name: {"nll": 0.8} for name in main}, sets=("stroke",)).assign(base_model="xgb-100x3")
    put(tmp_path, rows_of(main), other)
    pairs = {"ridge": (study.MAIN_MODEL, PRIMARY), "Platt of the other": ("xgb-100x3", "Platt")}
    table = confirmation_tables.gains_beside_main(pairs, tmp_path)
    assert table.index.unique("dataset").tolist() == ["stroke"]
    assert table["ridge"].to_numpy() == pytest.approx(10)
    assert table["Platt of the other"].to_numpy() == pytest.approx(20)


def test_two_targets_on_the_same_patients_are_one_set():
    values = {"Platt": part(1.0, 0, 0), "Beta": part(1.1, 0, 0), "a": part(0.9, 0, 0), "b": part(0.95, 0, 0)}
    table = confirmation.gains(rows_of(values, sets=("stroke", "diabetes130", "diabetes130-los")))
    assert confirmation_tables.sets_ahead(table, "a", "b") == (2, 2)


def test_the_best_map_of_the_score_is_chosen_split_by_split():
    """TS gains 20 % on one set and loses on the other; the ridge, which has a representation, is no map."""
    one = {"base": {"nll": 1.2}, "Platt": {"nll": 1.0}, "Beta": {"nll": 1.1}, "TS": {"nll": 0.8}, PRIMARY: {"nll": 0.5}}
    rows = pd.concat([rows_of(one, sets=("stroke",)), rows_of(one | {"TS": {"nll": 1.5}}, sets=("adult",))])
    table = confirmation.gains(rows)
    assert set(confirmation_tables.maps_of_the_score(table)) == {"base", "Platt", "Beta", "TS"}
    best = confirmation_tables.best_map(table)
    assert best.loc["stroke"].to_numpy() == pytest.approx(20)
    assert best.loc["adult"].to_numpy() == pytest.approx(0)


def test_the_trial_stands_beside():
    values = {"Platt": {"nll": 1.0}, "Beta": {"nll": 1.1}, PRIMARY: {"nll": 0.969}}
    found = confirmation_tables.beside_trial(confirmation.gains(rows_of(values, sets=("stroke", "affairs"))))
    assert found.loc["stroke", "of the trial"] == pytest.approx(3.1 / confirmation.TRIAL["stroke"])
    assert np.isnan(found.loc["affairs", "trial"])


def test_parts_of_stored_gains_add_up():
    rows = confirmation.read_rows()
    calibration, refinement = confirmation_tables.split_gains(rows)
    gains = confirmation.gains(rows)
    np.testing.assert_allclose(calibration + refinement, gains, atol=1e-8)
