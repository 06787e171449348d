"""Iceberg's own runtime for Spark and lakebed side by side: the same rows of the same tables."""

from __future__ import annotations

import json
import re
import shutil
import time
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from covering import each_covering_iceberg_table
from java_engine import EngineError
from moved_tables import with_deletes
from spark_runtimes import SparkRuntimes, stands_at

import lakebed
import lakebed.spark as ls
from iceberg_answers import Row, assert_same_multiset, canonical_rows, leaves
from iceberg_golden import GoldenTable, each_golden_iceberg_table, golden_iceberg_tables
from spark_rows import collected, in_spark

pytest.importorskip("pyspark")


pytestmark = [pytest.mark.spark, pytest.mark.jvm, pytest.mark.spark_35]

VIEWS = ("files", "entries", "partitions", "manifests")
METADATA_TABLES = (
    "data_files",
    "delete_files",
    "snapshots",
    "history",
    "refs",
    "all_data_files",
    "all_manifests",
)
STATUSES = ("added", "existing", "deleted")
MAPS = {f"{kind}_counts" for kind in ("value", "null_value", "nan_value")}
MAPS |= {"column_sizes", "lower_bounds", "upper_bounds"}
# What of the runtime's columns views have in another form.
OTHER_FORM = {
    "files": {*MAPS, "readable_metrics"},
    "entries": {"data_file", "readable_metrics"},
    "partitions": {
        "total_data_file_size_in_bytes",
        *(f"position_delete_{what}_count" for what in ("file", "record")),
    },
    "manifests": {
        *("partition_spec_id", "partition_summaries"),
        *(f"{status}_{kind}_files_count" for status in STATUSES for kind in ("data", "delete")),
    },
}
TYPES_WITHOUT_SPARK = {"time", "timestamp_ns", "timestamptz_ns"}


def why_spark_cannot(table: GoldenTable, name: str) -> str | None:
    """The type that Spark 3.5 has not and a metadata table has."""
    shown = {str(kind) for _, _, kind in leaves(table.schema())}
    if name == "partitions":
        shown = {"time" for kind in table.partition_type() if str(kind.type).startswith("time64")}
    elif "files" not in name and name != "entries":
        shown = set()
    lacking = sorted(shown & TYPES_WITHOUT_SPARK)
    return f"Spark 3.5 has no type for {', '.join(lacking)}" if lacking else None


def read(runtimes: SparkRuntimes, table: GoldenTable, name: str) -> pa.Table:
    """A metadata table as the runtime reads it; skips the test where it cannot."""
    # Of some tables the engine has not even an answer without Spark.
    table.rows(name)
    if reason := why_spark_cannot(table, name):
        pytest.skip(reason)
    location = Path(table.info["location"].removeprefix("file://"))
    with stands_at(location, table.path):
        return runtimes.read("iceberg", name, metadata=str(location / table.info["metadata_file"]))


def same_metadata_table(answer: pa.Table, table: GoldenTable, name: str) -> None:
    rows = in_spark(table.open().metadata_table(name))
    assert rows.schema.names == answer.schema.names
    assert_same_multiset(canonical_rows(rows), canonical_rows(answer), f"{table.name}, {name}")


@pytest.mark.parametrize("view", VIEWS)
@each_covering_iceberg_table("entry", "several")
def test_views_and_their_metadata_tables(spark, spark_runtimes, table, view):
    answer = read(spark_runtimes, table, view)
    same_metadata_table(answer, table, view)
    answers = [as_view(view, row) for row in canonical_rows(answer)]
    names = list(answers[0]) if answers else []
    rows = canonical_rows(collected(getattr(ls, view)(spark, table.open())).select(names))
    if "partition" in names:
        if view == "partitions" and set(rows[0]["partition"]) > set(answers[0]["partition"]):
            pytest.skip("the runtime takes partitions together that differ in a field that it does not show")
        shown = answers[0]["partition"]
        rows = [{**row, "partition": {name: row["partition"][name] for name in shown}} for row in rows]
    assert_same_multiset(rows, answers, f"{table.name}, {view}")


@pytest.mark.parametrize("name", METADATA_TABLES)
@each_golden_iceberg_table("dv_v3")
def test_other_metadata_tables(spark_runtimes, table, name):
    same_metadata_table(read(spark_runtimes, table, name), table, name)


def as_view(view: str, row: Row) -> Row:
    """A row of the runtime's, in the columns of the view of that name."""
    found = {name: value for name, value in row.items() if name not in OTHER_FORM[view]}
    if view == "entries":
        found |= row["data_file"]
    elif view == "partitions":
        found["file_size_in_bytes"] = row["total_data_file_size_in_bytes"]
        for what in ("file", "record"):
            kinds = (f"{kind}_delete_{what}_count" for kind in ("position", "equality"))
            found[f"delete_{what}_count"] = sum(row[kind] for kind in kinds)
    elif view == "manifests":
        found["spec_id"] = row["partition_spec_id"]
        for status in STATUSES:
            kinds = (f"{status}_{kind}_files_count" for kind in ("data", "delete"))
            found[f"{status}_files_count"] = sum(row[kind] for kind in kinds)
    return found


def test_most_tables_are_read_by_both() -> None:
    tables = golden_iceberg_tables()
    for view in VIEWS:
        assert 2 * sum(why_spark_cannot(table, view) is None for table in tables) >= len(tables)


