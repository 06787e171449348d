"""Everything of lakebed.spark asked of two tables, whatever kind of session answers."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import PySparkException

import lakebed
import lakebed.spark as ls
from lakebed.view import KEYWORDS
from spark_rows import actual, collected, expected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OF_PAIMON = ("changelogs", "indexes")
RANGE = 1 << 17
# Those that executors read.
IN_RANGES = ("files", "entries", "deletes", "partitions", "buckets", "health", "plan", "appends")

Answers = Iterator[tuple[str, bool]]
"""What was asked, and whether the answer is that without Spark."""


def answers(spark: SparkSession, paimon: str, iceberg: str, written: str) -> dict[str, bool]:
    """Args: paimon, iceberg, tables; written, where the latter's metadata says that it is."""
    moved = lakebed.open_table(iceberg, relocate={written: iceberg})
    opened = lakebed.open_table(paimon)
    found: dict[str, bool] = {}
    for table in (opened, moved):
        found |= {f"{table.format}: {what}": right for what, right in views(spark, table)}
    return found | dict(others(spark, opened, paimon)) | dict(damaged(spark, paimon))


def views(spark: SparkSession, table: lakebed.Table) -> Answers:
    """Every view of a table, those that executors read in ranges too."""
    ids = table.snapshots().to_arrow()["snapshot_id"].to_pylist()
    for view in KEYWORDS:
        if view == "metadata_table" or (view in OF_PAIMON and table.format != "paimon"):
            continue
        places = (ids[0], ids[-1]) if view == "diff" else ()
        scan = getattr(table, view)(*places)
        if view in ("file_history", "totals") and table.format == "paimon":
            # The task that makes it has a folder of its own to work in: paths are absolute.
            scan = getattr(lakebed.open_table(Path(table.location).absolute()), view)()
        frame = getattr(ls, view)(spark, table, *places)
        yield view, frame.schema == ls.schema(view, table) and actual(frame) == expected(scan)
        if view in IN_RANGES:
            frame = getattr(ls, view)(spark, table, *places, range_bytes=RANGE)
            yield f"{view} in ranges", actual(frame) == expected(scan)
            frame = getattr(ls, view)(spark, table, *places, read="spark")
            yield f"{view} by Spark", actual(frame) == expected(scan)
            rows = scan.to_arrow().num_rows
            for how in ({}, {"range_bytes": RANGE}, {"read": "spark"}):
                frame = getattr(ls, view)(spark, table, *places, columns=[], **how)
                yield f"{view} without columns, {how}", frame.count() == rows
    selection: dict[str, Any] = {"columns": ["file_path", "partition"], "where": "region = 'emea'"}
    yield "a selection", actual(ls.files(spark, table, **selection)) == expected(table.files(**selection))
    history = table.at(snapshot=ids[0]).files()
    yield "history", actual(ls.files(spark, table, at=ids[0])) == expected(history)


def others(spark: SparkSession, table: lakebed.Table, path: str) -> Answers:
    """What is not a view of a table that is open."""
    name = "options" if table.format == "paimon" else "history"
    yield (
        "metadata_table",
        actual(ls.metadata_table(spark, table, name)) == expected(table.metadata_table(name)),
    )
    kept: dict[str, Any] = {"filter": "record_count > 1", "columns": ["file_path"]}
    of_spark = ls.open_table(spark, table, read="executors")
    yield "open_table", actual(of_spark.files(**kept)) == expected(table.files(**kept))
    checked = ls.check(spark).collect()
    yield "check", bool(checked) and all(row.ok and row.lakebed == lakebed.__version__ for row in checked)
    files = spark.read.format("binaryFile").load(
        [manifest["path"] for manifest in table.entries().planned_manifests()]
    )
    rows = files.mapInArrow(ls.manifest_mapper(table.format, table), ls.schema("entries", table))
    yield "manifest_mapper", actual(rows) == expected(table.entries())
    yield "report", ls.report(spark, [path]) == lakebed.report([lakebed.open_table(Path(path).absolute())])
    errors = collected(ls.health(spark, [path, f"{path}/nowhere"])).to_pylist()
    yield "health of many", [row["error"] is None for row in errors] == [True, False]
    yield "orphans of a listing", orphans_of_a_listing(spark, table)
    yield "apply", applied(spark, path)
    yield from asked_in_sql(spark, table, path)


