"""Representations of a trained network: activations of a layer, and hidden states of a transformer for texts.

Both are transformers around one model of PyTorch and learn nothing themselves. Builds on scikit-learn; torch is
imported when rows are transformed, and transformers never, as the model and its tokenizer come from outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin

from clustcal.core.array_types import Estimator, Floats, Inputs
from clustcal.core.parameters import check_one_of

LAYER_POOLINGS = ("average", None)
TOKEN_POOLINGS = ("cls", "mean", "last")
# Tokenizers that know no limit say a number of this size or more.
NO_LIMIT = 1_000_000


class _DeepRepresentation(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What both representations share: one trained model, and no state but the number of columns that it last gave."""

    learns_from_rows = False

    def __sklearn_clone__(self) -> Self:
        # A clone describes the same trained model; a copy of its parameters would be of no use.
        return type(self)(**self.get_params(deep=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags

    def fit(self, X: Inputs = None, y: object = None) -> Self:
        """Check the parameters; there is nothing to learn.

        Returns
        -------
        self
        """
        self._check_parameters()
        return self

    def _check_model(self, poolings: tuple[str | None, ...]) -> None:
        torch = _torch()
        if not isinstance(self.model, torch.nn.Module):
            raise ValueError(f"model is a {type(self.model).__name__}; expected a torch.nn.Module.")
        check_one_of("pooling", self.pooling, poolings)
        if not isinstance(self.batch_size, Integral) or self.batch_size < 1:
            raise ValueError(f"batch_size is {self.batch_size!r}; expected a whole number of at least 1.")


class Activations(_DeepRepresentation):
    r"""Activations of one layer of a network, as the paper uses them for images.

    The rows go through the model, and what the layer puts out is kept. Feature maps of shape (n, channels, height,
    width) are averaged over each map, :math:`\phi(x)_c = \frac{1}{H W} \sum_{h, w} a_{c h w}(x)`, so that a row has
    one number per channel.

    Parameters
    ----------
    model : torch.nn.Module
        The trained network. It is run in evaluation mode and without gradients, and is left as it was, modes and
        hooks included. May be set later: ``Activations(layer="2").set_params(model=model)``.
    layer : str
        The name of the layer in ``model.named_modules()``, such as ``"layer4"`` or ``"features.3"``. The layer must run
        once in a pass and put out one tensor.
    pooling : {"average", None}, default="average"
        What to do with an output of more than two axes: the mean over all axes after the second (global average
        pooling), or None, which lays all its numbers in one row.
    batch_size : int, default=256
        Rows per pass. More rows need more memory and give the same values.
    device : str or torch.device, optional
        Where to compute; the model is moved there and back. Left out: where the model is.

    See Also
    --------
    HiddenStates : The same for transformers that read texts.
    clustcal.ClusteredCalibration : Clusters the representation and calibrates in every cluster.

    Examples
    --------
    >>> import torch
    >>> from clustcal.representations import Activations
    >>> _ = torch.manual_seed(0)
    >>> model = torch.nn.Sequential(
    ...     torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 10)
    ... )
    >>> images = torch.rand(5, 1, 8, 8)
    >>> Activations(model, layer="1").fit_transform(images).shape
    (5, 4)
    >>> Activations(model, layer="1", pooling=None).fit_transform(images).shape
    (5, 144)
    """

    def __init__(
        self,
        model: Estimator = None,
        layer: str | None = None,
        pooling: str | None = "average",
        batch_size: int = 256,
        device: Any = None,
    ) -> None:
        self.model = model
        self.layer = layer
        self.pooling = pooling
        self.batch_size = batch_size
        self.device = device

    def transform(self, X: Inputs) -> Floats:
        """Return the activations of every row.

        Parameters
        ----------
        X : array-like or torch.Tensor of shape (n, ...)
            Rows as the model takes them. Numbers with a fraction are brought to the precision of the model.

        Returns
        -------
        Z : ndarray of shape (n, m), float64

        Raises
        ------
        ValueError
            If there is no such layer, it does not run exactly once in a pass, or it puts out something else than one
            tensor with a row for each row of X; or if X is empty.
        """
        torch = _torch()
        layer = self._check_parameters()
        X = _as_tensor(X, self.model)
        with _evaluated(self.model, self.device) as device, _recorded(layer) as outputs:
            parts = []
            for rows in torch.split(X, self.batch_size):
                outputs.clear()
                self.model(rows.to(device))
                parts.append(self._pooled(outputs, len(rows)))
        Z = np.concatenate(parts)
        self._n_features_out = Z.shape[1]
        return Z

    def _check_parameters(self) -> Any:
        """Return the layer, once every parameter has been checked."""
        self._check_model(LAYER_POOLINGS)
        layers = dict(self.model.named_modules())
        if self.layer not in layers:
            raise ValueError(f"layer is {self.layer!r}; expected one of {[name for name in layers if name]}.")
        return layers[self.layer]

    def _pooled(self, outputs: list[Any], n: int) -> Floats:
        if len(outputs) != 1:
            raise ValueError(f"layer {self.layer!r} ran {len(outputs)} times in one pass; expected once.")
        output = outputs[0]
        shape = getattr(output, "shape", None)
        if shape is None or len(shape) < 2 or shape[0] != n:
            found = type(output).__name__ if shape is None else f"shape {tuple(shape)}"
            raise ValueError(
                f"layer {self.layer!r} put out {found} for {n} rows; expected a tensor of shape ({n}, ...)."
            )
        if self.pooling == "average" and len(shape) > 2:
            output = output.mean(dim=tuple(range(2, len(shape))))
        return _as_array(output.reshape(n, -1))


class HiddenStates(_DeepRepresentation):
    r"""Hidden states of the last layer of a transformer, pooled to one vector per text.

    A transformer holds one vector :math:`h_t(x)` for each token :math:`t` of a text. With :math:`a_t` equal to 1 for
    tokens and 0 for padding,

    .. math:: \phi(x) = \sum_t a_t h_t(x) \Big/ \sum_t a_t

    is their mean; the others take the first or the last token of the text. Padding never counts, on whichever side the
    tokenizer puts it.

    Parameters
    ----------
    model : model of transformers
        The trained model, with or without a head. It is run in evaluation mode and without gradients, and is left as
        it was.
    tokenizer : tokenizer of transformers
        The model's tokenizer.
    pooling : {"cls", "mean", "last"}, default="cls"
        ``"cls"``: the first token, which the classification head of BERT and its kin reads. ``"mean"``: the mean over
        tokens, which sentence encoders are trained for. ``"last"``: the last token, the only one that has seen the
        whole text in a decoder such as GPT. The paper says "the hidden state of the final layer" and leaves this open.
    batch_size : int, default=32
        Texts per pass.
    max_length : int, optional
        Tokens at which a text is cut. Left out: what tokenizer and model can take.
    device : str or torch.device, optional
        Where to compute; the model is moved there and back. Left out: where the model is.

    See Also
    --------
    Activations : Any layer of any network.

    Examples
    --------
    A model without training, and a tokenizer made of five words:

    >>> import torch
    >>> from tokenizers import Tokenizer, models, pre_tokenizers
    >>> from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
    >>> from clustcal.representations import HiddenStates
    >>> words = {"[PAD]": 0, "[UNK]": 1, "the": 2, "good": 3, "film": 4}
    >>> tokens = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    >>> tokens.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokens, pad_token="[PAD]", unk_token="[UNK]")
    >>> config = BertConfig(
    ...     vocab_size=5, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16
    ... )
    >>> model = BertModel(config)
    >>> HiddenStates(model, tokenizer, pooling="mean").fit_transform(["the film", "the good film"]).shape
    (2, 8)
    """

    def __init__(
        self,
        model: Estimator = None,
        tokenizer: Any = None,
        pooling: str = "cls",
        batch_size: int = 32,
        max_length: int | None = None,
        device: Any = None,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.pooling = pooling
        self.batch_size = batch_size
        self.max_length = max_length
        self.device = device

    def transform(self, X: Inputs) -> Floats:
        """Return one vector per text.

        Parameters
        ----------
        X : sequence of str of length n

        Returns
        -------
        Z : ndarray of shape (n, m), float64

        Raises
        ------
        ValueError
            If X is not a sequence of texts, a text has no tokens, the tokenizer cannot pad, or the model is an encoder
            with a decoder, whose hidden states are two.
        """
        self._check_parameters()
        texts = _as_texts(X)
        max_length = self._max_length()
        rows: list[Any] = [None] * len(texts)
        # Texts of like length share a batch, so that little of it is padding.
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        with _evaluated(self.model, self.device) as device:
            for start in range(0, len(order), self.batch_size):
                batch = order[start : start + self.batch_size]
                encoded = self.tokenizer(
                    [texts[i] for i in batch],
                    padding=True,
                    truncation=max_length is not None,
                    max_length=max_length,
                    return_attention_mask=True,
                    return_tensors="pt",
                ).to(device)
                for i, z in zip(batch, self._pooled(encoded, batch), strict=True):
                    rows[i] = z
        Z = np.stack(rows)
        self._n_features_out = Z.shape[1]
        return Z

    def _check_parameters(self) -> None:
        self._check_model(TOKEN_POOLINGS)
        config = getattr(self.model, "config", None)
        if config is None or getattr(config, "is_encoder_decoder", False):
            raise ValueError(
                f"model is a {type(self.model).__name__}; expected a model of transformers that is an encoder or a "
                "decoder alone."
            )
        if not callable(self.tokenizer):
            raise ValueError(f"tokenizer is {self.tokenizer!r}; expected the tokenizer of the model.")
        if getattr(self.tokenizer, "pad_token_id", None) is None:
            raise ValueError("tokenizer has no padding token; expected one, such as its end-of-text token.")
        limit = self.max_length
        if limit is not None and not (isinstance(limit, Integral) and limit >= 1):
            raise ValueError(f"max_length is {limit!r}; expected None or a whole number of at least 1.")

    def _max_length(self) -> int | None:
        """Return the most tokens that a text may have, or None."""
        limits = [
            self.max_length,
            getattr(self.tokenizer, "model_max_length", None),
            getattr(self.model.config, "max_position_embeddings", None),
        ]
        return min((limit for limit in limits if limit is not None and limit < NO_LIMIT), default=None)

    def _pooled(self, encoded: Any, batch: list[int]) -> Floats:
        torch = _torch()
        states = self.model(**encoded, output_hidden_states=True).hidden_states[-1]
        is_token = encoded["attention_mask"].bool()
        lengths = is_token.sum(dim=1)
        if (lengths == 0).any():
            raise ValueError(f"Text {batch[int(lengths.argmin())]} of X has no tokens; expected at least one.")
        if self.pooling == "mean":
            # In double precision from here on, so that the other texts of a batch do not show in the last digits.
            states = states.double().masked_fill(~is_token[:, :, None], 0.0)
            return _as_array(states.sum(dim=1) / lengths[:, None])
        position = torch.arange(is_token.shape[1], device=is_token.device)
        if self.pooling == "cls":
            chosen = torch.where(is_token, position, is_token.shape[1]).amin(dim=1)
        else:
            chosen = torch.where(is_token, position, -1).amax(dim=1)
        return _as_array(states[torch.arange(len(states), device=states.device), chosen])


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "Representations of networks need the package torch: pip install 'clustcal[deep]'."
        ) from error
    return torch


@contextmanager
def _evaluated(model: Estimator, device: Any) -> Iterator[Any]:
    """Run a model in evaluation mode and without gradients; give back each part's mode and the model's place."""
    torch = _torch()
    modes = [(module, module.training) for module in model.modules()]
    home = next((tensor.device for tensor in _tensors_of(model)), torch.device("cpu"))
    device = home if device is None else torch.device(device)
    try:
        model.eval()
        if device != home:
            model.to(device)
        with torch.no_grad():
            yield device
    finally:
        if device != home:
            model.to(home)
        for module, mode in modes:
            module.training = mode  # part by part: parts may have been frozen on purpose


@contextmanager
def _recorded(layer: Any) -> Iterator[list[Any]]:
    """Collect what a layer puts out, for as long as the context lasts."""
    outputs = []
    # A copy, as what comes behind the layer may work in place, on the very tensor that it puts out.
    copy = lambda output: output.detach().clone() if hasattr(output, "detach") else output
    handle = layer.register_forward_hook(lambda module, inputs, output: outputs.append(copy(output)))
    try:
        yield outputs
    finally:
        handle.remove()


def _tensors_of(model: Estimator) -> Iterator[Any]:
    yield from model.parameters()
    yield from model.buffers()


def _as_tensor(X: Inputs, model: Estimator) -> Any:
    """Return the rows as a tensor, numbers with a fraction in the precision of the model."""
    torch = _torch()
    X = X if isinstance(X, torch.Tensor) else torch.from_numpy(np.array(X))  # a copy: arrays may be read-only
    if X.ndim == 0 or len(X) == 0:
        raise ValueError("X is empty; expected at least one row.")
    if X.is_floating_point():
        precision = next((tensor.dtype for tensor in _tensors_of(model) if tensor.is_floating_point()), X.dtype)
        X = X.to(precision)
    return X


def _as_texts(X: Inputs) -> list[str]:
    """Return a list of texts."""
    if isinstance(X, str) or not hasattr(X, "__iter__"):
        raise ValueError(f"X is {X!r}; expected a sequence of texts.")
    texts = list(X)
    if not texts:
        raise ValueError("X is empty; expected at least one text.")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"Text {i} of X is {text!r}; expected a str.")
    return [str(text) for text in texts]


def _as_array(output: Any) -> Floats:
    return output.detach().cpu().double().numpy()
