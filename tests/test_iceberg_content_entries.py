"""Manifests of content entries, as Iceberg's proposals of version 4 have them."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import content_entries
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from columnar_damage import ParquetFile
from content_entries import FILE, MANIFEST_INFO, column, elements, entry, field, manifest, rows
from trust import long_or

import lakebed
from iceberg_answers import assert_same_rows, canonical_rows, wanted
from lakebed import experimental, iceberg
from lakebed.errors import CorruptError, LakebedError, LakebedWarning, SchemaError, UnsupportedError

LEAVES = ("leaf-m0.parquet", "leaf-m0.avro")
# What the answers have that is no column, and what columns they do not have.
OURS = ("latest_column_file_snapshot_id", "column_files")


def as_answered(name: str, first_row_id: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The entries of a golden manifest and Iceberg's answer, both in the canonical form."""
    listed = {"snapshot_id": 4200, "sequence_number": 9, "first_row_id": first_row_id}
    scan = content_entries.read(content_entries.file(name), listed=listed)
    table = scan.to_arrow()
    table.validate(full=True)
    table = table.drop_columns(list(OURS))
    # Iceberg's reader leaves out files without rows.
    got = [row for row in canonical_rows(table) if int(row["record_count"]) != 0]
    columns = dict(zip((field.name for field in table.schema), table.schema.types, strict=True))
    by_id = content_entries.leaves()
    answers = content_entries.answers(f"{name}.all")
    assert answers
    for answer in answers:
        if answer["content_stats"] is not None:
            members = {field.name: field.type for field in columns["content_stats"]}
            found = {by_id[int(number)]: stats for number, stats in answer["content_stats"].items()}
            answer["content_stats"] = {
                name: _metrics(found.get(name), kind) for name, kind in members.items()
            }
        if answer["manifest_info"] is not None:
            answer["manifest_info"]["dv_cardinality"] = None
    return got, [{name: wanted(row[name], kind) for name, kind in columns.items()} for row in answers]


def _metrics(stats: dict[str, Any] | None, kind: pa.DataType) -> dict[str, Any] | None:
    """The answer's statistics of a column, of which it gives those that the type does not have as null."""
    if stats is None:
        return None
    named = [field.name for field in kind]
    assert all(value is None for name, value in stats.items() if name not in named)
    return {name: stats[name] for name in named}


@pytest.mark.parametrize("name", LEAVES)
def test_entries_of_a_leaf_are_those_of_icebergs_reader(name: str) -> None:
    got, answers = as_answered(name, 100_000)
    assert_same_rows(got, answers, name)
    live = [row["location"] for row in got if row["live"]]
    assert live == [row["location"] for row in content_entries.answers(f"{name}.live")]


def test_entries_of_a_root_are_those_of_icebergs_reader() -> None:
    got, answers = as_answered("root-4200.parquet", 7000)
    assert_same_rows(got, answers, "root")
    assert {row["content_type"] for row in got} == {0, 3, 4}


def test_a_manifest_without_partition_and_statistics_has_none() -> None:
    bare = content_entries.file("bare-m0.parquet")
    (row,) = rows(bare)
    assert (row["partition"], row["content_stats"], row["live"]) == (None, None, True)
    scan = content_entries.read(bare)
    assert scan.schema.field("content_stats").type == typed("leaf-m0.parquet")


def typed(name: str) -> pa.DataType:
    file = content_entries.file(name)
    scan = content_entries.read(file)
    return scan.schema.field("content_stats").type


def test_without_a_list_nothing_is_inherited_and_without_metadata_names_are_ids() -> None:
    file = content_entries.file("leaf-m0.parquet")
    table = experimental.read_content_entries(file).to_arrow()
    assert table["snapshot_id"].to_pylist()[0] is None
    assert table["first_row_id"].to_pylist()[:3] == [None, None, 5000]
    assert table["location"].to_pylist()[0] == "data/a-0.parquet"
    assert [field.name for field in table.schema.field("partition").type] == ["1000", "1001"]
    stats = table.schema.field("content_stats").type
    assert [field.name for field in stats] == ["1", "2", "3", "4", "5", "6", "7", "8", "10", "11", "14"]
    named = content_entries.read(file).to_arrow()
    own, others = table["content_stats"].to_pylist(), named["content_stats"].to_pylist()
    assert [row and row["2"] for row in own] == [row and row["city"] for row in others]


