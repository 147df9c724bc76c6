"""Published outputs in our form, from files of the same names and arrays as the published ones."""

import numpy as np
import pytest
from scipy.special import softmax

from clustcal.experiments.deep import published


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two features, three classes, four images; and softmax outputs of the same images."""
    arrays = {
        "features": np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 0.0]]),
        "labels": np.array([0, 1, 2, 0], dtype=np.uint8),
        "fc_weight": np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        "fc_bias": np.array([0.0, 0.5, -1.0]),
    }
    np.savez(tmp_path / "resnet20_test_outputs.npz", **arrays)
    P = softmax(np.arange(12.0).reshape(4, 3) % 5, axis=1)
    for name in published.SOFTMAX_FILES.values():
        np.savez(tmp_path / name, predictions=P, ground_truth=arrays["labels"])
    asked = []

    def fetch(name):
        asked.append(name)
        return {path.name: path for path in tmp_path.iterdir()}

    monkeypatch.setattr(published, "fetch", fetch)
    return arrays, P, asked


def test_logits_of_the_resnet_are_those_of_its_last_layer(files):
    outputs = published.read_published("cifar100-resnet20")
    assert outputs.logits.tolist() == [[1, 0.5, 0], [0, 1.5, 0], [1, 1.5, 1], [2, 0.5, 1]]
    assert (outputs.y.tolist(), outputs.y.dtype) == ([0, 1, 2, 0], np.int64)
    assert outputs.rows.tolist() == [0, 1, 2, 3]
    assert np.array_equal(outputs.representations["pooled"], files[0]["features"])
    assert outputs.representations["logits"][1].tolist() == [-0.5, 1.0, -0.5]


@pytest.mark.parametrize("name", published.SOFTMAX_FILES)
def test_softmax_outputs_come_back_and_have_no_representation(files, name):
    outputs = published.read_published(name)
    np.testing.assert_allclose(softmax(outputs.logits, axis=1), files[1])
    assert outputs.representations == {}
    assert files[2] == ["netcal_softmax"]
