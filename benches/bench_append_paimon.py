"""Times appends of one file to a Paimon table of many commits: lakebed's beside pypaimon's and Paimon Java's,
above what reading the last list and writing the new files takes. See README.md.

Run as `bench_append_paimon.py --side SIDE` this is the process of one side.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import append_tables
import report
from paimon_tables import java_classpath, java_version

REFERENCE = "lakebed, unchecked"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a table. Returns: 1 if a side left another number of snapshots than it made."""
    options = _options(arguments)
    cache = options.cache.resolve()
    root = append_tables.made(cache, options.commits)
    if options.side:
        for millis in SIDES[options.side](root, options.appends):
            print(millis, flush=True)
        return 0
    rows = [("side", "version", "first ms", "median ms", "least ms", "times lakebed")]
    medians: dict[str, float] = {}
    for side in options.sides:
        with _restored(root):
            millis = _measured(side, root, cache, options)
            made = len(list((root / "snapshot").glob("snapshot-*"))) - options.commits
        if made != (0 if side == "floor" else options.appends):
            print(f"{side} made {made} snapshots", file=sys.stderr)
            return 1
        medians[side] = median = statistics.median(millis[1:])
        own = medians.get(REFERENCE)
        shown = (
            f"{millis[0]:.1f}",
            f"{median:.1f}",
            f"{min(millis):.1f}",
            f"{median / own:.1f}" if own else "",
        )
        rows.append((side, _version(side), *shown))
    print(report.markdown(rows, (0, 1)))
    return 0


def _measured(side: str, root: Path, cache: Path, options: argparse.Namespace) -> list[float]:
    command = [sys.executable, __file__, "--cache", str(options.cache), "--side", side]
    command += ["--commits", str(options.commits), "--appends", str(options.appends)]
    if side == "java":
        command = [
            "java",
            "-Xmx2g",
            "-cp",
            java_classpath(cache),
            "BenchAppend",
            str(root),
            str(options.appends),
        ]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [float(line) for line in told.splitlines()]


def _lakebed(root: Path, count: int, check: bool) -> Iterator[float]:
    import lakebed

    table = lakebed.open_table(root)
    for _ in range(count):
        file = append_tables.one_file(f"data-{uuid.uuid4()}")
        begun = time.perf_counter()
        table = table.append_files(file, check_files=check)
        yield (time.perf_counter() - begun) * 1e3


def _pypaimon(root: Path, count: int) -> Iterator[float]:
    import pyarrow as pa
    from pypaimon.table.file_store_table import FileStoreTable

    rows = pa.table({"id": pa.array([1], pa.int64()), "name": ["a"]})
    for _ in range(count):
        builder = FileStoreTable.from_path(str(root)).new_batch_write_builder()
        write, commit = builder.new_write(), builder.new_commit()
        write.write_arrow(rows)
        messages = write.prepare_commit()
        begun = time.perf_counter()
        commit.commit(messages)
        yield (time.perf_counter() - begun) * 1e3
        write.close()
        commit.close()


def _floor(root: Path, count: int) -> Iterator[float]:
    """Reads the base list, and writes as many bytes, and three short files, each to the disk."""
    (base,) = (root / "manifest").glob("manifest-list-made-base")
    for number in range(count):
        begun = time.perf_counter()
        for place, written in enumerate([base.read_bytes(), b"m" * 1200, b"l" * 900, b"s" * 900]):
            path = root / "manifest" / f"floor-{number}-{place}"
            with path.open("wb") as file:
                file.write(written)
                file.flush()
                os.fsync(file.fileno())
        yield (time.perf_counter() - begun) * 1e3


SIDES: dict[str, Callable[[Path, int], Iterator[float]]] = {
    "floor": _floor,
    REFERENCE: lambda root, count: _lakebed(root, count, False),
    "lakebed": lambda root, count: _lakebed(root, count, True),
    "pypaimon": _pypaimon,
}


@contextlib.contextmanager
def _restored(root: Path) -> Iterator[None]:
    """Takes away what was written to the table."""
    hint = root / "snapshot" / "LATEST"
    before, text = _files(root), hint.read_text()
    yield
    hint.write_text(text)
    for path in _files(root) - before:
        Path(path).unlink()


def _files(root: Path) -> set[str]:
    return {entry.path for folder in os.scandir(root) if folder.is_dir() for entry in os.scandir(folder.path)}


def _version(side: str) -> str:
    return {"floor": "", "java": java_version(), "pypaimon": version("pypaimon")}.get(
        side, version("lakebed")
    )


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    made = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    add: Any = made.add_argument
    add("--commits", type=int, default=10_000, help="commits that the table has, a manifest each")
    add("--appends", type=int, default=20, help="appends of each side")
    add(
        "--sides",
        type=lambda text: text.split("/"),
        default=[*SIDES, "java"],
        help="which, with / between them",
    )
    add("--side", default=None, help="be the process of this side")
    add("--cache", type=Path, default=Path(__file__).with_name(".cache"), help="where the table is kept")
    return made.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
