"""Views and files of tables that Iceberg Java wrote, against that engine's own answers, value for value."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import lakebed
from iceberg_answers import (
    Row,
    arrow_type,
    assert_same_multiset,
    assert_same_rows,
    bound_value,
    canonical,
    canonical_rows,
    leaves,
    wanted,
)
from iceberg_golden import OLDER, GoldenTable, each_golden_iceberg_table

# Fields of the engine's files that views have under the same names.
PLAIN = [
    "content",
    "file_path",
    "file_format",
    "spec_id",
    "record_count",
    "file_size_in_bytes",
    "key_metadata",
    "split_offsets",
    "equality_ids",
    "sort_order_id",
    "first_row_id",
    "referenced_data_file",
    "content_offset",
    "content_size_in_bytes",
]
COUNTS = ["column_sizes", "value_counts", "null_value_counts", "nan_value_counts"]
BOUNDS = ["lower_bounds", "upper_bounds"]
STATE = ["status", "snapshot_id", "sequence_number", "file_sequence_number"]
# The id of the column of paths in position deletes.
PATH_OF_DELETED = "2147483546"
# What identifies a file: a deletion vector by its place in its file.
IDENTITY = ["file_path", "content_offset"]


def each_snapshot(test: Any) -> Any:
    """Parametrises `table` over the golden tables, and `at` over their current and their older snapshots."""
    return each_golden_iceberg_table()(
        pytest.mark.parametrize("at", ["", OLDER], ids=["current", "older"])(test)
    )


def answers_of(table: GoldenTable, name: str, at: str) -> list[Row]:
    """An answer for the current or the older snapshot; skips the test where there is no such snapshot."""
    if at and table.snapshot_id(at) is None:
        pytest.skip(f"{table.name} has no snapshot")
    return table.rows(name + at)


def entries_at(table: GoldenTable, at: str) -> list[Row]:
    """The engine's entries of the manifests of a snapshot; skips the test where there is no such snapshot."""
    if at and table.snapshot_id(at) is None:
        pytest.skip(f"{table.name} has no snapshot")
    manifests = table.manifest_rows(table.snapshot_id(at))
    return [row for manifest in manifests for row in table.raw_entries(manifest)]


@each_snapshot
def test_entries(table: GoldenTable, at: str):
    names = [*STATE, *PLAIN, *COUNTS, *BOUNDS]
    expected = [
        {**{name: row[name] for name in names}, "partition": partition(table, at, row["partition"])}
        for row in entries_at(table, at)
    ]
    rows = canonical_rows(table.stand(at).entries().to_arrow().select([*names, "partition"]))
    assert_same_multiset(rows, expected, f"{table.name}{at}, entries")


@each_snapshot
def test_files_are_the_live_entries(table: GoldenTable, at: str):
    """In the inherited sequence numbers too, and where the engine cannot show its own table of files."""
    names = [*PLAIN, "sequence_number"]
    live = [
        {**{name: row[name] for name in names}, "partition": partition(table, at, row["partition"])}
        for row in entries_at(table, at)
        if row["live"]
    ]
    read = table.stand(at).files().to_arrow()
    assert read.schema.field("partition").type == table.partition_type(at)
    assert_same_multiset(canonical_rows(read.select([*names, "partition"])), live, f"{table.name}{at}, files")


def partition(table: GoldenTable, at: str, fields: list[Row]) -> Row:
    """A partition of the raw entries, of the type that it has in views."""
    values = {field["field_id"]: field["value"] for field in fields}
    unified = table.partition_fields(at)
    return {field.name: wanted(values.get(number), field.type) for number, field in unified.items()}


@each_snapshot
def test_files(table: GoldenTable, at: str):
    """The engine's own table of files, with the partition fields that it shows."""
    expected = answers_of(table, "files", at)
    read = table.stand(at).files().to_arrow()
    shown = engines_fields(table, at)
    rows = [
        {**row, "partition": {name: row["partition"][name] for name in shown}}
        for row in canonical_rows(read.select([*PLAIN, "partition"]))
    ]
    answers = [
        {
            **{name: row[name] for name in PLAIN},
            "partition": {name: wanted(row["partition"][name], kind) for name, kind in shown.items()},
        }
        for row in expected
    ]
    assert_same_multiset(rows, answers, f"{table.name}{at}, files")