@pytest.mark.parametrize("name", LEAVES)
def test_columns_are_given_in_the_order_asked(name: str) -> None:
    file = content_entries.file(name)
    asked = ["content_stats", "first_row_id", "live", "location"]
    options: dict[str, Any] = {"metadata": content_entries.metadata(), "listed": {"first_row_id": 7}}
    some = experimental.read_content_entries(file, columns=asked, **options).to_arrow()
    every = experimental.read_content_entries(file, **options).to_arrow()
    assert some == every.select(asked)
    with pytest.raises(SchemaError, match='no column "file_path"') as refused:
        experimental.read_content_entries(file, columns=["file_path"]).to_arrow()
    assert refused.value.field == "file_path"


def test_a_roots_deletion_vector_ends_entries_of_its_leaf() -> None:
    dv = experimental.encode_mumbling([1, 3])
    leaf = manifest([entry(location=f"data/{number}") for number in range(5)])
    listed = {"snapshot_id": 8, "sequence_number": 3, "first_row_id": 100, "record_count": 5}
    found = rows(leaf, listed={**listed, "manifest_info": {"dv": dv}})
    assert [row["live"] for row in found] == [True, False, True, False, True]
    # What a row's id is does not depend on what was deleted later.
    assert [row["first_row_id"] for row in found] == [100, 110, 120, 130, 140]
    assert {(row["snapshot_id"], row["sequence_number"]) for row in found} == {(8, 3)}
    info = content_entries.manifest_info(dv)
    (row,) = rows(manifest([entry(content_type=3, manifest_info=info, **listed)], MANIFEST_INFO))
    assert rows(leaf, listed=row) == found


def test_column_files_are_listed_with_their_places() -> None:
    common = {"format_version": 4, "file_format": "parquet", "file_size_in_bytes": 7}
    files = [
        {**common, "field_ids": [3, 4], "location": "data/c.parquet", "split_offsets": [4]},
        {**common, "field_ids": [5], "location": "s3://b/d", "file_format": "orc", "file_size_in_bytes": 8},
    ]
    of = field(158, "others", elements(159, content_entries.COLUMN_FILE))
    made = manifest([entry(others=files), entry(status=0), entry(others=[])], of)
    with_files, without, none = rows(made, metadata={"location": "s3://b/t"})
    first, second = with_files["column_files"]
    assert (first["location"], second["location"]) == ("s3://b/t/data/c.parquet", "s3://b/d")
    assert (first["field_ids"], first["split_offsets"], second["split_offsets"]) == ([3, 4], [4], None)
    assert (without["column_files"], none["column_files"]) == (None, [])


