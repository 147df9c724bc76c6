"""What the data sets are: `registry.toml`, read into three small records.

Data stay data: addresses, checksums, licences and expected counts are in the file beside this one; here is only
what gives them a shape and finds them by name.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

T = TypeVar("T")

KINDS = ("table", "text", "image")


@dataclass(frozen=True)
class RawFile:
    """One raw file, or a folder of them; without addresses it is not open, without a checksum it is a user's own."""

    path: str
    size: int | None = None
    sha256: str | None = None
    md5: str | None = None
    urls: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    is_folder: bool = False

    @property
    def checksum(self) -> tuple[str, str] | None:
        """The kind of checksum and its digits, or None; SHA-256 where both are known."""
        kinds = [(kind, getattr(self, kind)) for kind in ("sha256", "md5") if getattr(self, kind)]
        return kinds[0] if kinds else None


@dataclass(frozen=True)
class Source:
    """A set of raw files that live in one folder, with the terms under which they are given.

    Some sources go round in more than one packing, such as an archive or the tables made of it. Each is a tuple of
    files; the first is the one that is fetched.
    """

    name: str
    page: str
    licence: str
    citation: str
    packings: tuple[tuple[RawFile, ...], ...]
    how_to_get: str = ""

    @property
    def files(self) -> tuple[RawFile, ...]:
        """The files of the first packing."""
        return self.packings[0]

    @property
    def is_open(self) -> bool:
        """Whether every file can be downloaded without an account."""
        return all(file.urls for file in self.files)


@dataclass(frozen=True)
class Dataset:
    """One prediction task on a source, with the counts that the parsed data must have (None: not fixed)."""

    name: str
    title: str
    source: Source
    target: str
    description: str
    rows: int | None = None
    features: int | None = None
    positives: int | None = None
    classes: int | None = None
    kind: str = "table"


def get_dataset(name: str) -> Dataset:
    """The data set of that name; a ValueError lists the known names."""
    return _lookup(_registry()[1], name, "data set")


def get_source(name: str) -> Source:
    """The raw files behind a data set, or a source by its own name; a ValueError lists the known names."""
    sources, datasets = _registry()
    of_datasets = {dataset.name: dataset.source for dataset in datasets.values()}
    return _lookup(sources | of_datasets, name, "data set or source")


def dataset_names() -> list[str]:
    """The names of all data sets, in the order of the registry."""
    return list(_registry()[1])


@cache
def _registry() -> tuple[dict[str, Source], dict[str, Dataset]]:
    content = tomllib.loads(files(__package__).joinpath("registry.toml").read_text(encoding="utf-8"))
    sources = {name: _source(name, **entry) for name, entry in content["source"].items()}
    datasets = {name: _dataset(name, sources, **entry) for name, entry in content["dataset"].items()}
    return sources, datasets


def _source(name: str, files: list[dict[str, Any]], **entry: Any) -> Source:
    packings: dict[str, list[RawFile]] = {}
    for file in files:
        packings.setdefault(file.pop("packing", ""), []).append(_raw_file(**file))
    return Source(name=name, packings=tuple(tuple(packing) for packing in packings.values()), **entry)


def _raw_file(urls: Sequence[str] = (), alternatives: Sequence[str] = (), **entry: Any) -> RawFile:
    return RawFile(urls=tuple(urls), alternatives=tuple(alternatives), **entry)


def _dataset(name: str, sources: dict[str, Source], source: str, description: str, **entry: Any) -> Dataset:
    return Dataset(name=name, source=sources[source], description=" ".join(description.split()), **entry)


def _lookup(entries: Mapping[str, T], name: str, kind: str) -> T:
    if not isinstance(name, str) or name not in entries:
        raise ValueError(f"{name!r} is not a known {kind}; expected one of {', '.join(sorted(entries))}.")
    return entries[name]
