"""Measures lakebed by numbers that other projects have published of their own work, each on a table as that
project describes it. See README.md.

Run with `--goal GOAL --table PATH` this is the process of one run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import goals_tables
import report
import suite
from corpus import restored
from delayed import DelayedFileSystem
from session import resident_bytes

import lakebed

LATE_MILLISECONDS = 30.0
GIB = 1 << 30

Run = dict[str, float]
"""What a run took: `seconds` and `processor`, seconds too, and what else a goal bounds."""


@contextmanager
def timed() -> Iterator[Run]:
    """Times what is run within it."""
    run: Run = {}
    wall, processor = time.perf_counter(), time.process_time()
    yield run
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    run |= {"seconds": wall, "processor": processor}


def limit_1(path: Path) -> Iterator[Run]:
    """Plans of one row, on one thread as iceberg-go's; the table is open."""
    table = lakebed.open_table(path)
    for _ in range(50):
        with timed() as run:
            found = table.plan(row_limit=1, threads=1).to_arrow()
        _expect(found.num_rows, 1)
        yield run


def limit_10(path: Path) -> Iterator[Run]:
    """A plan of ten files, from opening on, of a storage that answers late."""
    with timed() as run:
        table = lakebed.open_table(path, storage=DelayedFileSystem(LATE_MILLISECONDS))
        found = table.plan(limit=10).to_arrow()
    _expect(found.num_rows, 10)
    yield run


def compact(path: Path) -> Iterator[Run]:
    """A commit that writes all manifests again, without what is deleted."""
    yield _rewritten(path, sort=False)


def compact_sorted(path: Path) -> Iterator[Run]:
    """The same with entries sorted by partition."""
    yield _rewritten(path, sort=True)


def _rewritten(path: Path, *, sort: bool) -> Run:
    table = lakebed.open_table(path)
    before = table.manifests(columns=["added_files_count", "deleted_files_count"]).to_arrow()
    added, deleted = (sum(before[name].to_pylist()) for name in before.column_names)
    # What the commit writes is taken away after it.
    with restored(path / "snapshot" / "LATEST", lambda: filter(Path.is_dir, path.iterdir())):
        with timed() as run:
            table = table.rewrite_manifests(sort=sort)
        after = table.manifests().to_arrow()
        _expect(sum(after["added_files_count"].to_pylist()), added - deleted)
        if sort:
            bounds = [after[name].to_pylist() for name in ("partition_lower", "partition_upper")]
            overlaps = [
                high for (_, high), (low, _) in pairwise(zip(*bounds, strict=True)) if high["p"] > low["p"]
            ]
            _expect(len(overlaps), 0)
    return run


def wide_stats(path: Path) -> Iterator[Run]:
    """All files with the statistics of three columns."""
    table = lakebed.open_table(path)
    with timed() as run:
        found = table.files(columns=["file_path", "stats"], stats=["id", "c5", "c9"]).to_arrow()
    _expect(found.num_rows, 5 * goals_tables.WIDE_BUCKETS)
    yield run


def wide_bucket(path: Path) -> Iterator[Run]:
    """The files of a query with a value of the bucket's key."""
    table = lakebed.open_table(path)
    with timed() as run:
        found = table.plan(where="id = 4711").to_arrow()
    _expect(len(set(found["bucket"].to_pylist())) <= 1, True)
    yield run


def metadata_in_memory(path: Path) -> Iterator[Run]:
    """Opening table metadata that the page cache has, as often as reading it."""
    yield from _opened(path, lambda: None)


def metadata_on_disk(path: Path) -> Iterator[Run]:
    """The same of a file that must come from the disk; of a file system in memory no other than in memory."""

    def forget() -> None:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    yield from _opened(path, forget)


def _opened(path: Path, prepare: Callable[[], None]) -> Iterator[Run]:
    for _ in range(3):
        prepare()
        with timed() as run:
            table = lakebed.open_table(path)
        _expect(table.snapshot_id is not None, True)
        yield run | {"peak_bytes": float(_peak_bytes())}
    # Last, since a whole file in memory is a peak of its own.
    for _ in range(3):
        prepare()
        with timed() as run:
            path.read_bytes()
        yield {"reading": run["processor"]}


def _expect(found: object, right: object) -> None:
    if found != right:
        raise ValueError(f"the answer is {found!r}, not {right!r}")


@dataclass(frozen=True)
class Goal:
    """A published number, a table for it, and what lakebed is to stay below."""

    theirs: str
    table: Callable[[Path, float], Path]
    run: Callable[[Path], Iterator[Run]]
    bounds: dict[str, float] = field(default_factory=dict)
    """The most of `seconds`, `peak_bytes` or `times_reading`."""
    scales: bool = False
    """Whether the time of a smaller table is to be extrapolated: it is proportional to entries."""


