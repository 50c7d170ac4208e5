# Each target prepares .venv by itself; ARGS is passed on:  make test ARGS="-k coriolis"

# The first Python that is new enough; choose another with  make PYTHON=python3.12
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
READY := .venv/ready
PACKAGES := common kernels client server tools benchmarks

# Programs keep their byte code, whatever the shell says: compiling it again is half of every start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help test demo bench screens lint clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    daemon, simulated robot and controller together, for some seconds"
	@echo "make test    run the tests"
	@echo "make bench   measure the kernels beside Pinocchio"
	@echo "make screens the screenshots of the documents, with chromium and prometheus"
	@echo "make lint    style, format and types"
	@echo "make clean   remove everything that make and the tests have made"

# The kernels are compiled first, once: otherwise each of pytest's processes would compile them.
test: $(READY)
	$(BIN)/torqued compile
	$(BIN)/python -m pytest -m "" $(ARGS)

demo: $(READY)
	$(BIN)/torqued demo $(ARGS)

bench: $(READY)
	$(BIN)/torqued bench kernels $(ARGS)

screens: $(READY)
	$(BIN)/python docs/figures/screens.py $(ARGS)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The links give the folders their import names for mypy, which does not follow the import hook
# of an editable install.
$(READY): pyproject.toml setup.py $(wildcard client/native/*)
	@test -n "$(PYTHON)" || { echo "torqued needs Python 3.11 or newer: make PYTHON=/path/to/python3" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	mkdir -p .venv/typing/torqued
	for package in $(PACKAGES); do ln -sfn "$(CURDIR)/$$package" .venv/typing/torqued/$$package; done
	touch $@

clean:
	rm -rf .venv build dist demo_results *.egg-info client/_native.*.so .hypothesis .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
