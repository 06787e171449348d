"""Single manifests: the engine's raw entries, fastavro's reading by ids, and writers of other habits."""

from __future__ import annotations

import io
import json
from datetime import date
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet
import pytest
from iceberg_peers import ENTRY_COLUMNS, entry_rows
from iceberg_shared import SharedTable, each_shared_iceberg_table
from raising import raises

from iceberg_answers import Row, assert_same_rows, canonical_rows, wanted_rows
from iceberg_golden import GoldenTable, each_golden_iceberg_table
from lakebed import iceberg
from lakebed.errors import CorruptError, LakebedError, LakebedWarning, TruncatedError

LISTED = {"manifest_path": "m.avro", "partition_spec_id": 0, "sequence_number": 4, "added_snapshot_id": 7}


@each_golden_iceberg_table()
def test_the_engines_raw_entries(table: GoldenTable):
    listed = {
        (row["manifest_path"], row["first_row_id"], row["sequence_number"]): row
        for row in table.rows("manifest_lists")
    }
    manifests: dict[tuple[Any, ...], list[Row]] = {}
    for row in table.rows("raw_entries"):
        key = (row["manifest"], row["manifest_first_row_id"], row["manifest_sequence_number"])
        manifests.setdefault(key, []).append(row)
    for key, answers in manifests.items():
        content = table.plain(key[0])
        if content is None:
            # The views read it, and have the engine's entries.
            continue
        # What is recorded is the size of the file as it is stored.
        place = {**listed[key], "manifest_length": len(content)}
        read = iceberg.read_manifest(content, listed=place).to_arrow()
        expected = [answer(row, read.schema) for row in answers]
        assert_same_rows(canonical_rows(read), wanted_rows(expected, read.schema), key[0])


def answer(row: Row, schema: pa.Schema) -> Row:
    """An engine's raw entry under the names of our columns. Parquet has no column for a partition field whose
    source the writer's schema lacks: it is null.
    """
    stored = [field.name for field in schema.field("partition").type]
    by_id = sorted(row["partition"], key=lambda field: field["field_id"])
    there = [field for field in by_id if field["name"] in stored or field["value"] is not None]
    partition = {field["name"]: field["value"] for field in there}
    return {name: row[name] for name in schema.names} | {"partition": partition}


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
@each_shared_iceberg_table()
def test_fastavro_reads_the_same_by_ids(table: SharedTable):
    """Fields go by their ids, not by their names."""
    for file in sorted((table.path / "metadata").glob("snap-*.avro")):
        for listed in iceberg.read_manifest_list(file).to_arrow().to_pylist():
            manifest = table.path / "metadata" / Path(listed["manifest_path"]).name
            if not manifest.is_file():
                continue
            read = iceberg.read_manifest(manifest, listed=listed, columns=ENTRY_COLUMNS).to_arrow()
            rows = [{**row, **{k: dict(v) for k, v in row.items() if is_map(v)}} for row in read.to_pylist()]
            expected = [{name: row[name] for name in ENTRY_COLUMNS} for row in entry_rows(manifest, listed)]
            assert rows == expected, manifest.name


def is_map(value: Any) -> bool:
    return isinstance(value, list) and (not value or isinstance(value[0], tuple))


def field(number: int | None, name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind} | ({} if number is None else {"field-id": number})


def record(name: str, *fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": list(fields)}


def pairs(name: str, key: Any, value: Any, **properties: Any) -> dict[str, Any]:
    return {
        "type": "array",
        "items": record(name, field(None, "a", key), field(None, "b", value)),
        **properties,
    }


FILE = [
    field(100, "file_path", "string"),
    field(101, "file_format", "string"),
    field(103, "record_count", "long"),
    field(104, "file_size_in_bytes", "long"),
]
ROW: dict[str, Any] = {
    "status": 1,
    "data_file": {"file_path": "p", "file_format": "AVRO", "record_count": 3, "file_size_in_bytes": 5},
}


def schema(
    *more: dict[str, Any], file: list[dict[str, Any]] | None = None, status: Any = "int"
) -> dict[str, Any]:
    """An entry's schema with `more` fields of its file."""
    fields = [*(FILE if file is None else file), *more]
    return record("e", field(0, "status", status), field(2, "data_file", record("f", *fields)))


def written(kind: dict[str, Any], *rows: Row, codec: str = "null") -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(kind), rows, codec=codec)
    return out.getvalue()


def entry(status: int = 1, /, **file: Any) -> Row:
    return {"status": status, "data_file": ROW["data_file"] | file}


def column(content: bytes, name: str, **listed: Any) -> list[Any]:
    values: list[Any] = (
        iceberg.read_manifest(content, columns=[name], listed=LISTED | listed).to_arrow()[name].to_pylist()
    )
    return values


