"""Paimon's runtime for Spark, 0.9.0, and lakebed side by side: the same rows of tables that it can read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from covering import each_covering_paimon_table

import lakebed
import lakebed.spark as ls
from paimon_answers import Row, Schemas, canonical_rows
from shared_data import GoldenTable, golden_paimon_tables
from spark_rows import collected, in_spark

pytest.importorskip("pyspark")


pytestmark = [pytest.mark.spark, pytest.mark.jvm, pytest.mark.spark_35]

# Of each system table, the runtime's columns that a view has, and what that calls them where it differs. When
# a commit was is not among them: in a view that is an instant.
VIEWS: dict[str, dict[str, str]] = {
    "files": {
        "file_path": "file_name",
        "creation_time": "created_at",
        "max_sequence_number": "sequence_number",
        **dict.fromkeys(("bucket", "file_format", "schema_id", "level", "record_count"), ""),
        **dict.fromkeys(("file_size_in_bytes", "min_sequence_number"), ""),
    },
    "manifests": {
        "file_size": "length",
        "num_added_files": "added_files_count",
        "num_deleted_files": "deleted_files_count",
        **dict.fromkeys(("file_name", "schema_id"), ""),
    },
    "snapshots": {
        "commit_kind": "operation",
        **dict.fromkeys(("snapshot_id", "schema_id", "commit_user", "commit_identifier"), ""),
        **dict.fromkeys(("total_record_count", "delta_record_count", "changelog_record_count"), ""),
        **dict.fromkeys(("base_manifest_list", "delta_manifest_list", "changelog_manifest_list"), ""),
        "watermark": "",
    },
}
TIMES = ("DATE", "TIME")
STATISTICS = {"null_value_counts", "min_value_stats", "max_value_stats"}


def why_0_9_cannot(table: GoldenTable, name: str) -> str | None:
    """What of a table is newer than the runtime."""
    schema = Schemas(table).latest()
    if newer := {str(field["type"]) for field in schema["fields"]} & {"BLOB", "VARIANT"}:
        return f"it has no type {', '.join(newer)}"
    if schema["options"].get("bucket") == "-2":
        return "it has no postponed buckets"
    if name != "files":
        return None
    opened = lakebed.open_table(table.path)
    entries = opened.entries(columns=["value_stats_cols", "write_cols"]).to_arrow()
    if any(column.null_count < len(column) for column in entries.columns):
        return "it takes statistics of some columns for those of the first ones"
    older = (Schemas(table).file(number) for number in opened.schemas().to_arrow()["schema_id"].to_pylist())
    if any(moved_columns(one, schema) for one in older):
        # And reads beyond their end, which may cost it the JVM.
        return "it takes statistics by position, also where columns were dropped or moved"
    return None


def moved_columns(older: Row, latest: Row) -> bool:
    ids = [[field["id"] for field in schema["fields"]] for schema in (older, latest)]
    return ids[0] != ids[1][: len(ids[0])]


@pytest.mark.parametrize("name", VIEWS)
@each_covering_paimon_table("entry", "snapshot", "column")
def test_system_tables(spark, spark_runtimes, table, name):
    if reason := why_0_9_cannot(table, name):
        pytest.skip(reason)
    answer = spark_runtimes.read("paimon", name, table=str(table.path))
    answers = canonical_rows(answer)
    opened = lakebed.open_table(table.path)
    rows = canonical_rows(in_spark(opened.metadata_table(name)).select(answer.schema.names))
    assert in_order(as_in_0_9(table, rows)) == in_order(without_unlike(table, answers))

    names = {column: called or column for column, called in VIEWS[name].items()}
    read = collected(getattr(ls, name)(spark, table.path)).select(list(names.values()))
    rows = canonical_rows(read.rename_columns(list(names)))
    changelog = changelog_manifests(opened) if name == "manifests" else set()
    answers = [row for row in answers if row.get("file_name") not in changelog]
    assert in_order(rows) == in_order({column: row[column] for column in names} for row in answers)


def as_in_0_9(table: GoldenTable, rows: list[Row]) -> Iterator[Row]:
    """Rows of a system table in the words of the runtime: names of files, and partitions in brackets."""
    for row in without_unlike(table, rows):
        if "file_path" in row:
            row["file_path"] = row["file_path"].rpartition("/")[2]
        if "partition" in row:
            row["partition"] = f"[{row['partition'][1:-1]}]"
        yield row


def without_unlike(table: GoldenTable, rows: list[Row]) -> Iterator[Row]:
    """Rows without what the runtime shows in another form: partitions of dates and times, and statistics of
    files that lack columns of today, which it leaves out.
    """
    schema = Schemas(table).latest()
    types = {field["name"]: str(field["type"]) for field in schema["fields"]}
    unlike = {"partition"} if any(types[key].startswith(TIMES) for key in schema["partitionKeys"]) else set()
    for row in rows:
        lacking = len(Schemas(table).file(int(row["schema_id"]))["fields"]) < len(types)
        left_out = unlike | STATISTICS if lacking else unlike
        yield {name: value for name, value in row.items() if name not in left_out}


def changelog_manifests(table: lakebed.Table) -> set[str]:
    """The manifests of the latest snapshot's changelog, which the view has not: they change no files."""
    latest = table.snapshots(filter=f"snapshot_id = {table.snapshot_id}") if table.snapshot_id else None
    names = latest.to_arrow()["changelog_manifest_list"].drop_null().to_pylist() if latest else []
    lists = (lakebed.paimon.read_manifest_list(Path(table.location, "manifest", name)) for name in names)
    return {name for one in lists for name in one.to_arrow()["file_name"].to_pylist()}


def in_order(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=str)


def test_most_tables_are_read_by_both() -> None:
    tables = golden_paimon_tables()
    for name in VIEWS:
        assert 4 * sum(why_0_9_cannot(table, name) is None for table in tables) >= 3 * len(tables)
