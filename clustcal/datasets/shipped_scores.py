"""Scores of our own models, which come with the package: chapters and examples run in seconds.

Those of classifiers of tables are packed here, those of networks in `network_scores`.

A checkout has all files, and needs no network. The wheel has the small ones; a large one is fetched when it is first
asked for, compared with its checksum, and kept in the data folder.

The files are made by the command in `MAKER`; this module reads them and needs numpy and pandas only.
"""

import json
import os
import re
import tempfile
from functools import cache
from hashlib import sha256
from http.client import HTTPException
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import Bunch

from clustcal import _addresses
from clustcal.datasets import network_scores
from clustcal.datasets.fetching import cache_dir

# Not named `scores`: a folder of that name would stand beside this module under the same import path.
FOLDER = files("clustcal.datasets") / "score_files"
MAKER = "clustcal.experiments.tabular.train_scores"
NETWORK_MAKER = "clustcal.experiments.deep.ship_scores"
REPRESENTATIONS = ("coverage", "shap", "data")
PARTS = ("cal", "test")
CHECKSUMS = "SHA256SUMS"  # beside the files, in the form of the command sha256sum
NETWORK_SEEDS = range(5)  # the halves of all of them are in one file
RETRIES = 2  # further attempts
TIMEOUT = 30  # seconds without an answer
Arrays = dict[str, NDArray[Any]]


def load_scores(name: str, seed: int = 0) -> Bunch:
    """Load what one of our models said about the rows to calibrate and to test on.

    Of a data set of tables the model is XGBoost with 300 trees of depth 8, trained on 60 % of the rows, as in the
    paper's protocol; 20 % are for calibration and 20 % for the test. ``seed`` is that of the split and of the training.
    Of images and texts it is a network, see ``parameters``; its validation and test part are merged and cut in halves,
    and ``seed`` is that of the cut.

    Parameters
    ----------
    name : str
        One of the open data sets of the tabular study, such as ``"adult"`` or ``"stroke"``, or one of images or texts,
        such as ``"emotion"``: see `list_scores`.
    seed : int, default=0
        0 to 4 for Stroke and for networks, 0 for the others.

    Returns
    -------
    scores : :class:`~sklearn.utils.Bunch`
        With the attributes

        P_cal, P_test : ndarray of shape (n,) or (n, L), float64
            Uncalibrated probabilities: of the positive class, or of L > 2 classes.
        y_cal, y_test : ndarray of shape (n,), int64
            Labels, 0 to L - 1.
        Z_cal, Z_test : dict of str to ndarray of shape (n, m), float64
            The representations of the rows: ``"coverage"``, ``"shap"`` and ``"data"`` of tables; of networks those
            of some layers, such as ``"cls"`` or ``"pooled"``.
        rows_cal, rows_test : ndarray of shape (n,), int64
            Of networks: the numbers of the rows in the data set, as `load` returns it.
        classes : list of str
            Of networks: the names of the classes, in the order of their numbers.
        feature_names : dict of str to list of str
            The columns of a representation, for those that have names.
        clusters : DataFrame or None
            For Stroke: size, quartiles of age, BMI and glucose, and rate of strokes in the four clusters of
            each representation, over calibration and test part. Clusters are in the order of their rate.
        description, source, licence, citation : str
            What it is, where the data come from, under which terms, and how to cite them.
        parameters : dict
            Of the model and the representations, with the versions of the libraries and the command.

    Raises
    ------
    ValueError
        If there are no scores of that name or seed.
    FileNotFoundError
        If the file is not in this installation and cannot be fetched, or what is fetched is not what it should be.

    See Also
    --------
    list_scores : All names and seeds.
    load : The data sets themselves.

    Notes
    -----
    Representations are rounded to multiples of a step, at most 1/64 for coverage and 1/256 for the others, to
    keep the files small. With K = 4 and the paper's settings this moves the NLL of clustered Platt and Beta calibration
    by less than 0.00005.

    The rows of Stroke may not be published, and these scores do not hold them. Its ``"shap"`` is turned to
    other axes, which are not shipped, so that no column belongs to a feature; angles and distances are unchanged. Its
    ``"data"`` keeps of each row only the cosines with the four centroids of K-means; what is orthogonal to them is
    replaced by a random direction of the same length. Clustering with K = 4 works as on the features, other K do not.
    This respects the terms of the data; it does not make them anonymous. Whoever holds a part of the rows can learn
    from these scores to guess features of the others (age with an R squared of 0.8 to 0.9).

    The rows of a network's layer are scaled to length 1, turned to the principal axes of all of them, cut after the
    fewest of 16, 32, 64, ... axes with which clustered calibration has the same log-loss as with all within 0.001, and
    rounded; ``parameters["layers"]`` says how many were cut. Logits are rounded too. No text and no image is in a file.

    Examples
    --------
    >>> from clustcal import ClusteredCalibration, metrics
    >>> from clustcal.datasets import load_scores
    >>> scores = load_scores("stroke")
    >>> scores.P_test.shape, scores.Z_test["shap"].shape
    ((1022,), (1022, 10))
    >>> calibrator = ClusteredCalibration(random_state=0)
    >>> _ = calibrator.fit(scores.P_cal, scores.y_cal, scores.Z_cal["shap"])
    >>> Q = calibrator.predict_proba(scores.P_test, scores.Z_test["shap"])
    >>> metrics.log_loss(scores.y_test, Q) < metrics.log_loss(scores.y_test, scores.P_test)
    True
    """
    available = list_scores()
    if name not in available:
        raise ValueError(f"name is {name!r}; expected one of {sorted(available)}.")
    if seed not in available[name]:
        raise ValueError(f"seed is {seed!r}; expected one of {available[name]} for {name!r}.")
    if network_scores.network_file(name) in _checksums():
        return _load_network(name, seed)
    arrays, metadata = read_scores(locate(score_file(name, seed)))
    metadata["parameters"]["command"] = f"python -m {MAKER} {name}"
    clusters = metadata.pop("clusters", None)
    return Bunch(
        **{f"{kind}_{part}": arrays[f"{kind}_{part}"] for kind in "Py" for part in PARTS},
        **{f"Z_{part}": {form: arrays[f"Z_{part}_{form}"] for form in REPRESENTATIONS} for part in PARTS},
        clusters=None if clusters is None else pd.DataFrame(**clusters),
        **metadata,
    )