def engines_fields(table: GoldenTable, at: str) -> dict[str, pa.DataType]:
    """The partition fields that the engine shows, with the types that they have in views."""
    fields = table.partition_fields(at)
    return {field.name: fields[number].type for number, field in table.partition_fields().items()}


@each_snapshot
def test_deletes(table: GoldenTable, at: str):
    deletes = [row for row in entries_at(table, at) if row["live"] and row["content"] != 0]
    opened = table.stand(at)
    columns = [name for name in PLAIN if name in opened.deletes().schema.names]
    assert {"content", "referenced_data_file", *IDENTITY} <= set(columns)
    rows = canonical_rows(opened.deletes(columns=columns).to_arrow())
    answers = [
        {**{name: row[name] for name in columns}, "referenced_data_file": referenced_file(row)}
        for row in deletes
    ]
    assert_same_multiset(rows, answers, f"{table.name}{at}, deletes")


def referenced_file(delete: Row) -> str | None:
    """The only data file that a delete file is of: as written, or that of equal bounds of its paths."""
    bounds = {str((delete[name] or {}).get(PATH_OF_DELETED)) for name in BOUNDS}
    if delete["referenced_data_file"] is None and len(bounds) == 1 and bounds != {"None"}:
        return bytes.fromhex(bounds.pop()).decode()
    written: str | None = delete["referenced_data_file"]
    return written


@each_snapshot
def test_statistics(table: GoldenTable, at: str):
    """Statistics of single columns are the engine's `readable_metrics` of them."""
    expected = {tuple(row[name] for name in IDENTITY): row for row in answers_of(table, "files", at)}
    opened = table.open()
    if at:
        # The engine reads metrics by the current schema, a table of the past by that of its snapshot.
        ids = {
            row["snapshot_id"]: row["schema_id_used"]
            for row in table.rows("time_travel")
            if "operation" in row
        }
        if ids[table.snapshot_id(at)] != table.info["current_schema_id"]:
            pytest.skip(f"{table.name} had another schema then")
        opened = table.stand(at)
    names = {name: arrow_type(kind) for _, name, kind in leaves(table.schema()) if "." not in name}
    names = {name: kind for name, kind in names.items() if name in metrics_of(expected)}
    read = opened.files(columns=IDENTITY, stats=list(names)).to_arrow()
    stats = canonical(read["stats"]) if names else [{}] * len(read)
    for key, got in zip(zip(*(read[name].to_pylist() for name in IDENTITY), strict=True), stats, strict=True):
        metrics = expected.pop(key)["readable_metrics"]
        for name, kind in names.items():
            where = f"{table.name}{at}, {key}, stats.{name}"
            assert got[name] == statistics(metrics[name], kind), where
    assert not expected


def metrics_of(files: dict[Any, Row]) -> list[str]:
    """The columns that the engine has metrics of."""
    return list(next(iter(files.values()))["readable_metrics"]) if files else []


def statistics(metrics: Row, kind: pa.DataType) -> Row:
    """Readable metrics under lakebed's names."""
    return {
        "value_count": metrics["value_count"],
        "null_count": metrics["null_value_count"],
        "nan_count": metrics["nan_value_count"],
        "column_size": metrics["column_size"],
        "lower_bound": wanted(metrics["lower_bound"], kind),
        "upper_bound": wanted(metrics["upper_bound"], kind),
    }


