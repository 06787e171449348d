#!/usr/bin/env bash
# Makes docs/peers.md and docs/answers.md again.
#
#   peers.sh PYTHON      that of the environment that has the readers
set -euo pipefail
cd "$(dirname "$0")/.."

# The last DuckDB whose extension for Avro is a package.
duckdb=.venv/duckdb-1.5
[[ -d $duckdb ]] || .ci/install.sh "$1" --no-deps --target "$duckdb" duckdb==1.5.5 duckdb-extension-avro==1.5.5
PYTHONPATH=$PWD/$duckdb "$1" tests/peers/table.py --write docs/peers.md
"$1" tests/peers/answers.py
