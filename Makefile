# Every command of the project; each runs its prerequisites first, and nothing twice.
BIN := .venv/bin
# `make test` checks the code while it sets up.
MAKEFLAGS += --jobs=2
TESTS ?= tests
# Tests that start a stack or Spark wait half of the time. So two files run concurrently, each process
# with its own stack, in the order of tests/conftest.py, so that the longest are not last.
# Tests marked `long` show a claim once more that another test shows: `make prove PART=long`.
# pytest exits with 5 if a selection contains no test.
HEAVY := stack or spark
# A process takes tests that follow one another, so that a module's fixture is seldom set up twice.
AT_ONCE := --numprocesses auto --maxprocesses 4 --dist worksteal
TWO_FILES := --numprocesses 2 --dist loadfile --no-loadscope-reorder

# Tests start hundreds of Python processes, and each would compile our modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup ui docs fmt lint fast test bench prove nightly lock

setup: .venv/ready
	$(BIN)/onceproof setup

.venv/ready: requirements.lock requirements-dev.lock pyproject.toml
	./setup.sh
	touch $@

# Playwright, for tests in Debian's Chromium (apt-get install chromium); without both they are skipped.
ui: .venv/ready
	./setup.sh requirements-ui.lock

# The documentation as a static site in site/, with search; a warning fails.
docs: .venv/ready
	./setup.sh requirements-docs.lock
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky --quiet -c docs . site
	@echo "open site/index.html"

fmt: .venv/ready
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fast: .venv/ready
	$(BIN)/pytest $(AT_ONCE) -m "not thorough" tests/unit tests/repo

test: lint setup
	$(BIN)/pytest $(AT_ONCE) -m "not long and not ($(HEAVY))" $(TESTS) || [ $$? -eq 5 ]
	$(BIN)/pytest $(TWO_FILES) -m "not long and ($(HEAVY))" $(TESTS) || [ $$? -eq 5 ]

bench: setup
	$(BIN)/python benchmarks/stack_start.py
	$(BIN)/python benchmarks/diff_speed.py 1

prove: setup
	$(BIN)/python -m tests.prove $(PART)

nightly: setup
	$(BIN)/onceproof nightly $(NIGHT)

lock: .venv/ready
	$(BIN)/uv pip compile pyproject.toml --extra all --output-file requirements.lock $(LOCKED)
	for group in dev ui docs; do $(COMPILE) --group $$group --output-file requirements-$$group.lock $(LOCKED) || exit; done
	$(BIN)/python -m onceproof.setup.relock jars.in jars.lock

# One file for Python 3.11 to 3.13, with hashes and without addresses.
COMPILE := $(BIN)/uv pip compile --constraint requirements.lock
LOCKED := --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --upgrade --quiet