def test_bounds_have_the_type_that_the_column_has_now() -> None:
    bounds = (field(10201, "lower", pa.int32()), field(10202, "upper", pa.int32()))
    metrics = pa.struct([*bounds, field(10204, "values", pa.int64())])
    point = pa.struct([field(10410, "x", pa.float64()), field(10411, "y", pa.float64())])
    geo = pa.struct([field(10401, "lower", point), field(10404, "values", pa.int64())])
    stats = pa.struct([field(10200, "n", metrics), field(10400, "g", geo), field(10600, "gone", metrics)])
    value = {"n": {"lower": -1, "upper": 7, "values": 3}, "g": {"lower": {"x": 1.5, "y": -2.0}, "values": 3}}
    made = manifest([entry(content_stats=value), entry()], field(146, "content_stats", stats))
    columns = [
        column(1, "wide", "long"),
        column(2, "place", "geometry"),
        column(4, "loose", "variant"),
        column(5, "many", {"type": "list", "element-id": 6, "element": "int", "element-required": False}),
    ]
    schema = {"type": "struct", "schema-id": 3, "fields": columns}
    old = {"type": "struct", "schema-id": 2, "fields": []}
    told = {"current-schema-id": 3, "schemas": [old, schema]}
    scan = experimental.read_content_entries(made, metadata=told, columns=["content_stats"])
    kind = scan.schema.field("content_stats").type
    assert [field.name for field in kind] == ["wide", "place", "loose"]
    assert kind.field("wide").type.field("lower_bound").type == pa.int64()
    found = [field.name for field in kind.field("loose").type]
    assert found == ["value_count", "null_value_count", "avg_value_size_in_bytes"]
    first, second = scan.to_arrow()["content_stats"].to_pylist()
    assert (first["wide"]["lower_bound"], first["wide"]["value_count"], first["wide"]["tight_bounds"]) == (
        -1,
        3,
        None,
    )
    assert first["place"]["lower_bound"] == {"x": 1.5, "y": -2.0, "z": None, "m": None}
    assert (first["place"]["upper_bound"], first["loose"], second) == (None, None, None)
    narrower = {"schemas": [{**schema, "fields": [{**columns[0], "type": "string"}]}]}
    with pytest.raises(CorruptError, match="a value of Int32 cannot be read as string") as refused:
        rows(made, metadata=narrower)
    assert refused.value.field == "content_stats.wide.lower_bound"


def test_partitions_of_all_specs_are_one_struct_of_the_tables_types() -> None:
    parts = pa.struct([field(1001, "x", pa.int32()), field(1000, "y", pa.string())])
    entries = [entry(spec_id=1, partition={"x": 3}), entry(spec_id=0, partition={"y": "a"}), entry()]
    made = manifest(entries, content_entries.SPEC, field(102, "partition", parts))
    columns = [
        column(1, "city", "string"),
        column(2, "n", "long"),
    ]
    fields = [
        {"name": name, "transform": "identity", "source-id": source, "field-id": 999 + source}
        for name, source in (("city", 1), ("n", 2))
    ]
    specs = [{"spec-id": number, "fields": [one]} for number, one in enumerate(fields)]
    told = {"schemas": [{"type": "struct", "fields": columns}], "partition-specs": specs}
    scan = experimental.read_content_entries(made, metadata=told)
    assert scan.schema.field("partition").type == pa.struct([("city", pa.string()), ("n", pa.int64())])
    found = [row["partition"] for row in rows(made, metadata=told)]
    assert found == [{"city": None, "n": 3}, {"city": "a", "n": None}, None]


def test_fewer_entries_than_listed_are_an_error_and_more_a_warning() -> None:
    made = manifest([entry(), entry()])
    with pytest.raises(CorruptError, match="holds 2 entries, its root lists 3"):
        rows(made, listed={"record_count": 3})
    with pytest.warns(LakebedWarning, match="holds 2 entries, its root lists 1"):
        assert len(rows(made, listed={"record_count": 1})) == 2
    beyond = {"manifest_info": {"dv": experimental.encode_mumbling([2])}}
    with pytest.raises(CorruptError, match="its root deletes the one at 2"):
        rows(made, listed=beyond)


def located(*location: pa.Field) -> list[pa.Field]:
    """The fields of a file with another one for its location, or none."""
    return [*FILE[:2], *location, *FILE[3:]]


