"""What the data sets are: `registry.toml`, read into three small records.

Data stay data: addresses, checksums, licences and expected counts are in the file beside this one; here is only
what gives them a shape and finds them by name.
"""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True)
class RawFile:
    """One raw file; without addresses it is not open, without a checksum it is a user's own copy."""

    path: str
    size: int | None = None
    sha256: str | None = None
    urls: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """A set of raw files that live in one folder, with the terms under which they are given."""

    name: str
    page: str
    licence: str
    citation: str
    files: tuple[RawFile, ...]
    how_to_get: str = ""

    @property
    def is_open(self):
        """Whether every file can be downloaded without an account."""
        return all(file.urls for file in self.files)


@dataclass(frozen=True)
class Dataset:
    """One prediction task on a source, with the counts its parsed table must have (None: not fixed)."""

    name: str
    title: str
    source: Source
    target: str
    description: str
    rows: int | None = None
    features: int | None = None
    positives: int | None = None


def get_dataset(name):
    """The data set of that name; a ValueError lists the known names."""
    return _lookup(_registry()[1], name, "data set")


def get_source(name):
    """The raw files behind a data set, or a source by its own name; a ValueError lists the known names."""
    sources, datasets = _registry()
    if isinstance(name, str) and name in datasets:
        return datasets[name].source
    return _lookup({**datasets, **sources}, name, "data set or source")


def dataset_names():
    """The names of all data sets, in the order of the registry."""
    return list(_registry()[1])


@cache
def _registry():
    content = tomllib.loads(files(__package__).joinpath("registry.toml").read_text(encoding="utf-8"))
    sources = {name: _source(name, **entry) for name, entry in content["source"].items()}
    datasets = {name: _dataset(name, sources, **entry) for name, entry in content["dataset"].items()}
    return sources, datasets


def _source(name, files, **entry):
    return Source(name=name, files=tuple(_raw_file(**file) for file in files), **entry)


def _raw_file(urls=(), alternatives=(), **entry):
    return RawFile(urls=tuple(urls), alternatives=tuple(alternatives), **entry)


def _dataset(name, sources, source, description, **entry):
    return Dataset(name=name, source=sources[source], description=" ".join(description.split()), **entry)


def _lookup(entries, name, kind):
    if not isinstance(name, str) or name not in entries:
        raise ValueError(f"{name!r} is not a known {kind}; expected one of {', '.join(sorted(entries))}.")
    return entries[name]
