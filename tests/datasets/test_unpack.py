"""Archives that are well-behaved are unpacked; the others are refused before anything is written."""

import io
import os
import stat
import zipfile

import pytest

from clustcal.datasets.unpack import read_member, safe_extract


def make_zip(*members, compression=zipfile.ZIP_DEFLATED):
    """A zip archive in memory, of (name or ZipInfo, content) pairs."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for member, content in members:
            archive.writestr(member, content)
    stream.seek(0)
    return stream


def special(name, kind):
    member = zipfile.ZipInfo(name)
    member.external_attr = (kind | 0o777) << 16
    return member


def written(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def test_files_and_folders_are_unpacked(tmp_path):
    paths = safe_extract(make_zip(("a.csv", b"1"), ("sub/", b""), ("sub/b.csv", b"22")), tmp_path / "new" / "folder")
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == ["new/folder/a.csv", "new/folder/sub/b.csv"]
    assert [path.read_bytes() for path in paths] == [b"1", b"22"]


def test_no_scratch_folder_is_left(tmp_path):
    safe_extract(make_zip(("a.csv", b"1")), tmp_path)
    assert os.listdir(tmp_path) == ["a.csv"]


def test_a_file_that_is_there_is_replaced(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"old")
    safe_extract(make_zip(("a.csv", b"new")), tmp_path)
    assert (tmp_path / "a.csv").read_bytes() == b"new"


@pytest.mark.parametrize(
    "name", ["/etc/evil", "../evil", "a/../../evil", "C:/evil", "C:evil", "..\\evil", "a\\b", "//host/x"]
)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path, name):
    target = tmp_path / "target"
    with pytest.raises(ValueError, match="may lead out of the folder"):
        safe_extract(make_zip(("fine.csv", b"1"), (name, b"evil")), target)
    assert written(tmp_path) == []


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR], ids=["link", "pipe", "device"])
def test_links_and_special_files_are_refused(tmp_path, kind):
    with pytest.raises(ValueError, match="'x' is a link or another special file"):
        safe_extract(make_zip(("fine.csv", b"1"), (special("x", kind), b"/etc/passwd")), tmp_path)
    assert written(tmp_path) == []


def test_a_link_already_in_the_target_is_not_followed(tmp_path):
    outside, target = tmp_path / "outside", tmp_path / "target"
    outside.mkdir()
    target.mkdir()
    (target / "sub").symlink_to(outside)
    with pytest.raises(ValueError, match="once links are followed"):
        safe_extract(make_zip(("sub/a.csv", b"1")), target)
    assert written(outside) == []


def test_a_total_above_the_limit_is_refused(tmp_path):
    archive = make_zip(("a", b"x" * 600), ("b", b"y" * 600))
    with pytest.raises(ValueError, match=r"would unpack to 1,200 bytes; expected at most 1,000"):
        safe_extract(archive, tmp_path, max_bytes=1000)
    assert written(tmp_path) == []


def test_a_total_at_the_limit_is_accepted(tmp_path):
    assert len(safe_extract(make_zip(("a", b"x" * 600), ("b", b"y" * 400)), tmp_path, max_bytes=1000)) == 2


def test_a_member_that_swells_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"'zeros' would grow from [\d,]+ to 4,194,304 bytes"):
        safe_extract(make_zip(("zeros", bytes(4 << 20))), tmp_path)
    assert written(tmp_path) == []


def test_a_small_member_may_compress_well(tmp_path):
    (path,) = safe_extract(make_zip(("zeros", bytes(100_000))), tmp_path)
    assert path.stat().st_size == 100_000


def test_a_member_that_announces_too_little_is_refused(tmp_path):
    content = os.urandom(5000)
    archive = make_zip(("a", content), compression=zipfile.ZIP_STORED).getvalue()
    forged = io.BytesIO(archive.replace((5000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    with pytest.raises(ValueError, match="'a' is damaged"):
        safe_extract(forged, tmp_path)
    assert written(tmp_path) == []


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("second", ["a/b", "a//b", "./a/b"])
def test_two_files_of_one_name_are_refused(tmp_path, second):
    with pytest.raises(ValueError, match="two files of the same name"):
        safe_extract(make_zip(("a/b", b"1"), (second, b"2")), tmp_path)


def test_a_file_that_is_also_a_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match="'a/b' lies inside a file"):
        safe_extract(make_zip(("a", b"1"), ("a/b", b"2")), tmp_path)


def test_what_is_no_archive_is_called_so(tmp_path):
    with pytest.raises(ValueError, match="is not a zip archive"):
        safe_extract(io.BytesIO(b"not a zip"), tmp_path)


def test_one_member_is_read_without_writing():
    assert read_member(make_zip(("a/b.csv", b"1,2"), ("c", b"")), "a/b.csv") == b"1,2"


def test_a_member_that_is_not_there_lists_those_that_are():
    with pytest.raises(ValueError, match=r"has no file 'c'; it holds a, b"):
        read_member(make_zip(("a", b""), ("b", b"")), "c")


def test_reading_one_member_keeps_the_same_rules():
    with pytest.raises(ValueError, match="would unpack to"):
        read_member(make_zip(("a", b"x" * 600), ("b", b"y" * 600)), "a", max_bytes=1000)