def list_scores() -> dict[str, list[int]]:
    """Return the scores that there are: for every name a list of seeds.

    Examples
    --------
    >>> from clustcal.datasets import list_scores
    >>> list_scores()["stroke"]
    [0, 1, 2, 3, 4]
    """
    available: dict[str, list[int]] = {}
    for file in sorted(_checksums()):
        if match := re.fullmatch(r"(.+)-seed(\d+)\.npz", file):
            available.setdefault(match[1], []).append(int(match[2]))
        elif match := re.fullmatch(r"(.+)-network\.npz", file):
            available[match[1]] = list(NETWORK_SEEDS)
    return {name: sorted(seeds) for name, seeds in available.items()}


def score_file(name: str, seed: int) -> str:
    """Return the name of the file that holds the scores."""
    return f"{name}-seed{seed}.npz"


def checksum_of(name: str, seed: int) -> str | None:
    """Return the SHA-256 of the file that holds the scores, None where there is none."""
    return _checksums().get(score_file(name, seed))


def locate(file: str) -> Traversable | Path:
    """Return where a score file lies: in the package, or in the data folder, where it is brought if need be."""
    here = FOLDER / file
    return here if here.is_file() else _fetch(file)


def write_scores(path: Path, arrays: Arrays, metadata: dict[str, Any], steps: dict[str, float]) -> None:
    """Write scores to one compressed file, whose bytes depend on its content only.

    Parameters
    ----------
    path : Path
    arrays : dict of str to ndarray
        ``P_cal``, ``y_cal``, ``Z_cal_coverage`` and so on.
    metadata : dict
        What `load_scores` returns beside the arrays; JSON can hold it.
    steps : dict of str to float
        For every representation the step to whose multiples it is rounded.
    """
    packed = {key: _pack(key, values, steps) for key, values in arrays.items()}
    record = json.dumps({"steps": steps, **metadata}, sort_keys=True)
    np.savez_compressed(path, **packed, metadata=np.array(record))  # type: ignore[arg-type]


