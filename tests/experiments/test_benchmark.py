"""The benchmark: what a file may hold, the rules written out by hand, and the stored rows."""

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats
from sklearn.metrics import log_loss
from sklearn.utils import Bunch

from clustcal import PlattScaling, RidgeCalibration, cli, datasets
from clustcal.datasets import shipped_scores
from clustcal.experiments import benchmark
from clustcal.experiments.results import FOLDER

ENTRIES = sorted((FOLDER / "benchmark" / "entries").glob("*.py"))
CLASS = """
import numpy as np

class Mean:
    representation = "shap"

    def fit(self, P, y, Z):
        self.mean = y.mean()
        assert Z.shape[0] == len(P)
        return self

    def predict_proba(self, P, Z):
        return np.full(len(P), self.mean)
"""
OBJECT = """
from clustcal import RidgeCalibration

representation = ("shap", "coverage")
calibrator = RidgeCalibration()
"""


def write(folder, text, name="mine.py"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def scores(name, seed):
    rng = np.random.default_rng(len(name) + seed)
    p = {part: rng.uniform(0.05, 0.95, 200) for part in ("cal", "test")}
    y = {part: (rng.random(200) < p[part]).astype(int) for part in p}
    Z = {part: {kind: rng.normal(size=(200, 2)) for kind in benchmark.REPRESENTATIONS} for part in p}
    return Bunch(P_cal=p["cal"], P_test=p["test"], y_cal=y["cal"], y_test=y["test"], Z_cal=Z["cal"], Z_test=Z["test"])


def test_a_class_and_what_it_asks_for(tmp_path):
    entrant = benchmark.read_entrant(write(tmp_path, CLASS))
    assert (entrant.name, entrant.needs) == ("mine", "shap")
    assert entrant.make() is not entrant.make()
    (row,) = benchmark.run(entrant, [("a", 0)], scores)
    given = scores("a", 0)
    assert row["nll"] == pytest.approx(log_loss(given.y_test, np.full(200, given.y_cal.mean())))
    assert (row["method"], row["dataset"], row["seed"], row["version"]) == ("mine", "a", 0, 1)


def test_an_object_of_this_package_and_several_representations(tmp_path):
    entrant = benchmark.read_entrant(write(tmp_path, OBJECT))
    (row,) = benchmark.run(entrant, [("a", 0)], scores)
    given = scores("a", 0)
    Z_cal, Z_test = ([Z["shap"], Z["coverage"]] for Z in (given.Z_cal, given.Z_test))
    Q = RidgeCalibration().fit(given.P_cal, given.y_cal, Z_cal).predict_proba(given.P_test, Z_test)
    assert row["nll"] == pytest.approx(log_loss(given.y_test, Q))


def test_without_a_representation_none_is_given(tmp_path):
    entrant = benchmark.read_entrant(write(tmp_path, "from clustcal import PlattScaling\ncalibrator = PlattScaling()"))
    (row,) = benchmark.run(entrant, [("a", 0)], scores)
    given = scores("a", 0)
    Q = PlattScaling().fit(given.P_cal, given.y_cal).predict_proba(given.P_test)
    assert row["nll"] == pytest.approx(log_loss(given.y_test, Q))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "has 0 classes with fit and predict_proba"),
        (CLASS + CLASS.replace("Mean", "Other"), "has 2 classes"),
        ("calibrator = 3", "without fit; expected"),
        (CLASS.replace('"shap"', '"leaves"'), "representation is 'leaves'; expected some of"),
        (CLASS.replace('"shap"', "3"), "representation is 3; expected some of"),
        (CLASS + "def f(:", r"mine.py cannot be read: SyntaxError: .* \(line 14 of mine.py\)\.$"),
        ("import not_there_at_all", r"cannot be read: ModuleNotFoundError: .* \(line 1 of mine.py\)\.$"),
        (CLASS + "    def __init__(self, k):\n        pass", "The calibrator of mine.py cannot be made: TypeError"),
    ],
)
def test_what_cannot_take_part_is_refused(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        benchmark.read_entrant(write(tmp_path, text))


def test_a_file_that_is_missing_or_named_as_a_method_is_refused(tmp_path):
    with pytest.raises(ValueError, match="which is no file"):
        benchmark.read_entrant(tmp_path / "none.py")
    with pytest.raises(ValueError, match="as a method of the benchmark is"):
        benchmark.read_entrant(write(tmp_path, CLASS, "Platt.py"))


@pytest.mark.parametrize("wrong", ["np.full(len(P), np.nan)", "np.full(len(P), 1.5)", "np.zeros(3)"])
def test_forecasts_that_are_no_probabilities_end_the_run(tmp_path, wrong):
    entrant = benchmark.read_entrant(write(tmp_path, CLASS.replace("np.full(len(P), self.mean)", wrong)))
    with pytest.raises(ValueError, match=r"predict_proba gave shape .* on a; expected"):
        list(benchmark.run(entrant, [("a", 0)], scores))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            CLASS.replace("y.mean()", "y.men()"),
            r"^fit of mine failed on a: AttributeError: .* \(line 8 of mine.py\)\.$",
        ),
        (CLASS.replace("P, y, Z", "P, y"), "^fit of mine failed on a: TypeError: "),
        (CLASS.replace("len(P), self.mean", "len(P), 'high'"), "^predict_proba of mine failed on a: ValueError: "),
        (CLASS.replace("np.full(len(P), self.mean)", "np.full((len(P), 2), 0.3)"), "do not sum to 1 on a; expected"),
    ],
)
def test_what_fails_is_said_in_one_sentence(tmp_path, text, message):
    entrant = benchmark.read_entrant(write(tmp_path, text))
    with pytest.raises(ValueError, match=message) as found:
        list(benchmark.run(entrant, [("a", 0)], scores))
    assert "\n" not in str(found.value)


