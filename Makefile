# Needs python3 (3.11 to 3.13, with venv) and make; everything else comes into .venv.
PY  ?= python3
BIN := .venv/bin
UV  := UV_PYTHON_DOWNLOADS=never $(BIN)/uv
SETUP := .venv/.ready
WORKERS ?= 2
EVERY   ?= 1

.PHONY: setup demo dev test services-test focus-validate services-sweep seaweedfs-test lint types bench sweep mutants survival lock clean

setup: $(SETUP)

$(BIN)/uv:
	$(PY) -m venv .venv
	$(BIN)/python -m pip install -q --disable-pip-version-check uv==0.13.9

$(SETUP): requirements.lock pyproject.toml | $(BIN)/uv
	$(UV) pip sync -q --python $(BIN)/python --require-hashes --only-binary :all: --no-binary pyvips --compile-bytecode requirements.lock
	$(UV) pip install -q --python $(BIN)/python --no-deps --no-build-isolation --compile-bytecode -e .
	$(UV) pip check -q --python $(BIN)/python
	$(BIN)/python -m compileall -q pipeline resources sensors
	touch $@

# Form, then the rooms of the house.
lint: $(SETUP)
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --no-cache --check .
	$(BIN)/lint-imports --no-cache --no-logo

types: $(SETUP)
	$(BIN)/mypy

# A sample campaign from brief to published videos; its runs stay to be seen under `make dev`.
demo: $(SETUP)
	$(BIN)/reelwright demo

dev: $(SETUP)
	$(BIN)/reelwright dev

# On SQLite and on PostgreSQL, which the tests start themselves: one a worker. Workers share a hash seed,
# as they must collect the same tests in the same order; it differs from run to run.
test: $(SETUP)
	seed=$$$$; echo "PYTHONHASHSEED=$$seed"; PYTHONHASHSEED=$$seed $(BIN)/pytest -q -n $(WORKERS) --dist worksteal --ignore=tests/services --ignore=tests/focus
	@echo "left out: the public FOCUS validator (make focus-validate), the real servers (make services-test)"

# On the real servers of production, which the tests start on loopback without Docker: one of each a worker.
# They are built and fetched first, once; what the machine lacks for that is named before any test begins.
services-test: $(SETUP)
	$(BIN)/python -m tests.services.programs
	seed=$$$$; echo "PYTHONHASHSEED=$$seed"; PYTHONHASHSEED=$$seed $(BIN)/pytest -q -n $(WORKERS) --dist worksteal tests/services

# The FinOps Foundation's validator on our export, in an environment and a Python 3.12 of its own.
focus-validate: $(SETUP)
	$(BIN)/python -m tests.focus.validator
	$(BIN)/pytest -q tests/focus

bench: $(SETUP)
	$(BIN)/python -m benchmarks

# Every kill point on both databases, and every variant; `make test` runs a sample.
sweep: $(SETUP)
	$(BIN)/python -m tests.faults.sweep

# Everybody killed, cut off and kept waiting at every request between product and servers: several hours;
# `make services-sweep EVERY=40` tries each fortieth. `make services-test` has five deaths of each server.
services-sweep: $(SETUP)
	$(BIN)/python -m tests.services.programs
	$(BIN)/python -m tests.services.faults.sweep --every $(EVERY)

# The object store's tests on a second S3 server. It is built once, in twenty minutes and six gigabytes.
seaweedfs-test: $(SETUP)
	$(BIN)/python -m tests.services.seaweedfs
	S3_SERVER=seaweedfs $(BIN)/pytest -q tests/services/s3

# Takes each guard out of a copy and wants a named test to fail.
mutants: $(SETUP)
	$(BIN)/python -m tests.faults.mutants

# Code server, run worker and daemon killed in each of ten moments under a real `dev`; about an hour and a half.
survival: $(SETUP)
	$(BIN)/python -m tests.dev.survival

# One lock for Python 3.11 to 3.13, Linux and macOS: hashes, no address.
lock: | $(BIN)/uv
	$(UV) pip compile pyproject.toml --extra production --extra celery --group dev --universal --python-version 3.11 --generate-hashes --fork-strategy fewest --no-strip-extras --no-annotate --no-header -q -o requirements.lock
	! grep -nE '://|^--' requirements.lock

clean:
	rm -rf .venv .reelwright
