#!/bin/sh
# Cargo's wrapper around rustc: only lakebed's own crates get coverage. In other crates that are linked it would only
# slow the fuzzers down, which would then try to cover them too.
case " $* " in
*" --crate-name lakebed"*)
    # shellcheck disable=SC2086 # flags, separated by spaces
    exec "$@" $LAKEBED_COVERAGE
    ;;
*) exec "$@" ;;
esac
