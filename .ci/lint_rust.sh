#!/usr/bin/env bash
# Checks format and lints of Rust and the links in its documentation, and that the public items of the crates are those recorded.
#
#   lint_rust.sh [--write]     writes them to tests/data/rust_api.txt instead of comparing them
set -euo pipefail
cd "$(dirname "$0")/.."

# A workspace of its own, which has all crates that programs use.
programs=rust/lakebed-object-store
export RUSTDOCFLAGS='-D warnings -A rustdoc::private-intra-doc-links'

cargo fmt --all --check
(cd $programs && cargo fmt --check)
cargo clippy --workspace --all-targets --features lakebed/toy --locked -- -D warnings
(cd $programs && cargo clippy --all-targets --locked -- -D warnings)
cargo doc --quiet --workspace --features lakebed/toy --no-deps --document-private-items --locked
# Pages of public items alone, in another folder. With the examples, for which clippy has checked all dependencies.
(cd $programs && CARGO_BUILD_BUILD_DIR=../../target cargo doc --quiet --target-dir ../../target/object-store --locked \
    --no-deps --lib --examples -p lakebed-avro -p lakebed -p lakebed-object-store)
python .ci/rust_api.py target/object-store/doc "$@"
