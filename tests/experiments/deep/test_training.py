"""Training can be stopped at any moment, and then ends where it would have ended."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from clustcal.experiments.deep import training
from clustcal.experiments.deep.training import CHECKPOINT, Settings, learning_rate_factor, make_batches, train

torch = pytest.importorskip("torch")

SETTINGS = Settings(epochs=3, learning_rate=1e-2, batch_size=8, warmup_steps=4)
LENGTHS = np.arange(60) % 7
# A process that trains and, in the middle of an epoch, is killed as by the system.
KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_training import SETTINGS, LENGTHS, batch_of, make_model
from clustcal.experiments.deep.training import train

calls = 0
def killing(rows):
    global calls
    calls += 1
    if calls == {at}:
        os.kill(os.getpid(), signal.SIGKILL)
    return batch_of(rows)

train(make_model(), LENGTHS, killing, SETTINGS, {folder!r}, progress=False, checkpoint_seconds={every})
"""


class Net(torch.nn.Module):
    """Dropout and batch normalisation, so that state beside the weights counts."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(5, 16), torch.nn.BatchNorm1d(16), torch.nn.Dropout(0.5), torch.nn.Linear(16, 3)
        )

    def forward(self, x):
        return self.layers(x)


def make_model():
    torch.manual_seed(1)
    return Net()


def batch_of(rows):
    """Rows with noise that is drawn from torch, as augmentation would be."""
    X = torch.tensor(np.random.default_rng(0).normal(size=(60, 5)), dtype=torch.float32)
    return {"x": X[rows] + 0.1 * torch.randn(len(rows), 5)}, torch.as_tensor(rows % 3)


def weights_of(model):
    return {name: tensor.numpy().copy() for name, tensor in model.state_dict().items()}


def assert_same_weights(one, two):
    assert one.keys() == two.keys()
    for name in one:
        assert_array_equal(one[name], two[name], err_msg=name)


@pytest.fixture
def uninterrupted(tmp_path):
    model = make_model()
    run = train(model, LENGTHS, batch_of, SETTINGS, tmp_path / "whole", progress=False)
    return weights_of(model), run


@pytest.mark.parametrize(("at", "done"), [(1, 0), (4, 3), (12, 11), (20, 19)], ids=["first", "early", "second", "last"])
def test_a_killed_run_loses_one_batch_and_ends_with_the_same_weights(tmp_path, uninterrupted, at, done):
    """60 rows in batches of 8 are 8 batches an epoch; with a checkpoint after each, at most the last is lost."""
    folder = tmp_path / "killed"
    code = KILLED.format(tests=str(Path(__file__).parent), at=at, folder=str(folder), every=0)
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    if done:
        run = torch.load(folder / CHECKPOINT, weights_only=True)["run"]
        assert 8 * run["epoch"] + run["step"] == done
    model = make_model()
    run = train(model, LENGTHS, batch_of, SETTINGS, folder, progress=False)
    assert_same_weights(weights_of(model), uninterrupted[0])
    assert [epoch["loss"] for epoch in run.history] == pytest.approx([e["loss"] for e in uninterrupted[1].history])
    assert [path.name for path in folder.iterdir() if path.suffix != ".unfinished"] == [CHECKPOINT]


def test_without_a_checkpoint_in_the_epoch_it_begins_again(tmp_path, uninterrupted):
    folder = tmp_path / "killed"
    code = KILLED.format(tests=str(Path(__file__).parent), at=12, folder=str(folder), every=1000)
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    run = torch.load(folder / CHECKPOINT, weights_only=True)["run"]
    assert (run["epoch"], run["step"]) == (1, 0)
    model = make_model()
    train(model, LENGTHS, batch_of, SETTINGS, folder, progress=False)
    assert_same_weights(weights_of(model), uninterrupted[0])


def test_checkpoints_are_at_most_five_minutes_apart_by_default():
    assert 0 < training.CHECKPOINT_SECONDS <= 300


def test_a_complete_run_is_not_trained_again(tmp_path, uninterrupted):
    def refuse(rows):
        raise AssertionError("a batch was asked for")

    model = make_model()
    run = train(model, LENGTHS, refuse, SETTINGS, tmp_path / "whole", progress=False)
    assert run.epoch == 3
    assert_same_weights(weights_of(model), uninterrupted[0])


def test_the_checkpoint_of_another_run_is_refused(tmp_path, uninterrupted):
    with pytest.raises(ValueError, match=r"checkpoint.pt is of a run with .*'learning_rate': 0.01"):
        train(make_model(), LENGTHS, batch_of, replace(SETTINGS, learning_rate=1.0), tmp_path / "whole", progress=False)
    with pytest.raises(ValueError, match=r"'n_rows': 60"):
        train(make_model(), LENGTHS[:50], batch_of, SETTINGS, tmp_path / "whole", progress=False)


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(stream):
        stream.write(b"half of the new")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        training.write_atomically(path, fail)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_early_stopping_takes_the_best_epoch(tmp_path):
    losses = iter([3.0, 1.0, 2.0, 2.5, 0.5])
    seen = []

    def evaluate(model):
        seen.append(weights_of(model))
        return {"nll": next(losses)}

    model = make_model()
    settings = replace(SETTINGS, epochs=10, patience=2)
    run = train(model, LENGTHS, batch_of, settings, tmp_path, evaluate=evaluate, progress=False)
    assert (run.epoch, run.best_epoch) == (4, 2)
    assert_same_weights(weights_of(model), seen[1])


def test_an_over_confident_network_is_trained_until_its_loss_has_risen(tmp_path):
    losses = iter([0.7, 0.4, 0.5, 0.65, 0.9])
    seen = []

    def evaluate(model):
        seen.append(weights_of(model))
        return {"nll": next(losses)}

    model = make_model()
    settings = replace(SETTINGS, epochs=10, rises_to=0.6)
    run = train(model, LENGTHS, batch_of, settings, tmp_path, evaluate=evaluate, progress=False)
    assert run.epoch == 4  # 0.7 at the first does not count, as it had not been below
    assert_same_weights(weights_of(model), seen[3])


@pytest.mark.parametrize("stop", [{"patience": 1}, {"rises_to": 0.5}])
def test_a_rule_to_stop_needs_something_to_watch(tmp_path, stop):
    with pytest.raises(ValueError, match="patience or rises_to is given without evaluate"):
        train(make_model(), LENGTHS, batch_of, replace(SETTINGS, **stop), tmp_path, progress=False)


def test_a_checkpoint_from_before_a_setting_was_added_is_taken(tmp_path, uninterrupted):
    path = tmp_path / "whole" / CHECKPOINT
    state = torch.load(path, weights_only=True)
    del state["identity"]["rises_to"]
    torch.save(state, path)
    assert train(make_model(), LENGTHS, batch_of, SETTINGS, tmp_path / "whole", progress=False).epoch == 3


def test_one_batch_an_epoch_without_noise_is_adamw(tmp_path):
    """Against a loop of torch written out: two steps on all rows."""
    settings = Settings(epochs=2, learning_rate=1e-2, batch_size=60, weight_decay=0.1, decays=False)
    X = torch.tensor(np.random.default_rng(0).normal(size=(60, 5)), dtype=torch.float32)
    y = torch.arange(60) % 3

    def model():
        torch.manual_seed(2)
        net = torch.nn.Linear(5, 3, bias=False)
        net.forward = lambda x: torch.nn.functional.linear(x, net.weight)
        return net

    ours, theirs = model(), model()
    train(ours, np.ones(60), lambda rows: ({"x": X[rows]}, y[rows]), settings, tmp_path, progress=False)
    optimizer = torch.optim.AdamW(theirs.parameters(), lr=1e-2, weight_decay=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(theirs(X), y).backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        optimizer.step()
    assert ours.weight.detach().numpy() == pytest.approx(theirs.weight.detach().numpy(), abs=1e-6)


def test_the_rate_rises_stays_or_falls():
    settings = Settings(epochs=1, learning_rate=1.0, warmup_steps=2)
    assert [learning_rate_factor(step, 6, settings) for step in range(7)] == [0, 0.5, 1, 0.75, 0.5, 0.25, 0]
    assert learning_rate_factor(5, 6, replace(settings, decays=False)) == 1


def test_an_epoch_holds_every_row_once_in_batches_of_like_length():
    lengths = np.random.default_rng(0).integers(1, 100, 1003)
    batches = make_batches(lengths, 10, (0, 0))
    assert sorted(np.concatenate(batches)) == list(range(1003))
    spread = [np.ptp(lengths[rows]) for rows in batches]
    assert np.median(spread) <= 3  # of 99
    assert make_batches(lengths, 10, (0, 0))[5].tolist() == batches[5].tolist()
    assert make_batches(lengths, 10, (0, 1))[5].tolist() != batches[5].tolist()
