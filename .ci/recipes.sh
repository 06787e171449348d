#!/usr/bin/env bash
# Runs the recipes of examples/alerts by Airflow, Dagster and dbt, each installed once in an environment of its own:
# each pins what the others want otherwise.
#
#   recipes.sh PYTEST…     the command that runs tests
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$PWD/.venv/recipes
for tool in "airflow apache-airflow" "dagster dagster" "dbt dbt-core dbt-duckdb"; do
    read -r name packages <<<"$tool"
    [[ -e $folder/$name/.installed && ! constraints-recipes.txt -nt $folder/$name/.installed ]] && continue
    .venv/bin/python -m venv "$folder/$name"
    # shellcheck disable=SC2086 # packages are several words
    .ci/install.sh "$folder/$name/bin/python" -c constraints-recipes.txt $packages pyarrow
    touch "$folder/$name/.installed"
done
LAKEBED_RECIPES=$folder exec "$@" tests/test_alerts.py
