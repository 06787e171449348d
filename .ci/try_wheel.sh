#!/usr/bin/env bash
# Installs a wheel into environments of their own, with the oldest and the newest Python that are found here, and uses it.
#
#   try_wheel.sh WHEEL [PYTHON…]
set -euo pipefail

wheel=$(realpath "$1")
shift
pythons=("$@")
if ((${#pythons[@]} == 0)); then
    found=()
    for minor in 10 11 12 13; do
        for candidate in "python3.$minor" "$HOME"/.pyenv/versions/3."$minor".*/bin/python; do
            if "$candidate" -c "import sys, ensurepip; assert sys.version_info[1] == $minor" 2>/dev/null; then
                found+=("$candidate")
                break
            fi
        done
    done
    pythons=("${found[0]}")
    ((${#found[@]} == 1)) || pythons+=("${found[-1]}")
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for python in "${pythons[@]}"; do
    rm -rf "$folder/env"
    "$python" -m venv "$folder/env"
    "$folder/env/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel"
    "$folder/env/bin/lakebed" show examples/sample_table >/dev/null
    "$folder/env/bin/python" - <<'PYTHON'
import sys
import lakebed

table = lakebed.open_table("examples/sample_table")
moved = {"/tmp/lakebed/shop/orders": "examples/sample_iceberg_table"}
orders = lakebed.open_table("examples/sample_iceberg_table", relocate=moved)
for one in (table, orders):
    rows = one.files(where="region = 'emea'", stats=["amount"]).to_arrow()
    assert rows.num_rows > 0 and rows["stats"].null_count == 0, one
print(f"{lakebed.__version__} works on Python {sys.version.split()[0]}")
PYTHON
done
