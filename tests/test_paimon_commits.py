"""Tables that only lakebed writes: what commits leave, and what they refuse."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lakebed
from lakebed import Table, paimon
from lakebed.errors import LakebedError, SchemaError, SnapshotNotFoundError, UnsupportedError
from shared_data import SAMPLE_TABLE, GoldenTable, each_golden_paimon_table

DAY = pa.struct([("day", pa.date32())])
SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("name", pa.string())])
FIRST, SECOND = date(2024, 1, 1), date(2024, 1, 2)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table partitioned by day, without snapshots."""
    return paimon.create_table(tmp_path / "t", SCHEMA, partition_keys=["day"])


def folder(day: date) -> str:
    return f"day={(day - date(1970, 1, 1)).days}/bucket-0"


def files(day: date, *names: str, rows: int = 10) -> pa.Table:
    """Data files of one partition."""
    count = len(names)
    return pa.table(
        {
            "file_path": pa.array([f"{folder(day)}/{name}" for name in names], pa.string()),
            "record_count": pa.array([rows] * count, pa.int64()),
            "file_size_in_bytes": pa.array([100] * count, pa.int64()),
            "partition": pa.array([{"day": day}] * count, DAY),
        }
    )


def names(table: Table) -> list[str]:
    return sorted(table.files(columns=["file_name"]).to_arrow()["file_name"].to_pylist())


