# `make` lists what can be made. Everything that is installed goes into .venv and target.

PYTHON ?= python3
BIN := .venv/bin
# maturin is found on the path when pip builds without isolation.
PIP := PATH="$(CURDIR)/.venv/bin:$$PATH" $(BIN)/pip --quiet --disable-pip-version-check
SOURCES := pyproject.toml Cargo.toml Cargo.lock \
    $(shell find crates \( -name '*.rs' -o -name '*.bin' -o -name Cargo.toml \) -not -path '*/tests/*')
# All crates, also the extension that has no tests, so that what they depend on is compiled once.
# Examples are compiled by lint.
CRATES := --locked --workspace
# Programs that start a thousand times compile what they import once, whatever the shell asks for.
unexport PYTHONDONTWRITEBYTECODE
CAPTURES := $(addprefix tests/data/, slow_reader.pcap receiver_window.pcap application.pcap \
    bulk_tbf_middle.pcap loss_middle.pcap)

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-rust test-python test-system lint fmt docs accuracy consistency \
    fit ablation bench clean

help: ## list what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: .venv/ready ## build, analyse the captures that come with the repository, print the table
	$(BIN)/tcpwhy analyze $(CAPTURES)

# The packages come over the network while the compiler works.
test: .venv/made ## build and run the tests that need nothing but this repository
	@$(MAKE) --no-print-directory .venv/packages & \
	cargo test $(CRATES) --tests --no-run; built=$$?; \
	wait $$! && exit $$built
	@$(MAKE) --no-print-directory test-rust test-python

# What counts allocations is a process of one thread, beside the others.
test-rust: .venv/made
	@cargo test $(CRATES) --test memory & \
	cargo test $(CRATES) --lib --test all; passed=$$?; \
	wait $$! && exit $$passed
	cargo test $(CRATES) --doc --quiet

# Each test stands alone: they are shared out among the processors.
test-python: .venv/extension
	$(BIN)/python -m pytest -m 'not system' --numprocesses logical --dist worksteal

# Two at a time: most of them wait, for a link or a server.
test-system: .venv/ready-dev ## the tests that need root, real time, servers or programs of others
	$(BIN)/python -m pytest -m system --numprocesses 2 --dist worksteal

lint: .venv/packages ## check style and types
	cargo fmt --all --check
	cargo clippy --locked --workspace --all-targets -- -D warnings
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

fmt: .venv/packages ## bring the sources into the house style
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

# What the tests need of others; of it Python compiles what they import.
.venv/packages: .venv/made pyproject.toml
	$(PIP) install --no-compile $$($(BIN)/python tools/requirements.py dev)
	@touch $@

# Another simulator's libraries, for the worlds that it judges: what its Python needs stays out.
.venv/ns3: .venv/made
	$(PIP) install --no-deps 'ns3==3.44.*'
	@touch $@

# An editable install: Python sources are used where they are, only Rust needs a build.
.venv/ready: .venv/made $(SOURCES)
	$(PIP) install --no-build-isolation --editable .
	@touch $@ .venv/extension

.venv/ready-dev: .venv/packages .venv/ready
	@touch $@

# The same for tests, in the profile of the tests in Rust: their dependencies are compiled already.
.venv/extension: $(SOURCES) | .venv/packages
	MATURIN_PEP517_ARGS='--profile dev' $(PIP) install --no-deps --no-build-isolation --editable .
	@rm -f .venv/ready && touch $@