@pytest.mark.parametrize("name", ["file_path", "file_format", "record_count", "file_size_in_bytes"])
def test_a_required_field_that_is_absent_is_named_with_its_id(name: str):
    (number,) = (known["field-id"] for known in FILE if known["name"] == name)
    file = [known for known in FILE if known["name"] != name]
    content = written(schema(file=file), entry())
    with raises(LakebedError, match=rf"data_file\.{name} \(id {number}\)", kind="required"):
        iceberg.read_manifest(content).to_arrow()


def test_a_required_field_that_is_null_is_named_with_its_record():
    file = [{**known, "type": ["null", known["type"]]} for known in FILE]
    content = written(schema(file=file), entry(), entry(file_path=None))
    with raises(LakebedError, match=r"data_file\.file_path \(id 100\) is null", kind="required", record=1):
        iceberg.read_manifest(content).to_arrow()


def test_an_id_that_is_there_twice():
    content = written(schema(field(100, "other", "string")), entry(other="x"))
    with raises(CorruptError, match="id 100 twice", kind="duplicate"):
        iceberg.read_manifest(content).to_arrow()


def test_a_name_of_ours_under_another_id_is_another_field():
    content = written(schema(field(999, "content", "string")), entry(content="x"))
    assert column(content, "content") == [0]


def test_unions_of_one_type_and_of_null_behind():
    file = [{**known, "type": [known["type"]]} for known in FILE]
    content = written(
        schema(field(140, "order", ["int", "null"]), file=file, status=["int"]), entry(order=None)
    )
    (row,) = (
        iceberg.read_manifest(content, columns=["status", "record_count", "sort_order_id"])
        .to_arrow()
        .to_pylist()
    )
    assert row == {"status": 1, "record_count": 3, "sort_order_id": None}


@pytest.mark.parametrize("mark", [{}, {"logicalType": "map"}])
def test_maps_keep_the_last_of_a_key_and_nothing_without_value(mark: dict[str, str]):
    kind = pairs("kv", "int", ["null", "long"], **mark)
    values = [(2, 1), (1, 5), (2, None), (3, 7), (1, 6)]
    content = written(schema(field(108, "c", kind)), entry(c=[{"a": k, "b": v} for k, v in values]))
    assert column(content, "column_sizes") == [[(3, 7), (1, 6)]]


def test_wider_and_narrower_integers():
    maps = field(109, "v", pairs("kv", "long", "int"))
    ids = field(135, "e", {"type": "array", "items": "long"})
    content = written(schema(maps, ids), entry(v=[{"a": 4, "b": 1}], e=[2, 1]))
    assert column(content, "value_counts") == [[(4, 1)]]
    assert column(content, "equality_ids") == [[2, 1]]
    content = written(schema(ids), entry(e=[1 << 40]))
    with pytest.raises(LakebedError, match="does not fit"):
        column(content, "equality_ids")


def test_partition_names_are_any_text():
    tuple_type = record("t", field(1001, "é", "int"), field(1000, "_b", ["null", "string"]))
    content = written(schema(field(102, "partition", tuple_type)), entry(partition={"é": 1, "_b": None}))
    (row,) = column(content.replace(b'"_b"', b'"9."'), "partition")
    assert row == {"1001": 1, "1000": None}


def test_partition_fields_keep_their_names_where_their_column_is_gone():
    day = {"type": "int", "logicalType": "date"}
    tuple_type = record("t", field(1000, "ts_day", ["null", day]), field(1001, "é_1", ["null", "string"]))
    fields = [
        {"name": "ts_day", "transform": "day", "source-id": 9, "field-id": 1000},
        {"name": "é 1", "transform": "identity", "source-id": 1, "field-id": 1001},
    ]
    current = {"type": "struct", "fields": [{"id": 1, "name": "é", "required": False, "type": "string"}]}
    kind = fastavro.parse_schema(schema(field(102, "partition", tuple_type)))
    out = io.BytesIO()
    texts = {"partition-spec": json.dumps(fields), "schema": json.dumps(current)}
    rows = [entry(partition={"ts_day": 3, "é_1": "x"}), entry(partition={"ts_day": None, "é_1": None})]
    fastavro.writer(out, kind, rows, metadata=texts)
    first, second = column(out.getvalue(), "partition")
    assert first == {"ts_day": date(1970, 1, 4), "é 1": "x"}
    assert second == {"ts_day": None, "é 1": None}


def test_fixed_values_may_have_a_length_in_front():
    """As Iceberg's Java library writes them, against its own schema."""
    fixed = {"type": "fixed", "name": "three", "size": 3}
    as_bytes = schema(field(102, "partition", record("t", field(1000, "x", ["null", "bytes"]))))
    rows = [entry(partition={"x": value}) for value in (b"abc", None, b"xyz")]
    plain = schema(field(102, "partition", record("t", field(1000, "x", ["null", fixed]))))
    right = written(plain, *rows)
    wrong = header(plain) + body(written(as_bytes, *rows))
    for content in (right, wrong):
        assert [row["1000"] for row in column(content, "partition")] == [b"abc", None, b"xyz"]
    short = header(plain) + body(written(as_bytes, entry(partition={"x": b"abcde"})))
    with pytest.raises(LakebedError):
        column(short, "partition")


