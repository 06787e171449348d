"""Tasks that remove files and break, which Spark tries again or does not; run as a program by a test.

Usage: python removing_tasks.py FOLDER CASES, for what is made, and pairs in JSON: what breaks, and whether
files are moved. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import small_tables
from pyspark.errors import PySparkException
from spark_sessions import begun

import lakebed
import lakebed.spark as ls
from lakebed.spark import cleaning
from lakebed.storage import DetailListingStorage
from lakebed.storage.removal import LocalFiles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 6


def breaking(marker: Path, point: str) -> Any:
    """The local file system, of which one request does half of what it is asked, and ends its task: once."""

    # A nested class is sent by value.
    class Breaking(LocalFiles, DetailListingStorage):
        def contents(self, prefix: str) -> Any:
            found = [(one, one.stat()) for one in Path(prefix).iterdir()]
            return [(one.name, one.is_dir(), stat.st_size, int(stat.st_mtime * 1e3)) for one, stat in found]

        def once(self) -> bool:
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                return False
            return True

        def remove_files(self, paths: Any) -> Any:
            if point == "a removal" and self.once():
                super().remove_files(paths[:1])
                raise RuntimeError("broken off")
            answers = super().remove_files(paths)
            if point == "the log" and self.once():
                # All is removed, and the line that says so is not written.
                raise RuntimeError("broken off")
            return answers

        def copy(self, path: str, target: str) -> None:
            super().copy(path, target)
            if point == "a copy" and self.once():
                raise RuntimeError("broken off")

    return Breaking()


def case(spark: SparkSession, folder: Path, point: str, quarantine: bool) -> dict[str, Any]:
    """What became of a table whose task was broken."""
    table = small_tables.iceberg(folder / "t", "data/a.parquet", "data/b.parquet")
    lost = small_tables.lost(*(folder / "t" / "data" / f"lost-{number}" for number in range(FILES)))
    for path in lost:
        os.utime(path, (1_577_836_800,) * 2)
    before = small_tables.lying(folder / "t")
    pq.write_table(table.orphans().to_arrow(), folder / "rows")
    opened = lakebed.open_table(table.location, storage=breaking(folder / "broke", point))
    rows, log, errors = spark.read.parquet(str(folder / "rows")), folder / "log", 0
    to = str(folder / "q") if quarantine else None
    while True:
        try:
            done = ls.apply(spark, rows, opened, to, log=log, younger=timedelta(days=1)).collect()
            break
        except PySparkException as error:
            if "broken off" not in str(error) or errors:
                raise
            errors += 1
    gone = sorted(set(before) - set(small_tables.lying(folder / "t")))
    logged = {
        json.loads(line)["path"] for part in log.glob("*.jsonl") for line in part.read_text().splitlines()
    }
    restored = lakebed.restore(log, opened).rows.to_pylist() if quarantine else []
    return {
        "broke": (folder / "broke").exists(),
        "errors": errors,
        "lost": lost,
        "gone": gone,
        "logged": sorted(logged),
        "outcomes": {row.file_path: row.outcome for row in done},
        "restored": sorted(row["file_path"] for row in restored if row["outcome"] == "restored"),
        "whole": table.refresh().verify(data_files=True).to_arrow().num_rows == 0
        and (not quarantine or before == small_tables.lying(folder / "t")),
    }


def main(folder: Path, cases: list[tuple[str, bool]]) -> None:
    # Several shares, of which one breaks.
    cleaning._SHARE = 2
    found: dict[str, Any] = {}
    for master in ("local[2,3]", "local[2]"):
        spark = begun(master, {})
        for point, quarantine in cases:
            case_folder = folder / str(len(found))
            found[f"{master}, {point}, {quarantine}"] = case(spark, case_folder, point, quarantine)
        spark.stop()
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
