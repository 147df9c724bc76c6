"""Each notebook runs alone where nothing is installed but what its first cell brings, as on Colab.

The first cell is run as it is: git is told to take the project from a copy of this checkout, from which pip builds the
wheel. Notebooks that need the same extras share an environment, which the first of them fills. `make notebooks-check`
runs all of them; `make test` runs one, since it runs the same cells as those of the chapters.
"""

import json
import os
import shutil
import subprocess
import venv
from functools import cache

import build_notebooks
import nbformat
import pytest
import yaml
from book_sources import ROOT, chapters, front_matter
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

FOLDER = ROOT / "book" / build_notebooks.FOLDER
SOURCES = ["pyproject.toml", "README.md", "LICENSE", "clustcal", "results"]  # what the wheel is made of
LOCKED = [ROOT / "requirements" / name for name in ("lock.txt", "torch.txt")]
WHERE = "import clustcal, sys; print([clustcal.__file__.startswith(sys.prefix), 'myst_nb' in sys.modules])"


def size(chapter):
    return (FOLDER / f"{chapter}.ipynb").stat().st_size


def chosen():
    """Return all notebooks, or the smallest of those that need no extras."""
    there = [chapter for chapter in chapters() if (FOLDER / f"{chapter}.ipynb").exists()]
    if os.environ.get("CLUSTCAL_NOTEBOOKS") == "all":
        return there
    return sorted((chapter for chapter in there if not front_matter(chapter).get("needs")), key=size)[:1]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """Variables under which pip finds this checkout at the address of the project, and the locked versions."""
    git = shutil.which("git")
    if git is None:
        pytest.skip("the first cell of a notebook needs git")
    copy = tmp_path_factory.mktemp("project")
    listed = [git, "ls-files", "--cached", "--others", "--exclude-standard", "-z", *SOURCES]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).exists():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    repository = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]
    author = ["-c", "user.name=tests", "-c", "user.email=tests@localhost"]
    for command in (["init", "--quiet", "-b", repository["branch"]], ["add", "-A"], [*author, "commit", "-qm", "-"]):
        subprocess.run([git, *command], cwd=copy, check=True)
    scores = copy.with_name(f"{copy.name}-data") / "score_files"  # as if each had been fetched once: there is no network
    shutil.copytree(ROOT / "clustcal" / "datasets" / "score_files", scores)
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "CLUSTCAL", "JUPYTER"))}
    return ours | {
        "CLUSTCAL_DATA_DIR": str(scores.parent),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{copy.as_uri()}.insteadOf",
        "GIT_CONFIG_VALUE_0": repository["url"],
        "PIP_CONSTRAINT": " ".join(map(str, LOCKED)),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_COMPILE": "1",
        "IPYTHONDIR": str(copy / ".ipython"),
        "OMP_NUM_THREADS": "1",
    }


@pytest.fixture(scope="module")
def kernel(environment, tmp_path_factory):
    """The way to start a kernel in the environment for some extras, which at first has ipykernel only.

    With `deep` it has torch as well, as on Colab: on Linux the package index would bring its GPU build.
    """

    folders = []

    @cache
    def make(extras):
        folders.append(folder := tmp_path_factory.mktemp("fresh"))
        venv.create(folder / "venv", with_pip=True)
        python = str(folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
        installed = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "ipykernel"], env=environment, capture_output=True, text=True
        )
        if installed.returncode:
            pytest.skip(f"no package index can be reached: {installed.stderr[-300:]}")
        if "deep" in extras:
            subprocess.run([python, ROOT / "tools" / "install_torch.py"], env=environment, check=True)
        spec = {"argv": [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "fresh"}
        (folder / "fresh").mkdir()
        (folder / "fresh" / "kernel.json").write_text(json.dumps(spec | {"language": "python"}))
        return KernelSpecManager(kernel_dirs=[str(folder)], ensure_native_kernel=False)

    yield make
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)  # more than 1 GB each


@pytest.mark.slow
@pytest.mark.parametrize("chapter", chosen())
def test_notebook_runs_with_what_its_first_cell_installs(chapter, kernel, environment, tmp_path):
    extras = tuple(build_notebooks.extras(front_matter(chapter).get("needs", [])))
    notebook = nbformat.read(FOLDER / f"{chapter}.ipynb", as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(WHERE))
    manager = AsyncKernelManager(kernel_name="fresh", kernel_spec_manager=kernel(extras))
    NotebookClient(notebook, km=manager, timeout=1800, resources={"metadata": {"path": str(tmp_path)}}).execute(
        env=environment
    )
    assert "".join(output.text for output in notebook.cells[-1].outputs) == "[True, False]\n"
    printed = {name for cell in notebook.cells for name in glued(cell)}
    named = {name for cell in notebook.cells if cell.cell_type == "markdown" for name in in_angle_marks(cell)}
    assert named - printed == set()


def glued(cell):
    """Return the names of the values that a cell printed."""
    lines = "".join(output.get("text", "") for output in cell.get("outputs", [])).splitlines()
    return [line.partition(" = ")[0] for line in lines]


def in_angle_marks(cell):
    return [name.partition("›")[0] for name in cell.source.split("‹")[1:] if " " not in name.partition("›")[0]]
