"""Views of tables that Paimon's Java engine wrote, against that engine's own answers, value for value."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from arrow_values import assert_rows

import lakebed
from lakebed import paimon
from paimon_answers import Row, Schemas, arrow_schema, arrow_type, canonical, stand, wanted
from shared_data import GoldenTable, each_golden_paimon_table

POSTPONE_BUCKET = -2

# Whether the casts of bounds are bounds: of all values, of those that fit the new type, or of none.
RETYPED = {
    ("INT", "BIGINT"): "kept",
    ("DATE", "TIMESTAMP(3)"): "kept",
    ("DECIMAL(10, 4)", "DECIMAL(6, 1)"): "kept",
    ("FLOAT", "DOUBLE"): "kept",
    ("TIMESTAMP(6)", "DATE"): "kept",
    ("INT", "TINYINT"): "fits",
    ("BIGINT", "INT"): "fits",
    ("STRING", "INT"): "lost",
    ("BOOLEAN", "STRING"): "lost",
    ("BIGINT", "STRING"): "lost",
}


@each_golden_paimon_table()
def test_live_files(table: GoldenTable):
    opened = lakebed.open_table(table.path)
    for live in table.rows("live"):
        at = stand(opened, live["at"], live["branch"])
        where = f"{table.name}, {live['branch']}, {live['at']}"
        assert at.snapshot_id == int(live["snapshot_id"]), where
        files = at.files(columns=["partition", "bucket", "level", "file_name", "record_count"]).to_arrow()
        assert _identities(table, at, files) == live["live_files"], where
        assert sum(files["record_count"].to_pylist()) == int(live["live_rows"]), where
        assert _snapshot(at)["totalRecordCount"] == int(live["total_record_count"]), where


@each_golden_paimon_table()
def test_files_are_those_of_the_engines_own_view(table: GoldenTable):
    expected = [_expected_file(table, row) for row in table.rows("sys/files")]
    opened = lakebed.open_table(table.path)
    _skip_without_snapshot(table, opened)
    files = opened.files().to_arrow()
    created = canonical(files["created_at"])
    rows = [{**row, "created_at": time} for row, time in zip(files.to_pylist(), created, strict=True)]
    # The engine's own view does not show what waits in the postpone bucket.
    rows = [row for row in rows if row["bucket"] != POSTPONE_BUCKET]
    assert_rows(_by_path(rows), _by_path(expected), f"{table.name}, files by path")


@each_golden_paimon_table()
@pytest.mark.parametrize("view", ["entries", "files"])
def test_partitions_and_statistics(table: GoldenTable, view: str):
    opened = lakebed.open_table(table.path)
    _skip_without_snapshot(table, opened)
    columns = _shared_columns(table, opened)
    read = getattr(opened, view)(stats=columns.names).to_arrow()
    partitions, stats = canonical(read["partition"]), canonical(read["stats"])
    types = read.schema.field("partition").type
    answers = _answers(table, opened, view, read)
    for number, (name, answer) in enumerate(zip(read["file_name"].to_pylist(), answers, strict=True)):
        where = f"{table.name}, {view}, row {number} ({name})"
        assert answer["file_name"] == name, where
        assert partitions[number] == wanted(answer["partition"], types), f"{where}, column partition"
        written = Schemas(table).file(int(answer["schema_id"]))["fields"]
        for column in columns:
            got = stats[number][column.name]
            _assert_stats(got, answer, column, written, f"{where}, column stats.{column.name}")


def _assert_stats(got: Row, answer: Row, column: pa.Field, written: list[Row], where: str) -> None:
    """Bounds and null count of a column against `evolved`, or `cols` where evolution changes nothing."""
    stats = answer.get("evolved") or answer["value_stats"].get("cols", {})
    *bounds, null_count = stats.get(column.name, [None, None, None])
    assert got["null_count"] == null_count, f"{where}.null_count"
    stored = _stored(answer, column, written)
    known = stored is None or _holds(stored, bounds, column, where)
    for bound, value in zip(("lower_bound", "upper_bound"), bounds, strict=True):
        assert got[bound] == (wanted(value, column.type) if known else None), f"{where}.{bound}"


def _stored(answer: Row, column: pa.Field, written: list[Row]) -> tuple[str, list[str | None]] | None:
    """The type and the bounds that a retyped column was written with; nothing where it was not retyped."""
    fields = [field for field in written if field["id"] == int(column.metadata[b"id"])]
    if not fields or arrow_type(fields[0]["type"]) == column.type:
        return None
    cols = answer["value_stats"].get("cols", {})
    return fields[0]["type"], cols.get(fields[0]["name"], [None] * 3)[:2]


def _holds(
    stored: tuple[str, list[str | None]], cast: list[str | None], column: pa.Field, where: str
) -> bool:
    """Whether casts of bounds bound the casts of the values: what keeps its order, as far as it fits."""
    written, bounds = stored
    match RETYPED.get((written, column.metadata[b"type"].decode())):
        case "fits":
            return bounds == cast
        case None:
            pytest.fail(f"{where}: retyped from {written}, of which this test does not know whether it holds")
        case rule:
            return rule == "kept"


def _shared_columns(table: GoldenTable, opened: lakebed.Table) -> pa.Schema:
    """Columns that the snapshot's schema and the latest, which the answers are mapped to, have in common."""
    schemas = Schemas(table)
    latest = schemas.latest()["fields"]
    fields = [field for field in schemas.file(_snapshot(opened)["schemaId"])["fields"] if field in latest]
    pairs = zip(arrow_schema(fields), fields, strict=True)
    metadata = ((column, {"id": str(field["id"]), "type": str(field["type"])}) for column, field in pairs)
    return pa.schema([column.with_metadata(keys) for column, keys in metadata])


