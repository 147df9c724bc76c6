"""`make lab`: JupyterLab opens chapters as notebooks, with the Python of the book, and saves them as text."""

import json
import shlex
import socket
import subprocess
import time
from urllib.request import urlopen

import jupytext
import pytest
from book_sources import ROOT, chapters, source
from jupytext.config import load_jupytext_config

RECIPE = "JUPYTER_CONFIG_PATH="


@pytest.mark.parametrize("chapter", chapters())
def test_a_chapter_that_is_saved_keeps_its_front_matter_and_its_cells(chapter):
    settings = load_jupytext_config(str(source(chapter)))
    before = jupytext.read(source(chapter), config=settings)
    written = jupytext.writes(before, fmt="md:myst", config=settings)
    after = jupytext.reads(written, fmt="md:myst", config=settings)
    head = source(chapter).read_text(encoding="utf-8").split("\n---\n")[0]
    assert written.startswith(head)
    assert [(c.cell_type, c.source, c.metadata) for c in after.cells] == [
        (c.cell_type, c.source, c.metadata) for c in before.cells
    ]


def command():
    """Return the command of `make lab`, as make would give it to the shell."""
    planned = subprocess.run(["make", "--dry-run", "lab"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return next(line for line in planned.splitlines() if line.startswith(RECIPE))


@pytest.fixture(scope="module")
def server():
    """The address of a running server, started as `make lab` does but without opening a browser."""
    if not (ROOT / ".venv/bin/jupyter").exists():
        pytest.skip("the environment of `make setup` is not there")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--no-browser", f"--ServerApp.port={port}", "--IdentityProvider.token=", "--allow-root"]
    running = subprocess.Popen(
        f"exec env {command()} {shlex.join(options)}",
        shell=True, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 120
    while True:
        try:
            get(address, "api/status")
            break
        except OSError:
            if running.poll() is not None or time.monotonic() > deadline:
                pytest.fail("the server did not start")
            time.sleep(0.5)
    yield address
    running.terminate()
    running.wait(30)


def get(address, path):
    with urlopen(f"{address}/{path}", timeout=60) as answer:
        return json.load(answer)


@pytest.mark.slow
def test_chapter_opens_as_a_notebook(server):
    opened = get(server, "api/contents/start/quickstart.md?type=notebook")
    kinds = [cell["cell_type"] for cell in opened["content"]["cells"]]
    assert opened["format"] == "json"
    assert {"markdown", "code"} <= set(kinds)
    assert opened["content"]["metadata"]["kernelspec"]["name"] == "python3"


@pytest.mark.slow
def test_double_click_on_a_chapter_opens_the_notebook(server):
    settings = json.dumps(get(server, "lab/api/settings/@jupyterlab/docmanager-extension:plugin"))
    assert '"markdown": "Jupytext Notebook"' in settings


@pytest.mark.slow
def test_kernel_of_chapters_is_the_python_of_the_environment(server):
    kernels = get(server, "api/kernelspecs")
    assert kernels["default"] == "python3"
    assert kernels["kernelspecs"]["python3"]["spec"]["argv"][0] in {"python", str(ROOT / ".venv/bin/python")}


@pytest.mark.slow
def test_lab_shows_the_chapters_and_nothing_above_them(server):
    names = {entry["name"] for entry in get(server, "api/contents")["content"]}
    assert {"index.md", "start", "notebooks"} <= names
    assert "pyproject.toml" not in names
