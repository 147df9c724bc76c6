"""The alternatives on networks: rules by hand, a unit on made-up scores, and the stored rows."""

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats
from sklearn.metrics import log_loss
from sklearn.utils import Bunch

from clustcal import TemperatureScaling
from clustcal.experiments.alternatives import network_ridge
from clustcal.experiments.results import FOLDER


def scores(name="emotion", seed=0, n=300):
    """Three classes (two for imdb), whose logits lack the first direction of the first layer."""
    rng = np.random.default_rng([len(name), seed])
    L = 2 if name == "imdb" else 3
    parts = {}
    for part in ("cal", "test"):
        Z = rng.normal(size=(n, L))
        logits = rng.normal(size=(n, L))
        truth = np.exp(logits + 1.5 * Z)
        truth /= truth.sum(axis=1, keepdims=True)
        y = np.array([rng.choice(L, p=p) for p in truth])
        P = np.exp(2 * logits)
        P /= P.sum(axis=1, keepdims=True)
        parts |= {f"P_{part}": P[:, 1] if L == 2 else P, f"y_{part}": y}
        parts[f"Z_{part}"] = {"a": Z, "b": rng.normal(size=(n, 2))}
    return Bunch(**parts)


def test_a_unit_has_a_row_for_every_method_that_serves_the_classes():
    unit = network_ridge.Unit("emotion", 0)
    rows = pd.DataFrame(network_ridge.run_unit(scores(), unit, network_ridge.methods_for("emotion")))
    assert set(rows["method"]) == {one.name for one in network_ridge.METHODS} - {"Platt", "Beta"}
    nll = rows.set_index("method")["nll"]
    given = scores()
    Q = TemperatureScaling(prior=None).fit(given.P_cal, given.y_cal).predict_proba(given.P_test)
    assert nll["TS"] == pytest.approx(log_loss(given.y_test, Q))
    # What the layer holds is worth much here, and the same layer of other rows nothing.
    assert nll["ridge layers"] < 0.9 * nll["TS"]
    assert nll["ridge permuted"] == pytest.approx(nll["TS"], rel=0.03)
    assert {one.name for one in network_ridge.methods_for("imdb")} == {one.name for one in network_ridge.METHODS}


def test_baselines_by_hand():
    """Two classes: the better of Platt and Beta, and not of the others; more classes: of TS and structured."""
    rows = [
        ("imdb", 2, {"Platt": 0.5, "Beta": 0.4, "TS": 0.1, "structured": 0.1, "ridge layers": 0.3}),
        ("emotion", 6, {"TS": 0.5, "structured": 0.6, "ridge layers": 0.6}),
    ]
    table = network_ridge.gains(
        pd.DataFrame(
            [
                {"dataset": name, "seed": 0, "n_classes": n, "method": method, "nll": nll}
                for name, n, of_method in rows
                for method, nll in of_method.items()
            ]
        )
    )
    assert table.loc[("imdb", 0), "ridge layers"] == pytest.approx(25)
    assert table.loc[("emotion", 0), "ridge layers"] == pytest.approx(-20)
    assert np.isnan(table.loc[("emotion", 0), "Platt"])


def test_intervals_within_a_network_are_for_halves_that_overlap():
    values = pd.Series([1.0, 2.0, 3.0], pd.MultiIndex.from_product([["imdb"], [0, 1, 2]], names=["dataset", "seed"]))
    line = network_ridge.by_network(values).loc["imdb"]
    assert line["high"] - line["mean"] == pytest.approx(stats.t.ppf(0.975, 2) * np.sqrt(1 / 3 + 1))
    assert (line["mean"], line["worst"], line["verdict"]) == (2, 1, "open")


def test_rows_are_computed_once_and_read_when_complete(tmp_path):
    store = network_ridge.open_store(tmp_path)
    choices = {"names": ["imdb"], "load": scores, "progress": False}
    assert network_ridge.run(store, seeds=[0, 1], **choices).done == 2
    assert network_ridge.read_rows(tmp_path).empty
    assert network_ridge.run(store, seeds=network_ridge.SEEDS, **choices).done == 3
    rows = network_ridge.read_rows(tmp_path)
    assert len(rows) == 5 * len(network_ridge.METHODS)
    found = network_ridge.compare(network_ridge.gains(rows))
    assert found.loc["ridge layers", "mean"] > 5
    assert found["networks"].tolist() == [1] * len(found)
    with pytest.raises(SystemExit):
        network_ridge.main(["mnist"])


def test_the_rules_are_those_of_the_protocol():
    said = yaml.safe_load((FOLDER / "alternatives" / "networks.yml").read_text(encoding="utf-8"))
    assert said["method"]["primary"] == network_ridge.PRIMARY
    assert said["networks"] == list(network_ridge.NETWORKS)
    assert said["seeds"] == list(network_ridge.SEEDS)
    table = network_ridge.gains(network_ridge.read_rows())
    assert len(network_ridge.compare(table)) == len(said["comparisons"]["secondary"]) + 1


def test_stored_rows_are_runs_of_the_protocol():
    rows = network_ridge.open_store().read()
    assert not rows.empty
    assert set(rows["method"]) <= {one.name for one in network_ridge.METHODS}
    assert not rows.duplicated(list(network_ridge.KEY)).any()
    assert rows["nll"].notna().all()
    assert set(rows["seed"]) <= set(network_ridge.SEEDS)