def _answers(table: GoldenTable, opened: lakebed.Table, view: str, read: pa.Table) -> list[Row]:
    """The engine's answer for each row of a view, found by where its entry is stored."""
    answers = {(row["manifest"], row["pos"]): row for row in table.rows("entries")}
    entries = opened.entries(columns=["manifest", "kind", "partition", "bucket", "file_name"]).to_arrow()
    seen: Counter[str] = Counter()
    rows, live = [], {}
    for entry in entries.to_pylist():
        manifest = entry["manifest"]
        answer = answers[manifest, seen[manifest]]
        seen[manifest] += 1
        rows.append(answer)
        if entry["kind"] == 0:
            # A file that was deleted and added again is as it was added last.
            live[_identity(entry)] = answer
    return rows if view == "entries" else [live[_identity(row)] for row in read.to_pylist()]


def _identity(row: Row) -> tuple[str, int, str]:
    return str(row["partition"]), row["bucket"], row["file_name"]


def _identities(table: GoldenTable, at: lakebed.Table, files: pa.Table) -> list[str]:
    """Sorted `<partition row hex without its arity>/<bucket>/<level>/<file name>`."""
    partitions = _partition_hex(table, at, files["partition"])
    parts = (files[name].to_pylist() for name in ("bucket", "level", "file_name"))
    return sorted("/".join(map(str, (row[8:], *rest))) for row, *rest in zip(partitions, *parts, strict=True))


def _partition_hex(table: GoldenTable, at: lakebed.Table, partitions: pa.ChunkedArray) -> list[str]:
    """Partitions encoded again: the bytes that the engine wrote."""
    types = Schemas(table).partition(_snapshot(at)["schemaId"])
    stored = partitions.combine_chunks().cast(pa.struct(types))  # views have no milliseconds
    return [row.hex() for row in paimon.encode_rows(stored, types).to_pylist()]


def _expected_file(table: GoldenTable, row: Row) -> Row:
    same = ("schema_id", "bucket", "level", "record_count", "file_size_in_bytes", "min_sequence_number")
    numbers = {name: name for name in (*same, "first_row_id")}
    numbers |= {"sequence_number": "max_sequence_number", "delete_row_count": "deleteRowCount"}
    return {
        **{ours: None if row[name] is None else int(row[name]) for ours, name in numbers.items()},
        "content": 0,
        "file_path": row["file_path"].replace("${TABLE}", str(table.path)),
        "file_format": row["file_format"],
        "created_at": row["creation_time"],
    }


def _by_path(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row["file_path"])


def _snapshot(at: lakebed.Table) -> dict[str, Any]:
    """The file of the snapshot or tag that a table stands at."""
    branch = "" if at.branch == "main" else f"branch/branch-{at.branch}/"
    name = f"snapshot/snapshot-{at.snapshot_id}" if at.tag is None else f"tag/tag-{at.tag}"
    return paimon.read_snapshot(f"{at.location}/{branch}{name}")


def _skip_without_snapshot(table: GoldenTable, at: lakebed.Table) -> None:
    if at.snapshot_id is None:
        pytest.skip(f"{table.name} has no snapshot, so no files")
