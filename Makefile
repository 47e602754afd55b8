# Each target sets up .venv by itself and rebuilds only what changed. `make PYTHON=python3.13 VENV=.venv313 test` takes another Python.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NATIVE := $(wildcard src/neglog/_core/*.* src/neglog/_core/bindings/*) CMakeLists.txt pyproject.toml

.PHONY: demo test fuzz check bench docs docs-test readme clean

demo: $(VENV)/installed
	mkdir -p build
	$(BIN)/neglog compare demo/doctor_visits.parquet --target visits --report build/doctor_visits.html

test: $(VENV)/tested
	$(BIN)/python -m pytest -n auto

# 20,000 random problems, each judged by objectives of its own; `$(BIN)/python tests/fuzz/run.py --seed N` looks at one
fuzz: $(VENV)/tested
	$(BIN)/python tests/fuzz/run.py

check: $(VENV)/checked
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/import_directions.py

bench: $(VENV)/benched
	$(BIN)/python benchmarks/run.py

docs: $(VENV)/documented docs/node_modules/installed
	cd docs && npm run --silent build
	$(BIN)/sphinx-build -W --keep-going -q -j auto docs docs/_build/html

docs-test: docs $(VENV)/tested
	$(BIN)/python -m pytest tests/docs

readme: $(VENV)/installed
	$(BIN)/python tools/readme_table.py

clean:
	rm -rf .venv* build docs/_build docs/node_modules docs/_static/bundle*

# One marker file per group of packages. An editable install: Python sources are used as they lie, the core is compiled once.
$(VENV)/installed: $(NATIVE)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/tested $(VENV)/checked $(VENV)/benched $(VENV)/documented: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --group $(group)
	touch $@

$(VENV)/tested: group = test
$(VENV)/checked: group = check
$(VENV)/benched: group = bench
$(VENV)/documented: group = docs

docs/node_modules/installed: docs/package-lock.json
	cd docs && npm ci --silent
	touch $@
