"""Install the locked torch as a CPU build, never several gigabytes of GPU libraries unasked (`make setup`).

1. TORCH_INDEX given: install from that index, with whatever it brings (this is how to get a GPU build).
2. Otherwise the CPU index of the PyTorch project, without dependencies (the lock holds them).
3. If that cannot be reached: the configured package index, if what it offers for this machine is a CPU build.
4. If it is not: leave torch out and say so. Everything but the deep-learning parts works without it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
REQUIREMENT = str(Path(__file__).resolve().parent.parent / "requirements" / "torch.txt")
PIP = [sys.executable, "-m", "pip", "install", "--quiet", "--requirement", REQUIREMENT]
GPU_LIBRARIES = ("nvidia", "cuda", "triton")


def pip(*options):
    return subprocess.run([*PIP, *options], capture_output=True, text=True)


def offered_build_is_for_cpu():
    """Ask the configured index which torch it would install here, without downloading it."""
    answer = pip("--no-deps", "--dry-run", "--ignore-installed", "--report", "-")
    if answer.returncode != 0:
        return False
    metadata = json.loads(answer.stdout)["install"][0]["metadata"]
    return not any(need.startswith(GPU_LIBRARIES) for need in metadata.get("requires_dist", []))


def main():
    index = os.environ.get("TORCH_INDEX")
    if index:
        done = pip("--index-url", index, "--force-reinstall")
        sys.exit(f"torch could not be installed from {index}:\n{done.stderr}" if done.returncode else 0)
    if pip("--no-deps", "--index-url", CPU_INDEX, "--timeout", "15", "--retries", "0").returncode == 0:
        return
    if offered_build_is_for_cpu() and pip("--no-deps").returncode == 0:
        return
    print(
        "torch was left out: no CPU build could be reached. The chapters and tests on deep networks are skipped.\n"
        "To add it later: TORCH_INDEX=<address of a PyTorch index> make torch (README, 'Another build of torch')."
    )


if __name__ == "__main__":
    main()
