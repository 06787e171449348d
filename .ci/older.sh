#!/usr/bin/env bash
# Runs the tests of what is below other libraries with their older releases.
#
#   older.sh PYTHON      that of the environment of the tests
set -euo pipefail
cd "$(dirname "$0")/.."

# The last release of each version that `install` takes, but the one that all tests have.
releases=(pyiceberg==0.8.1 pyiceberg==0.9.1 pyiceberg==0.10.0 pyiceberg==0.11.1 pypaimon==1.3.2 pypaimon==1.4.2 pypaimon==2.0.0)
for release in "${releases[@]}"; do
    folder=.venv/older/$release
    [[ -d $folder ]] || .ci/install.sh "$1" --no-deps --target "$folder" "$release"
    PYTHONPATH=$PWD/$folder "$1" -m pytest -q "tests/test_${release%%=*}_installed.py"
    # Their own tests, where the source of a release has them, in an environment that is made for them.
    "$1" tests/peers/suite.py "$release"
done
