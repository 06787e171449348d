"""What readers of Paimon must do, a test a rule: which snapshot, which schema, which files.

Other rules are in `test_paimon_checklist_rows` and `…_stats`; those of layouts, of other containers, of
indexes and of deletes in the files of these names.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from json_files import edited
from paimon_files import avro_file
from paimon_made import ADD, DELETE, MadeTable, entry, field, row
from raising import raises

import lakebed
from lakebed import paimon
from lakebed.errors import CorruptError, SnapshotNotFoundError, UnsupportedError
from shared_data import shared_paimon_table


def live(root: Path) -> list[str]:
    """Names of the live files, sorted."""
    return sorted(lakebed.open_table(root).files(columns=["file_name"]).to_arrow()["file_name"].to_pylist())


def test_a_first_snapshot_with_null_lists_and_log_offsets(made: MadeTable):
    made.commit(entry(ADD, "a"))
    file = made.root / "snapshot" / "snapshot-1"
    with edited(file) as snapshot:
        snapshot |= {"changelogManifestList": None, "logOffsets": {}}
    assert paimon.read_snapshot(file) == snapshot
    assert live(made.root) == ["a"]


def test_a_snapshot_without_version_schema_and_counts(made: MadeTable):
    made.commit(entry(ADD, "a"), version=None, schemaId=None)
    (row,) = lakebed.open_table(made.root).snapshots().to_arrow().to_pylist()
    assert (row["snapshot_id"], row["total_record_count"]) == (1, None)
    assert live(made.root) == ["a"]


def test_unknown_keys_of_a_snapshot_are_ignored(made: MadeTable):
    made.commit(entry(ADD, "a"), tomorrow={"x": [1, {}]})
    assert live(made.root) == ["a"]


def test_an_unknown_commit_kind_is_an_error(made: MadeTable):
    made.commit(commitKind="FOO")
    with pytest.raises((CorruptError, UnsupportedError), match="FOO") as caught:
        lakebed.open_table(made.root)
    assert caught.value.path == str(made.root / "snapshot" / "snapshot-1")


@pytest.mark.parametrize(("hint", "newest"), [("3", 4), ("9", 2)], ids=["stale", "of none that is there"])
def test_a_wrong_hint_gives_way_to_the_listing(made: MadeTable, hint: str, newest: int):
    for _ in range(newest):
        made.commit()
    made.write("snapshot/LATEST", hint)
    assert lakebed.open_table(made.root).snapshot_id == newest


@pytest.mark.parametrize("hint", [None, "garbage", "", "-1", "99999999999999999999"])
def test_without_a_hint_the_largest_number_counts(made: MadeTable, hint: str | None):
    made.commit()
    lists = ("manifest-list-1-0", "manifest-list-1-1")
    for number in (2, 10):
        made.write_snapshot(number, *lists)
    made.write("snapshot/snapshot-1c5ad30de-9044-4a15-9296-63333c5e700b.tmp", "{")
    if hint is not None:
        made.write("snapshot/LATEST", hint)
    assert lakebed.open_table(made.root).snapshot_id == 10


def test_an_empty_folder_is_an_empty_table(made: MadeTable):
    table = lakebed.open_table(made.root)
    assert table.snapshot_id is None
    assert [len(view.to_arrow()) for view in (table.snapshots(), table.files(), table.entries())] == [0, 0, 0]


def test_an_earliest_hint_to_a_removed_snapshot(made: MadeTable):
    for _ in range(3):
        made.commit()
    (made.root / "snapshot" / "snapshot-1").unlink()
    made.write("snapshot/EARLIEST", "1")
    table = lakebed.open_table(made.root)
    assert table.snapshots().to_arrow()["snapshot_id"].to_pylist() == [2, 3]
    assert table.at(snapshot=2).snapshot_id == 2


def test_a_time_equal_to_a_commit_is_that_commit(made: MadeTable):
    for _ in range(3):
        made.commit()
    table = lakebed.open_table(made.root)
    found = [table.at(timestamp=millis).snapshot_id for millis in (1000, 1999, 2000, 2001, 9999)]
    assert found == [1, 1, 2, 2, 3]


def test_a_time_before_the_first_snapshot_is_an_error(made: MadeTable):
    made.commit()
    with pytest.raises(SnapshotNotFoundError):
        lakebed.open_table(made.root).at(timestamp=999)


def test_snapshots_without_a_watermark_are_passed_over(made: MadeTable):
    none_yet = -(2**63)
    for mark in (None, none_yet, 10, None, none_yet, 20, 30):
        made.commit(watermark=mark)
    table = lakebed.open_table(made.root)
    asked = {none_yet: 3, 9: 3, 10: 3, 11: 6, 20: 6, 21: 7, 30: 7}
    assert {mark: table.at(watermark=mark).snapshot_id for mark in asked} == asked
    with pytest.raises(SnapshotNotFoundError):
        table.at(watermark=31)


def test_a_tag_may_be_called_like_a_snapshot(made: MadeTable):
    for name in "abc":
        made.commit(entry(ADD, name))
    made.write("tag/tag-1", (made.root / "snapshot" / "snapshot-2").read_text())
    table = lakebed.open_table(made.root)
    assert [table.at(tag="1").snapshot_id, table.at(snapshot=1).snapshot_id] == [2, 1]


RETENTION = {
    "none": {},
    "to the nanosecond": {
        "tagCreateTime": [2026, 11, 21, 0, 35, 15, 707_014_000],
        "tagTimeRetained": 86400.0,
    },
    "to the minute": {"tagCreateTime": [2026, 11, 21, 0, 35], "tagTimeRetained": 0.5},
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("retention", RETENTION)
def test_both_forms_of_tags(made: MadeTable, retention: str, indent: int | None):
    made.commit(entry(ADD, "a"))
    made.commit(entry(ADD, "b"))
    snapshot = json.loads((made.root / "snapshot" / "snapshot-1").read_text())
    made.write("tag/tag-é 1.0", json.dumps(snapshot | RETENTION[retention], indent=indent))
    at = lakebed.open_table(made.root).at(tag="é 1.0")
    assert at.snapshot_id == 1
    assert at.files().to_arrow()["file_name"].to_pylist() == ["a"]


def test_tags_that_pypaimon_wrote():
    root = shared_paimon_table("_generated_pypaimon/part_types")
    tags = [file.name.removeprefix("tag-") for file in (root / "tag").iterdir()]
    assert tags
    for tag in tags:
        snapshot = json.loads((root / "tag" / f"tag-{tag}").read_text())
        files = lakebed.open_table(root).at(tag=tag).files().to_arrow()
        assert sum(files["record_count"].to_pylist()) == snapshot["totalRecordCount"]


def test_manifests_of_a_branch_stand_in_the_table(made: MadeTable):
    made.commit(entry(ADD, "a"))
    made.commit(entry(ADD, "b"))
    for name in ("schema/schema-0", "snapshot/snapshot-1"):
        made.write(f"branch/branch-dev/{name}", (made.root / name).read_text())
    branch = lakebed.open_table(made.root).at(branch="dev")
    assert branch.snapshot_id == 1
    assert branch.files().to_arrow()["file_path"].to_pylist() == [f"{made.root}/bucket-0/a"]


def test_a_real_branch():
    root = shared_paimon_table("append_table_with_rt_branch")
    (folder,) = (root / "branch").iterdir()
    snapshots = [paimon.read_snapshot(file) for file in (folder / "snapshot").glob("snapshot-*")]
    branch = lakebed.open_table(root).at(branch=folder.name.removeprefix("branch-"))
    for snapshot in snapshots:
        files = branch.at(snapshot=snapshot["id"]).files().to_arrow()
        assert sum(files["record_count"].to_pylist()) == snapshot["totalRecordCount"]


def implied_options(root: Path, version: int | None) -> dict[str, str]:
    """Options that a table has whose schema, of some version, gives only `k`."""
    made = MadeTable(root / "t", ("id", "BIGINT"), version=version, options={"k": "v"})
    implied = lakebed.open_table(made.root).properties
    given = {"bucket": "7", "file.format": "avro"}
    made.write_schema(0, ("id", "BIGINT"), version=version, options=given, primaryKeys=["id"])
    assert lakebed.open_table(made.root).properties == given
    return implied


@pytest.mark.parametrize("version", [None, 1])
def test_schemas_of_version_1_imply_a_bucket_and_orc(tmp_path: Path, version: int | None):
    assert implied_options(tmp_path, version) == {"k": "v", "bucket": "1", "file.format": "orc"}


@pytest.mark.parametrize(("version", "implied"), [(2, {"file.format": "orc"}), (3, {}), (4, {})])
def test_schemas_of_version_2_imply_orc(tmp_path: Path, version: int, implied: dict[str, str]):
    assert implied_options(tmp_path, version) == {"k": "v", **implied}


SPELLINGS = {
    "DECIMAL(2, 2)": "DECIMAL(2, 2)",
    "DECIMAL(4,1)": "DECIMAL(4, 1)",
    "numeric": "DECIMAL(10, 0)",
    "TIMESTAMP(6) WITH LOCAL TIME ZONE": "TIMESTAMP(6) WITH LOCAL TIME ZONE",
    "timestamp_ltz(3)": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "TIMESTAMP": "TIMESTAMP(6)",
    "VARCHAR(10) NOT NULL": "VARCHAR(10) NOT NULL",
    "VARCHAR(2147483647)": "STRING",
    "BYTES": "BYTES",
    "integer": "INT",
    " double  precision ": "DOUBLE",
    "TIME(3) WITHOUT TIME ZONE": "TIME(3)",
}


@pytest.mark.parametrize("text", SPELLINGS)
def test_types_are_printed_as_the_engine_does(tmp_path: Path, text: str):
    assert printed(MadeTable(tmp_path / "t", ("c", text)).root) == [SPELLINGS[text]]


def printed(root: Path) -> list[str]:
    """The types of the last schema's columns."""
    schema = lakebed.open_table(root).schemas().to_arrow().to_pylist()[-1]
    return [field["type"] for field in schema["fields"]]


