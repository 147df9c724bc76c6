"""What the tests of the book share: the tools of the repository, the built site, and a browser."""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools"), str(ROOT / "tests" / "book")]
# Without the extra `book` there is nothing here to test.
collect_ignore_glob = [] if find_spec("jupyter_book") else ["test_*.py"]


@pytest.fixture(scope="session")
def site():
    """The folder of the built site; tests that need it are skipped when it is not that of the present sources."""
    from build_book import Build

    build = Build(ROOT)
    if not build.is_current():
        pytest.skip("the site is not built from the present sources: run `make book`")
    return build.html


@pytest.fixture(scope="session")
def browser():
    """A running Chromium; tests that need it are skipped, with the reason, where there is none."""
    visits = pytest.importorskip("visits", reason="Playwright is not installed (extra `test`)")
    path = visits.executable()
    if path is None:
        pytest.skip("no Chromium here; install one, or name it in the environment variable CHROMIUM")
    running = visits.Visitor(path)
    yield running
    running.close()


@pytest.fixture(scope="session")
def axe():
    """axe-core, called through Playwright."""
    package = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed (extra `test`)")
    return package.Axe()


@pytest.fixture(scope="module")
def evaluate(request):
    """Evaluate a JavaScript expression where the module's ``SCRIPT`` has been loaded: in Node, else in a browser."""
    shared = request.module.SCRIPT.with_name("explorer.js")  # loaded before it by the pages, too
    script = "\n".join(path.read_text(encoding="utf-8") for path in (shared, request.module.SCRIPT))
    if node := shutil.which("node"):

        def in_node(expression):
            program = f"{script}\nconsole.log(JSON.stringify({expression}));"
            ended = subprocess.run([node, "-"], input=program, capture_output=True, text=True, check=True)
            return json.loads(ended.stdout)

        return in_node
    page = request.getfixturevalue("browser")
    page.open("about:blank")
    page.page.add_script_tag(content=script.replace("typeof document", "typeof nothing"))
    return page.run
