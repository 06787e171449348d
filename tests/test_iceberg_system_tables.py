"""The metadata tables of Iceberg's engine against that engine's own rows: names, order, types and values."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from covering import iceberg_tables

from iceberg_answers import (
    Row,
    arrow_type,
    assert_same_multiset,
    assert_same_rows,
    canonical_rows,
    leaves,
    wanted_rows,
)
from iceberg_golden import OLDER, GoldenTable
from shared_data import each

# Answers that are of no metadata table.
OTHER_ANSWERS = {
    "manifest_lists",
    "raw_entries",
    "time_travel",
    "plans",
    "plan_files",
    "incremental",
    "metadata_scans",
    "encryption",
}
ORDERED = {"snapshots", "history", "metadata_log_entries"}

TIME = pa.timestamp("us", "UTC")
LONG, INT, TEXT, BOOL, BYTES = pa.int64(), pa.int32(), pa.string(), pa.bool_(), pa.binary()

# Column → type, as the engine's classes declare them: `DataFile.java`, `BaseFilesTable.java`, …
FILE: dict[str, pa.DataType | None] = {
    "content": INT,
    "file_path": TEXT,
    "file_format": TEXT,
    "spec_id": INT,
    "partition": None,
    "record_count": LONG,
    "file_size_in_bytes": LONG,
    "column_sizes": pa.map_(INT, LONG),
    "value_counts": pa.map_(INT, LONG),
    "null_value_counts": pa.map_(INT, LONG),
    "nan_value_counts": pa.map_(INT, LONG),
    "lower_bounds": pa.map_(INT, BYTES),
    "upper_bounds": pa.map_(INT, BYTES),
    "key_metadata": BYTES,
    "split_offsets": pa.list_(LONG),
    "equality_ids": pa.list_(INT),
    "sort_order_id": INT,
    "first_row_id": LONG,
    "referenced_data_file": TEXT,
    "content_offset": LONG,
    "content_size_in_bytes": LONG,
}
ENTRY: dict[str, pa.DataType | None] = {
    "status": INT,
    "snapshot_id": LONG,
    "sequence_number": LONG,
    "file_sequence_number": LONG,
    "data_file": None,
}
SUMMARY = pa.struct(
    [("contains_null", BOOL), ("contains_nan", BOOL), ("lower_bound", TEXT), ("upper_bound", TEXT)]
)
MANIFEST: dict[str, pa.DataType | None] = {
    "content": INT,
    "path": TEXT,
    "length": LONG,
    "partition_spec_id": INT,
    "added_snapshot_id": LONG,
    **{
        f"{status}_{kind}_files_count": INT
        for kind in ("data", "delete")
        for status in ("added", "existing", "deleted")
    },
    "partition_summaries": pa.list_(SUMMARY),
}
PARTITION: dict[str, pa.DataType | None] = {
    "partition": None,
    "spec_id": INT,
    "record_count": LONG,
    "file_count": INT,
    "total_data_file_size_in_bytes": LONG,
    "position_delete_record_count": LONG,
    "position_delete_file_count": INT,
    "equality_delete_record_count": LONG,
    "equality_delete_file_count": INT,
    "last_updated_at": TIME,
    "last_updated_snapshot_id": LONG,
}
SCHEMAS: dict[str, dict[str, pa.DataType | None]] = {
    "snapshots": {
        "committed_at": TIME,
        "snapshot_id": LONG,
        "parent_id": LONG,
        "operation": TEXT,
        "manifest_list": TEXT,
        "summary": pa.map_(TEXT, TEXT),
    },
    "history": {"made_current_at": TIME, "snapshot_id": LONG, "parent_id": LONG, "is_current_ancestor": BOOL},
    "refs": {
        "name": TEXT,
        "type": TEXT,
        "snapshot_id": LONG,
        "max_reference_age_in_ms": LONG,
        "min_snapshots_to_keep": INT,
        "max_snapshot_age_in_ms": LONG,
    },
    "metadata_log_entries": {
        "timestamp": TIME,
        "file": TEXT,
        "latest_snapshot_id": LONG,
        "latest_schema_id": INT,
        "latest_sequence_number": LONG,
    },
    "manifests": MANIFEST,
    "all_manifests": {**MANIFEST, "reference_snapshot_id": LONG, "key_metadata": BYTES},
    "partitions": PARTITION,
    **{
        f"{prefix}{name}": {**columns, "readable_metrics": None}
        for prefix in ("", "all_")
        for name, columns in {
            "files": FILE,
            "data_files": FILE,
            "delete_files": FILE,
            "entries": ENTRY,
        }.items()
    },
}
# Without partition fields, the engine leaves these out.
OF_PARTITIONED_TABLES = {"files": ["partition"], "partitions": ["partition", "spec_id"]}


def expected_schema(table: GoldenTable, name: str) -> pa.Schema:
    """The engine's schema of a metadata table: always that of the table as it is now, wherever it stands."""
    parts = {"partition": table.partition_type(), "readable_metrics": readable_metrics(table)}
    parts["data_file"] = pa.struct(_present(table, "files", FILE, parts))
    return pa.schema(_present(table, name, SCHEMAS[name], parts))