@pytest.mark.parametrize("name", ["pk_table_nested_type", "append_complex_build_in_fieldid"])
def test_nested_types_are_printed_as_they_were_written(name: str):
    root = shared_paimon_table(name)
    last = max((root / "schema").iterdir(), key=lambda file: int(file.name.removeprefix("schema-")))
    written = [field["type"] for field in paimon.read_schema(last)["fields"]]
    assert any(isinstance(kind, dict) for kind in written)
    for kind, text in zip(written, printed(root), strict=True):
        assert (text if isinstance(kind, str) else json.loads(text)) == kind


@pytest.mark.parametrize(
    "text", ["ARRAY<INT>", "MAP<INT, INT>", "ROW<a INT>", "MULTISET<INT>", "INT(", "INT INT"]
)
def test_constructed_types_are_no_texts(tmp_path: Path, text: str):
    made = MadeTable(tmp_path / "t", ("c", text))
    with raises(CorruptError, kind="type"):
        lakebed.open_table(made.root)


@pytest.mark.parametrize("text", ["INT ARRAY", "INT NOT NULL ARRAY", "VECTOR<FLOAT, 3>", "INT MULTISET"])
def test_texts_that_the_engine_takes(tmp_path: Path, text: str):
    (kind,) = printed(MadeTable(tmp_path / "t", ("c", text)).root)
    assert json.loads(kind)["type"] == text.split("<")[0].split()[-1]


