#!/usr/bin/env bash
# Builds the wheel of the last commit in two folders, as different as paths can be, and compares the bytes.
#
#   wheel_twice.sh [PYTHON]     an interpreter with maturin beside it; default .venv/bin/python
set -euo pipefail
cd "$(dirname "$0")/.."

project=$PWD
python=$(command -v "${1:-$PWD/.venv/bin/python}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
commit=$(git rev-parse HEAD)
# Dates in the archive and in the bill of materials; with it set, that has no random serial number either.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct "$commit")
export SOURCE_DATE_EPOCH

# build FOLDER: prints the hash of a wheel made there, in which no path of this machine is left.
build() {
    mkdir -p "$1"
    git archive "$commit" | tar -x -C "$1"
    local cargo=${CARGO_HOME:-$HOME/.cargo}
    (
        cd "$1"
        export RUSTFLAGS="--remap-path-prefix=$1=/lakebed --remap-path-prefix=$cargo=/cargo"
        export CFLAGS="-ffile-prefix-map=$1=/lakebed -ffile-prefix-map=$cargo=/cargo"
        unset CARGO_TARGET_DIR
        "$(dirname "$python")/maturin" build --quiet --release --interpreter "$python" --out dist
        "$python" "$project/.ci/unplaced.py" dist/*.whl "$(pwd -P)"
    ) >&2
    sha256sum "$1"/dist/*.whl | cut -d ' ' -f 1
    rm -rf "$1/target"
}

first=$(build "$work/first")
second=$(build "$work/further/down/second")
if [[ $first != "$second" ]]; then
    printf 'two builds, two wheels: %s and %s\n' "$first" "$second" >&2
    exit 1
fi
printf 'two builds, one wheel: sha256 %s\n' "$first"