def _present(
    table: GoldenTable, name: str, columns: dict[str, pa.DataType | None], parts: dict[str, pa.DataType]
) -> list[tuple[str, pa.DataType]]:
    lacking = [] if table.partition_fields() else OF_PARTITIONED_TABLES[_kind(name)]
    return [(column, kind or parts[column]) for column, kind in columns.items() if column not in lacking]


def _kind(name: str) -> str:
    return "partitions" if name == "partitions" else "files"


def readable_metrics(table: GoldenTable) -> pa.DataType:
    """A struct for every column that is not nested, by their dotted names; variants have no metrics."""
    counts = [
        (f"{name}", LONG) for name in ("column_size", "value_count", "null_value_count", "nan_value_count")
    ]
    columns = sorted((name, kind) for _, name, kind in leaves(table.schema()) if kind != "variant")
    bounds = ("lower_bound", "upper_bound")
    return pa.struct(
        [
            (name, pa.struct([*counts, *((bound, arrow_type(kind)) for bound in bounds)]))
            for name, kind in columns
        ]
    )


def _answers() -> list[tuple[GoldenTable, str]]:
    """Every table with each of the metadata tables that there are answers of."""
    found = (
        (table, file.name.removesuffix(".jsonl.gz"))
        for table in (*iceberg_tables(), *iceberg_tables("iceberg_next"))
        for file in sorted((table.path / "expected").glob("*.jsonl.gz"))
    )
    return [(table, answer) for table, answer in found if answer not in OTHER_ANSWERS]


def each_answer() -> pytest.MarkDecorator:
    answers = _answers()
    return each(
        "table, answer",
        answers,
        [f"{table.name}-{answer}" for table, answer in answers],
        "golden Iceberg tables",
    )


@each_answer()
def test_metadata_tables(table: GoldenTable, answer: str):
    name = answer.removesuffix(OLDER)
    read = table.stand(answer).metadata_table(name)
    schema = expected_schema(table, name)
    assert_same_schema(read.schema, schema)
    answers = wanted_rows(table.rows(answer), schema)
    rows = canonical_rows(read.to_arrow())
    if name == "metadata_log_entries":
        # The last is the file that the table was opened by, which the engine was given without its scheme.
        rows[-1]["file"] = re.sub("^file:(//)?", "", rows[-1]["file"])
    if name.startswith("all_") and lists_differ(table):
        rows, answers = without_row_ids(rows), without_row_ids(answers)
    same = assert_same_rows if name in ORDERED else assert_same_multiset
    same(rows, answers, f"{table.name}, {answer}")


def lists_differ(table: GoldenTable) -> bool:
    """Whether lists differ in the first row id of a manifest. The engine takes all lists at once, and of a
    manifest the row that happens to come first.
    """
    ids = {(row["manifest_path"], row["first_row_id"]) for row in table.rows("manifest_lists")}
    return len(ids) > len({path for path, _ in ids})


def without_row_ids(rows: list[Row]) -> list[Row]:
    return [
        {name: without_row_ids([part])[0] if name == "data_file" else part for name, part in row.items()}
        | ({"first_row_id": None} if "first_row_id" in row else {})
        for row in rows
    ]


def assert_same_schema(got: pa.Schema, expected: pa.Schema) -> None:
    """The same names and types in the same order; items' names and what may be null do not count."""
    assert got.names == expected.names
    for field, wanted_field in zip(got, expected, strict=True):
        assert plain(field.type) == plain(wanted_field.type), field.name


def plain(kind: pa.DataType) -> str:
    """A type as text, without the names of items and what may be null."""
    return re.sub(r"list<\w+: ", "list<", str(kind).replace(" not null", ""))
