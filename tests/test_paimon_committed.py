"""Tables that only lakebed writes: what commits leave, and what they refuse."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from paimon_commits import FIRST, SCHEMA, SECOND, files, folder, names, snapshot, stored

import lakebed
from lakebed import CommitOptions, Table, paimon
from lakebed.errors import SchemaError, SnapshotNotFoundError, UnsupportedError
from shared_data import GoldenTable, each_golden_paimon_table


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A table partitioned by day, without snapshots."""
    return lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", partition_by=["day"])


def test_a_table_is_created_as_the_engine_creates_it(tmp_path: Path) -> None:
    columns = pa.schema(
        [
            pa.field("id", pa.int32()),
            pa.field("code", pa.string(), nullable=False, metadata={"paimon.type": "VARCHAR(10)"}),
            pa.field("inner", pa.struct([("a", pa.list_(pa.timestamp("ns"))), ("b", pa.decimal128(9, 2))])),
            pa.field("at", pa.timestamp("us", "UTC")),
        ]
    )
    table = lakebed.create_table(
        tmp_path / "a" / "t",
        columns,
        "paimon",
        primary_key=["id"],
        properties={"bucket": "2", "file.format": "orc"},
        comment="kept",
    )
    assert (table.format, table.snapshot_id, table.properties) == (
        "paimon",
        None,
        {"bucket": "2", "file.format": "orc"},
    )
    schema = stored(table, "schema/schema-0")
    assert schema.pop("timeMillis") > 1_700_000_000_000
    keys = "version id fields highestFieldId partitionKeys primaryKeys options comment"
    assert " ".join(schema) == keys
    found = [(field["id"], field["type"]) for field in schema["fields"][:2]]
    assert found == [(0, "INT NOT NULL"), (1, "VARCHAR(10) NOT NULL")]
    inner = schema["fields"][2]
    assert (inner["id"], [field["id"] for field in inner["type"]["fields"]]) == (2, [3, 4])
    assert schema["fields"][3] == {"id": 5, "name": "at", "type": "TIMESTAMP(6) WITH LOCAL TIME ZONE"}
    assert (schema["highestFieldId"], schema["comment"]) == (5, "kept")
    with pytest.raises(FileExistsError):
        lakebed.create_table(tmp_path / "a" / "t", columns, "paimon")
    copy = lakebed.create_table(
        tmp_path / "copy", schema["fields"], "paimon", primary_key=["id"], properties={"bucket": "2"}
    )
    assert stored(copy, "schema/schema-0")["fields"] == schema["fields"]


def test_a_table_is_partitioned_by_columns(tmp_path: Path) -> None:
    made = lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", partition_by=["day"])
    assert made.schemas().to_arrow()["partition_keys"].to_pylist() == [["day"]]
    with pytest.raises(TypeError, match="partition_by takes a list"):
        lakebed.create_table(tmp_path / "u", SCHEMA, "paimon", partition_by="day")


def test_files_are_added_and_taken_away(table: Table) -> None:
    one = table.append_files(files(FIRST, "a.parquet", "b.orc"))
    two = one.append_files(
        files(SECOND, "c.avro", rows=5), options=CommitOptions(watermark=7, properties={"k": "v"})
    )
    assert (one.snapshot_id, names(one)) == (1, ["a.parquet", "b.orc"])
    assert (two.snapshot_id, names(two)) == (2, ["a.parquet", "b.orc", "c.avro"])
    said = snapshot(two)
    assert (said["totalRecordCount"], said["deltaRecordCount"], said["commitKind"]) == (25, 5, "APPEND")
    assert (said["watermark"], said["properties"], said["nextRowId"]) == (7, {"k": "v"}, 0)
    three = one.delete_files([f"{folder(FIRST)}/a.parquet"], options=CommitOptions(watermark=3))
    assert (three.snapshot_id, names(three)) == (3, ["b.orc", "c.avro"])
    said = snapshot(three)
    assert (said["totalRecordCount"], said["deltaRecordCount"], said["commitKind"]) == (15, -10, "OVERWRITE")
    assert said["watermark"] == 7
    four = three.delete_files(three.files(where="day = DATE '2024-01-02'"))
    assert (names(four), names(lakebed.open_table(table.location))) == (["b.orc"], ["b.orc"])
    # Every snapshot still shows what it showed.
    assert [names(four.at(snapshot=number)) for number in (1, 2)] == [names(one), names(two)]
    root = Path(table.location)
    assert [(root / "snapshot" / hint).read_text() for hint in ("LATEST", "EARLIEST")] == ["4", "1"]


