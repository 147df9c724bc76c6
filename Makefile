# The only entry for people and for CI. `make help` lists the targets.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
WORKERS ?= 2
# Tests side by side, each process with one thread, so that together they ask for no more than WORKERS cores.
export SIDE_BY_SIDE = --numprocesses $(WORKERS) --dist loadgroup

.DEFAULT_GOAL := help
.PHONY: help setup torch book notebooks notebooks-check assignments lab test lint bench scores lock clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

setup: $(READY)  ## make .venv and install everything at its locked version

$(READY): requirements/lock.txt requirements/torch.txt pyproject.toml tools/install_torch.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "$(PYTHON) is older than Python 3.11; say which one to use: make setup PYTHON=python3.12"; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "Installing the locked environment into $(VENV) (some minutes, once)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --requirement requirements/lock.txt
	@$(PY) tools/install_torch.py
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

torch: setup  ## install torch again, from TORCH_INDEX if that is set
	@$(PY) tools/install_torch.py

book: setup  ## build the book into _build/html
	@$(PY) tools/build_book.py

notebooks: setup  ## write the chapters as notebooks into book/notebooks, for Binder and Colab
	@$(PY) tools/build_notebooks.py

notebooks-check: setup  ## run every one of these notebooks in a fresh environment
	@CLUSTCAL_NOTEBOOKS=all $(PY) -m pytest tests/book/test_notebooks_run.py

assignments: setup  ## make the assignments for students and instructors, and prove that they grade right
	@$(PY) assignments/tools/build_assignments.py --jobs $(WORKERS)

lab: setup  ## open the chapters as notebooks in JupyterLab
	@JUPYTER_CONFIG_PATH=$(CURDIR)/tools/lab JUPYTER_PREFER_ENV_PATH=1 $(VENV)/bin/jupyter lab --ServerApp.root_dir=book

test: setup  ## run all tests
	@OMP_NUM_THREADS=1 $(PY) -m pytest $(SIDE_BY_SIDE)

lint: setup  ## check style, format and types
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

bench: setup  ## measure our fits beside those of other libraries
	@$(PY) -m tests.bench

scores: setup  ## train the models behind the shipped scores again (needs the raw data)
	@$(PY) -m clustcal.experiments.tabular.train_scores

lock: setup  ## resolve pyproject.toml anew; write requirements/ and environment.yml
	@$(PY) -m pip install --quiet --disable-pip-version-check uv
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) tools/lock.py

clean:  ## remove the built book, caches and the environment
	rm -rf $(VENV) _build .mypy_cache .pytest_cache .ruff_cache .hypothesis .benchmarks
	find clustcal tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
