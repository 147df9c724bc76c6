"""The rows that a study has produced: only ever added to, whole units at a time.

Every unit is written at once to a small file of its own, which git ignores; `Store.merge` puts these together into one
file per data set and arm, which is committed. Each file appears in one step and is never changed in place, so a process
that is killed at any moment loses the unit that it was working on and nothing else, and two processes neither lose nor
repeat rows.
"""

import csv
import os
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import StringIO
from itertools import groupby
from pathlib import Path

import pandas as pd
from filelock import FileLock, Timeout

KEY = ("dataset", "n_estimators", "max_depth", "seed", "calibrator", "representation", "settings", "arm")
TEXT = ("dataset", "calibrator", "representation", "settings", "arm", "versions", "commit")
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
MERGE_FROM = 20  # unit files, so that reading stays fast
REPLACE_SECONDS = 5  # for how long a file that another process has open is tried again, which matters on Windows


class Store:
    """Results in a folder: for each data set a file ``<dataset>.csv``, and one ``<dataset>.<arm>.csv`` for each arm.

    An arm is the study run once more with something changed that concerns all of its methods. The study as the paper
    prints it has the empty arm, and rows without the column ``arm`` belong to it.

    Parameters
    ----------
    folder : path
        Made on first use.
    key : sequence of str, default=KEY
        The columns that tell a row from all others; ``dataset`` and ``arm`` must be among them.
    columns : sequence of str, default=COLUMNS
        All columns, those of the key among them.
    text : sequence of str, default=TEXT
        The columns that hold text; the others hold numbers.

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
    >>> store.merge()
    >>> [path.name for path in store.folder.glob("*.csv")]
    ['stroke.csv']
    """

    def __init__(self, folder, key=KEY, columns=COLUMNS, text=TEXT):
        self.folder = Path(folder)
        self.key, self.columns, self.text = tuple(key), tuple(columns), tuple(text)

    def path(self, dataset, arm=""):
        """Return the merged file of a data set and an arm, which need not exist."""
        return self.folder / (f"{dataset}.{arm}.csv" if arm else f"{dataset}.csv")

    def read(self, dataset=None, arm=""):
        """Return rows as a DataFrame with all columns; it may be empty.

        Parameters
        ----------
        dataset : str, optional
            By default all of them.
        arm : str or None, default=""
            By default the study as it is printed; None for all arms.
        """
        # Units first: what is merged meanwhile is then read twice, and never missed.
        units = [self._read(path) for path in self._unit_files(dataset)]
        merged = [self._read(path) for path in self._merged_files(dataset)]
        frames = [frame for frame in (*merged, *units) if frame is not None]
        if not frames:
            return pd.DataFrame(columns=list(self.columns))
        rows = pd.concat(frames, ignore_index=True).drop_duplicates(list(self.key), ignore_index=True)
        return rows if arm is None else rows[rows["arm"] == arm].reset_index(drop=True)

    def keys(self, dataset):
        """Return the keys of all rows of a data set, of all arms, as a set of tuples."""
        return set(self.read(dataset, arm=None)[list(self.key)].itertuples(index=False, name=None))

    def append(self, dataset, rows):
        """Add the rows of a unit that are not there yet, as one file; return how many were added.

        Parameters
        ----------
        dataset : str
        rows : list of dict
            With the columns of the key (``arm`` may be left out) and any other; what is left out stays empty.
        """
        with self._lock(dataset):
            known = self.keys(dataset)
            new = {key: row for row in rows if (key := self._key(row)) not in known}
            if unknown := sorted({name for row in new.values() for name in row} - set(self.columns)):
                raise ValueError(f"rows has the columns {unknown}; expected some of {list(self.columns)}.")
            if new:
                folder = _make_hidden(self.folder / ".units") / dataset
                folder.mkdir(exist_ok=True)
                there = self._unit_files(dataset)
                number = 1 + max((int(path.stem) for path in there), default=-1)
                _write(folder / f"{number:06d}.csv", _as_csv(new.values(), self.columns, header=True))
                if len(there) + 1 >= MERGE_FROM:
                    self._merge(dataset)
        return len(new)

    def merge(self, dataset=None):
        """Put the units of one data set, or of all, into the merged files."""
        waiting = {path.parent.name for path in self._unit_files(dataset)}
        for name in sorted(waiting):
            with self._lock(name):
                self._merge(name)

    def set_aside(self, dataset, arm=""):
        """Move the merged file of a data set and an arm into the folder ``superseded``, so that it starts anew."""
        self.merge(dataset)
        with self._lock(dataset):
            path = self.path(dataset, arm)
            if path.exists():
                old = self.folder / "superseded"
                old.mkdir(exist_ok=True)
                path.rename(old / f"{path.stem}-{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.csv")

    def claim(self, name):
        """Reserve a unit of work for this process; return a `Claim`, or None if another process has it.

        The operating system gives the claim up when the process ends, however it ends.
        """
        lock = FileLock(self._lock_file(f"{name}.claim"), thread_local=False)  # joblib claims in threads of its own
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return None
        return Claim(lock)

    def _key(self, row):
        return tuple(row.get(name, "") if name == "arm" else row[name] for name in self.key)

    def _merged_files(self, dataset):
        if dataset is None:
            return sorted(self.folder.glob("*.csv"))
        return [self.path(dataset), *sorted(self.folder.glob(f"{dataset}.*.csv"))]

    def _unit_files(self, dataset):
        folder = self.folder / ".units"
        return sorted(folder.glob("*/*.csv") if dataset is None else (folder / dataset).glob("*.csv"))

    def _merge(self, dataset):
        """Merge the units of a data set, whose lock is held; as text, so that no number is read and written again."""
        files = self._unit_files(dataset)
        rows = sorted((row for path in files for row in _rows(path.read_bytes())[1]), key=lambda row: row["arm"])
        for arm, of_arm in groupby(rows, key=lambda row: row["arm"]):
            path = self.path(dataset, arm)
            old = path.read_bytes() if path.exists() else b""
            _write(path, self._joined(old, list(of_arm)))
        for path in files:
            with suppress(PermissionError):  # somebody reads it: the rows are read once, and the file goes next time
                path.unlink()

    def _joined(self, old, rows):
        """Return the content of a merged file with the rows that it lacks; columns are added where rows need them."""
        columns, there = _rows(old) if old else (self.columns, [])
        known = {tuple(row.get(name, "") for name in self.key) for row in there}
        new = [row for row in rows if tuple(row[name] for name in self.key) not in known]
        more = [name for name in self.columns if name not in columns and any(row[name] for row in new)]
        if not old or more:
            return _as_csv([*there, *new], [*columns, *more], header=True)
        return old + _as_csv(new, columns)

    def _read(self, path):
        try:
            frame = pd.read_csv(path, dtype=dict.fromkeys(self.text, str), keep_default_na=False, na_values=[""])
        except FileNotFoundError:  # never there, or merged meanwhile
            return None
        absent = dict.fromkeys((name for name in self.text if name not in frame), "")
        return frame.assign(**absent).reindex(columns=list(self.columns)).fillna(dict.fromkeys(self.text, ""))

    @contextmanager
    def _lock(self, dataset):
        with FileLock(self._lock_file(f"{dataset}.lock"), poll_interval=0.01):
            yield

    def _lock_file(self, name):
        # Lock files stay: removing one that another process is about to lock would let both in.
        return _make_hidden(self.folder / ".locks") / name


class Claim:
    """A unit of work that no other process may take until `release`."""

    def __init__(self, lock):
        self._lock = lock

    def release(self):
        """Give the unit up."""
        self._lock.release()


def _make_hidden(folder):
    """Make a folder that git ignores, wherever the store is."""
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n")
    return folder


def _rows(content):
    """Return the columns and the rows of a CSV file, all as text."""
    reader = csv.DictReader(StringIO(content.decode(), newline=""))
    return reader.fieldnames, list(reader)


def _as_csv(rows, columns, header=False):
    text = StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n", extrasaction="ignore")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _write(path, content):
    """Give a file its content in one step; after a crash it holds either the old or the new."""
    draft = path.with_suffix(".csv.new")
    try:
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _replace(draft, path):
    """Move a file to its place; Windows refuses that while another process reads what is there."""
    deadline = time.monotonic() + REPLACE_SECONDS
    while True:
        try:
            return draft.replace(path)
        except PermissionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