AGAIN = field(100, "again", pa.string())
VECTOR = field(148, "deletion_vector", pa.struct([field(155, "location", pa.string())]))
CASES: dict[str, tuple[bytes, str, str, int | None]] = {
    "a status that there is not": (manifest([entry(), entry(5)]), "mismatch", "status", 1),
    "position deletes": (manifest([entry(content_type=1)]), "mismatch", "content_type", 0),
    "no location": (manifest([entry()], file=located()), "required", "location", None),
    "a null location": (
        manifest([entry(), entry(location=None)], file=located(field(100, "location", pa.string()))),
        *("required", "location", 1),
    ),
    "an id that is there twice": (manifest([entry()], AGAIN), "duplicate", "again", None),
    "a number for a location": (
        manifest([entry(location=1)], file=located(field(100, "location", pa.int32()))),
        *("schema", "location", None),
    ),
    "a null in a struct that is there": (
        manifest([entry(deletion_vector={"location": None})], VECTOR),
        *("required", "deletion_vector.location", 0),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_no_entry_is_refused_by_kind_and_field(case: str) -> None:
    made, kind, where, record = CASES[case]
    with pytest.raises(LakebedError) as refused:
        rows(made)
    assert (refused.value.kind, refused.value.field, refused.value.record) == (kind, where, record)


def test_a_manifest_of_today_is_no_manifest_of_content_entries() -> None:
    table = content_entries.golden().parent / "part_names_v4" / "metadata"
    today = sorted(table.glob("*-m0.parquet"))
    assert today
    with pytest.raises(CorruptError, match=r"no tracking \(id 147\)"):
        rows(today[0])


@pytest.mark.parametrize("name", LEAVES)
def test_readers_of_todays_manifests_name_what_they_do_not_read(name: str) -> None:
    file = content_entries.file(name)
    for read in (iceberg.read_manifest, iceberg.read_manifest_list):
        with pytest.raises(UnsupportedError, match=r"which only lakebed\.experimental") as refused:
            read(file).to_arrow()
        assert refused.value.path == str(file)


def test_a_table_with_a_root_manifest_is_refused_by_name(tmp_path: Path) -> None:
    table = content_entries.golden().parent / "part_names_v4"
    shutil.copytree(table, tmp_path / "t", ignore=shutil.ignore_patterns("expected"))
    (file,) = (tmp_path / "t" / "metadata").glob("00002-*.metadata.json")
    root = content_entries.file("root-4200.parquet")
    document = json.loads(file.read_text("utf-8"))
    for snapshot in document["snapshots"]:
        snapshot["manifest-list"] = f"file:{root}"
    file.write_text(json.dumps(document), "utf-8")
    with pytest.raises(UnsupportedError, match="content entries"):
        lakebed.open_table(file).files().to_arrow()
    rows = experimental.read_live_files(root, metadata=content_entries.metadata(), columns=["location"])
    with pytest.raises(UnsupportedError, match="a manifest of deletes"):
        rows.to_arrow()


def test_numbers_of_records_count_over_row_groups() -> None:
    made = manifest([entry() for _ in range(10)] + [entry(9)], row_group_size=3)
    with pytest.raises(CorruptError) as refused:
        rows(made)
    assert refused.value.record == 10
    good = manifest([entry() for _ in range(10)], row_group_size=3)
    found = rows(good, listed={"first_row_id": 5})
    assert [(row["pos"], row["first_row_id"]) for row in found] == [(n, 5 + 10 * n) for n in range(10)]


def outcome(content: bytes, listed: dict[str, Any]) -> str:
    try:
        table = content_entries.read(content, listed=listed).to_arrow()
    except LakebedError as error:
        assert error.kind not in (None, "internal", "io")  # noqa: PT017
        return str(error.kind)
    table.validate(full=True)
    return "rows"


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
def test_damaged_manifests_give_rows_or_a_typed_error() -> None:
    chance = random.Random(4)
    listed = {"first_row_id": 3, "record_count": 9, "snapshot_id": 1, "sequence_number": 0}
    found: set[str] = set()
    for name in LEAVES:
        whole = content_entries.file(name).read_bytes()
        for _ in range(long_or(150, 5000)):
            place = chance.randrange(len(whole))
            flipped = bytes([whole[place] ^ 1 << chance.randrange(8)])
            found.add(outcome(whole[:place] + flipped + whole[place + 1 :], listed))
            found.add(outcome(whole[: chance.randrange(len(whole))], listed))
    table = pq.read_table(content_entries.file("leaf-m0.parquet"))
    for content in damages_of(table, chance, long_or(150, 5000)):
        found.add(outcome(content, listed))
    assert {"rows", "truncated", "schema"} <= found, found


def damages_of(table: pa.Table, chance: random.Random, number: int) -> list[bytes]:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none", use_dictionary=False)
    file = ParquetFile(sink.getvalue().to_pybytes())
    return [file.damaged(chance) for _ in range(number)]