def asked_in_sql(spark: SparkSession, table: lakebed.Table, path: str) -> Answers:
    """The data source, and what `register` makes of a session: an error with PySpark 3.5."""
    if not hasattr(spark, "dataSource"):
        try:
            ls.register(spark)
        except ImportError as error:
            yield "register", "PySpark 4" in str(error)
        return
    # Workers open this path, and have folders of their own to work in.
    absolute = Path(path).absolute()
    ls.register(spark, registered=table)
    for view in ("files", "snapshots"):
        scan = getattr(lakebed.open_table(absolute), view)()
        frame = spark.read.format("lakebed").option("view", view).load(str(absolute))
        yield f"DataSource of {view}", actual(frame) == expected(scan)
        frame = spark.sql(f"SELECT * FROM lakebed('registered', '{view}')")
        yield f"{view} of a table function: register", actual(frame) == expected(scan)
        for kind, dropped in (("TEMPORARY VIEW", "VIEW"), ("TABLE", "TABLE")):
            spark.sql(f"CREATE {kind} of_sql USING lakebed OPTIONS (path '{absolute}', view '{view}')")
            yield f"{kind} of {view}", actual(spark.table("of_sql")) == expected(scan)
            spark.sql(f"DROP {dropped} of_sql")


def orphans_of_a_listing(spark: SparkSession, table: lakebed.Table) -> bool:
    """Whether orphans are the same of a listing that Spark has, in several partitions, and not all of it."""
    old = datetime(2020, 1, 1, tzinfo=timezone.utc)
    root = Path(table.location).absolute()
    # Tasks have folders of their own to work in: paths are absolute.
    table = lakebed.open_table(root)
    # Not what is in the folder, where other tests have files for a moment.
    files = table.reachable().to_arrow()["file_path"].to_pylist()
    files += [f"{root}/manifest/lost-{number}" for number in range(5)]
    rows = [(file, 7, old) for file in files]
    frame = spark.createDataFrame(rows, "path string, size bigint, modified timestamp").repartition(3)
    columns = zip(*rows, strict=True)
    listing = pa.table({name: list(column) for name, column in zip(frame.columns, columns, strict=True)})
    found = actual(ls.orphans(spark, table, listing=frame))
    return len(found) == 5 and found == expected(table.orphans(listing=listing))


def applied(spark: SparkSession, path: str) -> bool:
    """Whether an orphan of a copy goes by its row."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(path, Path(folder, "t")))
        bucket = copy / "dt=2026-01-01/region=emea/bucket-0"
        bucket.mkdir(parents=True)
        lost = [bucket / f"data-lost-{number}.parquet" for number in range(2)]
        for file in lost:
            file.write_bytes(b"lost")
            os.utime(file, (1_577_836_800,) * 2)
        ls.orphans(spark, str(copy)).write.parquet(f"{folder}/plan")
        rows = spark.read.parquet(f"{folder}/plan").filter(f"file_path LIKE '%{lost[0].name}'")
        done = ls.apply(spark, rows, str(copy), log=f"{folder}/log")
        told = [(row.file_path, row.outcome) for row in done.collect()]
        return told == [(str(lost[0]), "removed")] and [file.exists() for file in lost] == [False, True]


def damaged(spark: SparkSession, path: str) -> Answers:
    """Which errors come of a manifest that is cut, and of one that is not there."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(path, Path(folder, "t")))
        manifest = Path(lakebed.open_table(copy).manifests().to_arrow()["path"][0].as_py())
        manifest.write_bytes(manifest.read_bytes()[:-1])
        for read, kind in (("executors", "truncated: "), (None, "")):
            text = failure(spark, copy, read)
            yield f"a cut manifest, {read}", f"TruncatedError: {kind}" in text and manifest.name in text
        manifest.unlink()
        yield "a missing manifest", "MissingFileError: missing: " in failure(spark, copy, "executors")
        yield "one that Spark misses", failure(spark, copy, "spark").startswith("MissingFileError: ")


def failure(spark: SparkSession, path: Path, read: Any = None) -> str:
    try:
        return str(ls.files(spark, path, read=read).collect())
    except (PySparkException, lakebed.LakebedError) as error:
        return f"{type(error).__name__}: {error}"
