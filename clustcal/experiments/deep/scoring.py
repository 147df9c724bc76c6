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

from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import numpy as np

BATCH_SIZE = 64


class Scores(NamedTuple):
    """Logits of shape (n, L), float32, and representations by name, each of shape (n, m), float16."""

    logits: np.ndarray
    representations: dict


def score(model, rows, *, device="cpu", batch_size=BATCH_SIZE, progress=True):
    """Run a network over prepared texts or images.

    Parameters
    ----------
    model : torch.nn.Module
    rows : EncodedTexts or PreparedImages
        Rows of like length share a batch.
    device : str
    batch_size : int
    progress : bool

    Returns
    -------
    scores : Scores
        In the order of the rows.
    """
    import torch
    from tqdm import tqdm

    order = np.argsort(rows.lengths, kind="stable")
    logits, representations = [], {}
    model.to(device).eval()
    with torch.no_grad(), _described(model) as describe:
        for start in tqdm(range(0, len(order), batch_size), unit="batch", disable=not progress, mininterval=5):
            arguments, _ = rows.batch(order[start : start + batch_size])
            arguments = {name: tensor.to(device) for name, tensor in arguments.items()}
            batch_logits, described = describe(arguments)
            logits.append(batch_logits.float().cpu().numpy())
            for name, tensor in described.items():
                representations.setdefault(name, []).append(tensor.cpu().numpy().astype(np.float16))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return Scores(
        np.concatenate(logits)[place],
        {name: np.concatenate(parts)[place] for name, parts in representations.items()},
    )


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
