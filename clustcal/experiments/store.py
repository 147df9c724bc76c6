"""The rows that the study has produced, one CSV file per data set: only ever added to, whole units at a time.

A file is replaced by its longer self in one step, under a lock, so that a process that is killed at any moment leaves
either the old file or the new one, and two processes neither lose nor repeat rows.
"""

import csv
import os
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pandas as pd

KEY = ("dataset", "n_estimators", "max_depth", "seed", "calibrator", "representation", "settings")
TEXT = ("dataset", "calibrator", "representation", "settings", "versions", "commit")
METRICS = ("nll", "auc", "brier", "accuracy", "ada_ece", "ece", "mce", "lce", "mlce")
COLUMNS = (
    *KEY,
    *("n_train", "n_calibration", "n_test"),
    *METRICS,
    "nll_calibration",
    *("fit_seconds", "clustering_seconds", "predict_seconds", "extraction_seconds"),
    *("training_seconds", "kernel_seconds", "unit_seconds"),
    *("versions", "commit"),
)


class Store:
    """Results in a folder, one file ``<dataset>.csv`` for each data set.

    Parameters
    ----------
    folder : path
        Made on first use.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from clustcal.experiments.store import Store
    >>> store = Store(mkdtemp())
    >>> row = {"dataset": "stroke", "n_estimators": 100, "max_depth": 6, "seed": 0, "calibrator": "Platt"}
    >>> row |= {"representation": "SHAP", "settings": "", "nll": 0.15}
    >>> store.append("stroke", [row]), store.append("stroke", [row])
    (1, 0)
    >>> store.read()["nll"].tolist()
    [0.15]
    """

    def __init__(self, folder):
        self.folder = Path(folder)

    def path(self, dataset):
        """Return the file of a data set, which need not exist."""
        return self.folder / f"{dataset}.csv"

    def read(self, dataset=None):
        """Return the rows of one data set, or of all, as a DataFrame with all columns; it may be empty."""
        paths = sorted(self.folder.glob("*.csv")) if dataset is None else [self.path(dataset)]
        frames = [_read(path) for path in paths if path.exists()]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(COLUMNS))

    def keys(self, dataset):
        """Return the keys of all rows of a data set, as a set of tuples."""
        return set(self.read(dataset)[list(KEY)].itertuples(index=False, name=None))

    def append(self, dataset, rows):
        """Add rows that are not there yet; return how many were added.

        Parameters
        ----------
        dataset : str
        rows : list of dict
            With the columns of ``KEY`` and any other of ``COLUMNS``; what is left out stays empty.
        """
        with self._lock(f"{dataset}.csv"):
            known = self.keys(dataset)
            new = {key: row for row in rows if (key := tuple(row[name] for name in KEY)) not in known}
            if new:
                path = self.path(dataset)
                old = path.read_bytes() if path.exists() else _as_csv([dict(zip(COLUMNS, COLUMNS, strict=True))])
                _replace(path, old + _as_csv(new.values()))
        return len(new)

    def set_aside(self, dataset):
        """Move the file of a data set into the folder ``superseded``, so that the data set starts anew."""
        with self._lock(f"{dataset}.csv"):
            if self.path(dataset).exists():
                old = self.folder / "superseded"
                old.mkdir(exist_ok=True)
                self.path(dataset).rename(old / f"{dataset}-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.csv")

    def claim(self, name):
        """Reserve a unit of work for this process; return a `Claim`, or None if another process has it.

        The operating system gives the claim up when the process ends, however it ends.
        """
        handle = self._open_lock(f"{name}.claim")
        try:
            _flock(handle, wait=False)
        except BlockingIOError:
            handle.close()
            return None
        return Claim(handle)

    @contextmanager
    def _lock(self, name):
        with self._open_lock(f"{name}.lock") as handle:
            _flock(handle, wait=True)
            yield

    def _open_lock(self, name):
        # Lock files stay: removing one that another process is about to lock would let both in.
        locks = self.folder / ".locks"
        locks.mkdir(parents=True, exist_ok=True)
        ignore = locks / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
        return (locks / name).open("a")


class Claim:
    """A unit of work that no other process may take until `release`."""

    def __init__(self, handle):
        self._handle = handle

    def release(self):
        """Give the unit up."""
        self._handle.close()


def _flock(handle, wait):
    import fcntl  # not on Windows, where stores can be read but not written

    fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _read(path):
    frame = pd.read_csv(path, dtype=dict.fromkeys(TEXT, str), keep_default_na=False, na_values=[""])
    return frame.fillna(dict.fromkeys(TEXT, ""))


def _as_csv(rows):
    text = StringIO()
    csv.DictWriter(text, COLUMNS, restval="", lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def _replace(path, content):
    """Give a file new content in one step; after a crash it holds either the old or the new."""
    draft = path.with_suffix(".csv.new")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()
