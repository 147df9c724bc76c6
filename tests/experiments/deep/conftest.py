"""Small networks and data for the study of images and texts: random weights, a few rows, no downloads."""

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import Bunch

from clustcal.experiments.deep.outputs import Outputs

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "film", "is", "good", "bad", "very", "dull", "bright"]


@pytest.fixture(scope="session")
def distilbert(tmp_path_factory):
    """A folder with a DistilBERT of two small layers, random weights, and a tokenizer of a few words."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("distilbert")
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    torch.manual_seed(0)
    config = transformers.DistilBertConfig(
        vocab_size=len(WORDS), dim=16, n_layers=2, n_heads=2, hidden_dim=32, max_position_embeddings=32
    )
    transformers.DistilBertModel(config).save_pretrained(folder)
    transformers.DistilBertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def resnet(tmp_path_factory):
    """A folder with a ResNet of the architecture of ResNet-50, small and with random weights."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("resnet")
    torch.manual_seed(0)
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 24, 32], depths=[1, 1, 1, 1], layer_type="bottleneck", num_labels=5
    )
    transformers.ResNetForImageClassification(config).save_pretrained(folder)
    return folder


@pytest.fixture
def texts():
    """Sixty texts of up to twelve words, two classes that a word gives away."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = [" ".join([*rng.choice(WORDS[5:8], rng.integers(1, 11)), ["bad", "good"][label]]) for label in y]
    part = np.repeat(np.array(["train", "val", "test"], dtype=object), [40, 10, 10])
    return Bunch(X=np.array(X, dtype=object), y=y, part=part, classes=["negative", "positive"])


@pytest.fixture
def images():
    """A hundred images of 28 x 28 pixels in eight classes that differ in brightness."""
    rng = np.random.default_rng(0)
    y = np.arange(100) % 8
    X = (rng.integers(0, 30, (100, 28, 28, 3)) + 25 * y[:, None, None, None]).astype(np.uint8)
    part = np.repeat(np.array(["train", "val", "test"], dtype=object), [80, 10, 10])
    return Bunch(X=X, y=y, part=part, classes=[f"class {i}" for i in range(8)])


@pytest.fixture
def raw_data():
    """The folder that holds the raw files, for tests marked `data`."""
    folder = os.environ.get("CLUSTCAL_DATA_DIR")
    if not folder:
        pytest.skip("CLUSTCAL_DATA_DIR is not set: no raw data to test on")
    return Path(folder)


@pytest.fixture(scope="session")
def outputs():
    """Six hundred rows of three classes; Z has two directions, and in one of the two groups the forecasts are noise."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 3
    group = rng.integers(0, 2, 600)
    logits = rng.normal(size=(600, 3)) + 2 * np.eye(3)[y] * group[:, None]
    Z = rng.normal(size=(600, 5)) * 0.3 + np.where(group[:, None] == 1, [3, 0, 0, 0, 0], [-2, 2, 0, 0, 0])
    return Outputs(logits, y, np.arange(600), {"cls": Z, "mean": Z[:, ::-1].copy()})
