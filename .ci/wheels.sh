#!/usr/bin/env bash
# Builds the wheels of a release into dist/, writes their checksums, and tries those that run here.
#
#   wheels.sh               every target below
#   wheels.sh TARGET…       some of them, by Rust's names
#
# zig is compiler and linker for all of them, so that a wheel needs no newer libc than its tag says, whatever this machine
# has. `maturin` holds that against the symbols that the extension asks for. One wheel serves every Python from 3.10 (abi3).
set -euo pipefail

python=.venv/bin/python
declare -A tags=(
    [x86_64-unknown-linux-gnu]=manylinux2014
    [aarch64-unknown-linux-gnu]=manylinux2014
    [x86_64-unknown-linux-musl]=musllinux_1_2
    [aarch64-unknown-linux-musl]=musllinux_1_2
)
targets=("$@")
(($#)) || targets=(x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-musl)

.ci/install.sh $python -c constraints-release.txt ziglang
export PATH="$PWD/.venv/bin:$PATH"
mkdir -p dist
for target in "${targets[@]}"; do
    [[ -n ${tags[$target]:-} ]] || { echo "no wheel is built for $target" >&2; exit 2; }
    rustup target add "$target" >/dev/null 2>&1 || true # where Rust is not rustup's, it may have the target all the same
    maturin build --locked --release --zig --target "$target" --compatibility "${tags[$target]}" --out dist
done
(cd dist && sha256sum -- *.whl >SHA256SUMS && cat SHA256SUMS)
for wheel in dist/*"$(uname -m)".whl; do
    if [[ $wheel == *manylinux* ]]; then .ci/try_wheel.sh "$wheel"; fi
done
