# `make` lists what can be made. Everything that is installed goes into .venv and target.

PYTHON ?= python3
BIN := .venv/bin
# maturin is found on the path when pip builds without isolation.
PIP := PATH="$(CURDIR)/.venv/bin:$$PATH" $(BIN)/pip --quiet --disable-pip-version-check
SOURCES := pyproject.toml Cargo.toml Cargo.lock \
    $(shell find crates \( -name '*.rs' -o -name Cargo.toml \) -not -path '*/tests/*')
CAPTURES := $(addprefix tests/data/, slow_reader.pcap receiver_window.pcap application.pcap \
    bulk_tbf_middle.pcap loss_middle.pcap)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-rust test-python test-system lint fmt docs accuracy consistency fit ablation bench clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/ready ## build, analyse the captures that come with the repository, print the table
	$(BIN)/tcpwhy analyze $(CAPTURES)

test: test-rust test-python ## build and run the tests that need nothing but this repository

test-rust: .venv/made
	cargo test --locked --workspace

test-python: .venv/ready-dev
	$(BIN)/python -m pytest --ignore tests/system

test-system: .venv/ready-dev ## the tests that need root, real time, servers or programs of others
	$(BIN)/python -m pytest tests/system

lint: .venv/ready-dev ## check style and types
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

fmt: .venv/ready-dev ## bring the sources into the house style
	cargo fmt --all
	$(BIN)/ruff check --fix --select I
	$(BIN)/ruff format

docs: .venv/ready-dev ## regenerate what the documentation quotes from the code and from runs
	$(BIN)/python tools/adaptivity_page.py
	$(BIN)/python tools/reference.py

accuracy: .venv/ready-dev ## measure how often the diagnosis is right; ACCURACY='--quick' chooses
	PYTHONPATH=tools $(BIN)/python -m accuracy $(ACCURACY)

consistency: .venv/ready-dev ## count rows that contradict themselves; CONSISTENCY='--quick' chooses
	PYTHONPATH=tools $(BIN)/python -m consistency $(CONSISTENCY)

fit: .venv/ready-dev ## fit the weights of the evidence model; FIT='--worlds 400' chooses
	$(PIP) install --no-build-isolation --editable '.[fit]'
	PYTHONPATH=tools $(BIN)/python -m fit $(FIT)

ablation: .venv/ready-dev ## measure what each item of evidence and each family is worth
	$(PIP) install --no-build-isolation --editable '.[fit]'
	PYTHONPATH=tools $(BIN)/python -m fit.ablation

bench: .venv/ready ## measure the command and its engine; BENCH='--peers paper-1024' chooses
	$(BIN)/python tools/bench.py $(BENCH)
	$(PYTHON) tools/bench_sim.py

clean: ## remove everything that was built or installed
	rm -rf .venv target dist python/tcpwhy/*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis

# The virtual environment, with what the build itself needs.
.venv/made: tools/preflight.sh
	@sh tools/preflight.sh $(PYTHON)
	$(PYTHON) -m venv .venv
	$(PIP) install 'maturin>=1.9,<2'
	@touch $@

# An editable install: Python sources are used where they are, only Rust needs a build.
.venv/ready: .venv/made $(SOURCES)
	$(PIP) install --no-build-isolation --editable .
	@touch $@

.venv/ready-dev: .venv/made $(SOURCES)
	$(PIP) install --no-build-isolation --editable '.[dev]'
	@touch .venv/ready $@
