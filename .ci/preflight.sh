#!/usr/bin/env bash
# Names what this machine lacks, and how to get it; silent where nothing is.
#
#   preflight.sh            everything `make test` needs
#   preflight.sh python     prints the interpreter that .venv is made from
set -euo pipefail

rust_wanted=1.88 # rust-version in Cargo.toml
java_wanted=17   # what Spark 3.5 and 4 both run on

# Python 3.10 to 3.13: the versions that every pinned tool has wheels for; 3.11 first, the newest that both
# Sparks run on.
find_python() {
    local candidate
    for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3.10 python3; do
        if [[ -n $candidate ]] && "$candidate" -c \
            'import sys, ensurepip, venv; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

java_command() {
    if [[ -n ${JAVA_HOME:-} ]]; then echo "$JAVA_HOME/bin/java"; else echo java; fi
}

java_major() {
    "$(java_command)" -version 2>&1 | sed -nE '1s/.*version "([0-9]+).*/\1/p'
}

# at_least WANTED FOUND: compares dotted versions.
at_least() {
    [[ $(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]
}

missing=0
lacks() {
    printf 'missing: %s\n    get it: %s\n' "$1" "$2" >&2
    missing=1
}

check_rust() {
    local version
    version=$(cargo --version 2>/dev/null | sed -nE 's/^cargo ([0-9.]+).*/\1/p') || true
    if [[ -z $version ]] || ! at_least "$rust_wanted" "$version"; then
        lacks "a Rust toolchain, $rust_wanted or newer${version:+ (found $version)}" \
            "rustup (https://rustup.rs, or your system's rustup package), then: rustup toolchain install stable"
        return
    fi
    cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 ||
        lacks "rustfmt and clippy" "rustup component add rustfmt clippy"
}

check_java() {
    local major
    major=$(java_major) || true
    [[ -n $major && $major -ge $java_wanted ]] ||
        lacks "a JDK, $java_wanted or newer${major:+ (found $major)}: Spark runs on it" \
            "apt-get install openjdk-17-jdk-headless, or brew install openjdk@17; set JAVA_HOME where there are several"
}

if [[ ${1:-} == python ]]; then
    find_python
    exit
fi
find_python >/dev/null || lacks "Python 3.10 to 3.13 with venv" \
    "apt-get install python3 python3-venv, or brew install python@3.11; PYTHON=… names another one"
command -v cc >/dev/null || lacks "a C compiler: the compression libraries are built from source" \
    "apt-get install build-essential, or xcode-select --install"
check_rust
check_java
exit "$missing"
