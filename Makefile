# Each target sets up .venv by itself and rebuilds only what changed. `make PYTHON=python3.13 VENV=.venv313 test` takes another Python.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
NATIVE := $(wildcard src/neglog/_core/*.* src/neglog/_core/*/*) CMakeLists.txt pyproject.toml

# Options of pytest that choose among all tests: `make test SELECTED=tests/laws`
SELECTED ?=

# What is run on other builds of the core: that each loop is right, and reads nothing but its rows, wherever they begin
ON_OTHER_CORES := tests/laws tests/solvers tests/boosting tests/inference/test_optimality.py tests/inference/test_idle_rows.py
CLANG ?= $(shell for name in clang++ clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14; do command -v $$name && break; done)
SANITIZERS := -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

.PHONY: setup demo demo-claims test fuzz clang sanitize check bench docs docs-test readme clean

# Everything that working on neglog takes: the package, the tools of its tests and checks, and the hooks before a commit
setup: $(VENV)/tested $(VENV)/checked
	test ! -e .git || $(BIN)/pre-commit install

demo: $(VENV)/installed
	mkdir -p build
	$(BIN)/neglog compare demo/doctor_visits.parquet --target visits --structures linear,smooth --report build/doctor_visits.html

# Claims that a script makes: curves, groups, exposure, factor tables, and the prediction as SQL
demo-claims: $(VENV)/installed
	mkdir -p build
	$(BIN)/python demo/make_claims.py build/claims.parquet
	$(BIN)/neglog compare build/claims.parquet --target claims --exposure years --structures linear,smooth --report build/claims.html
	$(BIN)/neglog fit build/claims.parquet --target claims --exposure years --noise negativebinomial --smooth age,power --group region --save build/claims.json
	$(BIN)/neglog export build/claims.json --relativities build/relativities.csv
	$(BIN)/neglog export build/claims.json --sql --dialect sqlite -o build/claims.sql

test: $(VENV)/tested
	$(BIN)/python -m pytest -n auto $(SELECTED)

# 20,000 random problems, each judged by objectives of its own; `$(BIN)/python tests/fuzz/run.py --seed N` looks at one
fuzz: $(VENV)/tested
	$(BIN)/python tests/fuzz/run.py

# The core as clang builds it
clang: build/clang/built $(VENV)/tested
	OTHER_CORE=build/clang/site PYTHONPATH=tools $(BIN)/python -m pytest -q -p other_core -n auto $(ON_OTHER_CORES)

# The core under address and undefined-behaviour sanitizers. Leaks are not looked for: Python keeps what it has until the end.
sanitize: build/sanitize/built $(VENV)/tested
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" ASAN_OPTIONS=detect_leaks=0 \
	OTHER_CORE=build/sanitize/site PYTHONPATH=tools $(BIN)/python -m pytest -q -p other_core -n auto $(ON_OTHER_CORES)

check: $(VENV)/checked
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/import_directions.py
	git ls-files 'src/neglog/_core/*.hpp' 'src/neglog/_core/*.cpp' | xargs -r $(BIN)/clang-format --dry-run -Werror

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

# One marker file per group of packages. An editable install: Python sources are used as they lie. The core is built with the tools of
# the environment itself, whose place does not change, so that a changed header compiles again what includes it and nothing else.
$(VENV)/tools: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --group build
	touch $@

$(VENV)/installed: $(VENV)/tools $(NATIVE)
	$(BIN)/python -m pip install --quiet --no-build-isolation --editable .
	touch $@

$(VENV)/tested $(VENV)/checked $(VENV)/benched $(VENV)/documented: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --group $(group)
	touch $@

$(VENV)/tested: group = test
$(VENV)/checked: group = check
$(VENV)/benched: group = bench
$(VENV)/documented: group = docs

build/clang/built: $(NATIVE) | $(VENV)/installed
	rm -rf $(@D)/site
	CXX=$(CLANG) $(other_core)
	touch $@

build/sanitize/built: $(NATIVE) | $(VENV)/installed
	rm -rf $(@D)/site
	CXX=g++ CXXFLAGS="$(SANITIZERS)" $(other_core) -C cmake.build-type=Debug -C cmake.define.NEGLOG_KERNELS=-O1
	touch $@

# A build apart from the installed one: the package again, with its own core, of which only that is used
other_core = $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --target $(@D)/site -C build-dir=$(@D)/cmake .

docs/node_modules/installed: docs/package-lock.json
	cd docs && npm ci --silent
	touch $@
