"""Train a network so that it can be stopped at any moment: one loop for texts and images.

The state of a run is written to one file every few minutes, in one step. A run that goes on from it draws the same
batches and the same dropout as one that was never stopped, and ends with the same weights.
"""

import os
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

CHECKPOINT = "checkpoint.pt"
CHECKPOINT_SECONDS = 240  # at most this long between two checkpoints, whatever a batch costs beyond it
SORTED_BATCHES = 50  # rows of this many batches are sorted by length together, so that little of a batch is padding


@dataclass(frozen=True)
class Settings:
    """How a network is trained; AdamW, a linear warm-up, and a linear way down to zero where `decays`.

    Attributes
    ----------
    epochs : int
        At most.
    learning_rate : float
        After the warm-up.
    batch_size : int
    weight_decay : float
    warmup_steps : int
        Batches.
    decays : bool
        Whether the learning rate goes down in a line to zero at the end of the last epoch, or stays.
    patience : int or None
        Stop after this many epochs without a lower loss on the stopping rows, and take the weights of the best epoch;
        None: take the last weights.
    rises_to : float or None
        Train on past the best epoch, until the loss on the stopping rows has risen to this: a way to an over-confident
        network. None: train all epochs.
    seed : int
        Of the order of rows, dropout and the new parts of the network.
    bf16 : bool
        Multiply matrices in bfloat16; weights and their updates stay in float32.
    """

    epochs: int
    learning_rate: float
    batch_size: int = 32
    weight_decay: float = 0.01
    warmup_steps: int = 0
    decays: bool = True
    patience: int | None = None
    rises_to: float | None = None
    seed: int = 0
    bf16: bool = False


@dataclass
class Run:
    """What a training run has come to; all of it is in a checkpoint."""

    epoch: int = 0  # epochs that are complete
    step: int = 0  # batches done of the current one
    loss_sum: float = 0.0  # over the rows of these batches
    seconds: float = 0.0
    history: list = field(default_factory=list)  # one dict an epoch
    best: dict | None = None  # the weights of the best epoch, where training stops early
    best_epoch: int = 0


