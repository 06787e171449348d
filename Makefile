# Two commands do everything on a fresh machine: `make demo` and `make test`. A target rebuilds what its inputs changed since, and only that.

VENV := .venv
BIN := $(VENV)/bin
SAMPLE := examples/sample_table
ICEBERG := examples/sample_iceberg_table
# Where its metadata says that it is, and where it is.
ICEBERG_WRITTEN := /tmp/lakebed/shop/orders

# What the wheel is made of.
WHEEL_INPUTS := $(shell find rust/lakebed* python -type f \( -name '*.rs' -o -name '*.py' -o -name '*.pyi' -o -name 'Cargo.toml' -o -name 'py.typed' -o -name '*.tar.gz' \)) \
	Cargo.toml Cargo.lock .cargo/config.toml pyproject.toml

PYTHON := $(VENV)/.python# all that cargo needs: it compiles while the tools are installed
TOOLS := $(VENV)/.tools
SPARK_35 := $(VENV)/spark-3.5
DOCS := $(VENV)/docs
# The wheel in .venv is of one profile at a time, and its stamp says of which: what tests run is compiled in seconds
# and checks more, what is measured and shown is what users get.
CHECKED := $(VENV)/.wheel-checked
RELEASED := $(VENV)/.wheel-released

# Workers of pytest: one a core, but each may have a JVM.
PYTEST := $(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist loadgroup --no-loadscope-reorder
# With JVMs one more: a worker waits while its JVM works, and the other way round.
ONE_MORE := PYTEST_XDIST_AUTO_NUM_WORKERS=$(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# Part of the suite that `make check` is asked for, as in `make check AREA=iceberg`: a word of files' and tests' names.
AREA ?=
ONLY := $(if $(AREA),-k $(AREA))

# One interpreter for PyO3's build script in all cargo commands, and for Spark's workers: lakebed is installed in it.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
export PYSPARK_PYTHON := $(PYO3_PYTHON)
# A local Spark talks to itself alone.
export SPARK_LOCAL_IP := 127.0.0.1
# Thousands of small files take as long as half of the tests on a disk: in memory where two gigabytes are left there.
export PYTEST_DEBUG_TEMPROOT := $(shell .ci/temporary.sh)
# Make's own flags are no use for cargo, and without what Python compiled every worker rewrites all tests' assertions again.
unexport MAKEFLAGS MFLAGS PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help preflight venv build release check test trust lint lint-rust lint-python lint-stub test-rust test-python test-fast test-spark-oldest test-own-data test-servers test-recipes engines trust-python trust-spark-oldest trust-decoder trust-peers trust-wheel trust-sanitized fuzz fmt bench bench-full bench-check bench-instructions demo sample-tables wheels docs clean

help: ## List the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r name text; do \
		printf '  %-18s %s\n' "$$name" "$$text"; done

preflight: ## Name what this machine lacks, and how to get it
	@.ci/preflight.sh

venv: $(TOOLS) ## Make .venv with the pinned tools of constraints.txt

build: $(CHECKED) ## Build lakebed as tests want it, incremental and with checks, and install it into .venv

release: $(RELEASED) ## Build the wheel that users get, and install it into .venv

check: ## Run what needs no JVM: format, lint, types, Rust and Python (AREA=iceberg: of that area alone); minutes
	@.ci/parts.sh "lint test-rust test-fast"

test: ## Run everything once: what check does, with Spark, the Java engines and races; twenty minutes
	@.ci/parts.sh "lint test-rust engines" "test-python test-spark-oldest"

trust: ## Run everything in its long form: all tables through all doors, both Sparks, kills, fuzzing, sanitizers; hours
	@.ci/parts.sh trust-python trust-spark-oldest test-servers test-recipes trust-decoder fuzz trust-peers trust-older trust-wheel trust-sanitized

# Two by themselves: the codecs of the reference decoder and the client of S3 are not the wheel's. With lakebed-python, which has no tests, the decoder's
# take most of what is compiled; optimising them as the wheel would take a minute and win seconds. nice: they take what tests of Python leave.
test-rust: $(PYTHON) ## Run the Rust tests, the corpora of the fuzzers among them
	nice cargo test --workspace --exclude lakebed-avro --features lakebed/toy --locked $(AREA)
	nice cargo test --package lakebed-avro --package lakebed-python --config profile.dev.package.lakebed-avro.opt-level=1 --locked $(AREA)
	cd rust/lakebed-object-store && nice cargo test --locked $(AREA)

test-fast: $(CHECKED) ## Run the Python tests that start no JVM
	LAKEBED_QUICK=1 $(PYTEST) -m 'not spark and not jvm' $(ONLY)

test-python: $(CHECKED) ## Run the Python tests, with PySpark 4 and the Java engines, and name the slowest
	$(ONE_MORE) $(PYTEST) --durations 20 --durations-min 1

engines: $(TOOLS) $(SPARK_35)/.installed ## Fetch what the tests ask: PySpark 3.5, and by Maven the Java engines (without it: skipped)
	$(BIN)/python tests/java_engine.py

test-spark-oldest: $(CHECKED) $(SPARK_35)/.installed ## Run a smoke of every function with PySpark 3.5, and the formats' own runtimes for it
	PYTHONPATH=$(CURDIR)/$(SPARK_35) $(PYTEST) --numprocesses 1 -m spark_35 tests/spark

# Which tables cover all features, and what engines make of those, is another question with other data.
test-own-data: $(CHECKED) $(SPARK_35)/.installed ## Run what Spark and the Java engines are asked of each table with the project's own data alone, as in a clone with nothing beside it
	LAKEBED_SHARED= $(ONE_MORE) $(PYTEST) -m 'golden and (spark or jvm)'
	LAKEBED_SHARED= PYTHONPATH=$(CURDIR)/$(SPARK_35) $(PYTEST) --numprocesses 1 -m 'golden and spark_35' tests/spark

test-servers: $(CHECKED) ## Run the tests of object stores against MinIO, built from its Go module (without Go: skipped)
	@.ci/servers.sh $(SERVERS) $(PYTEST)

test-recipes: $(CHECKED) ## Run the recipes of examples/alerts by Airflow, Dagster and dbt, which it installs
	@.ci/recipes.sh $(PYTEST)

fuzz: | preflight ## Fuzz each target for a minute, or FUZZ_SECONDS=…, or FUZZ_RUNS=… runs
	rust/fuzz/run.sh

trust-python: $(RELEASED) ## The long forms of all Python tests, with PySpark 4 and the Java engines
	LAKEBED_TRUST=1 $(PYTEST) --timeout=7200 --durations 20

trust-spark-oldest: $(RELEASED) $(SPARK_35)/.installed ## The long forms of all tests of Spark, with PySpark 3.5
	PYTHONPATH=$(CURDIR)/$(SPARK_35) LAKEBED_TRUST=1 $(PYTEST) --timeout=7200 -m spark

trust-decoder: $(PYTHON) ## The long forms of the Rust tests: 100,000 random files through the decoder and its reference decoder, 3,000 through each property
	LAKEBED_RANDOM_FILES=100000 cargo test --release --locked -p lakebed-avro --test reference_decoder
	LAKEBED_RANDOM_FILES=3000 cargo test --release --locked -p lakebed-avro --test '*'
	LAKEBED_TRUST=1 cargo test --release --locked -p lakebed

trust-peers: $(RELEASED) ## Make docs/peers.md and docs/answers.md again: damaged files in each reader, and what engines answered
	.ci/peers.sh $(BIN)/python

trust-older: $(RELEASED) ## What is below PyIceberg and pypaimon, with their older releases: our tests, and their own with lakebed below and without
	.ci/older.sh $(BIN)/python

trust-wheel: $(TOOLS) ## Build the wheel twice, and compare
	.ci/wheel_twice.sh

trust-sanitized: $(PYTHON) ## The Rust tests under AddressSanitizer, the decoder's under valgrind
	.ci/sanitized.sh

lint: lint-rust lint-python lint-stub ## Check format, lints, types, and the stub against the compiled module

lint-rust: $(PYTHON) ## Check format and lints of Rust, and that the crates' public items are those of tests/data/rust_api.txt
	PATH="$(CURDIR)/$(BIN):$$PATH" .ci/lint_rust.sh

lint-python: $(TOOLS) ## Check format, lints and types of Python
	$(BIN)/ruff format --check && $(BIN)/ruff check
	$(BIN)/mypy && $(BIN)/mypy --cache-dir .mypy_cache/tests --allow-untyped-defs --allow-incomplete-defs --allow-untyped-calls tests

lint-stub: $(CHECKED) ## Compare the stub with the compiled module
	$(BIN)/stubtest lakebed._native --mypy-config-file .ci/stubtest.ini

fmt: $(TOOLS) ## Format Rust and Python, and apply the lints' own fixes
	cargo fmt --all && cargo fmt --manifest-path rust/lakebed-object-store/Cargo.toml
	$(BIN)/ruff check --fix && $(BIN)/ruff format

bench: $(RELEASED) ## Print speed and memory beside other readers: some inputs, about ten minutes
	$(BIN)/python benches/bench_import.py
	$(BIN)/python benches/bench.py --suite quick $(BENCH)

bench-full: $(RELEASED) ## Print the same of all inputs and tasks, which takes hours (BENCH='--tables … --json …' chooses)
	$(BIN)/python benches/bench_import.py
	$(BIN)/python benches/bench.py --suite full $(BENCH)

bench-check: $(TOOLS) ## Compare two result files by ratios: OLD=… NEW=… as BENCH='--json …' wrote them
	$(BIN)/python benches/compare.py $(OLD) $(NEW)

bench-instructions: $(TOOLS) ## Count the instructions of the decode loops against those recorded (needs valgrind)
	$(BIN)/python benches/instructions.py

demo: $(or $(wildcard $(RELEASED)),$(CHECKED)) ## Show both sample tables on the command line, then through a local Spark
	PATH="$(CURDIR)/$(BIN):$$PATH" examples/demo.sh $(SAMPLE) $(ICEBERG) $(ICEBERG_WRITTEN)
	$(BIN)/python examples/spark_scan.py

sample-tables: | preflight ## Write both tables of examples/ again with their formats' Java engines (needs Maven)
	@command -v mvn >/dev/null || { echo 'missing: Maven' >&2; echo '    get it: apt-get install maven, or brew install maven' >&2; exit 1; }
	TZ=UTC mvn -q -B -f examples/sample_table_writer/pom.xml compile exec:java -Dexec.args=$(CURDIR)/$(SAMPLE)
	TZ=UTC mvn -q -B -f examples/sample_iceberg_table_writer/pom.xml compile exec:java "-Dexec.args=$(ICEBERG_WRITTEN) $(CURDIR)/$(ICEBERG)"
	.ci/demo_tables.sh python/lakebed/cli/demo_tables.tar.gz

wheels: $(TOOLS) ## Build the wheels of a release into dist/, and try those of this machine (TARGETS='x86_64-unknown-linux-gnu …' chooses)
	.ci/wheels.sh $(TARGETS)

docs: $(DOCS)/.installed ## Build the pages of docs/ into build/site, strictly: any broken link is an error
	NO_MKDOCS_2_WARNING=1 PATH="$(CURDIR)/$(DOCS)/bin:$$PATH" $(DOCS)/bin/mkdocs build --quiet --strict

clean: ## Remove all that was built, .venv too
	rm -rf build $(VENV) target dist .pytest_cache .mypy_cache .ruff_cache .hypothesis spark-warehouse

$(PYTHON): | preflight
	test -x $(BIN)/python || "$$(.ci/preflight.sh python)" -m venv $(VENV)
	@touch $@

$(TOOLS): $(PYTHON) constraints.txt pyproject.toml
	.ci/install.sh $(BIN)/python -c constraints.txt --group dev
	@touch $@

# The same interpreter and wheel, another Spark.
$(SPARK_35)/.installed: constraints-spark-3.5.txt $(TOOLS)
	rm -rf $(SPARK_35) && .ci/install.sh $(BIN)/python --no-deps --target $(SPARK_35) -r constraints-spark-3.5.txt
	@touch $@

# An environment of its own: what builds pages is nothing that tests may meet.
$(DOCS)/.installed: constraints-docs.txt $(PYTHON)
	$(BIN)/python -m venv $(DOCS)
	.ci/install.sh $(DOCS)/bin/python -r constraints-docs.txt
	@touch $@

# No build isolation: maturin is the pinned one, already there.
$(RELEASED): $(TOOLS) $(WHEEL_INPUTS)
	@echo 'compiling the wheel that users get, as one program: five to ten minutes, in silence'
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install -q -c constraints.txt --no-build-isolation .
	@rm -f $(CHECKED) && touch $@

$(CHECKED): $(TOOLS) $(WHEEL_INPUTS)
	@rm -rf build/checked; echo 'compiling lakebed as tests use it, slower than by `make release`: minutes once, then seconds'
	$(BIN)/maturin build $(if $(MAKE_TERMERR),,--quiet) --locked --profile dev --features toy --interpreter $(PYO3_PYTHON) --out build/checked
	.ci/install.sh $(BIN)/python --no-deps --reinstall build/checked/lakebed-*.whl
	@rm -f $(RELEASED) && touch $@