def test_a_class_may_be_named_calibrator(tmp_path):
    entrant = benchmark.read_entrant(write(tmp_path, "from clustcal import PlattScaling as calibrator"))
    assert isinstance(entrant.make(), PlattScaling)


def test_a_dataclass_with_annotations_that_are_not_evaluated_takes_part(tmp_path):
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\n@dataclass\nclass Mine:\n"
        "    shift: float = 0.0\n    def fit(self, P, y): ...\n    def predict_proba(self, P): return P\n"
    )
    (row,) = benchmark.run(benchmark.read_entrant(write(tmp_path, text)), [("a", 0)], scores)
    given = scores("a", 0)
    assert row["nll"] == pytest.approx(log_loss(given.y_test, given.P_test))


def test_standings_by_hand():
    """Mean gains 15, 20 / 3 and 0: mine is worst on b, other on a, Platt everywhere the same."""
    table = benchmark.standings(made_up_rows())
    assert table.index.tolist() == ["mine", "other", "Platt"]
    np.testing.assert_allclose(table["gain"], [15, 20 / 3, 0])
    np.testing.assert_allclose(table["worst"], [0, 0, 0], atol=1e-12)
    assert table["rank"].tolist() == [1, 2, 3]
    assert table.loc["mine", ["low", "high"]].tolist() == [1, 2]


def made_up_rows():
    """Three methods on three sets, one of two splits, and two targets on the same patients."""
    nll = {
        ("a", 0): (1.0, 0.9, 1.1),
        ("a", 1): (1.0, 0.7, 0.9),
        ("b", 0): (0.5, 0.5, 0.4),
        ("diabetes130", 0): (2.0, 1.0, 2.0),
        ("diabetes130-los", 0): (2.0, 2.0, 2.0),
    }
    methods = ("Platt", "mine", "other")
    return pd.DataFrame(
        [
            {"version": 1, "method": method, "dataset": name, "seed": seed, "nll": value, "seconds": 1.0}
            | dict.fromkeys(("brier", "auc", "ada_ece"), 0.5)
            for (name, seed), values in nll.items()
            for method, value in zip(methods, values, strict=True)
        ]
    )


def test_gains_by_hand():
    """mine: (10 + 30) / 2 = 20 on a, 0 on b, (50 + 0) / 2 = 25 on the patients of Diabetes 130; other: 0, 20, 0."""
    table = benchmark.gains(made_up_rows())
    assert table.index.tolist() == ["a", "b", "diabetes130"]
    np.testing.assert_allclose(table["mine"], [20, 0, 25])
    np.testing.assert_allclose(table["other"], [0, 20, 0], atol=1e-12)
    assert table["Platt"].tolist() == [0, 0, 0]


def test_paired_differences_are_those_of_scipy():
    table = benchmark.gains(made_up_rows())
    line = benchmark.paired_differences(table, "mine").loc["other"]
    interval = stats.ttest_1samp([20, -20, 25], 0).confidence_interval(0.95)
    assert line["difference"] == pytest.approx(25 / 3)
    assert (line["low"], line["high"]) == pytest.approx((interval.low, interval.high))
    assert line["sets"] == 2


def test_ranks_by_hand():
    """mine leads by its mean; where b prevails in a draw, other leads."""
    table = benchmark.gains(made_up_rows())
    assert benchmark.rank_interval(table, "mine") == (1, 1, 2)
    assert benchmark.rank_interval(table[["mine"]], "mine") == (1, 1, 1)
    always = pd.DataFrame({"mine": [1.0, 1.0], "x": [2.0, 2.0], "y": [3.0, 3.0]})
    assert benchmark.rank_interval(always, "mine") == (3, 3, 3)


