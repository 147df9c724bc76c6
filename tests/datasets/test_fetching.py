"""Raw files are verified before use, downloaded only when needed, and errors say what to do."""

import builtins
import hashlib
import socket
from importlib import import_module
from pathlib import Path

import pytest

from clustcal.datasets import registry
from clustcal.datasets.fetching import cache_dir, fetch, is_available
from clustcal.datasets.registry import RawFile, Source

fetching = import_module("clustcal.datasets.fetching")
CONTENT = b"a,b\n1,2\n"


@pytest.fixture
def register(monkeypatch):
    """Make `fetch` see one source of one file."""

    def register(*urls, path="table.csv", content=CONTENT, **options):
        known = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()} if urls else {}
        file = RawFile(path, urls=urls, **known, **options)
        source = Source("toy", "https://page", "terms", "citation", ((file,),), "Ask at https://gate.")
        monkeypatch.setattr(registry, "get_source", lambda name: source)
        return source

    return register


@pytest.fixture
def no_pooch(monkeypatch):
    real_import = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.split(".")[0] == "pooch":
            raise ImportError("no pooch here")
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)


@pytest.fixture
def offline(monkeypatch):
    """An address at which nobody listens, asked only once."""
    monkeypatch.setattr(fetching, "RETRIES", 0)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/table.csv"


def put(path, content=CONTENT):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


# ------------------------------------------------------------------------------------------------ the data folder


def test_the_environment_variable_chooses_the_folder(monkeypatch):
    monkeypatch.setenv("CLUSTCAL_DATA_DIR", "~/somewhere")
    assert cache_dir() == Path.home() / "somewhere"


