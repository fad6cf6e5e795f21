PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
BROWSER := $(VENV)/.installed-browser
ORACLES := $(VENV)/.installed-oracles
# how long the long tests look for silent differences on random models, both workers together
FUZZ_MINUTES ?= 60

.DEFAULT_GOAL := help
.PHONY: help release run demo test test-long test-browser lint format docs bench bench-peers clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(INSTALLED): pyproject.toml requirements.lock
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -r requirements.lock
	$(BIN)/python -m pip install --no-deps --no-build-isolation -e .
	touch $@

run: $(INSTALLED) ## Compute the figures and tables of the papers again and judge their claims, into report/
	$(BIN)/dalembert reproduce --quick --out report

demo: $(INSTALLED) ## Run the gallery and measure the claims of some methods, into report-demo/
	$(BIN)/dalembert demo --out report-demo

test: $(INSTALLED) ## Run the fast tests, and name the twenty slowest
	$(BIN)/pytest -n 2 -q --durations=20

$(ORACLES): $(INSTALLED) requirements-oracles.lock
	$(BIN)/python -m pip install -r requirements-oracles.lock
	touch $@

test-long: $(ORACLES) ## Run the long tests and the comparisons with other programs
	DALEMBERT_FUZZ_MINUTES=$(FUZZ_MINUTES) $(BIN)/pytest -n 2 -m "long or oracle"

$(BROWSER): $(INSTALLED) requirements-browser.lock
	command -v chromium chromium-browser google-chrome || test -n "$(CHROMIUM)" || apt-get install -y chromium
	$(BIN)/python -m pip install -r requirements-browser.lock
	touch $@

test-browser: $(BROWSER) ## Look at the report, the documentation and the studio in a headless Chromium
	DALEMBERT_BROWSER=required $(BIN)/pytest -q -m long tests/browser

lint: $(INSTALLED) ## Check formatting, style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

format: $(INSTALLED) ## Format the code and apply the safe fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(INSTALLED) ## Build the documentation into site/
	$(BIN)/mkdocs build --strict

bench: $(INSTALLED) ## Run the benchmarks
	$(BIN)/python -m benchmarks

bench-peers: $(INSTALLED) ## Compare with other programs, each installed into .peers/ on demand
	$(BIN)/python -m benchmarks.peers $(ARGS)

audit: $(INSTALLED) ## Measure every claim of every method on every system, into docs/audit.md
	$(BIN)/python docs/make_audit.py

release: $(INSTALLED) ## Build wheel and sdist into dist/ and try each in an empty environment
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	$(BIN)/python tests/try_release.py dist

clean: ## Remove everything generated except the virtual environment
	rm -rf report report-demo site build dist .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
