"""Scores of our networks on images and texts: how a file of them is packed, and what `load_scores` makes of it.

A file holds all rows that are calibrated and tested on, and which of them are the calibration half of each seed.
Beside the numbers there is nothing of the data: no text, no image.
"""

import json
from importlib.resources import as_file
from importlib.resources.abc import Traversable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils import Bunch

Array = NDArray[Any]
LAYER = "Z_"  # before the name of a layer
LOGITS = "logits"  # the name of their step


def network_file(name: str) -> str:
    """Return the name of the file that holds the scores of a network."""
    return f"{name}-network.npz"


def write_network_scores(
    path: Path, arrays: dict[str, Array], metadata: dict[str, Any], steps: dict[str, float]
) -> None:
    """Write the scores of a network to one compressed file, whose bytes depend on its content only.

    Parameters
    ----------
    path : Path
    arrays : dict of str to ndarray
        ``logits`` (n, L); ``y`` and ``rows`` (n,), the class numbers and the numbers of the rows in the data set;
        ``halves`` (n_seeds, n), True for the rows of the calibration half; ``Z_<layer>`` (n, m) for each layer.
    metadata : dict
        What goes with them; JSON can hold it.
    steps : dict of str to float
        To whose multiples ``logits`` and each layer are rounded.
    """
    packed = {
        "y": arrays["y"].astype(np.int16),
        "rows": arrays["rows"].astype(np.int32),
        "halves": np.packbits(arrays["halves"], axis=1),
    }
    packed |= {key: _to_multiples(arrays[key], steps[key.removeprefix(LAYER)]) for key in _rounded_keys(arrays)}
    record = json.dumps({"steps": steps, **metadata}, sort_keys=True)
    np.savez_compressed(path, **packed, metadata=np.array(record))  # type: ignore[arg-type]


def read_network_scores(path: Traversable | Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the arrays and the metadata of a file that `write_network_scores` made, rounded as it says there."""
    with as_file(path) as local, np.load(BytesIO(local.read_bytes())) as stored:
        arrays = {key: stored[key] for key in stored.files}
    metadata = json.loads(arrays.pop("metadata").item())
    steps = metadata.pop("steps")
    for key in _rounded_keys(arrays):
        arrays[key] = np.ascontiguousarray(arrays[key], dtype=np.float64) * steps[key.removeprefix(LAYER)]
    arrays["halves"] = np.unpackbits(arrays["halves"], axis=1, count=len(arrays["y"])).astype(bool)
    arrays["y"], arrays["rows"] = arrays["y"].astype(np.int64), arrays["rows"].astype(np.int64)
    return arrays, metadata


def take_halves(arrays: dict[str, Array], seed: int) -> Bunch:
    """Return the two halves of one seed: probabilities, labels, representations, and numbers of the rows.

    Of two classes the probability is that of the second, with shape (n,).
    """
    P = softmax(arrays[LOGITS], axis=1)
    P = P[:, 1] if P.shape[1] == 2 else P
    layers = [key.removeprefix(LAYER) for key in arrays if key.startswith(LAYER)]
    halves = {"cal": arrays["halves"][seed], "test": ~arrays["halves"][seed]}
    found = Bunch()
    for part, half in halves.items():
        found |= {f"P_{part}": P[half], f"y_{part}": arrays["y"][half], f"rows_{part}": arrays["rows"][half]}
        found[f"Z_{part}"] = {layer: arrays[LAYER + layer][half] for layer in layers}
    return found


def _rounded_keys(arrays: dict[str, Array]) -> list[str]:
    return [key for key in arrays if key == LOGITS or key.startswith(LAYER)]


def _to_multiples(values: Array, step: float) -> Array:
    multiples = np.rint(values / step)
    small = np.abs(multiples).max() <= np.iinfo(np.int8).max
    # Column by column, as values of one column compress better together.
    return np.asfortranarray(multiples.astype(np.int8 if small else np.int16))
