"""Times files that lakebed and PyIceberg add to an Iceberg table, by footers that a storage gives late. See
README.md.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from delayed import DelayedFileSystem, pyiceberg_properties

import lakebed

DAY = dt.date(2026, 1, 1)


def rows_of(columns: int) -> pa.Table:
    """Numbers, texts and times in turn, and a day by which the table is partitioned."""
    kinds = (
        pa.array(range(1000), pa.int64()),
        pa.array([f"text {number}" for number in range(1000)]),
        pa.array(range(1000), pa.timestamp("us")),
    )
    named = {f"column_{number}": kinds[number % 3] for number in range(columns - 1)}
    return pa.table({"day": pa.array([DAY] * 1000), **named})


def written(folder: Path, files: int, rows: pa.Table) -> list[str]:
    """Files of the same rows, which differ in their inodes alone."""
    folder.mkdir()
    first = folder / "0.parquet"
    pq.write_table(rows, first, compression="zstd", row_group_size=500)
    paths = [str(folder / f"{number}.parquet") for number in range(files)]
    for path in paths[1:]:
        os.link(first, path)
    return paths


class Side:
    """A table of a catalog of its own, near, whose files are late once it is made."""

    def __init__(self, folder: Path, rows: pa.Table, milliseconds: float) -> None:
        from pyiceberg.catalog.sql import SqlCatalog
        from pyiceberg.transforms import IdentityTransform

        folder.mkdir()
        late = pyiceberg_properties(milliseconds)
        catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder), **late)
        catalog.create_namespace("n")
        self.table = catalog.create_table("n.t", rows.schema)
        with self.table.update_spec() as spec:
            spec.add_field("day", IdentityTransform(), "day")

    def summary(self) -> dict[str, Any]:
        """What the newest snapshot says of the files: both sides say the same."""
        snapshot = self.table.refresh().current_snapshot()
        keys = ("added-data-files", "added-records", "added-files-size")
        return {key: snapshot.summary[key] for key in keys}


def measured(arguments: argparse.Namespace, folder: Path) -> dict[str, tuple[float, dict[str, Any]]]:
    """Seconds of each side, and what its snapshot says."""
    rows = rows_of(arguments.columns)
    paths = written(folder / "files", arguments.files, rows)
    found = {}
    for name in arguments.sides:
        side = Side(folder / name, rows, arguments.milliseconds)
        late = DelayedFileSystem(arguments.milliseconds)
        began = time.perf_counter()
        if name == "pyiceberg":
            side.table.add_files(paths)
        elif name == "lakebed":
            # Its catalog's storage reads four local files at once, as nobody told it that they are late.
            lakebed.open_table(side.table).add_files(paths, storage=late)
        else:
            described = lakebed.describe_files(paths, lakebed.open_table(side.table), storage=late)
            found[name] = (time.perf_counter() - began, {"rows": described.num_rows})
            continue
        found[name] = (time.perf_counter() - began, side.summary())
    return found


def main() -> None:
    """Prints a line for each side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--milliseconds", type=float, default=30, help="that each request takes")
    parser.add_argument("--sides", nargs="+", default=["describe", "lakebed", "pyiceberg"])
    arguments = parser.parse_args()
    import pyiceberg

    threads = os.environ.get("PYICEBERG_MAX_WORKERS", "its own number of")
    print(
        f"{arguments.files:,} Parquet files of pyarrow {pa.__version__} (zstd, 2 row groups)",
        f"{arguments.columns} columns",
        f"{arguments.milliseconds:g} ms a request",
        f"PyIceberg {pyiceberg.__version__} with {threads} threads",
        f"{os.cpu_count()} cores",
        sep=", ",
        file=sys.stderr,
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, (seconds, says) in measured(arguments, Path(folder)).items():
            print(f"{name:10} {seconds:8.2f} s  {says}")


if __name__ == "__main__":
    main()
