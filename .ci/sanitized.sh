#!/usr/bin/env bash
# Runs the Rust tests under AddressSanitizer, and the decoder's under valgrind where that is installed.
#
#   sanitized.sh [asan|valgrind]     one of them; default both
#
# Not among them are the tests that take hours under either: those that only repeat others a thousand times.
set -euo pipefail
cd "$(dirname "$0")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
export CARGO_INCREMENTAL=0
# Times that tests allow are those of a processor without a sanitizer on it.
export LAKEBED_SLOWDOWN=20

asan() {
    # The stable toolchain has the sanitizer and its runtime, behind a flag that wants to be asked twice. Constants of
    # libdeflate that are the same in two of its files are one to the linker, and two to the sanitizer.
    RUSTC_BOOTSTRAP=1 RUSTFLAGS='-Zsanitizer=address' RUSTDOCFLAGS='-Zsanitizer=address' \
        ASAN_OPTIONS=detect_odr_violation=0 CARGO_TARGET_DIR=target/asan \
        cargo test --no-fail-fast --locked --target "$host" -p lakebed-avro -p lakebed-columnar -p lakebed
    echo 'AddressSanitizer: no error, no leak'
}

valgrind_() {
    command -v valgrind >/dev/null || { echo 'no valgrind: not run under it' >&2; return; }
    local runner=CARGO_TARGET_${host^^}_RUNNER
    env "${runner//-/_}=valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite" \
        cargo test --locked --target "$host" --target-dir target/valgrind -p lakebed-avro --lib --test fused --test keyed
    echo 'valgrind: no error, no leak'
}

case ${1:-both} in
asan) asan ;;
valgrind) valgrind_ ;;
*) asan && valgrind_ ;;
esac
