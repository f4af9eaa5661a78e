# Everything runs in .venv, which is built on first use and rebuilt when the declared versions change.
# PYTHON names the interpreter for a new environment, PIP_FLAGS replaces -qq, ARGS is passed to pytest.

PYTHON ?= python3
PIP_FLAGS ?= -qq
ARGS ?=

VENV := .venv
comma := ,
BIN := $(VENV)/bin
DECLARED := pyproject.toml constraints.txt src/guerdon/_version.py
# The stamps of what is installed, from least to most. An environment with more serves where less is asked for.
DEV := $(VENV)/.dev-installed
LINT := $(firstword $(wildcard $(DEV)) $(VENV)/.lint-installed)
TEST := $(firstword $(wildcard $(DEV) $(VENV)/.lint-installed) $(VENV)/.test-installed)
CORE := $(firstword $(wildcard $(DEV) $(VENV)/.lint-installed $(VENV)/.test-installed) $(VENV)/.core-installed)

# Three processes for two cores, since tests wait a good deal; eight at most. worksteal keeps neighbours together, so
# that they share what a module sets up.
WORKERS ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); echo $$((n > 5 ? 8 : n + (n + 1) / 2)))
# Hundreds of processes import guerdon: without bytecode files each would compile it.
PYTEST := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -rfEs -p support.durations --durations-file=.durations.json
PARALLEL := -n $(WORKERS) --dist worksteal
QUICK := not slow and not peers and not torch

.DEFAULT_GOAL := help
.PHONY: help demo test test-all attacks test-trainers peers check dev nightly bench soak clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | \
		awk -F'|' '{ printf "%-20s %s\n", $$1, $$2 }'

demo: $(CORE) ## Score the bundled sample conversations and show the statistics
	@$(BIN)/python examples/demo.py

test: $(TEST) ## Run the tests, some minutes; ARGS="tests/data -k csv" runs a part of them
	@echo "Running the tests with $$($(BIN)/python --version) …"
	@GUERDON_FUZZ_CASES=$${GUERDON_FUZZ_CASES:-200} $(PYTEST) $(PARALLEL) -m "$(QUICK)" $(ARGS)

test-all: $(DEV) peers ## Run every test, about an hour: the slow ones, PyTorch, ten minutes a fuzz target, other packages
	@GUERDON_FUZZ_CASES=$${GUERDON_FUZZ_CASES:-20000} $(PYTEST) $(PARALLEL) $(ARGS)

attacks: $(TEST) ## Run the corpus of attacks on the sandbox and the server of this machine, and list each with its result
	@$(PYTEST) -vv --no-header tests/sandbox/test_sandbox_corpus.py tests/serve/test_serve_corpus.py $(ARGS)

test-trainers: $(DEV) ## Run every test with trainers, those too that need large environments of their own
	@$(PYTEST) $(PARALLEL) tests/trainers tests/train tests/interop $(ARGS)

peers: $(DEV) ## Make the environments of the packages that Guerdon is tried against, several gigabytes
	@PYTHONPATH=tests $(BIN)/python -m interop.environments

check: $(LINT) ## Lint, formatting, types, import layers, rules of the house, the generated help page
	@PYTHONPATH=tests OMP_NUM_THREADS=1 $(BIN)/python -m support.run_checks

dev: $(DEV) ## Install all that development needs, with PyTorch: several gigabytes where a GPU is supported

nightly: check test-all soak ## All that there is to run, some hours

bench: $(DEV) ## Measure the scoring engine, the server, the clients, the sandbox and verifiers against others
	@OMP_NUM_THREADS=1 $(BIN)/python benchmarks/scoring.py
	@OMP_NUM_THREADS=1 $(BIN)/python benchmarks/serving.py
	@OMP_NUM_THREADS=1 $(BIN)/python benchmarks/calling.py
	@OMP_NUM_THREADS=1 $(BIN)/python benchmarks/sandbox.py
	@OMP_NUM_THREADS=1 $(BIN)/python benchmarks/verifiers.py
	@OMP_NUM_THREADS=1 $(BIN)/python benchmarks/trainers.py

soak: $(DEV) ## Long loads, to see whether the memory of the server and of the sandbox stays flat
	@OMP_NUM_THREADS=1 $(BIN)/python benchmarks/soak.py
	@OMP_NUM_THREADS=1 $(BIN)/python benchmarks/sandbox_soak.py

clean: ## Remove the environment, the caches and what was built
	@rm -rf $(VENV) .durations*.json build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.core-installed: $(DECLARED)
	$(call environment)
	@echo "Installing guerdon …"
	$(call install,.)
	@touch $@

$(VENV)/.test-installed: $(DECLARED)
	$(call environment)
	@echo "Installing guerdon with its extras and pytest: a minute or two …"
	$(call install,.[test])
	@touch $@

$(VENV)/.lint-installed: $(DECLARED)
	$(call environment)
	@echo "Installing guerdon with its extras, pytest, ruff and mypy: a minute or two …"
	$(call install,.[test$(comma)lint])
	@touch $@

$(DEV): $(DECLARED)
	$(call environment)
	@echo "Installing guerdon with every extra and all development tools: some minutes …"
	$(call install,.[dev])
	@touch $@

# Makes the virtual environment unless a working one is there. The checks come first because what python
# itself says about an old version or a missing module is no help to a newcomer.
define environment
@if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	command -v "$(PYTHON)" >/dev/null 2>&1 || { \
		echo "There is no $(PYTHON). Install Python 3.11 or later, or name one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
		exit 1; }; \
	"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Guerdon needs Python 3.11 or later, and $(PYTHON) is $$("$(PYTHON)" --version 2>&1)." >&2; \
		echo "Name a later one: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; \
		exit 1; }; \
	"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments: its venv module is missing." >&2; \
		echo "On Debian and Ubuntu: apt-get install python3-venv" >&2; \
		exit 1; }; \
	echo "Making an environment in $(VENV) with $$("$(PYTHON)" --version) …"; \
	"$(PYTHON)" -m venv --clear $(VENV); \
fi
endef

define install
@$(BIN)/python -m pip install $(PIP_FLAGS) --disable-pip-version-check -c constraints.txt -e "$(1)" || { \
	echo "The installation failed; to see all of it: make PIP_FLAGS=-v $(MAKECMDGOALS)" >&2; \
	exit 1; }
endef
