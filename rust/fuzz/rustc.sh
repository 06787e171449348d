#!/bin/sh
# Cargo's wrapper around rustc: coverage is asked of lakebed's own crates alone. What else is linked would only
# slow the fuzzers down, by counters and compares that they then try to reach.
case " $* " in
*" --crate-name lakebed"*)
    # shellcheck disable=SC2086 # flags, apart by spaces
    exec "$@" $LAKEBED_COVERAGE
    ;;
*) exec "$@" ;;
esac
