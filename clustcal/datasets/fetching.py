"""Bring raw files into the data folder, and let nothing be read that is not what the registry says.

A file that is in place is only read, so a data folder may be read-only. Downloads go through pooch, which is
needed only when there is something to download.
"""

import os
import tempfile
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from clustcal.datasets import registry
from clustcal.datasets.registry import RawFile, Source

RETRIES = 2  # further attempts per address
TIMEOUT = 30  # seconds without an answer
CHECKSUMS = {"sha256": "SHA-256", "md5": "MD5"}


def cache_dir() -> Path:
    """The folder that holds the raw files, one sub-folder per source.

    Returns
    -------
    folder : pathlib.Path
        The environment variable ``CLUSTCAL_DATA_DIR`` where it is set, else the platform's cache folder for
        ``clustcal``. It need not exist yet.

    Raises
    ------
    ImportError
        If the variable is not set and pooch, which knows the platform's cache folder, is not installed.

    Examples
    --------
    >>> import os
    >>> os.environ["CLUSTCAL_DATA_DIR"] = "my-data"  # doctest: +SKIP
    >>> cache_dir()  # doctest: +SKIP
    PosixPath('my-data')
    """
    chosen = os.environ.get("CLUSTCAL_DATA_DIR")
    if chosen:
        return Path(chosen).expanduser()
    pooch = _import_pooch("Finding the cache folder needs pooch: set CLUSTCAL_DATA_DIR to your data folder, or run")
    return Path(pooch.os_cache("clustcal"))


def fetch(name: str, *, progress: bool = True) -> dict[str, Path]:
    """Make sure that the raw files of a data set are in the data folder, and say where.

    Every file with a known checksum is verified (size, then SHA-256, or MD5 where its makers publish that) each time,
    before anything reads it. What is missing or damaged is downloaded to a temporary file, verified, and only then
    given its name; each address is tried in turn, several times.

    Parameters
    ----------
    name : str
        A data set as in :func:`load`, or a source of the registry such as ``"mimic_iv_demo"``.
    progress : bool, default=True
        Show a progress bar while downloading.

    Returns
    -------
    paths : dict of str to pathlib.Path
        The path of each raw file, by its name in the registry.

    Raises
    ------
    ValueError
        If the name is unknown.
    FileNotFoundError
        If a file cannot be had: with where to ask for it, where the data are not open; with its addresses and
        the folder where it belongs, where no address gave the right file (as when offline).
    ImportError
        If something has to be downloaded and pooch is not installed.
    PermissionError
        If something has to be downloaded and the data folder cannot be written to.

    Examples
    --------
    >>> from clustcal.datasets import fetch
    >>> fetch("stroke")  # doctest: +SKIP
    {'healthcare-dataset-stroke-data.csv': PosixPath('.../stroke/healthcare-dataset-stroke-data.csv')}
    """
    source = registry.get_source(name)
    folder = cache_dir() / source.name
    found = []
    for files in source.packings:
        found.append({file.path: _in_place(file, folder) for file in files})
        in_place = {name: path for name, path in found[-1].items() if path is not None}
        if len(in_place) == len(files):
            return in_place
    paths = found[0]
    missing = [file for file in source.files if paths[file.path] is None]
    if missing and not source.is_open:
        raise FileNotFoundError(_ask_for(name, source, missing, folder))
    for file in missing:
        paths[file.path] = _download(file, folder, progress)
    return {name: path for name, path in paths.items() if path is not None}


def is_available(source: Source) -> bool:
    """Whether all raw files of a source lie in the data folder; their sizes are looked at, not their checksums."""
    try:
        folder = cache_dir() / source.name
    except ImportError:  # no pooch and no folder chosen: nothing can have been fetched
        return False
    return any(all(_in_place(file, folder, checksum=False) for file in files) for files in source.packings)


def _in_place(file: RawFile, folder: Path, checksum: bool = True) -> Path | None:
    """The path at which an intact copy of the file lies, or None."""
    for name in (file.path, *file.alternatives):
        if _defect(folder / name, file, checksum) is None:
            return folder / name
    return None


def _defect(path: Path, file: RawFile, checksum: bool = True) -> str | None:
    """What is wrong with the copy at `path`, in words, or None."""
    if file.is_folder:
        return None if path.is_dir() else "is missing"
    if not path.is_file():
        return "is missing"
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        return f"is damaged (it has {size:,} bytes, expected {file.size:,})"
    if checksum and file.checksum is not None:
        kind, expected = file.checksum
        with open(path, "rb") as stream:
            found = file_digest(stream, kind).hexdigest()
        if found != expected:
            return f"is damaged (its {CHECKSUMS[kind]} is {found}, expected {expected})"
    return None


def _ask_for(name: str, source: Source, missing: list[RawFile], folder: Path) -> str:
    places = ", ".join(str(folder / file.path) for file in missing)
    return (
        f"{name!r} needs files that are not open, so they cannot be downloaded here, and these are missing: {places}. "
        f"{source.how_to_get} Put them there (a link will do), or set CLUSTCAL_DATA_DIR to the folder that holds "
        f"{source.name}/."
    )


def _download(file: RawFile, folder: Path, progress: bool) -> Path:
    target = folder / file.path
    state = f"{target} {_defect(target, file)}"
    pooch = _import_pooch(f"{state}. Download it yourself from {file.urls[0]}, or let pooch do it: run")
    _check_writable(target.parent, f"{state}. It could be downloaded from {file.urls[0]}")
    downloader = pooch.HTTPDownloader(progressbar=progress and find_spec("tqdm") is not None, timeout=TIMEOUT)
    failures = []
    for url in file.urls:
        manager = pooch.create(
            folder,
            base_url="",
            registry={file.path: ":".join(file.checksum or ())},
            urls={file.path: url},
            retry_if_failed=RETRIES,
        )
        try:
            return Path(manager.fetch(file.path, downloader=downloader))
        except (OSError, ValueError) as error:  # requests' errors are OSErrors; a wrong checksum is a ValueError
            failures.append(f"{url} ({type(error).__name__}: {error})")
    raise FileNotFoundError(
        f"{state}, and no address gave the right file. Check the network and call again, or download it yourself into "
        f"{target.parent}. Tried: {'; '.join(failures)}."
    )


def _check_writable(folder: Path, state: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise PermissionError(
            f"{state}, but {folder} cannot be written to ({error.strerror}); "
            "set CLUSTCAL_DATA_DIR to a folder of your own."
        ) from error


def _import_pooch(what: str) -> ModuleType:
    try:
        import pooch
    except ImportError as error:
        raise ImportError(f'{what} pip install "clustcal[data]".') from error
    return pooch
