"""What the networks said, on disk: all of it in the cache, what is small and may be published in the results.

The file of a network in the cache holds, for the rows that are calibrated and tested on (validation and test part,
merged): ``logits`` (n, L), ``y``, ``rows`` (their numbers in the data set), and one array ``Z_<name>`` for each
representation. The project gets the first three, where they are small and the terms of the data allow it, and one
line of `models.csv` for every network.
"""

import csv
import io
import os
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import log_softmax

from clustcal.experiments.deep.training import write_atomically

REPRESENTATION = "Z_"
FILE = "outputs.npz"
COLUMNS = (
    "name", "data", "model", "classes", "n_train", "n_stop", "n_scored", "epochs", "best_epoch",
    "accuracy", "nll", "brier", "confidence", "representations", "training_seconds", "scoring_seconds", "device",
    "sha256", "versions", "commit",
)  # fmt: skip


class Outputs(NamedTuple):
    """What a network says about the rows to calibrate and test on."""

    logits: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    representations: dict


def cache_folder():
    """Return the folder for checkpoints and outputs, outside the project.

    The environment variable ``CLUSTCAL_MODEL_DIR`` where it is set, else ``clustcal/models`` in the user's cache.
    """
    chosen = os.environ.get("CLUSTCAL_MODEL_DIR")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "clustcal" / "models"


def write_outputs(path, outputs, *, representations=True):
    """Write outputs to a file that gets its name once it is complete."""
    arrays = {"logits": outputs.logits.astype(np.float32), "y": outputs.y, "rows": outputs.rows}
    if representations:
        named = outputs.representations.items()
        arrays |= {REPRESENTATION + name: Z.astype(np.float16) for name, Z in named}
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    save = np.savez if representations else np.savez_compressed  # noise does not compress
    write_atomically(path, lambda stream: save(stream, **arrays))


def read_outputs(path):
    """Read what `write_outputs` wrote.

    Returns
    -------
    outputs : Outputs
    """
    with np.load(path) as arrays:
        representations = {
            key.removeprefix(REPRESENTATION): arrays[key] for key in arrays.files if key.startswith(REPRESENTATION)
        }
        return Outputs(arrays["logits"], arrays["y"], arrays["rows"], representations)


def load_outputs(name, folder=None, table=None):
    """Return the complete outputs of a network from the cache.

    Parameters
    ----------
    name : str
    folder : path, optional
        By default `cache_folder`.
    table : DataFrame, optional
        As `read_table` returns it; where it has a line of that name, the file must be the one that the line names.

    Returns
    -------
    outputs : Outputs

    Raises
    ------
    FileNotFoundError
        If they are not there, with the command that makes them.
    ValueError
        If the file is another than the table's.
    """
    path = (cache_folder() if folder is None else Path(folder)) / name / FILE
    if not path.exists():
        raise FileNotFoundError(f"{path} is missing; make it with: clustcal train {name}")
    if table is not None and name in set(table["name"]):
        expected = table.set_index("name").loc[name, "sha256"]
        if file_digest(path) != expected:
            raise ValueError(f"{path} is not the file of the table of networks (SHA-256 {expected}).")
    return read_outputs(path)


def summarise(outputs):
    """Return accuracy, log-loss, Brier score and mean confidence of a network on the rows that it scored.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal.experiments.deep.outputs import Outputs, summarise
    >>> certain_of_the_first = Outputs(np.array([[9.0, 0.0], [9.0, 0.0]]), np.array([0, 1]), np.arange(2), {})
    >>> {name: round(value, 3) for name, value in summarise(certain_of_the_first).items()}
    {'accuracy': 0.5, 'nll': 4.5, 'brier': 1.0, 'confidence': 1.0}
    """
    log_p = log_softmax(outputs.logits.astype(np.float64), axis=1)
    P = np.exp(log_p)
    labels = np.eye(P.shape[1])[outputs.y]
    return {
        "accuracy": float(np.mean(P.argmax(axis=1) == outputs.y)),
        "nll": float(-log_p[np.arange(len(P)), outputs.y].mean()),
        "brier": float(((P - labels) ** 2).sum(axis=1).mean()),
        "confidence": float(P.max(axis=1).mean()),
    }


def file_digest(path):
    """Return the SHA-256 of a file."""
    digest = sha256()
    with open(path, "rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def write_line(path, line):
    """Put the line of one network into the table of networks; an older one of that name goes."""
    path = Path(path)
    table = read_table(path)
    table = table[table["name"] != line["name"]].to_dict("records")
    lines = sorted([*table, line], key=lambda one: one["name"])
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, lambda stream: stream.write(text.getvalue().encode()))


def read_table(path):
    """Return the table of networks, all of it as text; it may be empty."""
    path = Path(path)
    return pd.read_csv(path, dtype=str, keep_default_na=False) if path.exists() else pd.DataFrame(columns=list(COLUMNS))