def write_checksums(folder: str | Path) -> None:
    """Write the checksums of all score files in a folder to a file beside them."""
    lines = [f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(Path(folder).glob("*.npz"))]
    (Path(folder) / CHECKSUMS).write_text("".join(lines), encoding="ascii", newline="\n")


def read_scores(path: Traversable | Path) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays and the metadata of a file that `write_scores` made, rounded as it says there."""
    with as_file(path) as local, np.load(BytesIO(local.read_bytes())) as stored:
        packed = {key: stored[key] for key in stored.files}
    metadata = json.loads(packed.pop("metadata").item())
    steps = metadata.pop("steps")
    return {key: _unpack(key, values, steps) for key, values in packed.items()}, metadata


def _load_network(name: str, seed: int) -> Bunch:
    arrays, metadata = network_scores.read_network_scores(locate(network_scores.network_file(name)))
    metadata["parameters"] |= {"seed": seed, "command": f"python -m {NETWORK_MAKER} {name}"}
    return Bunch(**network_scores.take_halves(arrays, seed), feature_names={}, clusters=None, **metadata)


@cache
def _checksums() -> dict[str, str]:
    """The SHA-256 of every score file, by its name."""
    lines = (FOLDER / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    return {file: checksum for checksum, file in (line.split() for line in lines)}


def _fetch(file: str) -> Path:
    path = _data_folder() / "score_files" / file
    address = f"{_addresses.SCORE_FILES}/{file}"
    if path.exists() and _is_right(path.read_bytes(), file):
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_whole(path, _download(address, file))
    except (OSError, HTTPException) as error:  # of the network, of the disk, or a wrong checksum
        raise FileNotFoundError(
            f"{file} does not come with the wheel, and it could not be fetched from {address} into {path.parent} "
            f"({error}). Call again with a network, put the file there yourself, or use a checkout, "
            "which has all of them."
        ) from error
    return path


def _download(address: str, file: str) -> bytes:
    """Return what lies at an address. scikit-learn's ``fetch_file`` would wait for a silent server without an end."""
    for attempt in range(RETRIES + 1):
        try:
            with urlopen(address, timeout=TIMEOUT) as answer:
                content: bytes = answer.read()
            if not _is_right(content, file):
                raise OSError("its SHA-256 is not that of the file")
            return content
        except (OSError, HTTPException):
            if attempt == RETRIES:
                raise
    raise AssertionError("the last attempt returns or raises")


def _is_right(content: bytes, file: str) -> bool:
    return sha256(content).hexdigest() == _checksums()[file]


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file under its name once it is complete."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        draft = Path(folder) / path.name
        draft.write_bytes(content)
        os.replace(draft, path)


def _data_folder() -> Path:
    """The data folder; without pooch, which knows that of the platform, a folder in that of scikit-learn."""
    try:
        return cache_dir()
    except ImportError:
        from sklearn.datasets import get_data_home

        return Path(get_data_home()) / "clustcal"


def _pack(key: str, values: NDArray[Any], steps: dict[str, float]) -> NDArray[Any]:
    kind, *_, form = key.split("_")
    if kind == "P":
        return values.astype(np.float32)  # the precision in which XGBoost gives them
    if kind == "y":
        return values.astype(np.int8)
    multiples = np.rint(values / steps[form])
    small = np.abs(multiples).max() <= np.iinfo(np.int8).max
    # Column by column, as values of one column compress better together.
    return np.asfortranarray(multiples.astype(np.int8 if small else np.int16))


def _unpack(key: str, values: NDArray[Any], steps: dict[str, float]) -> NDArray[Any]:
    kind, *_, form = key.split("_")
    if kind == "y":
        return values.astype(np.int64)
    return np.ascontiguousarray(values, dtype=np.float64) * steps.get(form, 1.0)