def test_snapshots_are_spelt_as_the_engine_spells_them(table: Table) -> None:
    one = table.append_files(files(FIRST, "a.parquet"), options=CommitOptions(user="u", identifier=3))
    text = Path(table.location, "snapshot/snapshot-1").read_text("utf-8")
    said = json.loads(text)
    lists = "baseManifestList baseManifestListSize deltaManifestList deltaManifestListSize"
    of_commit = "commitUser commitIdentifier commitKind timeMillis"
    counts = "totalRecordCount deltaRecordCount nextRowId"
    assert " ".join(said) == f"version id schemaId {lists} {of_commit} {counts}"
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
    one = table.append_files(files(FIRST, "a.parquet", "b.parquet").append_column("stats", stats))
    found = one.files(columns=["stats"], stats=["id", "name"]).to_arrow()["stats"].to_pylist()
    kept = {name: found[0]["name"][name] for name in of_name}
    assert kept == {"null_count": 1, "lower_bound": "a" * 16, "upper_bound": "b" * 15 + "c"}
    assert found[0]["id"]["null_count"] is None
    assert found[1]["name"]["null_count"] is None
    entries = one.entries(columns=["value_stats_cols"]).to_arrow()["value_stats_cols"].to_pylist()
    assert entries == [["name"], []]


def test_partitions_are_overwritten(table: Table) -> None:
    table = table.append_files(pa.concat_tables([files(FIRST, "a", "b"), files(SECOND, "c")]))
    table = table.overwrite_partitions(files(FIRST, "d"), {"day": FIRST})
    assert (names(table), snapshot(table)["commitKind"]) == (["c", "d"], "OVERWRITE")
    with pytest.raises(SchemaError, match="another partition") as refused:
        table.overwrite_partitions(files(FIRST, "e"), {"day": SECOND})
    assert (refused.value.field, refused.value.record) == ("partition", 0)
    with pytest.raises(SchemaError, match="not partitioned"):
        table.overwrite_partitions(files(FIRST, "e"), {"name": "x"})
    table = table.overwrite_partitions(files(FIRST), {"day": FIRST})
    assert names(table) == ["c"]
    table = table.overwrite_partitions(files(FIRST, "f"), {})
    assert (names(table), snapshot(table)["totalRecordCount"]) == (["f"], 10)


def test_manifests_are_written_anew(table: Table) -> None:
    for number in range(6):
        table = table.append_files(files([FIRST, SECOND][number % 2], f"{number}.parquet"))
    table = table.delete_files([f"{folder(FIRST)}/2.parquet"])
    before = table.files().to_arrow().sort_by("file_path")
    assert table.manifests().to_arrow().num_rows == 7
    compacted = table.rewrite_manifests(sort=True)
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
    assert compacted.rewrite_manifests().snapshot_id == compacted.snapshot_id
    small = compacted.rewrite_manifests(target_bytes=1, sort=True)
    assert small.files().to_arrow().sort_by("file_path") == before


def test_tags_hold_a_snapshot(table: Table) -> None:
    with pytest.raises(SnapshotNotFoundError):
        table.create_tag("none")
    one = table.append_files(files(FIRST, "a"))
    two = one.append_files(files(FIRST, "b"))
    tag = one.create_tag("v1")
    assert (tag.tag, names(tag)) == ("v1", ["a"])
    assert (
        Path(table.location, "tag/tag-v1").read_bytes()
        == Path(table.location, "snapshot/snapshot-1").read_bytes()
    )
    kept = two.create_tag("v2", max_age=timedelta(days=1))
    said = stored(kept, "tag/tag-v2")
    assert (said["tagTimeRetained"], said["id"]) == (86400.0, 2)
    assert "86400.000000000" in Path(table.location, "tag/tag-v2").read_text("utf-8")
    with pytest.raises(FileExistsError):
        two.create_tag("v1")
    for name in ("", " ", "a/b"):
        with pytest.raises(SchemaError):
            two.create_tag(name)


def test_numbered_commits_are_made_once(table: Table) -> None:
    one = table.append_files(files(FIRST, "a"), options=CommitOptions(user="u", identifier=1))
    again = one.append_files(files(FIRST, "a"), options=CommitOptions(user="u", identifier=1))
    assert again.snapshot_id == one.snapshot_id
    two = one.append_files(files(FIRST, "b"), options=CommitOptions(user="v", identifier=1))
    assert two.append_files(files(FIRST, "a"), options=CommitOptions(user="u", identifier=1)).snapshot_id == 1
    # Batch writers have no numbers: each of their commits is new.
    three = two.append_files(files(FIRST, "c"), options=CommitOptions(user="u"))
    assert three.append_files(files(FIRST, "d"), options=CommitOptions(user="u")).snapshot_id == 4


def test_without_files_there_is_no_commit(table: Table) -> None:
    assert table.append_files(files(FIRST)).snapshot_id is None
    assert table.delete_files([]).snapshot_id is None
    assert table.rewrite_manifests().snapshot_id is None


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
    copy = lakebed.create_table(
        tmp_path / "t",
        schema["fields"],
        "paimon",
        partition_by=schema["partitionKeys"],
        primary_key=schema["primaryKeys"],
        properties=options,
    )
    columns = [field["name"] for field in schema["fields"]]
    rows = source.files(stats=columns).to_arrow()
    rows = rows.filter(pc.and_(pc.equal(rows["schema_id"], schema["id"]), pc.equal(rows["level"], 0)))
    # Compactions of tables that track rows add columns of their own, which views do not show.
    plain = ["_ROW_ID" not in (cols or ()) for cols in rows["write_cols"].to_pylist()]
    rows = rows.filter(pa.array(plain, pa.bool_()))
    if schema["primaryKeys"] and options.get("bucket", "-1") == "-1":
        with pytest.raises(UnsupportedError):
            copy.append_files(rows)
        return
    paths = [path.removeprefix(f"{source.location}/") for path in rows["file_path"].to_pylist()]
    rows = rows.set_column(1, "file_path", pa.array(paths, pa.string())).drop_columns(["schema_id"])
    if len(rows) == 0:
        return
    copy = copy.append_files(rows)
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