@each_snapshot
def test_manifests(table: GoldenTable, at: str):
    if at and table.snapshot_id(at) is None:
        pytest.skip(f"{table.name} has no snapshot")
    renamed = {"path": "manifest_path", "length": "manifest_length", "spec_id": "partition_spec_id"}
    numbers = ("content", "sequence_number", "min_sequence_number", "added_snapshot_id", "first_row_id")
    kinds = ("added", "existing", "deleted")
    counts = (f"{kind}_{what}_count" for what in ("files", "rows") for kind in kinds)
    names = renamed | {name: name for name in (*numbers, *counts, "key_metadata")}
    read = table.stand(at).manifests().to_arrow()
    rows = canonical_rows(read.select(list(names)))
    manifests = table.manifest_rows(table.snapshot_id(at))
    expected = [{ours: row[name] for ours, name in names.items()} for row in manifests]
    assert_same_rows(rows, expected, f"{table.name}{at}, manifests")
    for bound in ("lower", "upper"):
        check_bounds(table, at, read[f"partition_{bound}"].combine_chunks(), f"{bound}_bound")


def check_bounds(table: GoldenTable, at: str, bounds: pa.StructArray, name: str) -> None:
    """Bounds of partitions: those that the engine wrote."""
    sources, unified = table.sources(at), table.partition_fields(at)
    specs = {spec["spec"]["spec-id"]: spec["spec"]["fields"] for spec in table.info["specs"]}
    manifests = table.manifest_rows(table.snapshot_id(at))
    for number, (row, manifest) in enumerate(zip(canonical(bounds), manifests, strict=True)):
        expected = dict.fromkeys(field.name for field in unified.values())
        fields = specs[manifest["partition_spec_id"]]
        for field, summary in zip(fields, manifest["partitions"] or [], strict=False):
            if (known := unified.get(field["field-id"])) is not None:
                source = sources[field["source-id"]] if field["transform"] == "identity" else None
                expected[known.name] = bound_value(summary[name], known.type, source)
        assert row == expected, f"{table.name}, manifest {number}, {name}"


@each_snapshot
def test_partitions(table: GoldenTable, at: str):
    expected = answers_of(table, "partitions", at)
    read = table.stand(at).partitions().to_arrow()
    shown = engines_fields(table, at)
    if read.schema.field("partition").type.num_fields > len(shown):
        # The engine takes partitions together that differ in a field that it does not show.
        assert_same_sums(read, expected)
        return
    if read.num_rows > len(expected):
        # The engine has one row for a tuple, and we one for each spec that has it.
        tuples = [repr(one) for one in read["partition"].to_pylist()]
        assert len(set(tuples)) == len(expected)
        assert len(set(zip(tuples, read["spec_id"].to_pylist(), strict=True))) == read.num_rows
        assert_same_sums(read, expected)
        return
    same = ["record_count", "file_count", "last_updated_at", "last_updated_snapshot_id"]
    answers = [
        {
            **{name: row[name] for name in same},
            "partition": {name: wanted(row["partition"][name], kind) for name, kind in shown.items()},
            "spec_id": row.get("spec_id", 0),
            "file_size_in_bytes": row["total_data_file_size_in_bytes"],
            "delete_file_count": row["position_delete_file_count"] + row["equality_delete_file_count"],
            "delete_record_count": row["position_delete_record_count"] + row["equality_delete_record_count"],
        }
        for row in expected
    ]
    rows = canonical_rows(read.select(list(answers[0]) if answers else []))
    assert_same_multiset(rows, answers, f"{table.name}{at}, partitions")


def assert_same_sums(read: pa.Table, expected: list[Row]) -> None:
    for name in ("record_count", "file_count"):
        assert sum(read[name].to_pylist()) == sum(row[name] for row in expected)


@each_golden_iceberg_table()
def test_attributes(table: GoldenTable):
    opened = table.open()
    info = table.info
    assert (opened.format, opened.location) == ("iceberg", str(table.path))
    assert (opened.snapshot_id, opened.properties) == (info["current_snapshot_id"], info["properties"])
    by_file = lakebed.open_table(table.path / info["metadata_file"], relocate=table.relocate)
    assert (by_file.snapshot_id, by_file.properties) == (opened.snapshot_id, opened.properties)
