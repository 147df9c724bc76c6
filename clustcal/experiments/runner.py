"""Run a study: its units one after the other or side by side, each stored as soon as it is there, none computed twice.

A study is an object with four methods. ``units()`` lists its units of work: tuples that begin with the name of a data
set. ``missing(unit, known)`` says what a unit lacks, given the set of keys of its data set's rows; something empty
where it is complete. ``compute(data, unit, missing)`` returns its rows, and ``cost(unit)`` about how many seconds that
takes. Builds on `store` for the rows.
"""

import os
import signal
import threading
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor

from clustcal import datasets


class Outcome(NamedTuple):
    """What `run` did: units computed, units that were complete before, and units that another process has."""

    done: int
    complete: int
    taken: int


def run(study, store, *, load=datasets.load, jobs=1, dask=None, progress=True):
    """Compute what the store lacks of a study.

    Parameters
    ----------
    study : object
        As the head of this module describes it, such as :class:`clustcal.experiments.tabular.units.TabularStudy`.
    store : Store
        Gets the rows of a unit as soon as they are there; at the end units are merged.
    load : callable, default=:func:`clustcal.datasets.load`
        Gives the data set of a name.
    jobs : int, default=1
        Units at a time, each in a process of its own with one thread; -1 for all cores.
    dask : str, optional
        Address of a Dask scheduler, whose workers run the units in place of processes of this machine. They need this
        package, but neither the data nor the store.
    progress : bool, default=True
        Show a bar with the remaining time, which weighs units by what they cost.

    Returns
    -------
    outcome : Outcome
    """
    units = study.units()
    missing = _find_missing(study, units, store)
    tasks = _Tasks(study, missing, store, load, parent=os.getpid() if dask is None else None)
    done = 0
    try:
        with (
            _remembered_interrupts() as came,
            _parallel(jobs, dask) as settings,
            _progress(study, missing, progress) as advance,
        ):
            for unit, rows in Parallel(return_as="generator_unordered", batch_size=1, **settings)(iter(tasks)):
                store.append(unit[0], rows)
                tasks.release(unit)
                advance(unit)
                done += 1
                if came:
                    raise KeyboardInterrupt
    finally:
        tasks.release(*tasks.claims)
        for name in {unit[0] for unit in units}:
            store.merge(name)
    if tasks.error is not None:
        raise tasks.error
    left = _find_missing(study, units, store)
    return Outcome(done, len(units) - len(missing), len(left))


def _find_missing(study, units, store):
    """Return the units of which the store lacks a row."""
    known = {name: store.keys(name) for name in {unit[0] for unit in units}}
    return [unit for unit in units if study.missing(unit, known[unit[0]])]


class _Tasks:
    """Units to compute, each claimed when it is taken, so that another process finds the rest free.

    An error in loading data ends the tasks, and is kept in ``error``: joblib takes tasks in threads of its own, where
    an error would be lost. ``parent`` is the number of this process, unless units are computed elsewhere.
    """

    def __init__(self, study, units, store, load, parent=None):
        self.study, self.units, self.store, self.load, self.parent = study, units, store, load, parent
        self.claims, self.error = {}, None

    def __iter__(self):
        data, loaded = None, None
        for unit in self.units:
            claim = self.store.claim("-".join(str(part) for part in unit if part != ""))
            if claim is None:
                continue
            self.claims[unit] = claim
            # Looked up after the claim: whoever had it before has stored its rows by now.
            wanted = self.study.missing(unit, self.store.keys(unit[0]))
            if not wanted:
                self.release(unit)
                continue
            if loaded != unit[0]:
                try:
                    data, loaded = self.load(unit[0]), unit[0]
                except Exception as error:
                    self.error = error
                    return
            yield delayed(_compute)(self.study, data, unit, wanted, self.parent)

    def release(self, *units):
        """Give up the claims of these units."""
        for unit in units:
            self.claims.pop(unit).release()


def _compute(study, data, unit, wanted, parent):
    # Ctrl-C reaches the processes of this machine as well; the parent hears it and ends them, without their tracebacks.
    if parent is not None and os.getpid() != parent:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return unit, study.compute(data, unit, wanted)


@contextmanager
def _parallel(jobs, dask):
    """Give joblib's settings for processes of this machine, or for the workers of a Dask cluster.

    As many units are taken as are being worked on. Leaving by Ctrl-C or an error ends the processes at once.
    """
    if dask is not None:
        from dask.distributed import Client

        with Client(dask, set_as_default=False) as client, parallel_config("dask", client=client):
            yield {"n_jobs": -1, "pre_dispatch": "n_jobs"}
        return
    with parallel_config("loky", inner_max_num_threads=1):
        try:
            yield {"n_jobs": jobs, "pre_dispatch": "n_jobs"}
        except BaseException:
            if jobs != 1:
                get_reusable_executor().shutdown(wait=False, kill_workers=True)
            raise


@contextmanager
def _remembered_interrupts():
    """Give a list that is not empty once Ctrl-C was pressed.

    Ctrl-C raises KeyboardInterrupt as ever, but that is lost where it meets a callback of compiled code or the deletion
    of an object. Nothing is changed where the signal is ignored or means something else already.
    """
    came = []
    default = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not default:
        yield came
        return

    def remember(number, frame):
        came.append(number)
        default(number, frame)

    signal.signal(signal.SIGINT, remember)
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, default)


@contextmanager
def _progress(study, units, show):
    """Give a function that moves a bar on by a unit; its remaining time takes units to last as the study says."""
    if not show:
        yield lambda unit: None
        return
    from tqdm import tqdm

    cost = {unit: study.cost(unit) for unit in units}
    form = "{percentage:3.0f}% |{bar}| {elapsed} gone, {remaining} left; {desc}"
    with tqdm(total=sum(cost.values()), smoothing=0, bar_format=form) as bar:
        bar.set_description_str(f"{len(units)} units")
        numbers = count(1)

        def advance(unit):
            bar.set_description_str(f"{next(numbers)} of {len(units)} units, {unit}", refresh=False)
            bar.update(cost[unit])

        yield advance