@each_covering_iceberg_table("snapshot", "ref", "format")
def test_the_runtime_finds_the_same_orphans(
    table: GoldenTable, tmp_path: Path, spark_runtimes: SparkRuntimes
):
    copy = Path(shutil.copytree(table.path, tmp_path / table.path.name))
    for name in ("data/x.parquet", "metadata/x.avro", "data/_hidden/x", "data/.hidden", "z/y/x"):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes(b"orphan")
    time.sleep(0.01)
    now = datetime.now(timezone.utc)
    location = Path(table.info["location"].removeprefix("file://"))
    with stands_at(location, copy):
        metadata = str(location / table.info["metadata_file"])
        opened = lakebed.open_table(metadata)
        if None in opened.snapshots(columns=["manifest_list"]).to_arrow()[0].to_pylist():
            pytest.skip("the runtime fails at manifests that stand in no list")
        found = opened.orphans(now).to_arrow()["file_path"].to_pylist()
        deleted = spark_runtimes.orphans(metadata, int(now.timestamp() * 1000))
    # Some tables name their files with a scheme.
    ours, theirs = ([re.sub("^file:/+", "/", path) for path in paths] for paths in (found, deleted))
    assert sorted(ours) == sorted(theirs)
    assert sum(path.endswith(("/x", "/x.parquet", "/x.avro")) for path in found) == 3


@each_covering_iceberg_table("content", "several", "format")
def test_the_runtime_lists_the_same_files_to_copy(
    table: GoldenTable, tmp_path: Path, spark_runtimes: SparkRuntimes
):
    ours, theirs = files_to_copy(table, tmp_path, spark_runtimes)
    # 1.12 records the lengths of what it has written; until 1.11 those of the old files stayed.
    assert wrong_lengths(ours) == wrong_lengths(theirs) == []
    assert {to for _, to in ours} == {to for _, to in theirs}
    assert of_the_table(ours, tmp_path) == of_the_table(theirs, tmp_path)


@each_golden_iceberg_table("merge_append_v2", "operations_v2")
def test_the_runtime_lists_the_same_files_since_a_version(
    table: GoldenTable, tmp_path: Path, spark_runtimes: SparkRuntimes
):
    """The same data files. Of metadata lakebed lists all that newer lists name, whose lengths they record;
    the action only the manifests that newer snapshots added.
    """
    ours, theirs = files_to_copy(table, tmp_path, spark_runtimes, before=4)
    assert of_the_table(ours, tmp_path) == of_the_table(theirs, tmp_path)
    assert {to for _, to in ours} >= {to for _, to in theirs}
    everything, _ = files_to_copy(table, tmp_path / "all", spark_runtimes)
    assert len(ours) < len(everything)


Files = set[tuple[str, str]]

# What the action throws, and at what.
FAULTS_OF_MOVES = {
    # It creates the file again for each vector.
    "RewriteTablePathUtil.rewriteDVFile": "a Puffin file of several vectors",
    # A list of version 3 is written with the first row id of its snapshot, which need not have one.
    '"java.lang.Long.longValue()" because "firstRowId" is null': "a snapshot of version 3 without row ids",
}


def files_to_copy(
    table: GoldenTable, folder: Path, spark_runtimes: SparkRuntimes, before: int | None = None
) -> tuple[Files, Files]:
    """What lakebed and the runtime list as to be copied, all or since so many versions before the last."""
    folder.mkdir(exist_ok=True)
    with_deletes(table, folder / "old")
    source, target = table.info["location"], "/elsewhere/t"
    location = Path(source.removeprefix("file://"))
    with stands_at(location, folder / "old"):
        metadata = f"{source}/{table.info['metadata_file']}"
        opened = lakebed.open_table(metadata)
        if None in opened.snapshots(columns=["manifest_list"]).to_arrow()[0].to_pylist():
            pytest.skip("the runtime fails at manifests that stand in no list")
        log = json.loads(Path(metadata).read_text())["metadata-log"] if before else []
        since = Path(log[-before]["metadata-file"]).name if before else None
        staging = folder / "theirs"
        asked = {"metadata": metadata, "source": source, "target": target, "staging": f"{staging}/"}
        try:
            theirs = spark_runtimes.moved(**asked, since=since)
        except EngineError as error:
            found = [reason for fault, reason in FAULTS_OF_MOVES.items() if fault in str(error)]
            if not found:
                raise
            pytest.skip(f"the runtime fails at {found[0]}")
        rows = lakebed.rewrite_paths(opened, {source: target}, to=folder / "ours", since=since)
        # A hint is of tables without a catalog, which the action knows nothing of.
        named = [row for row in rows.to_arrow().to_pylist() if row["kind"] != "hint"]
    return {(row["source"], row["target"]) for row in named}, theirs


def wrong_lengths(files: Files) -> list[str]:
    """The manifests in rewritten lists that are not as long as these record."""
    where = {target: Path(source.removeprefix("file:")) for source, target in files}
    lists = [file for target, file in where.items() if Path(target).name.startswith("snap-")]
    rows = [row for file in lists for row in lakebed.iceberg.read_manifest_list(file).to_arrow().to_pylist()]
    paths = [row["manifest_path"] for row in rows]
    lengths = [where[path].stat().st_size for path in paths]
    return [
        path
        for path, length, row in zip(paths, lengths, rows, strict=True)
        if row["manifest_length"] != length
    ]


def of_the_table(files: Files, folder: Path) -> Files:
    """The files that are copied as they are."""
    return {pair for pair in files if not pair[0].removeprefix("file:").startswith(f"{folder}/")}
