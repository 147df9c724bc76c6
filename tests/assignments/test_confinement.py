"""What the page for instructors says is prevented is prevented here, with and without Landlock."""

import json
import os
import sys

import confinement
import pytest
from submitting import ROOT, TOOLS, run

TRY = """
import json, sys, confinement
if sys.argv[1] == "without":
    confinement.landlock_version = lambda: 0
print(json.dumps([what for what, stopped in confinement.protection().items() if not stopped]))
"""
FILES = {"write outside of its temporary folder", "change a file of the grader", "read the checks or other notebooks"}
NETWORK = {"open a TCP connection", "send UDP packets"}


def possible(landlock):
    return set(json.loads(run("-c", TRY, landlock, cwd=TOOLS)))


def expected(landlock):
    """What the page says is possible."""
    root, version = os.geteuid() == 0, confinement.landlock_version() if landlock == "with" else 0
    readable = all(map(confinement.others_can_read, confinement.readable()))
    possible = set() if version >= 1 else {"write outside of its temporary folder"} if root and readable else FILES
    if not root:
        possible = possible | {"send UDP packets"} | ({"open a TCP connection"} if version < 4 else set())
    if version < 6 and not (root and (readable or version >= 1)):
        possible = possible | {"end the grader"}
    if root and not readable and version < 1:
        possible = possible | {"start processes"}
    return possible


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the page speaks of Linux")
@pytest.mark.parametrize("landlock", ["with", "without"])
def test_what_is_possible_is_what_the_page_says(landlock):
    assert possible(landlock) == expected(landlock)


def test_every_attempt_is_on_the_page():
    page = (ROOT / "book" / "course" / "instructors.md").read_text(encoding="utf-8")
    words = {
        "change a file of the grader": "write outside of its temporary folder",
        "start processes": "start processes or threads",
        "read the checks or other notebooks": "read the checks, or other notebooks",
        "use more memory than it may": "use more memory or time than it may",
        "open a TCP connection": "reach the network by TCP",
    }
    assert [what for what in confinement.ATTEMPTS if f"| {words.get(what, what)} |" not in page] == []