def test_branches_have_commits_of_their_own(table: Table, tmp_path: Path) -> None:
    table = table.append_files(files(FIRST, "a"))
    table.create_tag("start")
    branch = tmp_path / "t" / "branch" / "branch-b"
    for name in ("schema/schema-0", "snapshot/snapshot-1", "tag/tag-start"):
        (branch / name).parent.mkdir(parents=True)
        (branch / name).write_bytes((tmp_path / "t" / name).read_bytes())
    there = table.at(branch="b").append_files(files(FIRST, "b"))
    assert (there.branch, there.snapshot_id, names(there)) == ("b", 2, ["a", "b"])
    assert (branch / "snapshot" / "snapshot-2").is_file()
    main = there.at(branch="main").append_files(files(FIRST, "c"))
    assert (main.branch, names(main)) == ("main", ["a", "c"])
    assert names(main.at(branch="b")) == ["a", "b"]


def test_a_table_that_stands_in_the_past_is_committed_to_at_its_end(table: Table) -> None:
    one = table.append_files(files(FIRST, "a"))
    one.append_files(files(FIRST, "b"))
    assert names(one.at(snapshot=1).append_files(files(FIRST, "c"))) == ["a", "b", "c"]


def test_paths_are_those_of_the_table_wherever_it_is_opened_from(
    table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    near = lakebed.open_table("t")
    whole = files(FIRST, "a", "b")
    paths = [f"{tmp_path}/t/{folder(FIRST)}/a", f"file:{tmp_path}/t/{folder(FIRST)}/b"]
    near = near.append_files(whole.set_column(0, "file_path", pa.array(paths)))
    assert near.files(columns=["external_path"]).to_arrow()["external_path"].to_pylist() == [None, None]
    assert names(near.delete_files(paths[:1])) == ["b"]
    assert names(lakebed.open_table(table.location).delete_files([f"{folder(FIRST)}/b"])) == []


def test_many_files_fill_several_manifests(table: Table) -> None:
    many = files(FIRST, *(f"{number:05}.parquet" for number in range(5000)))
    stats = pa.array([{"id": {"lower_bound": number}} for number in range(5000)])
    table = table.append_files(many.append_column("stats", stats))
    table = table.rewrite_manifests(target_bytes=2_000, sort=True)
    manifests = table.manifests(columns=["length", "added_files_count"]).to_arrow()
    assert manifests["added_files_count"].to_pylist() == [1000] * 5
    assert all(2_000 <= length < 100_000 for length in manifests["length"].to_pylist())
    # What is large and has nothing deleted stays; what has is written anew.
    gone = f"{folder(FIRST)}/02500.parquet"
    fewer = table.delete_files([gone]).rewrite_manifests(target_bytes=2_000)
    paths = table.manifests(columns=["path"]).to_arrow()["path"].to_pylist()
    kept = fewer.manifests(columns=["path"]).to_arrow()["path"].to_pylist()
    assert [path for path in paths if path in kept] == paths[:2] + paths[3:]
    assert len(names(fewer)) == 4999


@given(texts=st.lists(st.text(max_size=40) | st.none(), min_size=1, max_size=8))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bounds_that_are_cut_are_bounds_still(texts: list[str | None], tmp_path_factory: Any) -> None:
    table = lakebed.create_table(tmp_path_factory.mktemp("t") / "t", SCHEMA, "paimon", partition_by=["day"])
    there = sorted(text.encode() for text in texts if text is not None)
    bounds = {
        "null_count": texts.count(None),
        "lower_bound": there[0].decode() if there else None,
        "upper_bound": there[-1].decode() if there else None,
    }
    kind = pa.struct([("null_count", pa.int64()), ("lower_bound", pa.string()), ("upper_bound", pa.string())])
    stats = pa.array([{"name": bounds}], pa.struct([("name", kind)]))
    table = table.append_files(files(FIRST, "a").append_column("stats", stats))
    found = table.files(stats=["name"]).to_arrow()["stats"].to_pylist()[0]["name"]
    assert found["null_count"] == bounds["null_count"]
    assert (found["lower_bound"] is None) == (found["upper_bound"] is None)
    if found["lower_bound"] is not None:
        assert found["lower_bound"].encode() <= there[0]
        assert there[-1] <= found["upper_bound"].encode()
        assert len(found["lower_bound"]) <= 16
        assert len(found["upper_bound"]) <= 16
