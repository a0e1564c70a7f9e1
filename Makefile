# `make run` opens the program, `make test` runs all checks, `make release` builds all packages. Each sets up its tools.
PYTHON ?= python3
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := .venv/$(SCRIPTS)
export QT_LOGGING_RULES ?= qt.qpa.*.info=false

.PHONY: run test lowest setup lint bench shipped wheel bundle deb docs release lock clean

run: .venv/ready
	@problem=$$($(BIN)/python -c 'from slide_gui.gui.display import display_problem as p; print(p() or "")'); \
	if [ -z "$$problem" ]; then exec $(BIN)/slide-gui $(FILES); fi; \
	echo "slide-gui: $$problem"; \
	echo "Example figures and a picture of the window are written to out/:"; \
	exec $(BIN)/slide-gui demo --out out

# A crash in native code leaves the stacks of all threads on stderr, and a core file where the system allows it.
# Two cores run three test files at a time, because tests of the window also wait. Files are not divided, because their
# tests may share a program, and not sorted by their number of tests, because the longest have few and would come last.
# BLAS has one thread per process, because more threads than cores slow each other down. Compiled modules are always
# written, because the tests start many programs.
test: .venv/ready-tests lint
	ulimit -c unlimited 2>/dev/null; \
	PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 PYTHONFAULTHANDLER=1 \
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

# Run all tests with the lowest versions that pyproject.toml allows, in a separate environment.
lowest:
	$(PYTHON) packaging/lowest.py .venv-lowest

lint: .venv/ready-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell slide_gui tests packaging resources README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

# Measure speed and memory; NAMES="fit drag" selects benchmarks.
bench: .venv/ready-tests
	$(BIN)/python -m tests.bench $(NAMES)

# Compute the results in resources/shipped, which the package contains. An interrupted computation resumes.
# RESULTS=FOLDER adds the tables of the full protocol from the folder of slide-gui benchmark --results.
shipped: .venv/ready-tests
	OPENBLAS_NUM_THREADS=1 nice $(BIN)/python packaging/make_shipped.py $(RESULTS)

setup: .venv/ready-tests

.venv/ready: pyproject.toml packaging/bootstrap.py
	$(PYTHON) packaging/bootstrap.py
	@touch $@

.venv/ready-tests: pyproject.toml packaging/bootstrap.py
	$(PYTHON) packaging/bootstrap.py --tests
	@touch .venv/ready $@

# Build the packages in dist/, with tools in a separate environment; CONTRIBUTING.md describes their contents.
RELEASE := .venv-release/$(SCRIPTS)
bundle deb: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)

wheel: .venv-release/ready
	$(RELEASE)/python packaging/wheels.py dist

bundle: .venv-release/ready
	$(RELEASE)/pyinstaller --noconfirm --log-level WARN --distpath dist --workpath build packaging/slide-gui.spec
	$(RELEASE)/python packaging/check_bundle.py dist/slide-gui

deb: bundle
	$(RELEASE)/python packaging/deb.py dist/slide-gui build/slide-gui/icons dist

# Build the documentation in build/docs, without network.
docs: .venv-docs/ready
	PYTHONPATH="$(CURDIR)" .venv-docs/$(SCRIPTS)/python packaging/docs/build.py

.venv-docs/ready: pyproject.toml packaging/docs.lock
	$(PYTHON) -m venv --clear .venv-docs
	.venv-docs/$(SCRIPTS)/python -m pip install --quiet --require-hashes --requirement packaging/docs.lock
	@touch $@

release: .venv-release/ready
	$(RELEASE)/python packaging/release.py

# Lock the versions and hashes of all packages that releases and their documentation are built with, on all systems.
lock: .venv-release/ready
	for extra in release docs; do \
		$(RELEASE)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-annotate \
			--custom-compile-command 'make lock' --extra $$extra --output-file packaging/$$extra.lock pyproject.toml \
			|| exit; \
	done

.venv-release/ready: pyproject.toml packaging/release.lock
	$(PYTHON) -m venv .venv-release
	$(RELEASE)/python -m pip install --quiet --require-hashes --requirement packaging/release.lock
	$(RELEASE)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

clean:
	rm -rf .venv .venv-lowest .venv-release .venv-docs out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
