"""Statements that rest on all cells or on measurements beside the study, on rows that are made up."""

import pandas as pd
import pytest

from clustcal.experiments.deep import measured
from clustcal.experiments.deep.further_statements import STATEMENTS, Known, find_sensitivity
from tests.experiments.deep.made_up_rows import make_rows

NETWORKS = {
    "emotion": (6, ("cls", "mean")),
    "imdb-overconfident": (2, ("cls", "mean")),
    "bloodmnist-rebuilt": (8, ("pooled", "hidden")),
    "cifar100-overconfident": (100, ("pooled", "hidden")),
}


def make_known(folder, nll):
    """Complete rows of the four judged networks; `nll` takes the study's name first."""
    known = Known(folder)
    frames = [
        make_rows(name, n_classes, lambda *given, name=name: nll(name, *given), layers=layers)
        for name, (n_classes, layers) in NETWORKS.items()
    ]
    known.rows = pd.concat(frames, ignore_index=True)
    return known


def by_clusters(name, calibrator, layer, n_clusters, shrinkage, temperature, seed):
    """From 1 at K = 4 to 1 + s at K = 50: s is 5 % on texts and 2 % on images."""
    share = 0.05 if name in ("emotion", "imdb-overconfident") else 0.02
    return 1 + share * (n_clusters - 4) / 46 if layer else 1.0


def judge(known, statement):
    return {judgement.part: judgement for judgement in STATEMENTS[statement](known)}


def test_sensitivity_is_the_range_over_the_sixteen_cells(tmp_path):
    known = make_known(tmp_path, by_clusters)
    spread = find_sensitivity(known, ("Emotion", "CIFAR-100"))
    assert spread["Emotion", "TS"] == pytest.approx(0.05)
    assert ("CIFAR-100", "Dirichlet") not in spread
    assert ("Emotion", "Dirichlet-TS") not in spread  # ours is not among the paper's
    assert spread["CIFAR-100", "Vector"] == pytest.approx(0.02)  # of the one split with all cells
    found = judge(known, "sensitivity")
    assert {part: one.verdict for part, one in found.items()} == {"matters": "holds", "worse on texts": "holds"}


def test_where_cells_hardly_differ_they_do_not_matter(tmp_path):
    found = judge(make_known(tmp_path, lambda *given: 1 + 0.1 * (by_clusters(*given) - 1)), "sensitivity")
    assert {part: one.verdict for part, one in found.items()} == {"matters": "fails", "worse on texts": "holds"}


def signal(name, calibrator, layer, n_clusters, shrinkage, temperature, seed):
    """Bin-wise temperature scaling is 4 % below its global form, clustered 1 %."""
    return 0.96 if calibrator == "Binwise-TS" else 0.99 if layer else 1.0


def write_signal(folder, gain):
    units = [
        {"name": name, "seed": seed, "family": "TS"} for name in ("emotion", "imdb-overconfident") for seed in (0, 1)
    ]
    none = {"layer": "", "n_clusters": 1, "shrinkage": 0.0, "nll_cv": None, "nll": 0.96}
    rows = [none, {"layer": "cls", "n_clusters": 4, "shrinkage": 1.0, "nll_cv": 0.9, "nll": 0.96 * (1 - gain)}]
    measured.extend(folder / "deep" / "confidence_signal.csv", units, lambda unit: rows, progress=False)


@pytest.mark.parametrize(("gain", "verdict"), [(0.002, "holds"), (0.02, "fails")])
def test_clusters_after_bins_add_nothing_or_something(tmp_path, gain, verdict):
    write_signal(tmp_path, gain)
    found = judge(make_known(tmp_path, signal), "confidence-signal")
    assert (found["a"].verdict, found["b"].verdict) == ("holds", verdict)


def test_imdb_is_held_against_stroke(tmp_path):
    values = {"imdb-overconfident": ("cls", 0.5, 0.6, 3.0), "stroke": ("coverage", 0.1, 0.2, 1.5)}
    for name, (layer, cosine, silhouette, ratio) in values.items():
        units = [{"name": name, "seed": seed, "layer": layer, "n_clusters": K} for seed in (0, 1) for K in (4, 10)]
        row = {"mean_cosine": cosine, "silhouette": silhouette, "spread_ratio": ratio}
        compute = lambda unit, row=row: [row if unit["n_clusters"] == 4 else dict.fromkeys(row, 9.0)]
        measured.extend(tmp_path / "deep" / "geometry.csv", units, compute, progress=False)
    found = judge(Known(tmp_path), "cone-geometry")
    assert {part: one.verdict for part, one in found.items()} == {"a": "holds", "b": "holds", "c": "fails"}
    assert found["c"].ours == "IMDB 3.000, Stroke 1.500"


@pytest.mark.parametrize(
    ("ours", "reference", "verdict"), [(2.0, 2.1, "holds"), (2.0, 2.6, "fails"), (3.0, 9.0, "holds")]
)
def test_the_reference_is_near_ours_or_both_are_above_the_base(tmp_path, ours, reference, verdict):
    nll = {"base": 2.5, "ours": ours, "reference": reference}
    units = [{"name": "cifar100-overconfident", "seed": 0, "method": method} for method in nll]
    path = tmp_path / "deep" / "reference_dirichlet.csv"
    measured.extend(path, units, lambda unit: [{"nll": nll[unit["method"]]}], progress=False)
    assert judge(Known(tmp_path), "dirichlet-reference-code")[""].verdict == verdict


def test_a_shrinkage_of_five_is_judged_at_its_cell(tmp_path):
    def nll(name, calibrator, layer, n_clusters, shrinkage, temperature, seed):
        is_cell = (layer, n_clusters, shrinkage, temperature) == ("cls", 4, 5.0, 1.0)
        return 0.98 if is_cell else 0.5 if layer else 1.0

    assert judge(make_known(tmp_path, nll), "imdb-shrinkage-5")[""].verdict == "holds"
    assert judge(make_known(tmp_path, signal), "imdb-shrinkage-5")[""].ours == "lower by 0.01000 at layer cls"
