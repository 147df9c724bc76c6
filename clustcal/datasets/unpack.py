"""Open zip archives without trusting them.

An archive may name files outside the folder it is unpacked into, hold links, or swell from kilobytes to terabytes.
Everything that its directory announces is checked before the first byte is written; zipfile then reads no more of a
member than was announced, and compares its checksum.
"""

import os
import stat
import tempfile
import zipfile
import zlib
from pathlib import Path, PurePosixPath

MAX_BYTES = 1 << 30  # 1 GiB in total
MAX_RATIO = 100  # unpacked bytes per packed byte, for any member
RATIO_FROM = 1 << 20  # small members may compress as well as they like
CHUNK = 1 << 20


def safe_extract(archive, target, *, max_bytes=MAX_BYTES, max_ratio=MAX_RATIO):
    """Unpack a zip archive into a folder, or refuse it as a whole.

    Parameters
    ----------
    archive : path-like or binary file
        The zip archive.
    target : path-like
        The folder to unpack into; made where it does not exist.
    max_bytes : int, default=2**30
        The most that all members together may unpack to, in bytes.
    max_ratio : float, default=100
        The most that a member of 1 MiB or more may grow when it is unpacked.

    Returns
    -------
    paths : list of pathlib.Path
        The files written.

    Raises
    ------
    ValueError
        If the archive is not a zip file; if a member has an absolute path or one that leads out of the target, is a
        link or another special file, or has the name of another member; if a limit is passed. Nothing has
        been given its final name then.

    Examples
    --------
    >>> safe_extract("archive.zip", "folder")  # doctest: +SKIP
    [PosixPath('folder/table.csv')]
    """
    target = Path(target)
    with _open(archive) as source:
        members = _checked_members(source, max_bytes, max_ratio)
        target.mkdir(parents=True, exist_ok=True)
        for member in members:
            _check_inside(target / member.filename, target)
        with tempfile.TemporaryDirectory(dir=target, prefix=".unpacking-") as scratch:
            unpacked = [_write(source, member, Path(scratch) / str(i)) for i, member in enumerate(members)]
            return [_move(path, target / member.filename) for path, member in zip(unpacked, members, strict=True)]


def read_member(archive, name, *, max_bytes=MAX_BYTES, max_ratio=MAX_RATIO):
    """The bytes of one file of a zip archive, under the same rules as :func:`safe_extract`, without writing any.

    Parameters
    ----------
    archive : path-like or binary file
        The zip archive.
    name : str
        The path of the file inside the archive.
    max_bytes, max_ratio
        As in :func:`safe_extract`.

    Returns
    -------
    content : bytes

    Raises
    ------
    ValueError
        As in :func:`safe_extract`, and if the archive has no such file.

    Examples
    --------
    >>> read_member("archive.zip", "table.csv")  # doctest: +SKIP
    b'a,b\\n1,2\\n'
    """
    with _open(archive) as source:
        members = {member.filename: member for member in _checked_members(source, max_bytes, max_ratio)}
        if name not in members:
            raise ValueError(f"the archive has no file {name!r}; it holds {', '.join(members)}.")
        return b"".join(_chunks(source, members[name]))


def _open(archive):
    try:
        return zipfile.ZipFile(archive)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{archive} is not a zip archive: {error}.") from error


def _checked_members(source, max_bytes, max_ratio):
    """The files of the archive, if the archive as a whole is harmless."""
    members = [member for member in source.infolist() if not member.is_dir()]
    for member in source.infolist():
        _check_name(member)
        _check_kind(member)
    _check_collisions([PurePosixPath(member.filename) for member in members])
    for member in members:
        if member.file_size >= RATIO_FROM and member.file_size > max_ratio * max(member.compress_size, 1):
            raise ValueError(
                f"{member.filename!r} would grow from {member.compress_size:,} to {member.file_size:,} bytes; "
                f"expected at most {max_ratio:g} times its packed size."
            )
    total = sum(member.file_size for member in members)
    if total > max_bytes:
        raise ValueError(f"the archive would unpack to {total:,} bytes; expected at most {max_bytes:,}.")
    return members


def _check_name(member):
    # orig_filename: zipfile itself cuts names at a NUL byte and turns the system's separator into a slash.
    path = PurePosixPath(member.orig_filename)
    plain = path.parts and not path.is_absolute() and ".." not in path.parts
    if not plain or ":" in path.parts[0] or "\\" in str(path) or "\0" in str(path):
        raise ValueError(
            f"the archive names {member.orig_filename!r}, which may lead out of the folder it is unpacked into."
        )


def _check_kind(member):
    mode = stat.S_IFMT(member.external_attr >> 16)  # 0 where the archive was not made on a Unix system
    if mode not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise ValueError(f"the archive's {member.filename!r} is a link or another special file; expected plain files.")


def _check_collisions(names):
    taken = set(names)
    for name in names:
        if any(parent in taken for parent in name.parents):
            raise ValueError(f"the archive's '{name}' lies inside a file, not a folder.")
    if len(taken) < len(names):
        raise ValueError("the archive holds two files of the same name.")


def _check_inside(path, target):
    # A link that was already in the target could still lead out of it.
    if not path.resolve().is_relative_to(target.resolve()):
        raise ValueError(f"{path} lies outside {target} once links are followed; nothing was unpacked.")


def _write(source, member, path):
    with open(path, "wb") as stream:
        stream.writelines(_chunks(source, member))
    return path


def _chunks(source, member):
    """The member's bytes, piece by piece."""
    try:
        with source.open(member) as stream:
            while chunk := stream.read(CHUNK):
                yield chunk
    except (zipfile.BadZipFile, zlib.error) as error:  # announced wrongly, or broken
        raise ValueError(f"the archive's {member.filename!r} is damaged: {error}.") from error


def _move(path, destination):
    destination.parent.mkdir(parents=True, exist_ok=True)
    os.replace(path, destination)
    return destination
