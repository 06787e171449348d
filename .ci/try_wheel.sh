#!/usr/bin/env bash
# Installs a wheel into folders of their own by the oldest and the newest Python here that take it, and uses it there.
#
#   try_wheel.sh WHEEL              Pythons that are found
#   try_wheel.sh WHEEL PYTHON…      these; one of several words is run by an emulator or another loader, as in
#                                   'qemu-aarch64-static -L /opt/arm64 /opt/arm64/usr/bin/python3.11'
set -euo pipefail

wheel=$(realpath "$1")
shift
pythons=("$@")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# pip of .venv is run by each Python, which need not have one.
mkdir "$folder/pip"
ln -s "$(.venv/bin/python -c 'import pip; print(pip.__path__[0])')" "$folder/pip/pip"

# takes PYTHON…: whether processor, libc, threads and version are those that the wheel is for.
takes() {
    "$@" -S - "$(basename "$wheel")" 2>/dev/null <<'PYTHON'
import platform, sys, sysconfig
wheel = sys.argv[1]
musl = "musl" in (sysconfig.get_config_var("SOABI") or "")
threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
taken = (platform.machine() in wheel, musl, threaded) == (True, "musllinux" in wheel, "cp314t" in wheel)
sys.exit(not taken or sys.version_info < (3, 10) or (threaded and sys.version_info[:2] != (3, 14)))
PYTHON
}

if ((${#pythons[@]} == 0)); then
    found=()
    for minor in 10 11 12 13 14 15; do
        candidates=("python3.$minor" "python3.${minor}t" "$HOME"/.pyenv/versions/3."$minor".*/bin/python)
        for candidate in "${candidates[@]}"; do
            read -ra command <<<"$candidate"
            if takes "${command[@]}"; then
                found+=("$candidate")
                break
            fi
        done
    done
    if ((${#found[@]} == 0)); then
        echo "not tried, no Python here takes it: $(basename "$wheel")" >&2
        exit
    fi
    pythons=("${found[0]}")
    ((${#found[@]} == 1)) || pythons+=("${found[-1]}")
fi
for python in "${pythons[@]}"; do
    read -ra command <<<"$python"
    rm -rf "$folder/env"
    # -S: what that Python has installed is not seen.
    PYTHONPATH="$folder/pip" "${command[@]}" -S -m pip install --quiet --disable-pip-version-check --no-cache-dir \
        --no-compile --target "$folder/env" "$wheel"
    export PYTHONPATH="$folder/env"
    "${command[@]}" -S "$folder/env/bin/lakebed" show examples/sample_table >/dev/null
    "${command[@]}" -S "$folder/env/bin/lakebed" demo "$folder/env/demo" >/dev/null
    "${command[@]}" -S - <<'PYTHON'
import platform, sys
import lakebed

table = lakebed.open_table("examples/sample_table")
moved = {"/tmp/lakebed/shop/orders": "examples/sample_iceberg_table"}
orders = lakebed.open_table("examples/sample_iceberg_table", relocate=moved)
for one in (table, orders):
    rows = one.files(where="region = 'emea'", stats=["amount"]).to_arrow()
    assert rows.num_rows > 0 and rows["stats"].null_count == 0, one
gil = "" if getattr(sys, "_is_gil_enabled", lambda: True)() else ", free-threaded"
print(f"{lakebed.__version__} works on Python {sys.version.split()[0]}{gil}, {platform.machine()}")
PYTHON
    unset PYTHONPATH
done
