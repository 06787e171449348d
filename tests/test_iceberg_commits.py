"""Commits to Iceberg tables: what they leave behind, what other readers see of it, and what they refuse."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import with_column
from iceberg_commits import as_pyiceberg, live, metadata, metadata_names
from raising import raises

import lakebed
from lakebed import avro, iceberg
from lakebed.errors import PredicateError, SchemaError, UnsupportedError

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string()),
        pa.field("ts", pa.timestamp("us", "UTC")),
        pa.field("price", pa.decimal128(9, 2)),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("point", pa.struct([pa.field("x", pa.int32()), pa.field("y", pa.int32())])),
    ]
)
PARTITION_BY = ("day(ts)", "bucket(16, id)", "region")
PARTITION = pa.struct([("ts_day", pa.date32()), ("id_bucket", pa.int32()), ("region", pa.string())])


def made(path: Path, version: int = 2, properties: dict[str, str] | None = None) -> lakebed.Table:
    return lakebed.create_table(
        path / "t",
        SCHEMA,
        "iceberg",
        partition_by=PARTITION_BY,
        format_version=version,
        properties=properties,
    )


def files(*numbers: int, **columns: Any) -> pa.Table:
    """Files of those numbers, each in a partition of its own, with the column `id` as its number."""
    tuples = [
        {"ts_day": dt.date(2026, 1, 1 + number % 28), "id_bucket": number % 16, "region": f"r{number % 3}"}
        for number in numbers
    ]
    bound = pa.struct([("lower_bound", pa.int64()), ("upper_bound", pa.int64()), ("null_count", pa.int64())])
    stats = [{"id": {"lower_bound": n, "upper_bound": n + 9, "null_count": 0}} for n in numbers]
    given = {
        "file_path": [f"data/{number}.parquet" for number in numbers],
        "record_count": pa.array([10 + number for number in numbers], pa.int64()),
        "file_size_in_bytes": pa.array([100 + number for number in numbers], pa.int64()),
        "partition": pa.array(tuples, PARTITION),
        "stats": pa.array(stats, pa.struct([("id", bound)])),
    }
    return pa.table(given | columns)


def summary(table: lakebed.Table) -> dict[str, str]:
    found: dict[str, str] = metadata(table)["snapshots"][-1]["summary"]
    return found


def entries(table: lakebed.Table) -> list[dict[str, Any]]:
    """Every entry of the current snapshot, deleted ones included."""
    names = ["status", "snapshot_id", "sequence_number", "file_sequence_number", "file_path", "first_row_id"]
    rows: list[dict[str, Any]] = table.entries(columns=names).to_arrow().to_pylist()
    return rows


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_new_table_has_columns_and_partitions_and_no_snapshot(version: int, tmp_path: Path):
    table = made(tmp_path, version, {"owner": "me"})
    assert (table.format_version, table.snapshot_id) == (version, None)
    (schema,) = metadata(table)["schemas"]
    ids = {field["name"]: field["id"] for field in schema["fields"]}
    assert ids == {"id": 1, "region": 2, "ts": 3, "price": 4, "tags": 5, "point": 6}
    assert schema["fields"][4]["type"]["element-id"] == 7
    assert [field["id"] for field in schema["fields"][5]["type"]["fields"]] == [8, 9]
    (spec,) = metadata(table)["partition-specs"]
    found = [(f["name"], f["transform"], f["field-id"]) for f in spec["fields"]]
    assert found == [("ts_day", "day", 1000), ("id_bucket", "bucket[16]", 1001), ("region", "identity", 1002)]
    assert table.properties == {"write.parquet.compression-codec": "zstd", "owner": "me"}
    assert Path(table.location, "metadata", "version-hint.text").read_text() == "1"
    with pytest.raises(FileExistsError):
        made(tmp_path, version)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_appends_deletes_and_rewrites(version: int, tmp_path: Path):
    table = made(tmp_path, version)
    table = table.append_files(files(0, 1, 2), options=lakebed.CommitOptions(properties={"who": "me"}))
    first = table.snapshot_id
    said = summary(table)
    assert said == said | {
        "operation": "append",
        "manifests-created": "1",
        "manifests-kept": "0",
        "added-data-files": "3",
        "added-records": "33",
        "added-files-size": "303",
        "changed-partition-count": "3",
        "total-data-files": "3",
        "total-records": "33",
        "total-delete-files": "0",
        "who": "me",
    }
    (manifest,) = table.manifests().to_arrow()["path"].to_pylist()
    written = lakebed.iceberg.read_manifest(manifest).to_arrow()
    assert written["snapshot_id"].to_pylist() == [first] * 3, "as Java writes it, not left to be inherited"
    table = table.append_files(files(3, 4))
    assert live(table) == [f"data/{n}.parquet" for n in range(5)]
    assert table.at(snapshot=first or 0).files().to_arrow().num_rows == 3
    table = table.delete_files(["data/1.parquet", f"{table.location}/data/3.parquet"])
    assert live(table) == [f"data/{n}.parquet" for n in (0, 2, 4)]
    said = summary(table)
    assert said == said | {
        "operation": "delete",
        "deleted-data-files": "2",
        "deleted-records": "24",
        "removed-files-size": "204",
        "manifests-created": "2",
        "manifests-replaced": "2",
        "total-data-files": "3",
        "total-records": "36",
    }
    check_entries(table, version)
    table = table.rewrite_manifests()
    assert live(table) == [f"data/{n}.parquet" for n in (0, 2, 4)]
    said = summary(table)
    assert said == said | {
        "operation": "replace",
        "manifests-created": "1",
        "manifests-kept": "0",
        "manifests-replaced": "2",
        "entries-processed": "3",
        "total-data-files": "3",
    }
    assert {row["status"] for row in entries(table)} == {0}
    log = metadata(table)["metadata-log"]
    assert [row["metadata-file"].rpartition("/")[2] for row in log] == [
        f"v{n}.metadata.json" for n in range(1, 5)
    ]
    assert len(metadata(table)["snapshot-log"]) == 4
    check_pyiceberg(table)


def check_entries(table: lakebed.Table, version: int) -> None:
    """Behind two appends and a delete of one file of each."""
    ids = [row["snapshot-id"] for row in metadata(table)["snapshots"]]
    found = {row["file_path"].rpartition("/")[2]: row for row in entries(table)}
    wanted = {"0": (0, 0), "1": (2, 0), "2": (0, 0), "3": (2, 1), "4": (0, 1)}
    for name, (status, added) in wanted.items():
        row = found[f"{name}.parquet"]
        number = 0 if version == 1 else added + 1
        assert (row["status"], row["sequence_number"], row["file_sequence_number"]) == (
            status,
            number,
            number,
        )
        assert row["snapshot_id"] == (ids[2] if status == 2 else ids[added])
    if version == 3:
        assert [found[f"{n}.parquet"]["first_row_id"] for n in range(5)] == [0, 10, 21, 33, 46]


def check_pyiceberg(table: lakebed.Table) -> None:
    """PyIceberg sees the same files, with their bounds and partitions."""
    found = as_pyiceberg(table)
    ours = table.files(columns=["file_path", "record_count", "partition"]).to_arrow().to_pylist()
    theirs = found.inspect.files().to_pylist()
    key = lambda row: row["file_path"]  # noqa: E731
    assert [(r["file_path"], r["record_count"]) for r in sorted(ours, key=key)] == [
        (r["file_path"], r["record_count"]) for r in sorted(theirs, key=key)
    ]
    tasks = list(found.scan(row_filter="id > 11").plan_files())
    wanted = table.plan(where="id > 11").to_arrow()["file_path"].to_pylist()
    assert sorted(task.file.file_path for task in tasks) == sorted(wanted)


def test_a_list_says_what_its_manifests_hold(tmp_path: Path):
    table = made(tmp_path).append_files(files(5, 9, 1))
    (manifest,) = table.manifests().to_arrow().to_pylist()
    (stored,) = (row for row in iceberg.read_manifest_list(current_list(table)).to_arrow().to_pylist())
    assert stored["manifest_length"] == Path(stored["manifest_path"]).stat().st_size
    assert manifest["added_files_count"] == 3
    days, buckets, regions = stored["partitions"]
    assert (buckets["lower_bound"], buckets["upper_bound"]) == (b"\x01\0\0\0", b"\x09\0\0\0")
    assert (regions["lower_bound"], regions["upper_bound"]) == (b"r0", b"r2")
    assert (days["contains_null"], days["contains_nan"]) == (False, False)
    assert (stored["sequence_number"], stored["min_sequence_number"]) == (1, 1)


def current_list(table: lakebed.Table) -> str:
    found: str = metadata(table)["snapshots"][-1]["manifest-list"]
    return found


def test_what_one_table_says_of_its_files_goes_into_another(tmp_path: Path):
    one = made(tmp_path / "one").append_files(files(1, 2))
    two = made(tmp_path / "two", 3)
    names = ["id", "region", "ts", "price"]
    two = two.append_files(one.files(stats=names).to_arrow())
    read = [
        table.files(stats=names).to_arrow().drop_columns(["snapshot_id", "first_row_id"])
        for table in (one, two)
    ]
    assert read[0].equals(read[1])
    assert two.files().to_arrow()["first_row_id"].to_pylist() == [0, 11]


def test_manifests_are_clustered_by_partition(tmp_path: Path):
    table = made(tmp_path)
    for number in range(6):
        table = table.append_files(files(number, number + 20, number + 40))
    before = live(table)
    table = table.rewrite_manifests(target_bytes=1)
    manifests = iceberg.read_manifest_list(current_list(table)).to_arrow().to_pylist()
    assert len(manifests) == 18
    assert live(table) == before
    days = [row["partitions"][0]["lower_bound"] for row in manifests]
    assert days == sorted(days)
    assert {row["min_sequence_number"] for row in manifests} == set(range(1, 7))
    assert {row["existing_files_count"] for row in manifests} == {1}


def test_row_ids_stay_what_they_are(tmp_path: Path):
    table = made(tmp_path, 3).append_files(files(0, 1))
    table = table.append_files(files(2))
    ids = {row["file_path"]: row["first_row_id"] for row in entries(table)}
    assert (sorted(ids.values()), metadata(table)["next-row-id"]) == ([0, 10, 21], 33)
    table = table.delete_files(["data/0.parquet"])
    table = table.rewrite_manifests()
    after = {row["file_path"]: row["first_row_id"] for row in entries(table)}
    assert after == {path: id_ for path, id_ in ids.items() if not path.endswith("/0.parquet")}
    snapshots = metadata(table)["snapshots"]
    assert [row["first-row-id"] for row in snapshots[:2]] == [0, 21]
    assert [row["added-rows"] for row in snapshots[:2]] == [21, 12]


BAD = [
    ({"file_path": ["a.parquet", None]}, "file_path", 1),
    ({"file_path": ["a.parquet", "a.parquet"]}, "file_path", 1),
    ({"record_count": pa.array([1, -1], pa.int64())}, "record_count", 1),
    ({"record_count": pa.array([1.5, 2.5])}, "record_count", None),
    ({"content": pa.array([0, 1], pa.int32())}, "content", 1),
    ({"spec_id": pa.array([0, 7], pa.int32())}, "spec_id", 1),
    ({"file_format": ["parquet", "csv"]}, "file_format", 1),
    ({"colour": [1, 2]}, "colour", None),
    ({"partition": pa.array([{"ts_day": None, "id_bucket": 1}] * 2)}, "partition.region", None),
    (
        {"partition": pa.array([{"nope": 1, "ts_day": None, "id_bucket": 1, "region": "r"}] * 2)},
        "partition.nope",
        0,
    ),
    ({"stats": pa.array([{"nope": {"null_count": 1}}] * 2)}, "stats.nope", None),
    ({"stats": pa.array([{"id": {"null_count": 1}}, {"id": {"null_count": -1}}])}, "stats.id.null_count", 1),
    (
        {"stats": pa.array([{"price": {"lower_bound": Decimal("12345678.00")}}] * 2)},
        "stats.price.lower_bound",
        0,
    ),
]


@pytest.mark.parametrize(("changes", "field", "record"), BAD, ids=lambda value: str(value)[:40])
def test_files_that_do_not_fit_are_refused_before_anything_is_written(
    changes: dict[str, Any], field: str, record: int | None, tmp_path: Path
):
    table = made(tmp_path)
    before = metadata_names(table)
    given = files(1, 2)
    for name, values in changes.items():
        given = with_column(given, name, values if isinstance(values, pa.Array) else pa.array(values))
    with raises(SchemaError, field=field, record=record):
        table.append_files(given)
    assert metadata_names(table) == before


def test_missing_columns_are_refused(tmp_path: Path):
    table = made(tmp_path)
    for name in ("file_path", "record_count", "file_size_in_bytes", "partition"):
        with raises(SchemaError, field=name):
            table.append_files(files(1).drop_columns([name]))


def test_files_that_are_not_there_are_not_deleted(tmp_path: Path):
    table = made(tmp_path).append_files(files(1, 2))
    before = metadata_names(table)
    for gone in (["data/1.parquet", "data/7.parquet"], ["data/1.parquet", "data/1.parquet"]):
        with raises(SchemaError, field="file_path", record=1):
            table.delete_files(gone)
    for rows, record in (({"path": ["data/1.parquet"]}, None), ({"file_path": ["data/1.parquet", None]}, 1)):
        with raises(SchemaError, field="file_path", record=record):
            table.delete_files(pa.table(rows))
    with pytest.raises(TypeError, match="list of paths"):
        table.delete_files(Path("data/1.parquet"))
    # A text is a condition.
    with pytest.raises(PredicateError, match=r"data/1\.parquet"):
        table.delete_files("data/1.parquet")
    assert metadata_names(table) == before
    table = table.delete_files(pa.table({"file_path": ["data/1.parquet"]}))
    with pytest.raises(SchemaError, match="not a live file"):
        table.delete_files(["data/1.parquet"])


@pytest.mark.parametrize(
    ("schema", "partition_by", "version", "error", "field"),
    [
        (pa.schema([("a", pa.timestamp("ns"))]), [], 2, UnsupportedError, "a"),
        (pa.schema([("a", pa.struct([("b", pa.uint64())]))]), [], 3, UnsupportedError, "a.b"),
        (pa.schema([("a", pa.int32())]), ["b"], 2, SchemaError, "b"),
        (pa.schema([("a", pa.int32())]), ["day(a)"], 2, UnsupportedError, "day(a)"),
        (pa.schema([("a", pa.int32())]), ["shuffle(a)"], 2, SchemaError, "shuffle(a)"),
        (pa.schema([("a", pa.int32())]), ["a", "a"], 2, SchemaError, "a"),
        (pa.schema([("a", pa.list_(pa.int32()))]), ["a.element"], 2, UnsupportedError, "a.element"),
        (
            pa.schema([("a", pa.int32()), ("a_bucket", pa.int32())]),
            ["bucket(2, a)"],
            2,
            SchemaError,
            "bucket(2, a)",
        ),
    ],
)
def test_tables_that_cannot_be_are_refused(
    schema: pa.Schema, partition_by: list[str], version: int, error: type[Any], field: str, tmp_path: Path
):
    with raises(error, field=field):
        lakebed.create_table(
            tmp_path / "t", schema, "iceberg", partition_by=partition_by, format_version=version
        )
    assert not (tmp_path / "t").exists()


def test_metadata_is_compressed_where_the_table_says_so(tmp_path: Path):
    properties = {"write.metadata.compression-codec": "gzip", "write.metadata.previous-versions-max": "2"}
    table = made(tmp_path, 2, properties)
    for number in range(4):
        table = table.append_files(files(number))
    newest = Path(table.location, "metadata", "v5.gz.metadata.json")
    assert newest.read_bytes().startswith(b"\x1f\x8b")
    assert len(iceberg.read_metadata(newest)["metadata-log"]) == 2


def test_unknown_keys_and_other_refs_stay(tmp_path: Path):
    table = made(tmp_path).append_files(files(1))
    file = Path(table.location, "metadata", "v2.metadata.json")
    stored = iceberg.read_metadata(file)
    stored["x-own"] = {"big": 2**62 + 1}
    stored["refs"]["kept"] = {"snapshot-id": table.snapshot_id, "type": "tag", "max-ref-age-ms": 5}
    stored["refs"]["main"]["min-snapshots-to-keep"] = 3
    iceberg.write_metadata(stored, file, overwrite=True)
    after = metadata(table.append_files(files(2)))
    assert after["x-own"] == stored["x-own"]
    assert after["refs"]["kept"] == stored["refs"]["kept"]
    assert after["refs"]["main"]["min-snapshots-to-keep"] == 3


def test_tables_that_were_moved_or_are_elsewhere_are_refused(tmp_path: Path):
    table = made(tmp_path).append_files(files(1))
    Path(table.location).rename(tmp_path / "moved")
    for moved in (
        lakebed.open_table(tmp_path / "moved"),
        lakebed.open_table(tmp_path / "moved", relocate={table.location: tmp_path / "moved"}),
    ):
        with pytest.raises(UnsupportedError):
            moved.append_files(files(2))


def test_a_catalog_commits_what_is_staged(tmp_path: Path):
    sql = pytest.importorskip("pyiceberg.catalog.sql")
    from pydantic import TypeAdapter
    from pyiceberg.table.update import TableRequirement, TableUpdate

    catalog = sql.SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/wh")
    catalog.create_namespace("n")
    there = catalog.create_table("n.t", SCHEMA)
    for number in (1, 2):
        there = catalog.load_table("n.t")
        table = lakebed.open_table(there.metadata_location, format="iceberg")
        given = files(number).drop_columns(["partition"])
        with pytest.raises(UnsupportedError, match="catalog"):
            table.append_files(given)
        staged = table.stage().append_files(given)
        assert staged is not None
        assert all(Path(file.removeprefix("file://")).is_file() for file in staged.files)
        catalog.commit_table(
            there,
            tuple(TypeAdapter(TableRequirement).validate_python(one) for one in staged.requirements),
            tuple(TypeAdapter(TableUpdate).validate_python(one) for one in staged.updates),
        )
        current = staged.metadata["current-snapshot-id"]
    there = catalog.load_table("n.t")
    assert len(there.inspect.files()) == 2
    assert there.metadata.current_snapshot_id == current
    table = lakebed.open_table(there.metadata_location)
    staged = table.stage().delete_files(["data/1.parquet"])
    assert staged is not None
    staged.discard()
    assert not any(Path(file.removeprefix("file://")).exists() for file in staged.files)


def test_json_of_the_metadata_is_javas(tmp_path: Path):
    """What a commit writes is what `write_metadata` makes of it: one form of keys for all."""
    table = made(tmp_path, 3).append_files(files(1))
    file = Path(table.location, "metadata", "v2.metadata.json")
    assert iceberg.write_metadata(json.loads(file.read_text())) == file.read_bytes()


def test_a_table_says_how_its_manifests_are_laid_out(tmp_path: Path):
    table = made(tmp_path).append_files(files(1, 2))
    (path,) = table.manifests(columns=["path"]).to_arrow()["path"].to_pylist()
    rows = iceberg.read_manifest(path).to_arrow()
    for spec in (table, 0):
        data = iceberg.write_manifest(rows, schema=table, spec=spec, format_version=2)
        assert data is not None
        assert iceberg.read_manifest(data).to_arrow().equals(rows)
    with pytest.raises(SchemaError, match="no partition spec 9"):
        iceberg.write_manifest(rows, schema=table, spec=9, format_version=2)
    with pytest.raises(TypeError, match="schema is a table"):
        iceberg.write_manifest(rows, schema={}, spec=0, format_version=2)


def test_rewritten_manifests_are_of_the_codec_and_blocks_asked_for(tmp_path: Path):
    table = made(tmp_path).append_files(files(*range(20)))
    table = table.rewrite_manifests(codec="zstandard", block_bytes=500)
    (path,) = table.manifests(columns=["path"]).to_arrow()["path"].to_pylist()
    assert avro.read_metadata(path)["avro.codec"] == b"zstandard"
    assert avro.read_blocks(path).num_rows > 3
    assert avro.read_metadata(current_list(table))["avro.codec"] == b"deflate"


def test_nothing_to_rewrite_is_no_commit(tmp_path: Path):
    table = made(tmp_path)
    assert table.rewrite_manifests().snapshot_id is None
    assert table.stage().rewrite_manifests() is None
    assert metadata_names(table) == {"v1.metadata.json", "version-hint.text"}
