#!/usr/bin/env bash
# Checks format and lints of Rust and the links in its documentation, and that the public items of the crates are those recorded.
#
#   lint_rust.sh [--write]     writes them to tests/data/rust_api.txt instead of comparing them
set -euo pipefail
cd "$(dirname "$0")/.."

# A workspace of its own, which has all crates that programs use. Its pages, of public items alone, are in another folder.
programs=(--manifest-path rust/lakebed-object-store/Cargo.toml --locked)
export RUSTDOCFLAGS='-D warnings -A rustdoc::private-intra-doc-links'

cargo fmt --all --check
cargo fmt --manifest-path rust/lakebed-object-store/Cargo.toml --check
cargo clippy --workspace --all-targets --features lakebed/toy --locked -- -D warnings
cargo clippy "${programs[@]}" --target-dir target --all-targets -- -D warnings
cargo doc --quiet --workspace --features lakebed/toy --no-deps --document-private-items --locked
CARGO_BUILD_BUILD_DIR=target cargo doc --quiet "${programs[@]}" --target-dir target/object-store --no-deps -p lakebed-avro -p lakebed -p lakebed-object-store
python .ci/rust_api.py target/object-store/doc "$@"
