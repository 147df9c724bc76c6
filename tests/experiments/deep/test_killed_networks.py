"""A network whose training is killed in the middle of an epoch is trained on, and says what an undisturbed one says.

On small random models of the paper's two architectures, given by a path, from data to outputs.
"""

import pickle
import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from clustcal.experiments.deep import networks
from clustcal.experiments.deep.network_runs import run
from clustcal.experiments.deep.outputs import read_outputs
from clustcal.experiments.deep.training import CHECKPOINT

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

# What is run: made small in the same way here and in the process that is killed.
SMALL = """
import pickle
from dataclasses import replace
from functools import partial
from pathlib import Path
from clustcal.experiments.deep import network_runs, networks, training

def make_small(name):
    network = networks.NETWORKS[name]
    settings = replace(network.settings, epochs=2, batch_size=8, warmup_steps=0, learning_rate=1e-2)
    return replace(network, settings=settings, size=32, train_rows=None)
"""
KILLED = """
import os, signal

networks.NETWORKS[{name!r}] = make_small({name!r})
network_runs.train = partial(training.train, checkpoint_seconds=0)
take_step, steps = training._take_step, []

def killing(*arguments):
    steps.append(0)
    if len(steps) == {at}:
        os.kill(os.getpid(), signal.SIGKILL)
    return take_step(*arguments)

training._take_step = killing
data = pickle.loads(Path({data!r}).read_bytes())
network_runs.run({name!r}, model={model!r}, threads=1, folder={folder!r}, progress=False, load=lambda name: data)
"""


@pytest.mark.parametrize(
    ("name", "model", "data", "at", "done"),
    [
        # 40 texts are 5 batches of 8; 72 images 9.
        ("emotion", "distilbert", "texts", 8, (1, 2)),
        ("bloodmnist-rebuilt-cut", "resnet", "images", 4, (0, 3)),
    ],
)
def test_a_killed_network_ends_with_the_same_outputs(tmp_path, monkeypatch, request, name, model, data, at, done):
    data, model = request.getfixturevalue(data), request.getfixturevalue(model)
    (tmp_path / "data.pickle").write_bytes(pickle.dumps(data))
    code = SMALL + KILLED.format(
        name=name, at=at, data=str(tmp_path / "data.pickle"), model=str(model), folder=str(tmp_path / "killed")
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    (checkpoint,) = (tmp_path / "killed").glob(f"*/{CHECKPOINT}")
    kept = torch.load(checkpoint, weights_only=True)["run"]
    assert (kept["epoch"], kept["step"]) == done

    made = {}
    exec(SMALL, made)  # the same definitions as in the process that was killed
    monkeypatch.setitem(networks.NETWORKS, name, made["make_small"](name))
    train = partial(run, name, model=model, threads=1, progress=False, load=lambda name: data)
    line, path = train(folder=tmp_path / "killed")
    whole_line, whole_path = train(folder=tmp_path / "whole")
    assert line["epochs"] == whole_line["epochs"] == 2
    found, whole = read_outputs(path), read_outputs(whole_path)
    np.testing.assert_array_equal(found.logits, whole.logits)
    for layer, Z in whole.representations.items():
        np.testing.assert_array_equal(found.representations[layer], Z)
