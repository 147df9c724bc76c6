"""Summaries of what the network of Emotion attends to, and of which words move its answer.

Needs torch, transformers, the raw texts, and the trained network in the cache (``clustcal train emotion``); rows of the
study come from here, chapters read those.
"""

from functools import cache

import numpy as np

from clustcal import datasets
from clustcal.experiments.deep import outputs, text_models
from clustcal.experiments.deep.networks import NETWORKS, split_rows
from clustcal.experiments.deep.training import write_atomically

FILE = "attention_summaries.npz"  # in the cache, beside the weights
BATCH = 64
SHARES = 5  # of attributions, largest first


@cache
def summarise_emotion():
    """Return summaries of all rows that the network scored.

    Returns
    -------
    summaries : dict
        ``rows`` (n,), their numbers in the data set; ``attention`` (n, 3 per head): of every head the entropy of the
        attention of the first token over the tokens, in shares of the largest possible, and how much goes to the
        first and to the last token; ``attribution`` (n, SHARES + 2): of the gradient times input of the most probable
        class the entropy over tokens, likewise, the sizes of the largest shares, and the share that speaks for it.
    """
    kept = outputs.cache_folder() / "emotion" / FILE
    if not kept.exists():
        found = _read_texts()
        write_atomically(kept, lambda stream: np.savez(stream, **found))
    with np.load(kept) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _read_texts():
    import torch

    network = NETWORKS["emotion"]
    data = datasets.load(network.data)
    rows = split_rows(network, data.y, data.part).scored
    model, tokenizer = text_models.make_model(len(data.classes))
    checkpoint = outputs.cache_folder() / network.name / "checkpoint.pt"
    model.load_state_dict(torch.load(checkpoint, map_location="cpu", weights_only=False)["model"])
    model.eval()
    model.set_attn_implementation("eager")  # the fast one does not tell its weights
    texts = text_models.EncodedTexts([data.X[row] for row in rows], data.y[rows], tokenizer, network.size)
    order = np.argsort(texts.lengths)
    found = {"attention": None, "attribution": None}
    for start in range(0, len(rows), BATCH):
        some = order[start : start + BATCH]
        arguments, _ = texts.batch(some)
        for name, values in _of_batch(model, arguments).items():
            if found[name] is None:
                found[name] = np.empty((len(rows), values.shape[1]))
            found[name][some] = values
    return {"rows": rows, **found}


def _of_batch(model, arguments):
    import torch

    mask = arguments["attention_mask"].bool()
    embedded = model.get_input_embeddings()(arguments["input_ids"]).detach().requires_grad_(True)
    output = model(inputs_embeds=embedded, attention_mask=arguments["attention_mask"], output_attentions=True)
    output.logits.max(dim=1).values.sum().backward()
    with torch.no_grad():
        # (batch, layers, heads, tokens): what the first token attends to
        attention = torch.stack([of_layer[:, :, 0, :] for of_layer in output.attentions], dim=1)
        last = mask.sum(dim=1) - 1
        to_last = torch.take_along_dim(attention, last[:, None, None, None], dim=3)[..., 0]
        heads = torch.stack([_entropy(attention, mask[:, None, None, :]), attention[..., 0], to_last], dim=-1)
        signed = (embedded.grad * embedded).sum(dim=2) * mask
        shares = signed.abs() / signed.abs().sum(dim=1, keepdim=True).clamp_min(1e-12)
        padded = torch.nn.functional.pad(shares, (0, SHARES))
        largest = padded.sort(dim=1, descending=True).values[:, :SHARES]
        positive = (shares * (signed > 0)).sum(dim=1, keepdim=True)
        attribution = torch.cat([_entropy(shares, mask)[:, None], largest, positive], dim=1)
    return {"attention": heads.flatten(1).double().numpy(), "attribution": attribution.double().numpy()}


def _entropy(shares, mask):
    """Entropy over the last axis, in shares of the largest possible over the tokens of the text."""
    terms = -(shares * shares.clamp_min(1e-12).log()) * mask
    return terms.sum(dim=-1) / mask.sum(dim=-1).clamp_min(2).log()