MEMORY_OF_JAVA = {"peak_bytes": 1.25 * GIB}
JAVA_COMPACTS = {"seconds": 24.5, **MEMORY_OF_JAVA}
READING = {"times_reading": 1.2}
GOALS = {
    "limit-1": Goal(
        "iceberg-go: 4.7 ms, was 1.73 s (go#1935)", goals_tables.one_file_each, limit_1, {"seconds": 0.004}
    ),
    "limit-10": Goal(
        "DuckDB: no memory left, of 129,000 manifests (duckdb-iceberg#1369)",
        goals_tables.megabyte_each,
        limit_10,
        {"peak_bytes": report.MEMORY_LIMIT_BYTES},
    ),
    "compact": Goal(
        "Paimon Java: 24.5 s, 1.25 GiB (paimon#9257)", goals_tables.many_records, compact, JAVA_COMPACTS, True
    ),
    "compact-sorted": Goal(
        "the same: Java's are sorted", goals_tables.sectioned_records, compact_sorted, JAVA_COMPACTS, True
    ),
    "compact-shuffled": Goal(
        "none: all manifests overlap", goals_tables.many_records, compact_sorted, MEMORY_OF_JAVA, True
    ),
    "sort": Goal(
        "Paimon Java: 2.69 s (paimon#9108)", goals_tables.sorted_by_java, compact_sorted, {"seconds": 1.0}
    ),
    "wide-stats": Goal(
        "Paimon Java: 10 GB allocated (paimon#9739)", goals_tables.wide, wide_stats, {"peak_bytes": 200e6}
    ),
    "wide-bucket": Goal("the same, one bucket", goals_tables.wide, wide_bucket, {"peak_bytes": 200e6}),
    "metadata": Goal(
        "Iceberg Java: 49 MB, streamed 1 MB (iceberg#17219)",
        goals_tables.long_metadata,
        metadata_in_memory,
        READING,
    ),
    "metadata-disk": Goal("the same, from disk", goals_tables.long_metadata, metadata_on_disk, READING),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a table. Returns: 0, whatever was met; 1 if a run failed."""
    options = _options(arguments)
    if options.table:
        for run in GOALS[options.goal].run(options.table):
            print(json.dumps({"peak_bytes": _peak_bytes(), **run}), flush=True)
        return 0
    header = (
        "goal",
        "theirs",
        "share",
        "seconds",
        "processor s",
        "peak MB",
        "reading, processor s",
        "goal is",
        "met",
    )
    rows, load = [header], os.getloadavg()[0]
    for name in options.goals:
        goal = GOALS[name]
        suite.progress(f"{name}: the table")
        table = goal.table(options.cache, options.share)
        runs: list[Run] = []
        for number in range(options.repeats):
            suite.progress(f"{name}: process {number + 1} of {options.repeats}")
            runs += _process(name, table)
        rows.append(_row(name, goal, _best(runs), options.share))
    loads = f"load {load:.1f} before, {os.getloadavg()[0]:.1f} after"
    print(
        f"{report.machine()}, lakebed {lakebed.__version__}, {loads}\n\n{report.markdown(rows, (0, 1, 7, 8))}"
    )
    return 0


def _process(name: str, table: Path) -> list[Run]:
    command = [sys.executable, __file__, "--goal", name, "--table", str(table)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in told.splitlines()]


def _best(runs: Sequence[Run]) -> Run:
    """The least time of each kind, and of memory the most."""
    of = {name: [run[name] for run in runs if name in run] for run in runs for name in run}
    peaks = [run["peak_bytes"] for run in runs if "seconds" in run]
    best = {name: min(found) for name, found in of.items()} | {"peak_bytes": max(peaks)}
    if "reading" in best:
        # Of the processor: other work delays a short reading more than a long one.
        best["times_reading"] = best["processor"] / best["reading"]
    return best


def _row(name: str, goal: Goal, best: Run, share: float) -> tuple[str, ...]:
    model = share if goal.scales else 1.0
    found = best | {"seconds": best["seconds"] / model}
    words = {"seconds": "{:.3g} s", "peak_bytes": "{:.3g} MB", "times_reading": "{:.3g} times"}
    shown = {name: most / 1e6 if name == "peak_bytes" else most for name, most in goal.bounds.items()}
    bounds = ", ".join(words[name].format(most) for name, most in shown.items())
    met = all(found[name] <= most for name, most in goal.bounds.items())
    of_model = "" if share == 1 else f", of {share:g} of it"
    reading = f"{best['reading']:.4g}" if "reading" in best else ""
    seconds = (f"{best['seconds']:.4g}", f"{best['processor']:.4g}", f"{best['peak_bytes'] / 1e6:.0f}")
    return (name, goal.theirs, f"{share:g}", *seconds, reading, bounds, ("yes" if met else "NO") + of_model)


def _peak_bytes() -> int:
    """How much more memory this process has had than after its imports [bytes]."""
    peak = resident_bytes(os.getpid(), "VmHWM")
    return max(0, (peak or 0) - (_IMPORTED or 0))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    add: Any = made.add_argument
    add("--goals", type=suite.words, default=tuple(GOALS), help="which, comma-separated")
    add("--share", type=float, default=1.0, help="of each table's size: less makes less, and a model of time")
    add("--repeats", type=int, default=3, help="processes for each goal")
    add("--cache", type=suite.cache, default=suite.CACHE, help="where the tables are kept")
    add("--goal", choices=GOALS, default=None, help="be the process of a run of this one")
    add("--table", type=Path, default=None, help="on this table")
    return made.parse_args(arguments)


_IMPORTED = resident_bytes(os.getpid(), "VmRSS")

if __name__ == "__main__":
    sys.exit(main())