def train(model, lengths, batch_of, settings, folder, *, evaluate=None, device="cpu", progress=True,
          checkpoint_seconds=CHECKPOINT_SECONDS):  # fmt: skip
    """Train a network, or go on with a run that was stopped.

    Parameters
    ----------
    model : torch.nn.Module
        Called with the inputs of a batch, it returns logits of shape (n, L), or an object that has them as ``logits``.
        It is changed in place.
    lengths : array-like of shape (n,)
        Of the training rows: rows of like length share a batch. Of images, all the same.
    batch_of : callable
        From an array of row numbers to a dict of tensors (the model's arguments) and a tensor of labels. What it draws
        at random it must draw from torch.
    settings : Settings
    folder : path
        Where the checkpoint is; one folder belongs to one run.
    evaluate : callable, optional
        From the model to a dict with at least ``"nll"``, on rows that are not trained on. Called after each epoch.
    device : str
    progress : bool
        Show a bar.
    checkpoint_seconds : float

    Returns
    -------
    run : Run
        With the loss of each epoch in ``history`` and the time in ``seconds``, that of earlier parts included.

    Raises
    ------
    ValueError
        If the checkpoint in the folder is that of a run with other settings or other rows.
    """
    import torch

    if (settings.patience is not None or settings.rises_to is not None) and evaluate is None:
        raise ValueError("patience or rises_to is given without evaluate; expected a function that says when to stop.")
    lengths = np.asarray(lengths)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    identity = asdict(settings) | {"n_rows": len(lengths)}
    model.to(device)
    torch.manual_seed(settings.seed)
    steps_per_epoch = -(-len(lengths) // settings.batch_size)
    optimizer = torch.optim.AdamW(_parameter_groups(model, settings.weight_decay), lr=settings.learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: learning_rate_factor(step, steps_per_epoch * settings.epochs, settings)
    )
    run = _restore(folder / CHECKPOINT, identity, model, optimizer, schedule, device) or Run()
    clock = _Clock(run, checkpoint_seconds)

    def save():
        clock.stop()
        _save(folder / CHECKPOINT, identity, run, model, optimizer, schedule)
        clock.start()

    with _bar(run, steps_per_epoch, settings, progress) as bar:
        while run.epoch < settings.epochs and not _has_stopped(run, settings):
            batches = make_batches(lengths, settings.batch_size, (settings.seed, run.epoch))
            model.train()
            for rows in batches[run.step :]:
                loss = _take_step(model, batch_of(rows), optimizer, device, settings)
                schedule.step()
                run.step += 1
                run.loss_sum += loss * len(rows)
                bar.update()
                bar.set_postfix(epoch=run.epoch + 1, loss=f"{loss:.3f}", refresh=False)
                if clock.is_due():
                    save()
            _end_epoch(run, model, lengths, settings, evaluate)
            save()
    if run.best is not None:
        model.load_state_dict(run.best)
    model.eval()
    return run


def make_batches(lengths, batch_size, seed):
    """Return the rows of an epoch in batches, rows of like length together and the batches in random order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(lengths))
    pool = batch_size * SORTED_BATCHES
    batches = []
    for start in range(0, len(order), pool):
        rows = order[start : start + pool]
        rows = rows[np.argsort(lengths[rows], kind="stable")]
        batches.extend(rows[i : i + batch_size] for i in range(0, len(rows), batch_size))
    return [batches[i] for i in rng.permutation(len(batches))]


def learning_rate_factor(step, n_steps, settings):
    """Return the share of the learning rate that applies to a step (the first is 0).

    Examples
    --------
    >>> from clustcal.experiments.deep.training import Settings, learning_rate_factor
    >>> settings = Settings(epochs=1, learning_rate=2e-4, warmup_steps=10)
    >>> [learning_rate_factor(step, 30, settings) for step in (0, 5, 10, 20, 30)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if step < settings.warmup_steps:
        return step / settings.warmup_steps
    if not settings.decays:
        return 1.0
    return max(0.0, (n_steps - step) / max(1, n_steps - settings.warmup_steps))


def _parameter_groups(model, weight_decay):
    """Offsets and the scales of normalisation are not pulled to zero, as is usual."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    return [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]


def _take_step(model, batch, optimizer, device, settings):
    import torch

    inputs, labels = batch
    inputs = {name: tensor.to(device) for name, tensor in inputs.items()}
    precision = torch.autocast(torch.device(device).type, torch.bfloat16) if settings.bf16 else nullcontext()
    with precision:
        output = model(**inputs)
    logits = getattr(output, "logits", output).float()
    loss = torch.nn.functional.cross_entropy(logits, labels.to(device))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def _end_epoch(run, model, lengths, settings, evaluate):
    scores = {"loss": run.loss_sum / len(lengths)}
    if evaluate is not None:
        model.eval()
        scores |= evaluate(model)
    run.epoch += 1
    run.step, run.loss_sum = 0, 0.0
    run.history.append(scores)
    if settings.patience is None:
        return
    if scores["nll"] == min(epoch["nll"] for epoch in run.history):
        run.best = {name: tensor.detach().cpu().clone() for name, tensor in model.state_dict().items()}
        run.best_epoch = run.epoch


def _has_stopped(run, settings):
    if settings.patience is not None:
        return run.best is not None and run.epoch - run.best_epoch >= settings.patience
    if settings.rises_to is not None and run.history:
        losses = [epoch["nll"] for epoch in run.history]
        return losses[-1] >= settings.rises_to > min(losses)
    return False


class _Clock:
    """Adds the time that passes to a run and knows when the next checkpoint is due."""

    def __init__(self, run, checkpoint_seconds):
        self._run = run
        self._checkpoint_seconds = checkpoint_seconds
        self.start()

    def start(self):
        self._started = time.monotonic()

    def stop(self):
        self._run.seconds += time.monotonic() - self._started

    def is_due(self):
        return time.monotonic() - self._started >= self._checkpoint_seconds


def _save(path, identity, run, model, optimizer, schedule):
    import torch

    state = {
        "identity": identity,
        "run": vars(run),
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "schedule": schedule.state_dict(),
        "random": torch.get_rng_state(),
        "random_cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }
    write_atomically(path, lambda stream: torch.save(state, stream))


def write_atomically(path, write):
    """Let `write` fill a file that gets its name only once all of it is on the disk."""
    path = Path(path)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    try:
        with open(unfinished, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _restore(path, identity, model, optimizer, schedule, device):
    """Bring everything to the state of the checkpoint and return its run; None where there is none."""
    import torch

    if not path.exists():
        return None
    state = torch.load(path, map_location=device, weights_only=True)
    # A setting that is newer than the checkpoint had its default then.
    if asdict(Settings(epochs=0, learning_rate=0.0)) | state["identity"] != identity:
        raise ValueError(
            f"{path} is of a run with {state['identity']}; expected {identity}. Move it away to train anew."
        )
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    schedule.load_state_dict(state["schedule"])
    torch.set_rng_state(state["random"].cpu())
    if state["random_cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all([tensor.cpu() for tensor in state["random_cuda"]])
    return Run(**state["run"])


def _bar(run, steps_per_epoch, settings, progress):
    from tqdm import tqdm

    done = run.epoch * steps_per_epoch + run.step
    return tqdm(
        total=steps_per_epoch * settings.epochs, initial=done, unit="batch", disable=not progress, mininterval=5
    )
