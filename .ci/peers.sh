#!/usr/bin/env bash
# Makes docs/peers.md and docs/answers.md again, and compares `columns()` with DuckDB's sums.
#
#   peers.sh PYTHON      that of the environment that has the readers
set -euo pipefail
cd "$(dirname "$0")/.."

# The last DuckDB whose extensions are packages.
duckdb=.venv/duckdb-1.5
packages=(duckdb==1.5.5 duckdb-extension-{avro,iceberg}==1.5.5)
[[ -d $duckdb/duckdb_extension_iceberg ]] || .ci/install.sh "$1" --no-deps --target "$duckdb" "${packages[@]}"
PYTHONPATH=$PWD/$duckdb "$1" -m pytest tests/test_columns.py -k duckdb
PYTHONPATH=$PWD/$duckdb "$1" tests/peers/table.py --write docs/peers.md
"$1" tests/peers/answers.py
