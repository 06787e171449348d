#!/usr/bin/env bash
# Writes the profile of a release: how often which branch of the code is taken in the work that the wheel is for
# (benches/profiled.py). By it the compiler inlines and orders code. It counts branches, not instructions, so that one
# profile serves every processor and libc; it is of the compiler that writes it.
#
#   profile.sh FILE
set -euo pipefail

mkdir -p "$(dirname "$1")"
file=$(realpath "$1")
cd "$(dirname "$0")/.."
export PYO3_PYTHON=$PWD/.venv/bin/python
host=$(rustc -vV | sed -n 's/^host: //p')
tool=$(rustc --print target-libdir)/../bin/llvm-profdata
[[ -x $tool ]] || rustup component add llvm-tools
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo 'compiling lakebed with counters, as one program: about ten minutes'
# With --target build scripts have no counters.
RUSTFLAGS="-Cprofile-generate=$work/counts" cargo build --quiet --release --locked --package lakebed-python \
    --target "$host" --target-dir target/profile
cp -r python/lakebed "$work/lakebed"
cp "target/profile/$host/release/lib_native.so" "$work/lakebed/_native.abi3.so"
PYTHONPATH=$work "$PYO3_PYTHON" benches/profiled.py
"$tool" merge --output "$work/profile" "$work/counts"
# What decodes is the most of the work.
most=$("$tool" show --topn=20 "$work/profile")
[[ $most == *lakebed_avro*decode* ]] || { printf 'no profile of decoding:\n%s\n' "$most" >&2; exit 1; }
mv "$work/profile" "$file"