def test_columns_are_matched_by_their_id(made: MadeTable):
    old = [field(0, "a", "BIGINT"), field(1, "b", "BIGINT"), field(2, "c", "BIGINT")]
    # a is now called b; b was dropped and its name went to a; a new column has the old name a.
    new = [field(2, "c", "BIGINT"), field(0, "b", "BIGINT"), field(3, "a", "BIGINT")]
    made.write_schema(0, fields=old, highestFieldId=2)
    made.write_schema(1, fields=new, highestFieldId=3)
    types = [(name, pa.int64()) for name in "abc"]
    stats = {"_MIN_VALUES": row(types, a=1, b=2, c=3), "_MAX_VALUES": row(types, a=11, b=12, c=13)}
    made.commit(entry(ADD, "f", value_stats={**stats, "_NULL_COUNTS": [4, 5, 6]}, row_count=9), schemaId=1)
    files = lakebed.open_table(made.root).files(stats=["a", "b", "c"]).to_arrow()
    ((read,),) = [files["stats"].to_pylist()]
    bounds = {name: (read[name]["lower_bound"], read[name]["upper_bound"]) for name in "abc"}
    assert bounds == {"b": (1, 11), "c": (3, 13), "a": (None, None)}
    assert (read["b"]["null_count"], read["c"]["null_count"]) == (4, 6)


INDEX_FIELDS = {
    "_VERSION": "int",
    "_KIND": "int",
    "_PARTITION": "bytes",
    "_BUCKET": "int",
    "_INDEX_TYPE": "string",
    "_FILE_NAME": "string",
    "_FILE_SIZE": "long",
    "_ROW_COUNT": "long",
}
INDEX_ROW = [0, bytes(12), 0, "HASH", "index-1", 4, 1]


@pytest.mark.parametrize("version", [1, 2])
def test_another_version_of_an_index_manifest(version: int):
    fields = [{"name": name, "type": kind} for name, kind in INDEX_FIELDS.items()]
    record = dict(zip(INDEX_FIELDS, [version, *INDEX_ROW], strict=True))
    content = avro_file({"type": "record", "name": "record", "fields": fields}, [record])
    if version == 1:
        assert len(paimon.read_index_manifest(content).to_arrow()) == 1
        return
    with raises(UnsupportedError, kind="version"):
        paimon.read_index_manifest(content).to_arrow()


