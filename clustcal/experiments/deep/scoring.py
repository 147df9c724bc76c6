"""What a network says about rows: logits, and the representations that are clustered, all from one pass.

Representations have the same names for every network of a kind, the paper's choice first:

===== ============= ===========================================================================================
kind  name          what it is
===== ============= ===========================================================================================
text  ``cls``       the first token in the final layer ("the hidden state of the final transformer layer")
text  ``cls-1``     the first token, one layer before
text  ``mean``      the mean of all tokens in the final layer
image ``pooled``    the last feature maps, averaged over the image ("the penultimate layer")
image ``pooled-1``  the same, one block of layers before
===== ============= ===========================================================================================
"""

import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clustcal.experiments.deep.training import CHECKPOINT_SECONDS, write_atomically

BATCH_SIZE = 64
LOGITS, SIZES = "logits", "sizes"  # beside the names of the representations, in the file of an unfinished run


class Scores(NamedTuple):
    """Logits of shape (n, L), float32, and representations by name, each of shape (n, m), float16."""

    logits: np.ndarray
    representations: dict


def score(
    model, rows, *, device="cpu", batch_size=BATCH_SIZE, progress=True, unfinished=None,
    checkpoint_seconds=CHECKPOINT_SECONDS,
):  # fmt: skip
    """Run a network over prepared texts or images.

    Parameters
    ----------
    model : torch.nn.Module
    rows : EncodedTexts or PreparedImages
        Rows of like length share a batch.
    device : str
    batch_size : int
    progress : bool
    unfinished : path, optional
        A file that keeps what is done, every `checkpoint_seconds`, so that a run that was stopped goes on from there.
        It belongs to one network and one set of rows, and is removed in the end.
    checkpoint_seconds : float

    Returns
    -------
    scores : Scores
        In the order of the rows.
    """
    import torch
    from tqdm import tqdm

    order = np.argsort(rows.lengths, kind="stable")
    batches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    parts = _read_parts(unfinished)
    kept = time.monotonic()
    model.to(device).eval()
    bar = tqdm(total=len(batches), initial=len(parts), unit="batch", disable=not progress, mininterval=5)
    with bar, torch.no_grad(), _described(model) as describe:
        for batch in batches[len(parts) :]:
            arguments, _ = rows.batch(batch)
            logits, described = describe({name: tensor.to(device) for name, tensor in arguments.items()})
            arrays = {name: tensor.cpu().numpy().astype(np.float16) for name, tensor in described.items()}
            parts.append({LOGITS: logits.float().cpu().numpy()} | arrays)
            bar.update()
            if unfinished is not None and time.monotonic() - kept >= checkpoint_seconds:
                _write_parts(unfinished, parts)
                kept = time.monotonic()
    place = np.argsort(order)
    joined = {name: np.concatenate([part[name] for part in parts])[place] for name in parts[0]}
    if unfinished is not None:
        Path(unfinished).unlink(missing_ok=True)
    return Scores(joined.pop(LOGITS), joined)


def _read_parts(path):
    """Return what was kept of each batch: a list of dicts of arrays."""
    if path is None or not Path(path).exists():
        return []
    with np.load(path) as arrays:
        sizes = arrays[SIZES]
        cuts = np.cumsum(sizes)[:-1]
        split = {name: np.split(arrays[name], cuts) for name in arrays.files if name != SIZES}
    return [{name: pieces[i] for name, pieces in split.items()} for i in range(len(sizes))]


def _write_parts(path, parts):
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    arrays[SIZES] = np.array([len(part[LOGITS]) for part in parts])
    write_atomically(path, lambda stream: np.savez(stream, **arrays))


@contextmanager
def _described(model):
    """Give a function from a batch to logits and representations, for as long as the context lasts."""
    if hasattr(model, "config"):  # of transformers
        yield lambda arguments: _describe_transformer(model, arguments)
        return
    with ExitStack() as stack:
        maps = [stack.enter_context(_recorded(layer)) for layer in (model._avg_pooling, model._blocks[-1])]
        yield lambda arguments: _describe_lite(model, arguments, maps)


def _describe_transformer(model, arguments):
    output = model(**arguments, output_hidden_states=True)
    last, before = output.hidden_states[-1], output.hidden_states[-2]
    if "attention_mask" not in arguments:
        return output.logits, {"pooled": last.mean(dim=(2, 3)), "pooled-1": before.mean(dim=(2, 3))}
    is_token = arguments["attention_mask"][:, :, None]
    mean = (last * is_token).sum(dim=1) / is_token.sum(dim=1)
    return output.logits, {"cls": last[:, 0], "cls-1": before[:, 0], "mean": mean}


def _describe_lite(model, arguments, maps):
    for recorded in maps:
        recorded.clear()
    logits = model(**arguments)
    return logits, {
        name: recorded[0].mean(dim=(2, 3)) for name, recorded in zip(("pooled", "pooled-1"), maps, strict=True)
    }


@contextmanager
def _recorded(layer):
    outputs = []
    handle = layer.register_forward_hook(lambda module, inputs, output: outputs.append(output))
    try:
        yield outputs
    finally:
        handle.remove()
