# Two commands do everything on a fresh machine: `make demo` and `make test`.
# A target rebuilds what its inputs changed since, and only that.

VENV := .venv
BIN := $(VENV)/bin
SAMPLE := examples/sample_table
ICEBERG := examples/sample_iceberg_table
# Where its metadata says that it is, and where it is.
ICEBERG_WRITTEN := /tmp/lakebed/shop/orders
MOVED := --relocate $(ICEBERG_WRITTEN)=$(ICEBERG)

# What the wheel is made of.
WHEEL_INPUTS := $(shell find rust/lakebed* python -type f \( -name '*.rs' -o -name '*.py' -o -name '*.pyi' -o -name 'Cargo.toml' -o -name 'py.typed' \)) \
	Cargo.toml Cargo.lock pyproject.toml

TOOLS := $(VENV)/.tools
WHEEL := $(VENV)/.wheel
SPARK_35 := $(VENV)/spark-3.5

# One interpreter for PyO3's build script in every cargo command, so that none rebuilds the other's work; Spark's
# workers run it too, since lakebed is installed in it.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PYSPARK_PYTHON := $(PYO3_PYTHON)
# A local Spark talks to itself alone.
export SPARK_LOCAL_IP := 127.0.0.1

.DEFAULT_GOAL := help
.PHONY: help preflight venv build all test test-rust test-python test-spark fuzz trust lint fmt bench bench-full bench-check bench-instructions demo sample-tables clean

help: ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name text; do \
		printf '  %-18s %s\n' "$$name" "$$text"; done

preflight: ## Name what this machine lacks, and how to get it
	@.ci/preflight.sh

venv: $(TOOLS) ## Make .venv with the pinned tools of constraints.txt

build: $(WHEEL) ## Build the wheel in release profile and install it into .venv

all: test bench ## Run the tests, then the benches

test: lint test-rust test-python fuzz ## Run everything: format, lint, types, stubs, Rust, Python, Spark, fuzzing

test-rust: $(TOOLS) ## Run the Rust tests (dev profile)
	cargo test --workspace --locked

test-python: $(WHEEL) $(SPARK_35)/.installed ## Run the Python tests, Spark's among them, against the installed wheel
	$(BIN)/pytest
	PYTHONPATH=$(CURDIR)/$(SPARK_35) $(BIN)/pytest -m 'spark and not slow'

test-spark: $(WHEEL) $(SPARK_35)/.installed ## Run only the tests that start a JVM, in PySpark 4 and 3.5
	$(BIN)/pytest -m 'spark or jvm'
	PYTHONPATH=$(CURDIR)/$(SPARK_35) $(BIN)/pytest -m 'spark and not slow'

fuzz: | preflight ## Fuzz each of the five targets for a minute, or FUZZ_SECONDS=…, or FUZZ_RUNS=… runs
	rust/fuzz/run.sh

trust: $(WHEEL) ## Run the long forms of the tests of trust: a figure for each goal, two builds of one wheel, sanitizers
	LAKEBED_TRUST=1 $(BIN)/pytest -m trust --timeout=7200
	LAKEBED_TWIN_FILES=100000 cargo test --release --locked -p lakebed-avro --test twin
	$(BIN)/python tests/peers/table.py && .ci/wheel_twice.sh && .ci/sanitized.sh

lint: $(WHEEL) ## Check format, lints, types, and the stub against the compiled module
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	$(BIN)/ruff format --check && $(BIN)/ruff check
	$(BIN)/mypy && $(BIN)/mypy --allow-untyped-defs --allow-incomplete-defs --allow-untyped-calls tests
	$(BIN)/stubtest lakebed._native --mypy-config-file pyproject.toml

fmt: $(TOOLS) ## Format Rust and Python, and apply the lints' own fixes
	cargo fmt --all
	$(BIN)/ruff check --fix && $(BIN)/ruff format

bench: $(WHEEL) ## Print speed and memory beside other readers: some inputs, about ten minutes
	$(BIN)/python benches/bench_import.py
	$(BIN)/python benches/bench.py --suite quick $(BENCH)

bench-full: $(WHEEL) ## Print the same of all inputs and tasks, which takes hours (BENCH='--tables … --json …' chooses)
	$(BIN)/python benches/bench_import.py
	$(BIN)/python benches/bench.py --suite full $(BENCH)

bench-check: $(TOOLS) ## Compare two result files by ratios: OLD=… NEW=… as BENCH='--json …' wrote them
	$(BIN)/python benches/compare.py $(OLD) $(NEW)

bench-instructions: $(TOOLS) ## Count the instructions of the decode loops against those recorded (needs valgrind)
	$(BIN)/python benches/instructions.py

demo: $(WHEEL) ## Show both sample tables on the command line, then through a local Spark
	$(BIN)/lakebed show $(SAMPLE)
	$(BIN)/lakebed files $(SAMPLE) --where "region = 'emea'" --columns partition,bucket,record_count,file_size_in_bytes
	$(BIN)/lakebed show $(ICEBERG) $(MOVED)
	$(BIN)/lakebed files $(ICEBERG) $(MOVED) --where "region = 'emea'" --columns content,partition,record_count,file_size_in_bytes
	$(BIN)/lakebed deletes $(ICEBERG) $(MOVED) --columns content,partition,record_count,referenced_data_file
	$(BIN)/python examples/spark_scan.py

sample-tables: | preflight ## Write both tables of examples/ again with their formats' Java engines (needs Maven)
	@command -v mvn >/dev/null || { echo 'missing: Maven' >&2; echo '    get it: apt-get install maven, or brew install maven' >&2; exit 1; }
	TZ=UTC mvn -q -B -f examples/sample_table_writer/pom.xml compile exec:java -Dexec.args=$(CURDIR)/$(SAMPLE)
	TZ=UTC mvn -q -B -f examples/sample_iceberg_table_writer/pom.xml compile exec:java "-Dexec.args=$(ICEBERG_WRITTEN) $(CURDIR)/$(ICEBERG)"

clean: ## Remove all that was built, .venv too
	rm -rf build $(VENV) target dist .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse

$(TOOLS): constraints.txt pyproject.toml | preflight
	test -x $(BIN)/python || "$$(.ci/preflight.sh python)" -m venv $(VENV)
	$(BIN)/python -m pip install -q -c constraints.txt pip
	$(BIN)/python -m pip install -q -c constraints.txt --group dev
	@touch $@

# The same interpreter and wheel, another Spark.
$(SPARK_35)/.installed: constraints-spark-3.5.txt $(TOOLS)
	rm -rf $(SPARK_35)
	$(BIN)/python -m pip install -q --no-deps --target $(SPARK_35) -r constraints-spark-3.5.txt
	@touch $@

# No build isolation: maturin is the pinned one, already there.
$(WHEEL): $(TOOLS) $(WHEEL_INPUTS)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install -q -c constraints.txt --no-build-isolation .
	@touch $@
