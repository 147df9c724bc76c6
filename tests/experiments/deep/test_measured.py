"""What is measured beside the study: geometry, the confidence signal, cost; each can be stopped and goes on."""

from functools import partial

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics import silhouette_samples

from clustcal.core import solvers
from clustcal.experiments.deep import (
    confidence_signal,
    design,
    geometry,
    measured,
    overhead,
    reference_dirichlet,
    study,
    summed_loss,
)
from clustcal.experiments.deep.further_statements import Known, find_seconds
from clustcal.experiments.deep.outputs import Outputs
from clustcal.experiments.deep.statements import MissingRows


@pytest.fixture(scope="module")
def outputs():
    """Six hundred rows of three classes; Z has two directions, and in one of the two groups the forecasts are noise."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 3
    group = rng.integers(0, 2, 600)
    logits = rng.normal(size=(600, 3)) + 2 * np.eye(3)[y] * group[:, None]
    Z = rng.normal(size=(600, 5)) * 0.3 + np.where(group[:, None] == 1, [3, 0, 0, 0, 0], [-2, 2, 0, 0, 0])
    return Outputs(logits, y, np.arange(600), {"cls": Z, "mean": Z[:, ::-1].copy()})


class TestExtend:
    def test_what_was_stopped_goes_on_after_the_last_whole_unit(self, tmp_path):
        units = [{"name": name, "seed": seed} for name in "ab" for seed in (0, 1)]
        calls = []

        def compute(unit):
            calls.append(tuple(unit.values()))
            if len(calls) == 3:
                raise KeyboardInterrupt
            return [{"k": k, "value": unit["seed"] / 3} for k in (1, 2)]

        path = tmp_path / "deep" / "table.csv"
        with pytest.raises(KeyboardInterrupt):
            measured.extend(path, units, compute, progress=False)
        assert len(measured.read(path)) == 4
        assert measured.extend(path, units, compute, progress=False) == 2
        assert calls == [("a", 0), ("a", 1), ("b", 0), ("b", 0), ("b", 1)]
        assert measured.read(path)["value"].tolist() == pytest.approx([0, 0, 1 / 3, 1 / 3] * 2, abs=1e-6)

    def test_numbers_of_units_are_known_again(self, tmp_path):
        units = [{"name": "a", "shrinkage": 1.0}, {"name": "b", "shrinkage": 0.05}]
        compute = lambda unit: [{"value": 0}]
        assert measured.extend(tmp_path / "table.csv", units[:1], compute, progress=False) == 1
        assert measured.extend(tmp_path / "table.csv", units, compute, progress=False) == 1
        assert measured.extend(tmp_path / "table.csv", units, compute, progress=False) == 0

    def test_without_a_file_the_table_is_empty(self, tmp_path):
        assert measured.read(tmp_path / "nothing.csv").empty


class TestGeometry:
    def test_the_mean_cosine_is_that_of_all_pairs(self):
        """Against all pairs, by SciPy; 10,000 of them are drawn."""
        Z = np.random.default_rng(1).normal(size=(80, 4)) + np.eye(4)[0]
        shape = geometry.measure_shape(Z)
        assert shape["mean_cosine"] == pytest.approx(1 - pdist(Z, "cosine").mean(), abs=0.02)
        assert shape["mean_cosine_centred"] == pytest.approx(1 - pdist(Z - Z.mean(axis=0), "cosine").mean(), abs=0.02)

    def test_shares_of_variance_are_those_of_the_singular_values(self):
        Z = np.random.default_rng(1).normal(size=(80, 12)) * np.arange(1, 13)
        squares = np.linalg.svd(Z - Z.mean(axis=0), compute_uv=False) ** 2
        shape = geometry.measure_shape(Z)
        for k in (1, 2, 10):
            assert shape[f"variance_{k}"] == pytest.approx(squares[:k].sum() / squares.sum())

    def test_the_silhouette_is_that_of_the_directions(self, outputs):
        Z = outputs.representations["cls"]
        found = geometry.measure_clusters(Z, Z[:, 2], 2)
        group = (Z[:, 1] > 1).astype(int)  # the two directions that were drawn from
        assert found["silhouette"] == pytest.approx(silhouette_samples(Z, group, metric="cosine").mean(), abs=0.02)

    def test_gaps_that_follow_the_clusters_are_more_than_chance(self, outputs):
        Z = outputs.representations["cls"]
        of_groups = np.where(Z[:, 1] > 1, 0.1, -0.1) + 0.3 * np.random.default_rng(2).normal(size=len(Z))
        of_none = 0.3 * np.random.default_rng(3).normal(size=len(Z))
        found = geometry.measure_clusters(Z, of_groups, 2)
        assert found["spread"] == pytest.approx(0.1, abs=0.02)
        assert found["spread_ratio"] > 3
        assert found["p_value"] == pytest.approx(1 / 201)
        assert geometry.measure_clusters(Z, of_none, 2)["p_value"] > 0.05

    def test_a_unit_is_measured_on_the_half_that_calibrates(self, outputs):
        unit = {"name": "emotion", "seed": 0, "layer": "mean", "n_clusters": 10}
        (row,) = geometry.measure(unit, load=lambda name: outputs)
        assert (row["n"], row["width"]) == (300, 5)
        assert list(row)[2:7] == ["mean_cosine", "mean_cosine_centred", "variance_1", "variance_2", "variance_10"]

    def test_stroke_is_measured_on_its_shipped_scores(self):
        units = geometry.find_units([geometry.STROKE])
        assert len(units) == 5 * 4
        assert geometry.measure(units[0])[0]["n"] == 1022


class TestConfidenceSignal:
    def test_the_chosen_cell_is_held_against_the_binwise_method_alone(self, outputs, tmp_path):
        unit = {"name": "emotion", "seed": 0, "family": "TS"}
        compute = partial(confidence_signal.measure, load=lambda name: outputs)
        measured.extend(tmp_path / "deep" / "confidence_signal.csv", [unit], compute, progress=False)
        rows = confidence_signal.read(tmp_path)
        assert len(rows) == 1 + 16
        (gain,) = confidence_signal.find_gains(rows).itertuples()
        best = rows.loc[rows["nll_cv"].idxmin()]
        assert (gain.n_clusters, gain.shrinkage) == (best["n_clusters"], best["shrinkage"])
        assert gain.gain == pytest.approx(1 - best["nll"] / rows.loc[0, "nll"])

    def test_clusters_that_know_more_than_the_confidence_gain(self, outputs):
        """Of one group the forecasts are right, of the other noise: bins of the confidence cannot part them."""
        rows = confidence_signal.measure({"name": "emotion", "seed": 0, "family": "Vector"}, load=lambda name: outputs)
        assert min(row["nll"] for row in rows[1:]) < 0.99 * rows[0]["nll"]


class TestOverhead:
    def test_seconds_and_memory_of_all_steps(self, outputs):
        cell = {"layer": "cls", "n_clusters": 4, "shrinkage": 1.0}
        unit = {"name": "emotion", "rows": "half", "family": "Vector"} | cell
        row = overhead.measure_here(unit, load=lambda name: outputs)
        assert (row["n"], row["n_classes"], row["width"]) == (300, 3, 5)
        assert all(row[name] > 0 for name in row if name.endswith("_seconds"))
        assert row["peak_mb"] >= row["before_mb"] > 50
        of_all = overhead.measure_here(unit | {"rows": "all"}, load=lambda name: outputs)
        assert of_all["n"] == 600
        assert np.isnan(of_all["global_seconds"])  # its fits were stopped
        assert solvers.QUASI_NEWTON["maxiter"] > 1000

    def test_the_papers_families_are_averaged_over_the_judged_networks(self, tmp_path):
        families = {
            "emotion": {"Vector": 1.0, "Dirichlet": 4.0, "TS": 1.0},
            "bloodmnist-rebuilt": {"Vector": 2.0, "Dirichlet": 6.0, "TS": 1.0},
            "cifar100-overconfident": {"Vector": 3.0, "Dirichlet": 8.0, "TS": 1.0},
            "cifar100-resnet20": {"Vector": 90.0, "TS": 90.0},  # beside the judged ones
            "imdb-overconfident": {"Platt": 6.0, "Beta": 5.0, "TS": 5.0},
        }
        cells = [(name, family, value) for name, found in families.items() for family, value in found.items()]
        units = [{"name": name, "rows": "half", "family": family, "seconds": s} for name, family, s in cells]
        units += [{"name": "emotion", "rows": "all", "family": "Vector", "seconds": 50.0}]
        compute = lambda unit: [{"global_seconds": unit["seconds"], "clustered_seconds": 2 * unit["seconds"]}]
        path = tmp_path / "deep" / "overhead.csv"
        measured.extend(path, units[:-4], compute, progress=False)
        with pytest.raises(MissingRows, match="IMDB"):
            find_seconds(Known(tmp_path))
        measured.extend(path, units, compute, progress=False)
        seconds = find_seconds(Known(tmp_path))["global_seconds"].to_dict()
        assert seconds == {"Beta": 5.0, "Vector": 3.0, "Dirichlet": 6.0, "TS": 2.0}  # (1 + 2 + 3 + 6) / 4 and so on


def test_a_clustered_fit_on_a_path_is_that_from_its_own_start(outputs):
    """The seconds of `overhead` are of the second, the results of the study of the first."""
    cal, test = design.halve(design.prepare(outputs), 0)
    fitted = design.get_families(3)["Vector"].fit(cal.P, cal.y)
    distances = [np.random.default_rng(0).uniform(size=(300, 4)) for _ in range(2)]
    path = {shrinkage: Q for shrinkage, Q, _ in study.fit_path(fitted, cal, test, distances, [0.05, 1.0, 5.0], 1.0)}
    ((_, alone, _),) = study.fit_path(fitted, cal, test, distances, [0.05], 1.0)
    np.testing.assert_allclose(path[0.05], alone, atol=1e-5)
    assert np.abs(path[0.05] - path[5.0]).max() > 1e-4


class TestReferenceDirichlet:
    def test_ours_is_the_method_of_the_study(self, outputs):
        cal, test = design.halve(design.prepare(outputs), 0)
        _, Q = reference_dirichlet.calibrate("ours", cal, test)
        np.testing.assert_array_equal(Q, design.get_families(3)["Dirichlet"].fit(cal.P, cal.y).predict_proba(test.P))
        assert reference_dirichlet.calibrate("base", cal, test)[1] is test.P

    def test_the_authors_library_agrees_with_ours(self, outputs):
        pytest.importorskip("dirichletcal")
        cal, test = design.halve(design.prepare(outputs), 0)
        ours, theirs = (reference_dirichlet.calibrate(method, cal, test)[1] for method in ("ours", "reference"))
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


class TestSummedLoss:
    def test_against_a_sum_a_shrinkage_is_that_much_weaker(self, outputs):
        """With n rows and one cluster lambda against the sum is lambda / n against the mean: by the solver itself."""
        cal, test = design.halve(design.prepare(outputs), 0)
        fitted = design.get_families(3)["Vector"].fit(cal.P[::2], cal.y[::2])  # not the optimum of all rows
        ones = np.ones((300, 1))
        found = summed_loss.fit_forms(fitted, cal, test, ones, ones, shrinkage=3.0)
        weaker = summed_loss.fit_forms(fitted, cal, test, ones, ones, shrinkage=3.0 / 300)
        np.testing.assert_allclose(found["sum"], weaker["mean"], atol=1e-7)
        moved = {form: np.abs(found[form] - found["global"]).max() for form in ("mean", "sum")}
        assert moved["sum"] > 5 * moved["mean"] > 0

    def test_a_unit_has_every_family_in_three_forms(self, outputs):
        rows = summed_loss.measure({"name": "emotion", "seed": 0}, load=lambda name: outputs)
        assert [(row["family"], row["loss"]) for row in rows] == [
            (family, loss) for family in ("Vector", "Dirichlet", "TS") for loss in ("global", "mean", "sum")
        ]
