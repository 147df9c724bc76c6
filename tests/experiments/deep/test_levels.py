"""Our values stand under the ids of the paper's numbers, and only where there are rows."""

import numpy as np
import pytest

from clustcal.experiments.deep import levels, network_tables
from clustcal.experiments.paper import load_claims
from tests.experiments.deep.made_up_rows import make_rows

PAPER = load_claims().set_index("id")["value"]


def of_emotion(calibrator, layer, n_clusters, shrinkage, temperature, seed):
    """Log-losses that are lowest with 25 clusters and a shrinkage of 1, 0.01 apart by seed."""
    away = abs(n_clusters - 25) + abs(shrinkage - 1) if layer else 0
    return 0.16 + 0.01 * (seed - 2) + 0.001 * away


def of_imdb(calibrator, layer, n_clusters, shrinkage, temperature, seed):
    """Printed reductions: 35 % by the best global and 40 % by the best bin-wise method."""
    return 0.4 if layer else {"Base": 0.5, "Platt": 0.325, "Beta": 0.33, "Binwise-TS": 0.3}.get(calibrator, 0.4)


def test_levels_are_means_over_the_splits():
    found = levels.compute_cells({"Emotion": network_tables.choose_cells(make_rows("emotion", 6, of_emotion))})
    assert found["text/Emotion/TS clustered/K"].value == 25
    assert found["text/Emotion/TS clustered/shrinkage"].value == 1
    assert found["text/Emotion/Binwise-TS/NLL"].value == pytest.approx(0.16)
    assert found["text/Emotion/Binwise-TS/NLL"].sd == pytest.approx(0.01 * np.sqrt(2.5))
    assert set(found) == {name for name in PAPER.index if name.startswith("text/Emotion/")}


def test_the_figures_of_the_text_on_imdb_are_those_of_the_best_methods():
    found = levels.compute_imdb({"IMDB": network_tables.choose_cells(make_rows("imdb-overconfident", 2, of_imdb))})
    assert found["deep-text/IMDB/global-reduction"].value == pytest.approx(35)
    assert found["deep-text/IMDB/binwise-reduction"].value == pytest.approx(40)
    assert found["deep-text/IMDB/binwise-NLL"].value == pytest.approx(0.3)
    assert found["deep-text/IMDB/clustered-NLL"].value == pytest.approx(0.4)
    assert set(found) <= set(PAPER.index)
    assert levels.compute_imdb({}) == {}


def test_settings_are_numbers_of_the_paper():
    assert {name: value.value for name, value in levels.SETTINGS.items()} == {
        name: PAPER[name] for name in levels.SETTINGS
    }
