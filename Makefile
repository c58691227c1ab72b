# Two commands set everything up on a machine with Python 3.11 or newer and make:
#   make quickstart   installs and runs the main job
#   make test         installs and checks everything
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: quickstart test reproduction test-slow chaos check extras peers docs dist lock clean

quickstart: $(INSTALLED)
	$(BIN)/mixedne quickstart

test: check
	$(BIN)/pytest -n auto --dist loadfile

# Compiled as it is for users; for the fast tests it is done faster (tests/conftest.py).
test-slow: $(INSTALLED)
	XLA_FLAGS=--xla_cpu_multi_thread_eigen=false $(BIN)/pytest -n auto --dist loadfile -m slow

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

# The documentation as a site, in site/. Links that lead nowhere are errors. Nothing is fetched.
docs: $(INSTALLED) .venv-docs/.installed
	MIXEDNE=$(BIN)/mixedne NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict

.venv-docs/.installed: requirements-docs.lock
	$(PYTHON) -m venv .venv-docs
	.venv-docs/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

# Wheel and sdist, in dist/; the wheel is installed into a fresh environment and tried from elsewhere.
dist: .venv-build/.installed
	rm -rf dist .venv-dist
	.venv-build/bin/python -m build --no-isolation --outdir dist .
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/pip install --quiet --disable-pip-version-check --constraint requirements.lock dist/*.whl
	cd / && $(CURDIR)/.venv-dist/bin/python -I $(CURDIR)/tests/smoke.py
	ls -l dist

.venv-build/.installed: requirements-build.lock
	$(PYTHON) -m venv .venv-build
	.venv-build/bin/pip install --quiet --disable-pip-version-check --requirement $<
	touch $@

# The lock holds the exact versions of everything that is installed.
$(INSTALLED): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# pip-tools lives in an environment of its own: it would lock pip itself otherwise.
COMPILE := .venv-lock/bin/pip-compile --quiet --upgrade --strip-extras --no-emit-index-url \
  --no-emit-find-links --no-emit-trusted-host --no-annotate --no-header
lock:
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip install --quiet --disable-pip-version-check pip-tools
	$(COMPILE) --extra dev --output-file requirements.lock pyproject.toml
	$(COMPILE) --output-file requirements-docs.lock requirements-docs.in
	$(COMPILE) --output-file requirements-build.lock requirements-build.in
	rm -rf .venv-lock

# The tables and figures of docs/reproduction.md and docs/vpg.md, from what is kept in results/.
reproduction: $(INSTALLED)
	$(BIN)/python benchmarks/reproduction.py
	$(BIN)/python benchmarks/vpg.py
	$(BIN)/mixedne report results/reproduction --out reproduction.html --figures reproduction-figures

clean:
	rm -rf $(VENV) .venv-peers .venv-docs .venv-build .venv-dist site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
