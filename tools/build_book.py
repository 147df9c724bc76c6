"""Build the book into `_build/html` and check the site (`make book`).

    python tools/build_book.py [--clean] [--no-checks]

A run where nothing has changed since the last good one ends at once. Otherwise Jupyter Book builds the pages whose
sources changed, with warnings as errors. Outputs of chapters are cached, and the cache is emptied when the package,
`results/` or the lock has changed, which the cache itself would not notice. Chapters that the tests have run as they
are now are not run again.

A chapter whose front matter says that it needs a module that is not installed is left out of the book, with a message.
Only torch can be missing after `make setup`, where no CPU build of it is offered.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from book_sources import chapters, fingerprint, left_out, table_of_contents, without
from chapter_runs import EXECUTION_INPUTS, execution_state, hand_over, kernel_environment

ROOT = Path(__file__).resolve().parent.parent
# What every page depends on: a change here builds all of them from nothing.
FRAME_INPUTS = (
    *EXECUTION_INPUTS, "_config.yml", "_toc.yml", "book/_static", "book/_assets", "book/references.bib",
    "tools/accessible_pages.py", "tools/book_extension.py", "tools/book_sources.py", "tools/build_book.py",
    "tools/chapter_runs.py", "tools/course_plan.py", "tools/launch_buttons.py", "tools/moved_page.html",
    "tools/moved_pages.py", "tools/quiz_directive.py", "tools/reading_times.py",
    "tools/results_at_a_glance.py", "tools/results_pages.py",
)  # fmt: skip
SITE_TESTS = tuple(
    f"tests/book/test_{name}.py"
    for name in (
        "site",
        "course_plan",
        "pages_of_entries",
        "moved_pages",
        "notebooks_on_site",
        "site_in_browser",
        "explorer",
        "bins_explorer",
        "guide_on_paper",
        "maps_explorer",
        "memberships_explorer",
        "costs_explorer",
        "groups_explorer",
        "forecasting_game",
        "accessibility",
    )
)
# The command of Jupyter Book without the traceback of its own that it prints after the cause.
JUPYTER_BOOK = """
from jupyter_book.cli.main import main
try:
    main()
except RuntimeError as failure:
    raise SystemExit(str(failure))
"""


class Build:
    """The state of a build folder: what it was made from, and whether that is still so."""

    def __init__(self, root=ROOT):
        self.root = root
        self.folder = root / "_build"
        self.html = self.folder / "html"
        self.cache = self.folder / ".jupyter_cache"
        self.record = self.folder / "made-from.json"
        self.left_out = left_out(root)
        book_files = fingerprint(["book"], root, contents=False)
        self.now = {
            "execution": execution_state(root),
            "frame": f"{fingerprint(FRAME_INPUTS, root)} {book_files} without {sorted(self.left_out)}",
            "pages": fingerprint(["book"], root),
        }

    def recorded(self):
        """Return what the build folder was made from; empty if that is not known."""
        return json.loads(self.record.read_text()) if self.record.exists() else {}

    def write(self, **what):
        self.folder.mkdir(exist_ok=True)
        self.record.write_text(json.dumps(what, indent=1))

    def is_current(self):
        """Whether the site has been built from the sources as they are now."""
        recorded = self.recorded()
        same = all(recorded.get(key) == value for key, value in self.now.items())
        return same and (self.html / "index.html").exists()

    def table_of_contents(self):
        """Return the file with the table of contents to build from."""
        if not self.left_out:
            return self.root / "_toc.yml"
        shorter = self.folder / "_toc.yml"
        shorter.write_text(yaml.safe_dump(without(self.left_out, table_of_contents(self.root)), sort_keys=False))
        return shorter

    def clear_stale(self):
        """Remove what cannot be used again: outputs of another package, pages of another frame or a failed build."""
        recorded = self.recorded()
        if recorded.get("execution") != self.now["execution"]:
            print("Chapters will be run: the package, results/ or the lock is not that of the cached outputs.")
            shutil.rmtree(self.cache, ignore_errors=True)
        if recorded.get("frame") != self.now["frame"]:
            print("All pages will be built.")
            for stale in (self.html, self.folder / ".doctrees", self.folder / "jupyter_execute"):
                shutil.rmtree(stale, ignore_errors=True)


def build_pages(build):
    """Run Jupyter Book; return whether it ended without a warning."""
    build.clear_stale()
    build.write(execution=build.now["execution"])  # a build that fails here starts from nothing next time
    hand_over([page for page in chapters(build.root) if page not in build.left_out], build.cache, build.root)
    settings = ["--config", build.root / "_config.yml", "--toc", build.table_of_contents(), "--path-output", build.root]
    command = [sys.executable, "-c", JUPYTER_BOOK, "build", build.root / "book", *settings, "-W", "--keep-going"]
    ended = subprocess.run(command, cwd=build.root, env=kernel_environment(build.root), check=False)
    done = ended.returncode == 0 and (build.html / "index.html").exists()
    if done:
        build.write(**build.now)
    return done


def check_site(build):
    """Run the tests of the built site; return whether they passed."""
    print("\nChecking the site: links, alt texts, launch buttons, search; in a browser if there is one.")
    side_by_side = os.environ.get("SIDE_BY_SIDE", "").split()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rs", *side_by_side, *SITE_TESTS]
    if subprocess.run(command, cwd=build.root, check=False).returncode == 0:
        build.write(**build.now, checked=True)
        return True
    return False


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Build the book into _build/html and check the site.")
    parser.add_argument("--clean", action="store_true", help="forget earlier builds and cached outputs")
    parser.add_argument("--no-checks", action="store_true", help="build only")
    options = parser.parse_args(arguments)

    build = Build()
    for page, modules in build.left_out.items():
        print(f"The chapter {page} is left out: it needs {', '.join(modules)} (README, 'Another build of torch').")
    if options.clean:
        shutil.rmtree(build.folder, ignore_errors=True)
    if build.is_current():
        print("The book is up to date.")
    elif not build_pages(build):
        sys.exit("The book was not built: the warnings and errors are above.")
    if not options.no_checks and not build.recorded().get("checked") and not check_site(build):
        sys.exit("The book was built, but its site has the faults above.")
    print(f"\nOpen {build.html / 'index.html'}")


if __name__ == "__main__":
    main()
