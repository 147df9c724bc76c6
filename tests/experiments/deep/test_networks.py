"""The table of networks: settings as in the paper, and rows that do not mix."""

from dataclasses import replace

import numpy as np
import pytest

from clustcal.datasets import registry
from clustcal.experiments.deep.networks import NETWORKS, split_rows

PART = np.repeat(np.array(["train", "val", "test"], dtype=object), [20_000, 300, 700])
Y = np.arange(21_000) % 4


@pytest.mark.parametrize("network", NETWORKS.values(), ids=list(NETWORKS))
def test_a_network_reads_a_data_set_of_its_kind(network):
    assert registry.get_dataset(network.data).kind == network.kind
    assert (network.stops_on is None) == (
        network.settings is None or not (network.settings.patience or network.settings.rises_to)
    )


@pytest.mark.parametrize("network", NETWORKS.values(), ids=list(NETWORKS))
def test_what_is_scored_is_validation_and_test_part_and_never_trained_on(network):
    rows = split_rows(network, Y, PART)
    assert rows.scored.tolist() == list(range(20_000, 21_000))
    assert not set(rows.train) & set(rows.scored)
    assert not set(rows.train) & set(rows.stop)


def test_the_papers_arm_stops_on_rows_that_are_scored_and_the_other_does_not():
    theirs = split_rows(NETWORKS["bloodmnist-rebuilt"], Y, PART)
    ours = split_rows(NETWORKS["bloodmnist-rebuilt-cut"], Y, PART)
    assert theirs.stop.tolist() == list(range(20_000, 20_300))
    assert (len(theirs.train), len(ours.train), len(ours.stop)) == (20_000, 18_000, 2_000)
    assert not set(ours.stop) & set(ours.scored)
    assert np.bincount(Y[ours.stop]).tolist() == [500] * 4


def test_the_over_confident_network_sees_ten_thousand_rows():
    rows = split_rows(NETWORKS["imdb-overconfident"], Y, PART)
    assert np.bincount(Y[rows.train]).tolist() == [2_500] * 4
    assert np.bincount(Y[rows.stop]).tolist() == [250] * 4
    assert not set(rows.stop) & set(rows.scored)


def test_the_settings_of_the_text_networks_are_the_papers():
    settings = NETWORKS["emotion"].settings
    found = (settings.epochs, settings.learning_rate, settings.weight_decay, settings.warmup_steps)
    assert found == (3, 2e-4, 0.01, 500)
    assert NETWORKS["imdb"].settings == replace(settings, bf16=True)


def test_the_settings_of_the_image_networks_are_the_papers():
    settings = NETWORKS["bloodmnist-rebuilt"].settings
    assert (settings.epochs, settings.learning_rate, settings.patience) == (100, 1e-4, 5)
