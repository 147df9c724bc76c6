"""Make the outputs of one network, from its data to the line in the table: what ``clustcal train`` runs.

Training and scoring leave what is done in the cache, so that the command can be stopped and given again: it goes on
from there. A network whose training is complete is only scored again.
"""

import re
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clustcal import datasets
from clustcal.experiments.deep import image_models, outputs, published, text_models
from clustcal.experiments.deep.heads import fit_overconfident_head
from clustcal.experiments.deep.networks import NETWORKS, split_rows
from clustcal.experiments.deep.outputs import Outputs
from clustcal.experiments.deep.scoring import score
from clustcal.experiments.deep.training import Run, train
from clustcal.experiments.provenance import describe_commit, describe_versions

OVERCONFIDENT_HEAD = "cifar100-overconfident"
NAMES = (*NETWORKS, OVERCONFIDENT_HEAD, *published.NAMES)
LIBRARIES = ("numpy", "scikit-learn", "scipy", "torch", "transformers")
MODELS = {"text": "all-MiniLM-L6-v2", "image": "EfficientNet-Lite0"}
# Kept in the results: labels and logits, where they are few. No text or image is among them.
COMMITTED = ("emotion", "imdb", "imdb-overconfident", "bloodmnist-rebuilt", "bloodmnist-rebuilt-cut")


class Prepared(NamedTuple):
    """A network and the rows for it, each in the form it takes."""

    model: object
    train: object
    stop: object
    scored: object
    y: np.ndarray
    rows: np.ndarray


def run(name, *, model=None, device="cpu", threads=None, folder=None, results=Path("results"), progress=True,
        load=datasets.load):  # fmt: skip
    """Train or apply one network and write what it says.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    model : path or str, optional
        Another network than ours: a folder with a model of transformers, or a name on the hub. Its outputs get a name
        of their own and are never put among the results.
    device : str
    threads : int, optional
        Of torch.
    folder : path, optional
        For checkpoints and outputs; by default the cache: see `outputs.cache_folder`.
    results : path
        The folder of the results.
    progress : bool
    load : callable
        `clustcal.datasets.load`, or what stands in for it in a test.

    Returns
    -------
    line : dict
        Its line in ``deep/models.csv``.
    path : Path
        The file of its outputs in the cache.
    """
    if name not in NAMES:
        raise ValueError(f"name is {name!r}; expected one of {', '.join(NAMES)}.")
    if model is not None and name not in NETWORKS:
        raise ValueError(f"model is given for {name!r}, whose outputs are published; expected it for a network.")
    own_name = name if model is None else f"{name}-{_as_name(model)}"
    folder = (outputs.cache_folder() if folder is None else Path(folder)) / own_name
    line = {"name": own_name, "n_stop": 0, "epochs": 0, "best_epoch": 0, "device": device}
    if name in NETWORKS:
        network = NETWORKS[name]
        found, more = _run_network(network, model, device, threads, folder, progress, load)
        line |= {"data": network.data, "model": MODELS[network.kind] if model is None else str(model)}
    else:
        found, more = _read_head_or_published(name)
    path = folder / outputs.FILE
    outputs.write_outputs(path, found)
    line |= more | {name: _rounded(value) for name, value in outputs.summarise(found).items()}
    line |= {
        "classes": found.logits.shape[1],
        "n_scored": len(found.y),
        "representations": " ".join(f"{name}:{Z.shape[1]}" for name, Z in found.representations.items()),
        "sha256": outputs.file_digest(path),
        "versions": describe_versions(LIBRARIES),
        "commit": describe_commit(),
    }
    if model is None:
        if name in COMMITTED:
            outputs.write_outputs(Path(results) / "deep" / "outputs" / f"{name}.npz", found, representations=False)
        outputs.write_line(Path(results) / "deep" / "models.csv", line)
    return line, path


def _run_network(network, path, device, threads, folder, progress, load):
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    prepared = _prepare(network, path, load(network.data))
    history = Run()
    if network.settings is not None:
        history = train(
            prepared.model, prepared.train.lengths, prepared.train.batch, network.settings, folder,
            evaluate=_evaluator(prepared, device) if network.stops_on else None, device=device, progress=progress,
        )  # fmt: skip
    started = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    scores = score(
        prepared.model, prepared.scored, device=device, progress=progress, unfinished=folder / "unfinished-scores.npz"
    )
    more = {
        "n_train": 0 if prepared.train is None else len(prepared.train.labels),
        "n_stop": 0 if prepared.stop is None else len(prepared.stop.labels),
        "epochs": history.epoch,
        "best_epoch": history.best_epoch or history.epoch,
        "training_seconds": round(history.seconds),
        "scoring_seconds": round(time.monotonic() - started),
    }
    return Outputs(scores.logits, prepared.y, prepared.rows, scores.representations), more


def _prepare(network, path, data):
    rows = split_rows(network, data.y, data.part)
    seed = 0 if network.settings is None else network.settings.seed
    if network.kind == "text":
        model, tokenizer = text_models.make_model(len(data.classes), path, seed)
        prepare = lambda chosen: text_models.EncodedTexts(data.X[chosen], data.y[chosen], tokenizer, network.size)
    else:
        model = image_models.make_model(len(data.classes), path, seed)
        prepare = lambda chosen: image_models.PreparedImages(
            data.X[chosen], data.y[chosen], network.size, is_lite=path is None
        )
    train, stop, scored = (prepare(chosen) if len(chosen) else None for chosen in rows)
    return Prepared(model, train, stop, scored, data.y[rows.scored], rows.scored)


def _evaluator(prepared, device):
    """Log-loss and accuracy on the rows that training is stopped on."""

    def evaluate(model):
        logits = score(model, prepared.stop, device=device, progress=False).logits
        found = outputs.summarise(Outputs(logits, prepared.stop.labels, None, {}))
        return {"nll": found["nll"], "accuracy": found["accuracy"]}

    return evaluate


def _read_head_or_published(name):
    started = time.monotonic()
    if name != OVERCONFIDENT_HEAD:
        found = published.read_published(name)
        data = "cifar10" if name.startswith("cifar10-") else "cifar100"
        more = {"data": data, "model": f"published: {name.split('-')[1]}", "n_train": 0, "training_seconds": 0}
    else:
        features, y, _, _ = published.read_resnet20()
        found, n_train, n_epochs = fit_overconfident_head(features, y)
        more = {"data": "cifar100", "model": "head on published: resnet20", "n_train": n_train}
        more |= {"epochs": n_epochs, "best_epoch": n_epochs, "training_seconds": round(time.monotonic() - started)}
    return found, more | {"scoring_seconds": 0, "device": "cpu"}


def _as_name(model):
    # All of a path, so that two models whose folders have one name do not share a checkpoint.
    return re.sub(r"[^A-Za-z0-9.]+", "-", str(model)).strip("-")


def _rounded(value):
    return f"{value:.6f}"
