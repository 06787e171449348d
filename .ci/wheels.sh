#!/usr/bin/env bash
# Builds the wheels of a release into dist/, writes their checksums, and tries those that run here.
#
#   wheels.sh               every target below
#   wheels.sh TARGET…       some of them, by Rust's names
#
# Code is inlined and ordered by the profile in build/release.profdata, which is made where it is not there: who wants the
# same wheels again needs the same profile, since work is never counted twice alike.
#
# zig is compiler and linker for all of them, so that a wheel needs no newer libc than its tag says, whatever this machine
# has. `maturin` holds that against the symbols that the extension asks for. One wheel of a target serves every Python from
# 3.10 (abi3), another the free-threaded 3.14, which has no stable ABI.
set -euo pipefail

python=$PWD/.venv/bin/python
largest=$((8 << 20)) # bytes of one wheel: it goes to every executor
declare -A tags=(
    [x86_64-unknown-linux-gnu]=manylinux2014
    [aarch64-unknown-linux-gnu]=manylinux2014
    [x86_64-unknown-linux-musl]=musllinux_1_2
    [aarch64-unknown-linux-musl]=musllinux_1_2
)
targets=("$@")
(($#)) || targets=(x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu x86_64-unknown-linux-musl aarch64-unknown-linux-musl)

.ci/install.sh "$python" -c constraints-release.txt ziglang auditwheel twine
export PATH="$PWD/.venv/bin:$PATH"
# Dates in the archive and in the bill of materials are the commit's: two builds of it are one wheel.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
mkdir -p dist
profile=$PWD/build/release.profdata
[[ -f $profile ]] || .ci/profile.sh "$profile"
export RUSTFLAGS="-Cprofile-use=$profile"
for target in "${targets[@]}"; do
    [[ -n ${tags[$target]:-} ]] || { echo "no wheel is built for $target" >&2; exit 2; }
    rustup target add "$target" 2>/dev/null || true # where Rust is not rustup's, it may have the target all the same
    maturin build --locked --release --zig --target "$target" --compatibility "${tags[$target]}" \
        --interpreter python3.10 python3.14t --out dist
    # The compiler fails where it cannot read the profile; whether it was told of it is the question.
    grep -q profile-use "target/$target/release/.fingerprint"/lakebed-python-*/lib-_native.json ||
        { echo "$target: built without the profile" >&2; exit 1; }
done

version=$(sed -nE '/^\[workspace.package\]/,/^\[/s/^version = "(.*)"/\1/p' Cargo.toml)
for wheel in dist/lakebed-"$version"-*.whl; do
    "$python" .ci/unplaced.py "$wheel" "$PWD"
    twine check --strict "$wheel"
    # maturin has checked the symbols of musl's; auditwheel would take glibc's `libc.so`, a linker script, for musl's library.
    [[ $wheel == *musllinux* ]] || auditwheel show "$wheel" | tr '\n' ' ' | grep -oE 'consistent with the following platform tag: "[a-z0-9_]*"'
    size=$(stat -c %s "$wheel")
    printf '%s: %d kB\n' "$wheel" $((size / 1000))
    ((size <= largest)) || { echo "larger than $largest bytes" >&2; exit 1; }
done
(cd dist && sha256sum -- lakebed-"$version"-*.whl >SHA256SUMS && cat SHA256SUMS)
for wheel in dist/lakebed-"$version"-*"$(uname -m)".whl; do .ci/try_wheel.sh "$wheel"; done
