# Two commands set everything up on a machine with Python 3.11 or newer and make:
#   make quickstart   installs and runs the main job
#   make test         installs and checks everything
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: quickstart test reproduction test-slow chaos check extras peers lock clean

quickstart: $(INSTALLED)
	$(BIN)/mixedne quickstart

test: check
	$(BIN)/pytest -n auto --dist loadfile

test-slow: $(INSTALLED)
	$(BIN)/pytest -n auto --dist loadfile -m slow

# Faults on purpose: kills, damage, full disks and more. It may take two hours.
chaos: $(INSTALLED)
	PYTHONPATH=tests $(BIN)/python -m chaos --seed 0

check: $(INSTALLED)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Optional parts; their tests are skipped without them.
extras: $(INSTALLED)
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements-extras.lock

# What the training benchmark compares with, in an environment of its own.
peers: .venv-peers/.installed

.venv-peers/.installed: requirements-benchmarks.lock
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

# The lock holds the exact versions of everything that is installed.
$(INSTALLED): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# pip-tools lives in an environment of its own: it would lock pip itself otherwise.
lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install --quiet --disable-pip-version-check pip-tools
	.venv-lock/bin/pip-compile --quiet --upgrade --extra dev --strip-extras \
	  --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-annotate --no-header \
	  --output-file requirements.lock pyproject.toml
	rm -rf .venv-lock

# The tables and figures of docs/reproduction.md, from the runs that are kept in results/.
reproduction: $(INSTALLED)
	$(BIN)/python benchmarks/reproduction.py
	$(BIN)/mixedne report results/reproduction --out reproduction.html --figures reproduction-figures

clean:
	rm -rf $(VENV) .venv-peers .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