def test_the_default_folder_is_the_cache_folder_of_the_platform(monkeypatch, tmp_path):
    monkeypatch.delenv("CLUSTCAL_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pooch = pytest.importorskip("pooch")
    assert cache_dir() == Path(pooch.os_cache("clustcal"))


def test_without_pooch_and_variable_the_error_names_both_ways_out(monkeypatch, no_pooch):
    monkeypatch.delenv("CLUSTCAL_DATA_DIR", raising=False)
    with pytest.raises(ImportError, match=r'CLUSTCAL_DATA_DIR.*pip install "clustcal\[data\]"'):
        cache_dir()


# ------------------------------------------------------------------------------------------------ files in place


def test_a_file_in_place_is_used_without_asking_the_network(register, empty_folder, server):
    register(f"{server.address}/table.csv")
    path = put(empty_folder / "toy" / "table.csv")
    assert fetch("toy") == {"table.csv": path}
    assert server.asked == []


def test_a_file_in_place_needs_no_pooch(register, empty_folder, no_pooch):
    register("https://nowhere.invalid/table.csv")
    path = put(empty_folder / "toy" / "table.csv")
    assert fetch("toy") == {"table.csv": path}


def test_nothing_is_written_when_everything_is_in_place(register, empty_folder):
    register("https://nowhere.invalid/table.csv")
    put(empty_folder / "toy" / "table.csv")
    before = {path: path.stat().st_mtime_ns for path in [empty_folder, *empty_folder.rglob("*")]}
    fetch("toy")
    assert {path: path.stat().st_mtime_ns for path in [empty_folder, *empty_folder.rglob("*")]} == before


@pytest.mark.parametrize("place", ["table.csv.gz", "table.csv", "core/table.csv"])
def test_a_users_own_copy_may_lie_in_any_of_its_places(register, empty_folder, place):
    register(path="table.csv.gz", alternatives=("table.csv", "core/table.csv"))
    path = put(empty_folder / "toy" / place)
    assert fetch("toy") == {"table.csv.gz": path}


def test_availability_follows_the_files(register, empty_folder):
    source = register("https://nowhere.invalid/table.csv")
    assert not is_available(source)
    path = put(empty_folder / "toy" / "table.csv")
    assert is_available(source)
    path.write_bytes(CONTENT[:-1])
    assert not is_available(source)


def test_without_pooch_and_variable_nothing_is_available(register, monkeypatch, no_pooch):
    monkeypatch.delenv("CLUSTCAL_DATA_DIR", raising=False)
    assert not is_available(register("https://nowhere.invalid/table.csv"))


# ------------------------------------------------------------------------------------------------ downloading


def test_a_missing_file_is_downloaded(register, empty_folder, server):
    server.replies["/table.csv"] = [(200, CONTENT)]
    register(f"{server.address}/table.csv")
    path = fetch("toy", progress=False)["table.csv"]
    assert path == empty_folder / "toy" / "table.csv"
    assert path.read_bytes() == CONTENT


def test_a_progress_bar_is_shown_when_asked(register, empty_folder, server, capsys):
    pytest.importorskip("tqdm")
    server.replies["/table.csv"] = [(200, CONTENT)]
    register(f"{server.address}/table.csv")
    fetch("toy", progress=True)
    assert "100%" in capsys.readouterr().err


def test_a_file_in_a_sub_folder_is_downloaded_there(register, empty_folder, server):
    server.replies["/hosp/table.csv"] = [(200, CONTENT)]
    register(f"{server.address}/hosp/table.csv", path="hosp/table.csv")
    assert fetch("toy", progress=False)["hosp/table.csv"].read_bytes() == CONTENT


def test_an_address_that_fails_once_is_tried_again(register, empty_folder, server):
    server.replies["/table.csv"] = [(503, b""), (200, CONTENT)]
    register(f"{server.address}/table.csv")
    assert fetch("toy", progress=False)["table.csv"].read_bytes() == CONTENT
    assert len(server.asked) == 2


def test_the_next_address_is_tried_when_one_gives_another_file(register, empty_folder, server, monkeypatch):
    monkeypatch.setattr(fetching, "RETRIES", 0)
    server.replies["/wrong.csv"] = [(200, b"something else")]
    server.replies["/right.csv"] = [(200, CONTENT)]
    register(f"{server.address}/wrong.csv", f"{server.address}/right.csv")
    assert fetch("toy", progress=False)["table.csv"].read_bytes() == CONTENT
    assert server.asked == ["/wrong.csv", "/right.csv"]


def test_what_fails_the_checksum_leaves_nothing_behind(register, empty_folder, server, monkeypatch):
    monkeypatch.setattr(fetching, "RETRIES", 0)
    server.replies["/table.csv"] = [(200, CONTENT[::-1])]
    register(f"{server.address}/table.csv")
    with pytest.raises(FileNotFoundError, match="no address gave the right file"):
        fetch("toy", progress=False)
    assert [path for path in empty_folder.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("damaged", [CONTENT[:-1], CONTENT[::-1]], ids=["size", "checksum"])
def test_a_damaged_file_is_replaced(register, empty_folder, server, damaged):
    server.replies["/table.csv"] = [(200, CONTENT)]
    register(f"{server.address}/table.csv")
    path = put(empty_folder / "toy" / "table.csv", damaged)
    fetch("toy", progress=False)
    assert path.read_bytes() == CONTENT


# ------------------------------------------------------------------------------------------------ what errors say


def test_offline_the_error_gives_address_and_folder(register, empty_folder, offline):
    register(offline)
    with pytest.raises(FileNotFoundError) as error:
        fetch("toy", progress=False)
    assert "table.csv is missing" in str(error.value)
    assert offline in str(error.value)
    assert str(empty_folder / "toy") in str(error.value)


@pytest.mark.parametrize(
    ("damaged", "said"),
    [
        (CONTENT[:-1], "it has 7 bytes, expected 8"),
        (CONTENT[::-1], "its SHA-256 is [0-9a-f]{64}, expected [0-9a-f]{64}"),
    ],
    ids=["size", "checksum"],
)
def test_offline_a_damaged_file_is_called_damaged(register, empty_folder, offline, damaged, said):
    register(offline)
    put(empty_folder / "toy" / "table.csv", damaged)
    with pytest.raises(FileNotFoundError, match=f"is damaged \\({said}\\)"):
        fetch("toy", progress=False)


def test_without_pooch_a_missing_file_names_the_extra_and_the_address(register, empty_folder, no_pooch):
    register("https://nowhere.invalid/table.csv")
    with pytest.raises(ImportError) as error:
        fetch("toy")
    assert 'pip install "clustcal[data]"' in str(error.value)
    assert "https://nowhere.invalid/table.csv" in str(error.value)
    assert str(empty_folder / "toy" / "table.csv") in str(error.value)


def test_a_gated_file_says_where_to_ask_and_where_to_put_it(register, empty_folder):
    register()
    with pytest.raises(FileNotFoundError) as error:
        fetch("toy")
    assert "Ask at https://gate." in str(error.value)
    assert str(empty_folder / "toy" / "table.csv") in str(error.value)


def test_a_folder_that_cannot_be_written_to_is_named(register, empty_folder):
    register("https://nowhere.invalid/table.csv")
    put(empty_folder, b"a file where the folder should be")  # permissions would not stop an administrator
    with pytest.raises(PermissionError, match=r"https://nowhere.invalid/table.csv, but .*toy cannot be written to"):
        fetch("toy")


def test_an_unknown_name_is_refused_before_anything_is_looked_for(monkeypatch):
    monkeypatch.delenv("CLUSTCAL_DATA_DIR", raising=False)
    with pytest.raises(ValueError, match="'titanic' is not a known data set"):
        fetch("titanic")


# ------------------------------------------------------------------------------------------------ on the raw data


@pytest.mark.data
@pytest.mark.parametrize(
    "name", ["adult", "credit_approval", "credit_card_default", "diabetes130", "stroke", "support2", "mimic_iv_demo"]
)
def test_the_raw_files_have_the_registered_checksums(raw_data, name):
    for file in registry.get_source(name).files:
        content = (raw_data / name / file.path).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (file.size, file.sha256)


@pytest.mark.data
def test_fetch_finds_the_raw_files_where_they_lie(raw_data):
    assert fetch("adult") == {name: raw_data / "adult" / name for name in ["adult.data", "adult.test"]}
