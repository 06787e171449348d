"""Times plans of a table without a cache, and with one that is warm in memory and warm on disk, in one run;
then the same behind a storage that answers late, after a small commit. See README.md.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import jobs_tables
import pyarrow as pa
import suite
from corpus import restored
from delayed import DelayedFileSystem

import lakebed

View = Callable[[lakebed.Table], int]
"""Reads a view, and counts its rows."""
COLUMNS = ("file_path", "record_count", "file_size_in_bytes", "partition")


def timed(rounds: int, run: Callable[[], Any], between: Callable[[], None] = lambda: None) -> float:
    """The median of so many runs [s]."""
    seconds = []
    for _ in range(rounds):
        between()
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def views(options: argparse.Namespace) -> dict[str, View]:
    """What is timed: each reads all rows, and none are kept."""

    def taken(view: str, **keywords: Any) -> View:
        return lambda table: sum(len(one) for one in getattr(table, view)(**keywords).to_arrow_batch_reader())

    columns = list(COLUMNS)
    made = {
        "plan": taken("plan"),
        "plan, 4 columns": taken("plan", columns=columns),
        "files": taken("files"),
        "files, 4 columns": taken("files", columns=columns),
    }
    if options.where:
        made[f"plan, {options.where}"] = taken("plan", where=options.where)
    return made


def local(path: Path, options: argparse.Namespace, folder: Path) -> None:
    """Prints each view without a cache and with a warm one."""
    names = ("view", "rows", "cold s", "filling s", "memory s", "folder s", "cold / memory", "cold / folder")
    print(f"| {' | '.join((*names, 'MB', 'MB on disk'))} |\n|---|{'---:|' * 9}")
    for name, view in views(options).items():
        shutil.rmtree(folder, ignore_errors=True)
        print(f"| {name} | {' | '.join(row(path, view, options, folder))} |")


def row(path: Path, view: View, options: argparse.Namespace, folder: Path) -> list[str]:
    """Its rows, seconds, ratios and megabytes."""
    plain = lakebed.open_table(path)
    rows = view(plain)
    cold = timed(options.rounds, lambda: view(plain))
    cache = lakebed.Cache(memory_bytes=options.memory << 20, folder=folder)
    table = lakebed.open_table(path, cache=cache)
    filling = timed(1, lambda: view(table))
    assert view(table) == rows
    memory = timed(options.rounds, lambda: view(table))
    other = lakebed.open_table(path, cache=lakebed.Cache(memory_bytes=0, folder=folder))
    assert view(other) == rows
    disk = timed(options.rounds, lambda: view(other))
    stats = cache.stats()
    seconds = [f"{one:.3f}" for one in (cold, filling, memory, disk)]
    sizes = [f"{stats[name] / 1e6:.0f}" for name in ("memory_bytes", "disk_bytes")]
    return [f"{rows:,}", *seconds, f"{cold / memory:.1f}", f"{cold / disk:.1f}", *sizes]


def late(path: Path, options: argparse.Namespace) -> None:
    """Prints opening and planning behind the delay: cold, warm, and warm after a commit of one file."""
    storage, cache = DelayedFileSystem(options.delay), lakebed.Cache(memory_bytes=options.memory << 20)

    def planned(kept: lakebed.Cache | None) -> int:
        table = lakebed.open_table(path, storage=storage, cache=kept)
        return sum(len(one) for one in table.plan().to_arrow_batch_reader())

    cold = timed(options.rounds, lambda: planned(None))
    planned(cache)
    warm = timed(options.rounds, lambda: planned(cache))
    hints = (path / "metadata" / "version-hint.text", path / "snapshot" / "LATEST")
    hint = next(file for file in hints if file.exists())
    with restored(hint, lambda: filter(Path.is_dir, path.iterdir())):
        after = timed(options.rounds, lambda: planned(cache), lambda: commit(path))
    print(f"\n| {options.delay:g} ms a request | s | cold / this |\n|---|---:|---:|")
    for name, seconds in (("cold", cold), ("warm", warm), ("warm, after a commit", after)):
        print(f"| open and plan, {name} | {seconds:.3f} | {cold / seconds:.1f} |")


def commit(path: Path) -> None:
    """Appends a file that exists nowhere, beside one that the table has."""
    table = lakebed.open_table(path)
    bucket = ("bucket",) if table.format == "paimon" else ()
    file = table.files(columns=[*COLUMNS, *bucket], limit=1).to_arrow()
    beside = file["file_path"][0].as_py().rpartition("/")[0]
    table.append_files(file.set_column(0, "file_path", pa.array([f"{beside}/{uuid4()}.parquet"])))


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the tables. Returns: 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--given", type=Path, help="a table to plan, instead of one that is made")
    add("--files", type=int, default=1_000_000, help="live files of the table that is made")
    add("--manifests", type=int, default=100, help="manifests of it")
    add("--where", help="a condition to plan by, too")
    add("--delay", type=float, default=30, help="what each request takes [ms]")
    add("--memory", type=int, default=2048, help="of the cache [MiB]")
    add("--rounds", type=int, default=5)
    add("--cache", type=suite.cache, default=suite.CACHE, help="where tables are made")
    options = parser.parse_args(arguments)
    sizes = jobs_tables.Sizes(options.files, options.manifests)
    path = options.given or jobs_tables.made(options.cache, sizes)
    with tempfile.TemporaryDirectory(dir=options.cache) as folder:
        local(path, options, Path(folder) / "cache")
    late(path, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