SYNC = bytes(range(16))


def header(kind: dict[str, Any]) -> bytes:
    """A file of that schema without blocks, of a known sync marker."""
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(kind), [], sync_marker=SYNC)
    return out.getvalue()


def body(content: bytes) -> bytes:
    """The blocks of a file, after a known sync marker."""
    marker = content[-16:]
    return content.split(marker, 1)[1].replace(marker, SYNC)


def test_counts_are_compared_and_rows_and_lengths_are_not_fatal():
    content = written(schema(), entry(), entry(0), entry(2))
    counts = {"added_files_count": 1, "existing_files_count": 1, "deleted_files_count": 1}
    right = {**LISTED, **counts}
    odd = {**right, "added_rows_count": 99, "manifest_length": 1}
    with pytest.warns(LakebedWarning) as warned:
        assert iceberg.read_manifest(content, listed=odd).to_arrow().num_rows == 3
    assert [str(warning.message) for warning in warned] == [
        f"manifest has {len(content)} bytes, its list records 1 in m.avro",
        "manifest holds 3 added rows, its list records 99 in m.avro",
    ]
    for name in counts:
        with raises(CorruptError, match="its list records", kind="mismatch"):
            iceberg.read_manifest(content, listed={**right, name: 2}).to_arrow()
        with pytest.warns(LakebedWarning, match=f"holds 1 {name[:-12]} files, its list records 0 in m.avro"):
            assert iceberg.read_manifest(content, listed={**right, name: 0}).to_arrow().num_rows == 3
        iceberg.read_manifest(content, listed={**right, name: None}).to_arrow()
        iceberg.read_manifest(content, listed={**right, name: -1}).to_arrow()


def test_a_cut_between_blocks_shows_in_counts_or_else_in_the_length():
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(schema()), [entry(), entry()], sync_interval=1)
    content = out.getvalue()
    cut = content[: content.rindex(content[-16:], 0, -16) + 16]
    assert iceberg.read_manifest(cut).to_arrow().num_rows == 1
    known = {"added_files_count": 2, "existing_files_count": 0, "deleted_files_count": 0}
    with pytest.raises(CorruptError, match="holds 1 added"):
        iceberg.read_manifest(cut, listed=LISTED | known).to_arrow()
    with pytest.raises(TruncatedError), pytest.warns(LakebedWarning):
        iceberg.read_manifest(cut, listed={**LISTED, "manifest_length": len(content)}).to_arrow()


@pytest.mark.parametrize(("status", "content"), [(3, 0), (-1, 0), (1, 3), (1, -1)])
def test_a_status_or_content_that_there_is_not(status: int, content: int):
    manifest = written(schema(field(134, "content", "int")), entry(content=0), entry(status, content=content))
    with raises(CorruptError, match=str(status if content == 0 else content), record=1):
        iceberg.read_manifest(manifest).to_arrow()


def test_columns_come_as_asked_and_no_others_are_checked():
    content = written(schema(file=FILE[:3]), entry())
    read = iceberg.read_manifest(content, columns=["record_count", "status"]).to_arrow()
    assert read.to_pylist() == [{"record_count": 3, "status": 1}]
    with pytest.raises(LakebedError, match="there are status"):
        iceberg.read_manifest(content, columns=["nothing"]).to_arrow()


def test_a_manifest_in_parquet():
    """As version 4 is to have them; fields of tuples go by Parquet's field ids."""
    tuple_type = pa.struct([pa.field("city", pa.string(), metadata={"PARQUET:field_id": "1000"})])
    file = pa.struct(
        [
            ("file_path", pa.string()),
            ("file_format", pa.string()),
            ("partition", tuple_type),
            ("record_count", pa.int64()),
            ("file_size_in_bytes", pa.int64()),
            ("value_counts", pa.map_(pa.int32(), pa.int64())),
        ]
    )
    rows = [ROW["data_file"] | {"partition": {"city": "x"}, "value_counts": [(1, 3)]}]
    table = pa.table({"status": pa.array([1], pa.int32()), "data_file": pa.array(rows, file)})
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out)
    (row,) = iceberg.read_manifest(out.getvalue(), listed=LISTED).to_arrow().to_pylist()
    assert (row["partition"], row["value_counts"], row["column_sizes"]) == ({"1000": "x"}, [(1, 3)], None)
    assert (row["snapshot_id"], row["sequence_number"], row["content"]) == (7, 4, 0)


def test_a_manifest_of_wrong_types():
    file = [{**known, "type": "string"} for known in FILE]
    content = written(schema(file=file), entry(record_count="3", file_size_in_bytes="5"))
    with pytest.raises(CorruptError, match="record_count"):
        iceberg.read_manifest(content).to_arrow()