def stored(table: Table, name: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(Path(table.location, name).read_text("utf-8"))
    return read


def snapshot(table: Table) -> dict[str, Any]:
    return stored(table, f"snapshot/snapshot-{table.snapshot_id}")


def metadata(table: Table) -> dict[str, bytes]:
    """Every metadata file of the table."""
    root = Path(table.location)
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


def test_a_table_is_created_as_the_engine_creates_it(tmp_path: Path) -> None:
    columns = pa.schema(
        [
            pa.field("id", pa.int32()),
            pa.field("code", pa.string(), nullable=False, metadata={"paimon.type": "VARCHAR(10)"}),
            pa.field("inner", pa.struct([("a", pa.list_(pa.timestamp("ns"))), ("b", pa.decimal128(9, 2))])),
            pa.field("at", pa.timestamp("us", "UTC")),
        ]
    )
    table = paimon.create_table(
        tmp_path / "a" / "t",
        columns,
        primary_keys=["id"],
        options={"bucket": "2", "file.format": "orc"},
        comment="kept",
    )
    assert (table.format, table.snapshot_id, table.properties) == (
        "paimon",
        None,
        {"bucket": "2", "file.format": "orc"},
    )
    schema = stored(table, "schema/schema-0")
    assert schema.pop("timeMillis") > 1_700_000_000_000
    assert list(schema) == [
        "version",
        "id",
        "fields",
        "highestFieldId",
        "partitionKeys",
        "primaryKeys",
        "options",
        "comment",
    ]
    assert [(field["id"], field["type"]) for field in schema["fields"][:2]] == [
        (0, "INT NOT NULL"),
        (1, "VARCHAR(10) NOT NULL"),
    ]
    inner = schema["fields"][2]
    assert (inner["id"], [field["id"] for field in inner["type"]["fields"]]) == (2, [3, 4])
    assert schema["fields"][3] == {"id": 5, "name": "at", "type": "TIMESTAMP(6) WITH LOCAL TIME ZONE"}
    assert (schema["highestFieldId"], schema["comment"]) == (5, "kept")
    with pytest.raises(FileExistsError):
        paimon.create_table(tmp_path / "a" / "t", columns)
    copy = paimon.create_table(
        tmp_path / "copy", schema["fields"], primary_keys=["id"], options={"bucket": "2"}
    )
    assert stored(copy, "schema/schema-0")["fields"] == schema["fields"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"partition_keys": ["nothing"]}, "nothing"),
        ({"primary_keys": ["id", "id"]}, "twice"),
        ({"primary_keys": ["day"], "partition_keys": ["day"]}, "primaryKeys"),
        ({"options": {"bucket": "4"}}, "bucket-key"),
        ({"options": {"bucket": "0"}}, "0 buckets"),
        ({"options": {"manifest.format": "orc"}}, "manifest.format"),
        ({"options": {"manifest.compression": "lz4"}}, "lz4"),
    ],
)
def test_what_makes_no_table_is_refused(arguments: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(LakebedError, match=words):
        paimon.create_table(tmp_path / "t", SCHEMA, **arguments)
    assert not (tmp_path / "t").exists()


def test_files_are_added_and_taken_away(table: Table) -> None:
    one = paimon.append_files(table, files(FIRST, "a.parquet", "b.orc"))
    two = paimon.append_files(one, files(SECOND, "c.avro", rows=5), watermark=7, properties={"k": "v"})
    assert (one.snapshot_id, names(one)) == (1, ["a.parquet", "b.orc"])
    assert (two.snapshot_id, names(two)) == (2, ["a.parquet", "b.orc", "c.avro"])
    said = snapshot(two)
    assert (said["totalRecordCount"], said["deltaRecordCount"], said["commitKind"]) == (25, 5, "APPEND")
    assert (said["watermark"], said["properties"], said["nextRowId"]) == (7, {"k": "v"}, 0)
    three = paimon.delete_files(one, [f"{folder(FIRST)}/a.parquet"], watermark=3)
    assert (three.snapshot_id, names(three)) == (3, ["b.orc", "c.avro"])
    said = snapshot(three)
    assert (said["totalRecordCount"], said["deltaRecordCount"], said["commitKind"]) == (15, -10, "OVERWRITE")
    assert said["watermark"] == 7
    four = paimon.delete_files(three, three.files(where="day = DATE '2024-01-02'"))
    assert (names(four), names(lakebed.open_table(table.location))) == (["b.orc"], ["b.orc"])
    # Every snapshot still shows what it showed.
    assert [names(four.at(snapshot=number)) for number in (1, 2)] == [names(one), names(two)]
    root = Path(table.location)
    assert [(root / "snapshot" / hint).read_text() for hint in ("LATEST", "EARLIEST")] == ["4", "1"]


def test_snapshots_are_spelt_as_the_engine_spells_them(table: Table) -> None:
    one = paimon.append_files(table, files(FIRST, "a.parquet"), commit_user="u", identifier=3)
    text = Path(table.location, "snapshot/snapshot-1").read_text("utf-8")
    said = json.loads(text)
    assert list(said) == [
        "version",
        "id",
        "schemaId",
        "baseManifestList",
        "baseManifestListSize",
        "deltaManifestList",
        "deltaManifestListSize",
        "commitUser",
        "commitIdentifier",
        "commitKind",
        "timeMillis",
        "totalRecordCount",
        "deltaRecordCount",
        "nextRowId",
    ]
    assert (said["commitUser"], said["commitIdentifier"]) == ("u", 3)
    assert paimon.write_snapshot(said) == text.encode()
    for kind in ("base", "delta"):
        size = Path(one.location, "manifest", said[f"{kind}ManifestList"]).stat().st_size
        assert said[f"{kind}ManifestListSize"] == size


def test_statistics_are_kept_as_the_table_keeps_them(table: Table) -> None:
    bounds = pa.struct(
        [("null_count", pa.int64()), ("lower_bound", pa.string()), ("upper_bound", pa.string())]
    )
    of_name = {"null_count": 1, "lower_bound": "a" * 20, "upper_bound": "b" * 20}
    stats = pa.array([{"name": of_name}, {"name": None}], pa.struct([("name", bounds)]))
    one = paimon.append_files(table, files(FIRST, "a.parquet", "b.parquet").append_column("stats", stats))
    found = one.files(columns=["stats"], stats=["id", "name"]).to_arrow()["stats"].to_pylist()
    kept = {name: found[0]["name"][name] for name in of_name}
    assert kept == {"null_count": 1, "lower_bound": "a" * 16, "upper_bound": "b" * 15 + "c"}
    assert found[0]["id"]["null_count"] is None
    assert found[1]["name"]["null_count"] is None
    entries = one.entries(columns=["value_stats_cols"]).to_arrow()["value_stats_cols"].to_pylist()
    assert entries == [["name"], []]


def test_partitions_are_overwritten(table: Table) -> None:
    table = paimon.append_files(table, pa.concat_tables([files(FIRST, "a", "b"), files(SECOND, "c")]))
    table = paimon.overwrite_partition(table, files(FIRST, "d"), {"day": FIRST})
    assert (names(table), snapshot(table)["commitKind"]) == (["c", "d"], "OVERWRITE")
    with pytest.raises(SchemaError, match="another partition") as refused:
        paimon.overwrite_partition(table, files(FIRST, "e"), {"day": SECOND})
    assert (refused.value.field, refused.value.record) == ("partition", 0)
    with pytest.raises(SchemaError, match="not partitioned"):
        paimon.overwrite_partition(table, files(FIRST, "e"), {"name": "x"})
    table = paimon.overwrite_partition(table, files(FIRST), {"day": FIRST})
    assert names(table) == ["c"]
    table = paimon.overwrite_partition(table, files(FIRST, "f"), {})
    assert (names(table), snapshot(table)["totalRecordCount"]) == (["f"], 10)


def test_manifests_are_written_anew(table: Table) -> None:
    for number in range(6):
        table = paimon.append_files(table, files([FIRST, SECOND][number % 2], f"{number}.parquet"))
    table = paimon.delete_files(table, [f"{folder(FIRST)}/2.parquet"])
    before = table.files().to_arrow().sort_by("file_path")
    assert table.manifests().to_arrow().num_rows == 7
    compacted = paimon.compact_manifests(table, sort=True)
    manifests = compacted.manifests().to_arrow()
    assert (manifests["added_files_count"].to_pylist(), manifests["deleted_files_count"].to_pylist()) == (
        [5],
        [0],
    )
    assert compacted.files().to_arrow().sort_by("file_path") == before
    days = [row["day"] for row in compacted.files().to_arrow()["partition"].to_pylist()]
    assert days == sorted(days)
    said = snapshot(compacted)
    assert (said["commitKind"], said["deltaRecordCount"], said["totalRecordCount"]) == ("COMPACT", 0, 50)
    assert paimon.compact_manifests(compacted).snapshot_id == compacted.snapshot_id
    small = paimon.compact_manifests(compacted, target_bytes=1, sort=True)
    assert small.files().to_arrow().sort_by("file_path") == before


def test_tags_hold_a_snapshot(table: Table) -> None:
    with pytest.raises(SnapshotNotFoundError):
        paimon.create_tag(table, "none")
    one = paimon.append_files(table, files(FIRST, "a"))
    two = paimon.append_files(one, files(FIRST, "b"))
    tag = paimon.create_tag(one, "v1")
    assert (tag.tag, names(tag)) == ("v1", ["a"])
    assert (
        Path(table.location, "tag/tag-v1").read_bytes()
        == Path(table.location, "snapshot/snapshot-1").read_bytes()
    )
    kept = paimon.create_tag(two, "v2", time_retained=timedelta(days=1))
    said = stored(kept, "tag/tag-v2")
    assert (said["tagTimeRetained"], said["id"]) == (86400.0, 2)
    assert "86400.000000000" in Path(table.location, "tag/tag-v2").read_text("utf-8")
    with pytest.raises(FileExistsError):
        paimon.create_tag(two, "v1")
    for name in ("", " ", "a/b"):
        with pytest.raises(SchemaError):
            paimon.create_tag(two, name)


def test_numbered_commits_are_made_once(table: Table) -> None:
    one = paimon.append_files(table, files(FIRST, "a"), commit_user="u", identifier=1)
    again = paimon.append_files(one, files(FIRST, "a"), commit_user="u", identifier=1)
    assert again.snapshot_id == one.snapshot_id
    two = paimon.append_files(one, files(FIRST, "b"), commit_user="v", identifier=1)
    assert paimon.append_files(two, files(FIRST, "a"), commit_user="u", identifier=1).snapshot_id == 1
    # Batch writers have no numbers: each of their commits is new.
    three = paimon.append_files(two, files(FIRST, "c"), commit_user="u")
    assert paimon.append_files(three, files(FIRST, "d"), commit_user="u").snapshot_id == 4


def test_without_files_there_is_no_commit(table: Table) -> None:
    assert paimon.append_files(table, files(FIRST)).snapshot_id is None
    assert paimon.delete_files(table, []).snapshot_id is None
    assert paimon.compact_manifests(table).snapshot_id is None


def change(
    name: str, values: Sequence[Any], kind: pa.DataType | None = None
) -> Callable[[pa.Table], pa.Table]:
    def changed(table: pa.Table) -> pa.Table:
        column = pa.array(values, kind)
        if name not in table.schema.names:
            return table.append_column(name, column)
        return table.set_column(table.schema.names.index(name), name, column)

    return changed


BAD_FILES = {
    "no path": (lambda t: t.drop_columns(["file_path"]), "file_path", None),
    "no partition": (lambda t: t.drop_columns(["partition"]), "partition", None),
    "another column": (change("colour", [1, 2, 3]), "colour", None),
    "type": (change("record_count", ["a", "b", "c"]), "record_count", None),
    "null": (change("record_count", [1, None, 3], pa.int64()), "record_count", 1),
    "negative": (change("file_size_in_bytes", [1, 2, -3]), "file_size_in_bytes", 2),
    "path in the table": (change("file_path", ["a", "b", "c"]), "file_path", 0),
    "partition's folder": (
        change("file_path", [f"{folder(day)}/x" for day in (FIRST, SECOND, FIRST)]),
        "file_path",
        1,
    ),
    "no name": (change("file_path", [f"{folder(FIRST)}/a", f"{folder(FIRST)}/", "c"]), "file_path", 1),
    "twice": (change("file_path", [f"{folder(FIRST)}/{name}" for name in "aba"]), "file_path", 2),
    "bucket": (change("bucket", [0, 1, 0]), "bucket", 1),
    "level": (change("level", [0, 0, 5]), "level", 2),
    "partition null": (change("partition", [{"day": FIRST}, None, None], DAY), "partition", 1),
    "partition column": (
        change("partition", [{"hour": 1}] * 3, pa.struct([("hour", pa.int32())])),
        "partition.hour",
        None,
    ),
    "partition type": (
        change("partition", [{"day": "x"}] * 3, pa.struct([("day", pa.string())])),
        "partition.day",
        None,
    ),
    "schema": (change("schema_id", [0, 0, 7]), "schema_id", 2),
    "key": (change("min_key", [None, b"1", None], pa.binary()), "min_key", 1),
    "column of statistics": (
        change(
            "stats", [{"colour": None}] * 3, pa.struct([("colour", pa.struct([("null_count", pa.int64())]))])
        ),
        "stats.colour",
        None,
    ),
    "statistic": (
        change("stats", [{"id": {"mean": 1}}] * 3, pa.struct([("id", pa.struct([("mean", pa.int64())]))])),
        "stats.id.mean",
        None,
    ),
    "bound": (
        change(
            "stats",
            [{"id": {"lower_bound": "a"}}] * 3,
            pa.struct([("id", pa.struct([("lower_bound", pa.string())]))]),
        ),
        "stats.id.lower_bound",
        None,
    ),
    "columns": (change("write_cols", [None, ["colour"], None], pa.list_(pa.string())), "write_cols", 1),
}


@pytest.mark.parametrize(("changed", "field", "record"), BAD_FILES.values(), ids=BAD_FILES)
def test_files_that_do_not_fit_are_refused(
    changed: Callable[[pa.Table], pa.Table], field: str, record: int | None, table: Table
) -> None:
    before = metadata(table)
    with pytest.raises(SchemaError) as refused:
        paimon.append_files(table, changed(files(FIRST, "a", "b", "c")))
    assert (refused.value.field, refused.value.record) == (field, record)
    assert metadata(table) == before


def test_what_is_live_is_not_added_and_what_is_not_is_not_taken(table: Table) -> None:
    table = paimon.append_files(table, files(FIRST, "a", "b"))
    before = metadata(table)
    for commit, words, record in [
        (lambda: paimon.append_files(table, files(FIRST, "c", "b")), "already", 1),
        (lambda: paimon.overwrite_partition(table, files(FIRST, "a"), {"day": FIRST}), "already", 0),
        (lambda: paimon.delete_files(table, [f"{folder(FIRST)}/a", f"{folder(SECOND)}/a"]), "no live", 1),
        (lambda: paimon.delete_files(table, [f"{folder(FIRST)}/a"] * 2), "twice", 1),
        (lambda: paimon.delete_files(table, pa.table({"file_path": [None]})), "null", 0),
    ]:
        with pytest.raises(SchemaError, match=words) as refused:
            commit()
        assert (refused.value.field, refused.value.record) == ("file_path", record)
    assert metadata(table) == before


def test_decimals_and_times_fit_or_are_refused(tmp_path: Path) -> None:
    kinds = {"d": pa.decimal128(5, 2), "t": pa.timestamp("ms"), "n": pa.int32()}
    table = paimon.create_table(tmp_path / "t", pa.schema(list(kinds.items())), partition_keys=list(kinds))

    def placed(d: Any, t: Any, n: Any) -> pa.Table:
        fields = [("d", pa.decimal128(9, 2)), ("t", pa.timestamp("us")), ("n", pa.int64())]
        partition = pa.array([{"d": d, "t": t, "n": n}], pa.struct(fields))
        return pa.table(
            {"file_path": ["/else/f"], "record_count": [1], "file_size_in_bytes": [1], "partition": partition}
        )

    good = paimon.append_files(table, placed(Decimal("123.45"), 5000, None))
    assert good.files().to_arrow()["external_path"].to_pylist() == ["/else/f"]
    for bad, field in [
        (placed(Decimal("1234.56"), 0, 0), "partition.d"),
        (placed(None, 5001, 0), "partition.t"),
        (placed(None, 0, 1 << 40), "partition.n"),
    ]:
        with pytest.raises(SchemaError) as refused:
            paimon.append_files(table, bad)
        assert (refused.value.field, refused.value.record) == (field, 0)


def test_tables_that_need_more_than_entries_are_refused(tmp_path: Path) -> None:
    one_file = pa.table({"file_path": ["bucket-0/a"], "record_count": [1], "file_size_in_bytes": [1]})
    for bucket, words in (("-1", "dynamic"), ("-2", "postponed")):
        table = paimon.create_table(
            tmp_path / bucket, SCHEMA, primary_keys=["id"], options={"bucket": bucket}
        )
        with pytest.raises(UnsupportedError, match=words):
            paimon.append_files(table, one_file)
    remote = lakebed.open_table(SAMPLE_TABLE, storage=Anywhere())
    for commit in (
        lambda: paimon.delete_files(remote, ["a"]),
        lambda: paimon.compact_manifests(remote),
        lambda: paimon.create_tag(remote, "t"),
    ):
        with pytest.raises(UnsupportedError, match="local"):
            commit()


class Anywhere:
    """A storage that cannot be written."""

    def read(self, path: str, start: int = 0, end: int | None = None) -> bytes:
        return Path(path).read_bytes()[start:end]

    def list(self, folder: str) -> list[str]:
        return [file.name for file in Path(folder).iterdir()] if Path(folder).is_dir() else []


# What of an entry a copy keeps to the byte, as far as views show it.
KEPT = [
    "partition_row",
    "bucket",
    "total_buckets",
    "file_name",
    "file_size",
    "row_count",
    "min_key",
    "max_key",
]
KEPT += ["value_stats", "value_stats_cols", "min_sequence_number", "max_sequence_number", "extra_files"]
KEPT += ["creation_time", "delete_row_count", "embedded_file_index", "file_source", "write_cols"]


@each_golden_paimon_table()
def test_files_of_one_table_go_into_another(table: GoldenTable, tmp_path: Path) -> None:
    source = lakebed.open_table(table.path)
    schema = paimon.read_schema(max((table.path / "schema").iterdir(), key=lambda file: int(file.name[7:])))
    options = {key: value for key, value in schema["options"].items() if key != "manifest.format"}
    keys = {"partition_keys": schema["partitionKeys"], "primary_keys": schema["primaryKeys"]}
    copy = paimon.create_table(tmp_path / "t", schema["fields"], options=options, **keys)
    columns = [field["name"] for field in schema["fields"]]
    rows = source.files(stats=columns).to_arrow()
    rows = rows.filter(pc.and_(pc.equal(rows["schema_id"], schema["id"]), pc.equal(rows["level"], 0)))
    # Compactions of tables that track rows add columns of their own, which views do not show.
    plain = ["_ROW_ID" not in (cols or ()) for cols in rows["write_cols"].to_pylist()]
    rows = rows.filter(pa.array(plain, pa.bool_()))
    if options.get("bucket", "-1") == "-2" or (keys["primary_keys"] and options.get("bucket", "-1") == "-1"):
        with pytest.raises(UnsupportedError):
            paimon.append_files(copy, rows)
        return
    paths = [path.removeprefix(f"{source.location}/") for path in rows["file_path"].to_pylist()]
    rows = rows.set_column(1, "file_path", pa.array(paths, pa.string())).drop_columns(["schema_id"])
    if len(rows) == 0:
        return
    copy = paimon.append_files(copy, rows)
    kept = [name for name in KEPT if "row-tracking.enabled" not in options or "sequence" not in name]
    wanted = source.entries(columns=[*kept, "kind"], where=None).to_arrow()
    wanted = {row["file_name"]: row for row in wanted.to_pylist() if row.pop("kind") == 0}
    found = copy.entries(columns=kept).to_arrow().to_pylist()
    assert [row["file_name"] for row in found] == rows["file_name"].to_pylist()
    for row in found:
        there = wanted[row["file_name"]]
        if table.name.startswith("v090_"):
            # Statistics had no names then: columns without any were there as nulls.
            there = {**there, **{name: row[name] for name in ("value_stats", "value_stats_cols")}}
        assert row == there
    # NaN equals itself in texts.
    assert str(copy.files(stats=columns).to_arrow()["stats"].to_pylist()) == str(rows["stats"].to_pylist())
