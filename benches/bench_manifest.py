"""Times lakebed on Paimon manifests, beside every other reader there is and the floors below them all.

Tasks: `entries` (all manifests of a table, every column), `projected` (six columns), `files` (from the
table's path to its live files), `stream` (the same as batches, for its memory), `churn` (where half of the
entries cancel). See README.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import report
from corpus import Corpus, MissingInputError, Shape, java_table
from pypaimon_table import pypaimon_table
from readers import READERS
from session import Contestant, Result, run_round_robin

HERE = Path(__file__).resolve().parent
TASKS = ("entries", "projected", "files")
FULL = Shape(entries=50_000, columns=12, partitions=500, commits=5)
QUICK = Shape(entries=2_000, columns=12, partitions=50, commits=5)
MEMORY = Shape(entries=300_000, columns=12, partitions=300, commits=10)
CHURN = Shape(entries=300_000, columns=12, partitions=300, commits=10, churn=50)


def main(arguments: list[str] | None = None) -> int:
    """Runs what was asked for and prints one table. Returns 1 if a reader gave a wrong answer or none."""
    options = _parse(arguments)
    results: list[Result] = []
    try:
        for corpus in _corpora(options):
            _progress(corpus.describe())
            for task in TASKS:
                results += _run(options, corpus, task, options.repeats)
        if options.memory:
            corpus = java_table(options.cache, MEMORY, options.memory_table)
            _progress(corpus.describe())
            results += _run(options, corpus, "stream", 1)
        if options.churn:
            corpus = java_table(options.cache, CHURN, options.churn_table)
            _progress(corpus.describe())
            results += _run(options, corpus, "churn", min(options.repeats, 5))
    except MissingInputError as missing:
        print(f"bench_manifest: {missing}", file=sys.stderr)
        return 2
    print(f"{report.machine()}\n\n{report.table(results)}")
    verdict = report.memory_verdict(results)
    if verdict:
        print(f"\n{verdict}")
    failed = report.errors(results)
    if failed:
        print("\nn/a:\n" + "\n".join(f"- {line}" for line in failed))
    if options.json:
        report.write_json(results, options.json)
    return 1 if failed else 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    add = parser.add_argument
    add("--quick", action="store_true", help="2,000 entries by pypaimon, three repeats, no memory bench")
    add("--writers", default=None, help="which tables: java,pypaimon (default both)")
    add("--entries", type=int, default=None, help="entries of the tables made here")
    add("--repeats", type=int, default=None, help="timed rounds (default 9)")
    add("--readers", default=None, help="only readers whose name starts with one of these, comma-separated")
    add("--no-rust", action="store_true", help="leave out the Rust peers and the floors")
    add("--no-memory", dest="memory", action="store_false", help="leave out the memory bench")
    add("--no-churn", dest="churn", action="store_false", help="leave out the bench of cancelling entries")
    add("--java-table", type=Path, default=None, help="a table by Paimon Java to use instead of making one")
    add("--memory-table", type=Path, default=None, help="likewise for the memory bench")
    add("--churn-table", type=Path, default=None, help="likewise for the bench of cancelling entries")
    add("--cache", type=Path, default=HERE / ".cache", help="where the tables are kept")
    add("--json", type=Path, default=None, help="also write every run there, one JSON object a line")
    options = parser.parse_args(arguments)
    options.memory = options.memory and not options.quick
    options.churn = options.churn and not options.quick
    options.repeats = options.repeats or (3 if options.quick else 9)
    options.writers = options.writers or ("pypaimon" if options.quick else "java,pypaimon")
    options.cache = options.cache.resolve()
    return options


def _corpora(options: argparse.Namespace) -> list[Corpus]:
    shape = QUICK if options.quick else FULL
    if options.entries:
        shape = Shape(options.entries, shape.columns, max(1, options.entries // 100), shape.commits)
    makers = {
        "java": lambda: java_table(options.cache, shape, options.java_table),
        "pypaimon": lambda: pypaimon_table(options.cache, shape),
    }
    unknown = set(options.writers.split(",")) - set(makers)
    if unknown:
        raise MissingInputError(f"no writer named {', '.join(sorted(unknown))}: java, pypaimon")
    return [makers[writer]() for writer in options.writers.split(",")]


def _run(options: argparse.Namespace, corpus: Corpus, task: str, repeats: int) -> list[Result]:
    contestants = [Contestant.from_reader(reader, corpus) for reader in READERS]
    if not options.no_rust:
        binary, listed = _rust_peers()
        contestants += [Contestant.from_binary(binary, line, corpus) for line in listed]
    wanted = tuple(options.readers.split(",")) if options.readers else ("",)
    chosen = [one for one in contestants if one.task == task and one.label.startswith(wanted)]
    return run_round_robin(chosen, corpus, repeats, _progress) if chosen else []


@cache
def _rust_peers() -> tuple[Path, list[dict[str, str | None]]]:
    """Builds `manifest-peers` (minutes, the first time) and asks it for its readers."""
    if shutil.which("cargo") is None:
        raise MissingInputError("cargo is needed to build the Rust peers: install Rust, or give --no-rust")
    manifest = HERE / "peers" / "Cargo.toml"
    _progress("building the Rust peers")
    subprocess.run(
        ["cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", str(manifest)], check=True
    )
    binary = manifest.parent / "target" / "release" / "manifest-peers"
    listed = subprocess.run([binary, "--list"], check=True, capture_output=True, text=True).stdout
    return binary, [json.loads(line) for line in listed.splitlines()]


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
