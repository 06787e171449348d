#!/usr/bin/env bash
# Fuzzes lakebed on the stable toolchain, and prints the number of runs, their speed and their coverage.
#
#   rust/fuzz/run.sh                    every target for a minute, from one seed: the same runs on every machine
#                                       or for FUZZ_SECONDS, or for FUZZ_RUNS runs each, from random seeds
#   rust/fuzz/run.sh TARGET…            some of them
#   rust/fuzz/run.sh bugs               puts each known bug in, and measures how long it takes to be found
#   rust/fuzz/run.sh keep               makes the corpus anew: the smallest inputs with the same coverage
set -euo pipefail
cd "$(dirname "$0")"

project=$(cd ../.. && pwd)
built=$project/target/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')
targets=(schema columnar container content_entry encryption iceberg paimon predicate skipping)
python=$(command -v python3 || command -v python)

# Counters and compares in every block of our code, as in cargo-fuzz, with stable flags.
coverage="--cfg fuzzing -Cpasses=sancov-module"
for flag in level=4 inline-8bit-counters pc-table trace-compares; do
    coverage+=" -Cllvm-args=-sanitizer-coverage-$flag"
done
coverage+=" -Cllvm-args=-simplifycfg-branch-fold-threshold=0"

# build FOLDER: the binaries of the fuzz crate there.
build() {
    (cd "$1" && LAKEBED_COVERAGE=$coverage RUSTC_WRAPPER=$PWD/rustc.sh \
        cargo build --release --locked --target "$host" --target-dir "$built")
}

# fuzz TARGET OPTION…: one target, until the limits of the options are reached or something is found.
fuzz() {
    local target=$1 folders=()
    shift
    mkdir -p "$built/work/$target" "$built/found"
    for folder in "corpus/$target" "crashers/$target" "$built/seeds/$target"; do
        [[ ! -d $folder ]] || folders+=("$folder")
    done
    "$built/$host/release/$target" "$built/work/$target" "${folders[@]}" -max_len=16384 -timeout=10 \
        -rss_limit_mb=2048 -dict=words.txt -print_final_stats=1 -artifact_prefix="$built/found/$target-" "$@"
}

# one TARGET: a run with its log, and a line of figures.
one() {
    local target=$1 log=$built/$1.log limit=-max_total_time=${FUZZ_SECONDS:-60} seed=-seed=0 status=0
    [[ -z ${FUZZ_RUNS:-} ]] || limit=-runs=$FUZZ_RUNS
    # A test fails because of a change, not by chance.
    [[ -n ${FUZZ_SECONDS:-}${FUZZ_RUNS:-} ]] || seed=-seed=1
    fuzz "$target" "$limit" "$seed" >"$log" 2>&1 || status=$?
    awk -v target="$target" '
        / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") cov = $(i + 1); else if ($i == "ft:") ft = $(i + 1) }
        /^stat::number_of_executed_units/ { runs = $2 }
        /^stat::average_exec_per_sec/ { speed = $2 }
        END { printf "%-10s %10d runs  %7d/s  %6d edges  %6d features\n", target, runs, speed, cov, ft }' "$log"
    if ((status)); then
        grep -A 3 -E 'panicked at|ERROR: libFuzzer|Test unit written' "$log" | head -n 12
        echo "$target: see $log" >&2
        return 1
    fi
}

# keep: the inputs of the corpus and of all runs so far that add to the coverage; the smallest first.
keep() {
    local target scratch
    for target in "$@"; do
        scratch=$(mktemp -d)
        "$built/$host/release/$target" -merge=1 -max_len=2048 "$scratch" "$built/seeds/$target" "corpus/$target" \
            "$built/work/$target" >"$built/$target.merge.log" 2>&1
        for file in "$scratch"/*; do
            # The seeds are in tests/data already.
            [[ -z $(find "$built/seeds/$target" -type f -exec cmp -s "$file" {} \; -print -quit) ]] || rm "$file"
        done
        rm -rf "corpus/$target" && mkdir -p "corpus/$target"
        find "$scratch" -type f -printf '%s %p\n' | sort -n | awk '{ sum += $1; if (sum <= 65536) print $2 }' |
            head -n 100 | xargs -r mv -t "corpus/$target"
        rm -rf "$scratch"
    done
}

# runs LOG: the number of runs.
runs() {
    awk '/^stat::number_of_executed_units/ { print $2 }' "$1"
}

# bugs: each bug by itself, from the seeds alone.
bugs() {
    local copy=$built/bugs number target name start work missed=0
    rm -rf "$copy" && "$python" bugs.py copy "$copy"
    # The dependencies are built already; the binaries are copied to a folder of their own.
    build "$copy/rust/fuzz"
    (cd "$built/$host/release" && cp "${targets[@]}" "$copy")
    while IFS=$'\t' read -r number target name; do
        start=$(date +%s.%N)
        work=$(mktemp -d)
        mkdir "$work/$target"
        if LAKEBED_BUG=$number "$copy/$target" "$work/$target" "$built/seeds/$target" \
            -max_len=16384 -timeout=10 -dict=words.txt -max_total_time="${FUZZ_SECONDS:-600}" -print_final_stats=1 \
            -artifact_prefix="$work/" >"$work/log" 2>&1; then
            echo "not found: $number $target: $name" >&2
            missed=1
        else
            printf '%2d  %-10s %6.1f s %9d runs  %s\n' "$number" "$target" \
                "$(awk "BEGIN { print $(date +%s.%N) - $start }")" "$(runs "$work/log")" "$name"
        fi
        rm -rf "$work"
    done < <("$python" bugs.py list)
    return "$missed"
}

if [[ ${1:-} == one ]]; then
    one "$2"
    exit
fi
rm -rf "$built/seeds" && "$python" seeds.py "$built/seeds"
case ${1:-} in
bugs) bugs ;;
keep) build . && keep "${targets[@]}" ;;
*)
    (($# == 0)) || targets=("$@")
    build .
    jobs=${FUZZ_JOBS:-$(nproc 2>/dev/null || sysctl -n hw.ncpu)}
    printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -n 1 ./run.sh one
    ;;
esac
