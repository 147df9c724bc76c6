"""Notebooks as files, and commands run as a lecturer runs them."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "assignments" / "tools"


def run(*command, **how):
    """Run Python in a process of its own: grading forks, which a process with threads should not do."""
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True, check=False, **how)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def notebook(cells):
    """Return the text of a notebook with these cells, (type, source)."""
    made = [{"cell_type": kind, "metadata": {}, "source": source} for kind, source in cells]
    made = [cell | ({"outputs": [], "execution_count": None} if cell["cell_type"] == "code" else {}) for cell in made]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
