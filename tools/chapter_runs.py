"""Runs of chapters, each alone in a fresh kernel, kept in `_build/runs` so that none is made twice.

The tests run every chapter to measure it; the builder of the book takes the outputs from there.
"""

import os
import sys
import time
from dataclasses import dataclass

import jupytext
import nbformat
from book_sources import ROOT, fingerprint, source
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbclient import NotebookClient

# What the outputs of a chapter depend on besides its own text.
EXECUTION_INPUTS = ("clustcal", "results", "requirements/lock.txt")
FOLDER = "_build/runs"
PEAK_MEMORY = """
import resource, sys
resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
"""


@dataclass(frozen=True)
class Run:
    """A chapter with its outputs, the seconds that it took and the bytes that it needed at most."""

    notebook: nbformat.NotebookNode
    seconds: float
    peak: int


def execution_state(root=ROOT):
    """Return what the outputs of all chapters depend on, as one string."""
    return f"{fingerprint(EXECUTION_INPUTS, root)} Python {sys.version}"


def kernel_environment(root=ROOT):
    """Return the environment in which chapters run: this checkout's package; no network, data or personal settings."""
    # With a backend of matplotlib of their own, kernels would show no figures.
    environment = {key: value for key, value in os.environ.items() if key not in ("CLUSTCAL_DATA_DIR", "MPLBACKEND")}
    paths = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    return (
        environment
        | nowhere
        | {
            "PYTHONPATH": os.pathsep.join(paths),
            "JUPYTER_PREFER_ENV_PATH": "1",
            "IPYTHONDIR": str(root / "_build" / ".ipython"),
        }
    )


def run(chapter, root=ROOT, timeout=60):
    """Return the run of a chapter as it is now: the one that is kept, or a new one, kept if it ended in time.

    Parameters
    ----------
    chapter : str
        Such as ``start/quickstart``.
    root : Path
        The checkout.
    timeout : int, default=60
        Seconds that a cell may take; a chapter that takes more in all is run again next time.
    """
    execution = execution_state(root)
    kept = kept_run(chapter, root, execution)
    if kept is not None:
        return kept
    state = _state(chapter, root, execution)  # of what is run, whatever changes while it runs
    done = _execute(chapter, root, timeout)
    if done.seconds <= timeout:
        _keep(done, state, _file(chapter, root))
    return done


def kept_run(chapter, root=ROOT, execution=None):
    """Return the run that is kept of a chapter as it is now, or None; ``execution`` is `execution_state`, if known."""
    file = _file(chapter, root)
    if not file.exists():
        return None
    notebook = nbformat.read(file, as_version=4)
    of = notebook.metadata.pop("run")
    state = _state(chapter, root, execution or execution_state(root))
    return Run(notebook, of["seconds"], of["peak"]) if of["state"] == state else None


def hand_over(chapters, cache_folder, root=ROOT):
    """Give the runs that are kept of these chapters to the cache of Jupyter Book, where it lacks them."""
    execution = execution_state(root)
    runs = {chapter: kept for chapter in chapters if (kept := kept_run(chapter, root, execution)) is not None}
    if not runs:
        return
    cache = get_cache(cache_folder)
    for chapter, kept in runs.items():
        try:
            cache.match_cache_notebook(kept.notebook)
        except KeyError:
            entry = CacheBundleIn(kept.notebook, str(source(chapter, root)), data={"execution_seconds": kept.seconds})
            cache.cache_notebook_bundle(entry, check_validity=False, overwrite=True)


def _execute(chapter, root, timeout):
    notebook = jupytext.read(source(chapter, root))
    notebook.cells.append(nbformat.v4.new_code_cell(PEAK_MEMORY))
    folder = {"metadata": {"path": str(source(chapter, root).parent)}}
    client = NotebookClient(
        notebook, timeout=timeout, kernel_name="python3", resources=folder, record_timing=False
    )  # timings would make a cell another one for the cache
    start = time.perf_counter()
    client.execute(env=kernel_environment(root))
    seconds = time.perf_counter() - start
    peak = int(notebook.cells.pop().outputs[0].data["text/plain"])
    return Run(notebook, seconds, peak)


def _keep(done, state, file):
    """Write a run so that nobody ever sees a part of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    of = {"state": state, "seconds": done.seconds, "peak": done.peak}
    notebook = nbformat.from_dict(done.notebook | {"metadata": done.notebook.metadata | {"run": of}})
    part = file.with_suffix(f".{os.getpid()}.part")
    nbformat.write(notebook, part)
    part.replace(file)


def _file(chapter, root):
    return root / FOLDER / f"{chapter}.ipynb"


def _state(chapter, root, execution):
    return f"{fingerprint([source(chapter, root).relative_to(root)], root)} {execution}"
