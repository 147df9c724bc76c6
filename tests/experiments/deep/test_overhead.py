"""Seconds and memory of each step, and their means over the networks."""

import numpy as np
import pytest

from clustcal.core import solvers
from clustcal.experiments.deep import design, measured, overhead, study
from clustcal.experiments.deep.further_statements import Known, find_seconds
from clustcal.experiments.deep.statements import MissingRows


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