def test_the_report_names_row_differences_and_rank():
    text = benchmark.report(made_up_rows(), "mine")
    assert "version 1: 5 tasks, 3 data sets" in text
    assert "mean +15.00, worst +0.00" in text
    assert "Rank by mean gain: 1 of 3 (95 % interval 1 to 2)" in text
    assert "other" in text


def test_the_command_prints_the_report_and_writes_rows(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(datasets, "load_scores", scores)
    tasks = [("a", 0), ("a", 1), ("b", 0), ("diabetes130", 0), ("diabetes130-los", 0)]
    monkeypatch.setattr(benchmark, "read_tasks", lambda: tasks)
    monkeypatch.setattr(benchmark.run, "__defaults__", (None, scores))
    monkeypatch.setattr(benchmark, "read_rows", lambda: made_up_rows().query("method != 'mine'"))
    file = write(tmp_path, CLASS)
    assert cli.main(["benchmark", str(file), "--rows", str(tmp_path / "rows.csv"), "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "mine: gain in test log-loss over Platt scaling" in out
    # The baseline of the made-up rows has the log-losses 1, 1, 0.5, 2 and 2.
    nll = dict(pd.read_csv(tmp_path / "rows.csv").groupby(["dataset", "seed"])["nll"].first())
    of_a = 1 - (nll["a", 0] + nll["a", 1]) / 2
    of_patients = 1 - (nll["diabetes130", 0] + nll["diabetes130-los", 0]) / 4
    expected = 100 * np.mean([of_a, 1 - nll["b", 0] / 0.5, of_patients])
    assert f"mean {expected:+.2f}, worst" in out
    assert len(pd.read_csv(tmp_path / "rows.csv")) == 5
    assert cli.main(["benchmark", str(tmp_path / "none.py")]) == 1
    assert "is no file" in capsys.readouterr().err


class TestStored:
    def test_tasks_are_the_shipped_scores_of_trees(self):
        tasks = benchmark.read_tasks()
        assert len(tasks) == 11
        networks = {"emotion", "imdb", "bloodmnist", "cifar100", "tiny-imagenet"}
        shipped = {(name, seed) for name, seeds in datasets.list_scores().items() for seed in seeds}
        assert set(tasks) == {task for task in shipped if task[0] not in networks}

    def test_other_scores_than_those_of_the_version_are_refused(self, monkeypatch):
        monkeypatch.setattr(shipped_scores, "checksum_of", lambda name, seed: "0" * 64)
        with pytest.raises(ValueError, match="are not those of version 1"):
            benchmark.read_tasks()

    def test_every_method_has_a_row_for_every_task(self):
        rows = benchmark.read_rows()
        assert rows.columns.tolist() == list(benchmark.COLUMNS)
        assert set(rows["method"]) == {one.name for one in benchmark.REFERENCES} | {file.stem for file in ENTRIES}
        assert not rows.duplicated(["method", "dataset", "seed"]).any()
        assert len(rows) == 11 * rows["method"].nunique()

    @pytest.mark.parametrize("method", ["Platt", "ridge SHAP"])
    def test_stored_rows_are_what_the_code_gives(self, method):
        (entrant,) = [one for one in benchmark.REFERENCES if one.name == method]
        rows = benchmark.read_rows().query("method == @method").set_index(["dataset", "seed"])
        for row in benchmark.run(entrant, [("stroke", 1), ("support2", 0)]):
            assert row["nll"] == pytest.approx(rows.loc[(row["dataset"], row["seed"]), "nll"], rel=1e-6)

    @pytest.mark.parametrize("file", ENTRIES, ids=lambda file: file.stem)
    def test_rows_of_entries_are_what_their_files_give(self, file):
        rows = pd.read_csv(file.with_suffix(".csv")).set_index(["dataset", "seed"])
        assert (rows["version"] == benchmark.VERSION).all()
        assert (rows["method"] == file.stem).all()
        for row in benchmark.run(benchmark.read_entrant(file), [("credit_approval", 0), ("stroke", 2)]):
            assert row["nll"] == pytest.approx(rows.loc[(row["dataset"], row["seed"]), "nll"], rel=1e-6)

    def test_the_protocol_speaks_of_this_version(self):
        said = yaml.safe_load((FOLDER / "benchmark" / "protocol.yml").read_text(encoding="utf-8"))
        assert said["version"] == benchmark.VERSION
        assert set(said["representations"]) == set(benchmark.REPRESENTATIONS)