def test_partitions_that_share_a_folder_stay_apart(tmp_path: Path):
    made = MadeTable(tmp_path / "t", ("p", "STRING"), ("v", "INT"), partitionKeys=["p"])
    values = [None, "", " ", "x"]
    rows = [row([("p", pa.string())], p=value) for value in values]
    made.commit(*(entry(ADD, f"f{number}", partition) for number, partition in enumerate(rows)))
    made.commit(entry(DELETE, "f1", rows[1]), entry(DELETE, "f3", rows[0]))
    files = lakebed.open_table(made.root).files().to_arrow().to_pylist()
    assert [file["partition"]["p"] for file in files] == [None, " ", "x"]
    folders = [file["file_path"].split("/")[-3] for file in files]
    assert folders == ["p=__DEFAULT_PARTITION__", "p=__DEFAULT_PARTITION__", "p=x"]


def test_added_then_deleted_and_moved_to_another_level(made: MadeTable):
    made.commit(entry(ADD, "a", level=0), entry(ADD, "b", level=0))
    made.commit(entry(DELETE, "a", level=0), entry(DELETE, "b", level=0), entry(ADD, "b", level=5))
    files = lakebed.open_table(made.root).files(columns=["file_name", "level"]).to_arrow().to_pylist()
    assert files == [{"file_name": "b", "level": 5}]


def test_a_file_added_twice_does_not_stop_a_scan(made: MadeTable):
    made.commit(entry(ADD, "a"))
    made.commit(entry(ADD, "a"), entry(ADD, "b"))
    assert set(live(made.root)) == {"a", "b"}


def test_a_dangling_delete_is_ignored_when_all_is_read(made: MadeTable):
    made.commit(entry(ADD, "a"))
    made.commit(entry(DELETE, "gone"))
    table = lakebed.open_table(made.root)
    assert live(made.root) == ["a"]
    found = table.entries(columns=["kind", "file_name"]).to_arrow().to_pylist()
    assert found == [{"kind": ADD, "file_name": "a"}, {"kind": DELETE, "file_name": "gone"}]


def test_a_delete_cancels_whatever_else_it_says_of_the_file(made: MadeTable):
    made.commit(entry(ADD, "a", row_count=7, schema_id=0, first_row_id=0), entry(ADD, "b"))
    made.commit(entry(DELETE, "a", row_count=8, schema_id=3, first_row_id=None, max_sequence_number=9))
    assert live(made.root) == ["b"]


def test_parts_of_the_identity_do_count(made: MadeTable):
    made.commit(entry(ADD, "a"))
    for other in ({"bucket": 1}, {"level": 1}, {"extra_files": ["x"]}, {"external_path": "s3:/x/a"}):
        made.commit(entry(DELETE, "a", **other))
    made.commit(entry(DELETE, "a", embedded_file_index=b""))
    assert live(made.root) == ["a"]


def test_an_external_path_is_used_as_it_is(made: MadeTable):
    path = "FILE:/elsewhere/f1=10/bucket-0/a.parquet"
    made.commit(entry(ADD, "a.parquet", external_path=path), entry(ADD, "b.parquet"))
    files = lakebed.open_table(made.root).files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    assert files == [path, f"{made.root}/bucket-0/b.parquet"]


def test_changelog_files_are_not_live():
    root = shared_paimon_table("_generated_pypaimon/pk_changelog")
    snapshots = [paimon.read_snapshot(file) for file in sorted((root / "snapshot").glob("snapshot-*"))]
    lists = [root / "manifest" / row["changelogManifestList"] for row in snapshots]
    manifests = [paimon.read_manifest_list(file).to_arrow()["file_name"].to_pylist() for file in lists]
    changelog = {
        name
        for names in manifests
        for manifest in names
        for name in paimon.read_manifest(root / "manifest" / manifest).to_arrow()["file_name"].to_pylist()
    }
    assert changelog
    assert not changelog & set(live(root))


def test_row_ids_of_blob_files_share_a_range():
    root = shared_paimon_table("table_with_blob")
    table = lakebed.open_table(root)
    rows = table.files(columns=["file_format", "record_count", "first_row_id"]).to_arrow().to_pylist()
    ids: dict[str, list[int]] = {"blob": [], "data": []}
    for file in rows:
        kind = "blob" if file["file_format"] == "blob" else "data"
        ids[kind] += range(file["first_row_id"], file["first_row_id"] + file["record_count"])
    (snapshot,) = (paimon.read_snapshot(file) for file in (root / "snapshot").glob("snapshot-*"))
    assert sorted(ids["blob"]) == sorted(ids["data"]) == list(range(snapshot["nextRowId"]))
