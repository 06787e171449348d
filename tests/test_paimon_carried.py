"""What other writers' fields hold of rows that a commit keeps, in manifest lists and in manifests."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from json_files import edited
from paimon_commits import FIRST, SCHEMA, SECOND, files, names, snapshot
from paimon_files import COLUMNAR, Record, avro_file, convert_table, records

import lakebed
from lakebed import Table, avro, errors, paimon
from shared_data import OWN_DATA

# What is invented of rows of lists is none of what the entries say.
pytestmark = pytest.mark.filterwarnings("ignore:.* entries do not have the _TOTAL_BUCKETS")

POINT = {
    "type": "record",
    # A name that the format's own records have too.
    "name": "record__PARTITION_STATS",
    "namespace": "other",
    "fields": [
        {"name": "x", "type": "long"},
        {"name": "tags", "type": {"type": "map", "values": ["null", "string"]}},
        {"name": "kind", "type": {"type": "enum", "name": "kind", "symbols": ["A", "B"]}},
    ],
}
INVENTED = [
    {"name": "_POINT", "type": ["null", POINT], "default": None},
    {"name": "_POINTS", "type": {"type": "array", "items": "other.record__PARTITION_STATS"}},
    {"name": "_CODE", "type": {"type": "fixed", "name": "code", "size": 3}},
    {"name": "_SINCE", "type": {"type": "long", "logicalType": "timestamp-millis"}, "default": 0},
]
LISTED = [
    {"name": "_TOTAL_BUCKETS", "type": ["null", "int"], "default": None},
    {"name": "_EXTRA_FILES", "type": ["null", {"type": "array", "items": "string"}], "default": None},
]


def invented(number: int) -> Record:
    point = {"x": number, "tags": {"k": None, "l": f"{number}"}, "kind": "AB"[number % 2]}
    return {
        "_POINT": point if number % 3 else None,
        "_POINTS": [point] * (number % 3),
        "_CODE": b"ab%d" % (number % 10),
        "_SINCE": 1_700_000_000_000 + number,
    }


def inside(fields: list[Any], name: str) -> list[Any]:
    found = next(field for field in fields if field["name"] == name)["type"]
    record = found if isinstance(found, dict) else next(kind for kind in found if isinstance(kind, dict))
    if record["type"] == "array":
        items = record["items"]
        record = items if isinstance(items, dict) else next(kind for kind in items if isinstance(kind, dict))
    inner: list[Any] = record["fields"]
    return inner


def plain(row: Record) -> Record:
    return {
        name: value
        if name != "_SINCE" or value is None or isinstance(value, int)
        else value.timestamp() * 1e3
        for name, value in row.items()
    }


def rewritten(table: Table) -> dict[str, Record]:
    """Gives the rows of the latest lists, and entries of their manifests, fields of another writer's.

    Returns: what the lists hold of them, by manifest, and what manifests hold, by file.
    """
    root = Path(table.location)
    told: dict[str, Record] = {}
    current = snapshot(table)
    number = 0
    for key in ("baseManifestList", "deltaManifestList"):
        path = root / "manifest" / current[key]
        schema, rows = avro.read_schema(path), records(path)
        schema = json.loads(json.dumps(schema))
        schema["fields"] = [
            f for f in schema["fields"] if f["name"] not in {"_TOTAL_BUCKETS", "_EXTRA_FILES"}
        ]
        schema["fields"] += LISTED + INVENTED
        for row in rows:
            number += 1
            manifest = root / "manifest" / row["_FILE_NAME"]
            entries = json.loads(json.dumps(avro.read_schema(manifest)))
            if not any(field["name"] == "_CODE" for field in entries["fields"]):
                file = inside(entries["fields"], "_FILE")
                file.append({"name": "_DEEP", "type": ["null", "double"]})
                inside(file, "_KEY_STATS").append({"name": "_DEEPER", "type": "long"})
                entries["fields"] += INVENTED
            changed = records(manifest)
            for entry in changed:
                number += 1
                entry |= invented(number)
                entry["_FILE"]["_DEEP"] = number / 7
                entry["_FILE"]["_KEY_STATS"]["_DEEPER"] = number
                own = {"_DEEP": number / 7, "_DEEPER": number}
                told[entry["_FILE"]["_FILE_NAME"]] = invented(number) | own
            row["_FILE_SIZE"] = manifest.write_bytes(avro_file(entries, changed))
            own = invented(number) | {"_TOTAL_BUCKETS": number, "_EXTRA_FILES": [f"side-{number}"]}
            row |= own
            told[row["_FILE_NAME"]] = own
        path.write_bytes(avro_file(schema, rows))
    place = root / "snapshot" / f"snapshot-{table.snapshot_id}"
    place.write_text(re.sub(r'"\w+ManifestListSize" *: *\d+,', "", place.read_text("utf-8")), "utf-8")
    return told


def listed(table: Table) -> dict[str, Record]:
    current, folder = snapshot(table), Path(table.location) / "manifest"
    rows = [
        row for key in ("baseManifestList", "deltaManifestList") for row in records(folder / current[key])
    ]
    return {row["_FILE_NAME"]: plain(row) for row in rows}


def entries_of(table: Table) -> dict[str, Record]:
    folder = Path(table.location) / "manifest"
    rows = [row for name in listed(table) for row in records(folder / name)]
    return {row["_FILE"]["_FILE_NAME"]: plain(row) for row in rows}


def holds(row: Record, told: Record) -> bool:
    return {name: row.get(name) for name in told} == told


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """Two appends."""
    made = lakebed.create_table(tmp_path / "t", SCHEMA, "paimon", partition_by=["day"])
    made = made.append_files(files(FIRST, "a", "b"))
    return made.append_files(files(SECOND, "c"))


@pytest.mark.parametrize("kind", ["append", "delete", "overwrite"])
def test_rows_of_lists_keep_what_others_wrote(table: Table, kind: str) -> None:
    told = rewritten(table)
    before = listed(table)
    table = lakebed.open_table(table.location)
    if kind == "append":
        after = table.append_files(files(FIRST, "d"))
    elif kind == "delete":
        after = table.delete_files(table.files().to_arrow()["file_path"].to_pylist()[:1])
    else:
        after = table.overwrite_partitions(files(SECOND, "d"), {"day": SECOND})
    rows = listed(after)
    assert len(rows) == len(before) + 1
    for name in before:
        assert holds(rows[name], told[name]), name
    (new,) = rows.keys() - before.keys()
    # The schema of a delta list is the format's own.
    assert "_POINT" not in rows[new]
    shown = after.manifests(columns=["file_name", "total_buckets", "extra_files"]).to_arrow().to_pylist()
    assert {row["file_name"]: (row["total_buckets"], row["extra_files"]) for row in shown} == {
        name: (row.get("_TOTAL_BUCKETS"), row.get("_EXTRA_FILES")) for name, row in rows.items()
    }
    again = after.append_files(files(FIRST, "e"))
    rows = listed(again)
    assert all(holds(rows[name], told[name]) for name in before)
    assert rows[new]["_POINT"] is None
    assert rows[new]["_SINCE"] is None


@pytest.mark.parametrize("sort", [False, True])
def test_entries_keep_what_others_wrote(table: Table, sort: bool) -> None:
    told = rewritten(table)
    table = lakebed.open_table(table.location)
    before = names(table)
    mixed = table.append_files(files(FIRST, "d"))
    compacted = mixed.rewrite_manifests(sort=sort)
    assert names(compacted) == sorted([*before, "d"])
    entries = entries_of(compacted)
    for name in before:
        file = entries[name]["_FILE"]
        deep = {"_DEEP": file["_DEEP"], "_DEEPER": file["_KEY_STATS"]["_DEEPER"]}
        assert holds(entries[name] | deep, told[name]), name
    assert entries["d"].get("_CODE") is None
    again = compacted.rewrite_manifests(sort=True)
    assert all(holds(entries_of(again)[name], {"_CODE": told[name]["_CODE"]}) for name in before)


def test_snapshots_and_tags_keep_keys_of_others(table: Table) -> None:
    told = {"xFuture": {"deep": [1, {"y": None}]}, "xNumber": 12345678901234567890}
    with edited(Path(table.location) / "snapshot" / f"snapshot-{table.snapshot_id}") as stored:
        stored |= told
    opened = lakebed.open_table(table.location)
    opened.create_tag("kept")
    after = opened.append_files(files(FIRST, "d"))
    after = after.rewrite_manifests()
    tag = json.loads((Path(table.location) / "tag" / "tag-kept").read_text("utf-8"))
    for kept in (tag, snapshot(after)):
        assert {key: kept.get(key) for key in told} == told
    peer = pytest.importorskip("pypaimon.table.file_store_table").FileStoreTable.from_path(table.location)
    assert peer.snapshot_manager().get_latest_snapshot().id == after.snapshot_id


def test_a_tag_whose_snapshot_is_gone_keeps_keys_of_others(table: Table) -> None:
    told = {"xFuture": {"deep": [1, {"y": None}]}, "xNumber": 12345678901234567890}
    folder = Path(table.location)
    place = folder / "snapshot" / f"snapshot-{table.snapshot_id}"
    with edited(place) as stored:
        stored |= told
    lakebed.open_table(folder).create_tag("kept", max_age=timedelta(days=1))
    lakebed.open_table(folder).append_files(files(FIRST, "d"))
    place.unlink()
    again = lakebed.open_table(folder).at(tag="kept").create_tag("again")
    stored = json.loads((folder / "tag" / "tag-again").read_text("utf-8"))
    assert {key: stored.get(key) for key in told} == told
    # How long the other tag is kept is its own affair.
    assert "tagTimeRetained" not in stored
    assert names(again) == ["a", "b", "c"]


@pytest.mark.parametrize("kind", COLUMNAR)
def test_rewrites_of_other_containers_keep_all_known_fields(table: Table, kind: str) -> None:
    folder = Path(table.location)
    entries, manifests = entries_of(table), listed(table)
    convert_table(folder, COLUMNAR[kind])
    opened = lakebed.open_table(folder)
    grown = opened.append_files(files(FIRST, "d"))
    kept = listed(grown)
    starts = {path.read_bytes()[:3] for path in (folder / "manifest").iterdir()}
    assert starts == {b"ORC" if kind == "ORC" else b"PAR"}
    for name, row in manifests.items():
        # Sizes are those of the other container.
        same = row.keys() - {"_FILE_SIZE"}
        assert {key: kept[name][key] for key in same} == {key: row[key] for key in same}
        assert kept[name]["_FILE_SIZE"] == (folder / "manifest" / name).stat().st_size
    after = entries_of(grown.rewrite_manifests(sort=True))
    assert {name: after[name] for name in entries} == entries


def test_entries_of_index_manifests_keep_fields_of_others(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(OWN_DATA / "golden" / "paimon" / "append_dv64", tmp_path / "t"))
    opened = lakebed.open_table(folder)
    place = folder / "manifest" / snapshot(opened)["indexManifest"]
    schema, rows = json.loads(json.dumps(avro.read_schema(place))), records(place)
    schema["fields"] += INVENTED
    ranges = "_DELETIONS_VECTORS_RANGES"
    inside(schema["fields"], ranges).append({"name": "_NOTE", "type": "string"})
    inside(schema["fields"], "_GLOBAL_INDEX").append({"name": "_NOTE", "type": ["null", "string"]})
    for number, row in enumerate(rows):
        row |= invented(number)
        for one in row[ranges]:
            one["_NOTE"] = f"of {one['f0']}"
    place.write_bytes(avro_file(schema, rows))
    told = {row["_FILE_NAME"]: invented(number) for number, row in enumerate(rows)}
    of = opened.deletes(columns=["referenced_data_file"]).to_arrow()["referenced_data_file"].to_pylist()
    # The manifest is written anew without the vector of this file.
    after = opened.delete_files(of[:1])
    kept = records(folder / "manifest" / snapshot(after)["indexManifest"])
    assert kept
    for row in kept:
        expected = told[row["_FILE_NAME"]]
        assert plain({name: row[name] for name in expected}) == plain(expected)
        assert [one["_NOTE"] for one in row[ranges]] == [f"of {one['f0']}" for one in row[ranges]]
    assert sum(len(row[ranges]) for row in kept) == sum(len(row[ranges]) for row in rows) - 1


@pytest.mark.parametrize("kind", COLUMNAR)
def test_fields_of_others_in_other_containers_are_not_lost(table: Table, kind: str) -> None:
    rewritten(table)
    folder = Path(table.location)
    convert_table(folder, COLUMNAR[kind])
    opened = lakebed.open_table(folder)
    with pytest.raises(errors.UnsupportedError, match="another writer's field in ORC or Parquet"):
        opened.rewrite_manifests(sort=True)
    assert lakebed.open_table(folder).snapshot_id == opened.snapshot_id


def test_fields_of_two_types_are_refused(table: Table) -> None:
    rewritten(table)
    root = Path(table.location)
    path = root / "manifest" / snapshot(table)["deltaManifestList"]
    schema = json.loads(json.dumps(avro.read_schema(path)))
    code = next(field for field in schema["fields"] if field["name"] == "_CODE")
    code["type"] = "string"
    path.write_bytes(avro_file(schema, [row | {"_CODE": "é"} for row in records(path)]))
    with pytest.raises(errors.UnsupportedError, match="_CODE, a field of another writer, is of two types"):
        lakebed.open_table(root).append_files(files(FIRST, "d"))


def relisted(table: Table, fields: list[Any], change: Callable[[Record], Record]) -> Table:
    """The table with another delta list, of these fields beside its own, whose rows are changed."""
    root = Path(table.location)
    path = root / "manifest" / snapshot(table)["deltaManifestList"]
    schema = avro.read_schema(path)
    names = {field["name"] for field in fields}
    fields = [*(field for field in schema["fields"] if field["name"] not in names), *fields]
    changed = path.with_name(f"{path.name}-changed")
    changed.write_bytes(avro_file(schema | {"fields": fields}, [change(row) for row in records(path)]))
    place = root / "snapshot" / f"snapshot-{table.snapshot_id}"
    text = re.sub(r'"\w+ManifestListSize" *: *\d+,', "", place.read_text("utf-8"))
    place.write_text(re.sub(r'("deltaManifestList" *: *)"[^"]*"', rf'\1"{changed.name}"', text), "utf-8")
    return lakebed.open_table(root)


def test_more_entries_than_listed_are_a_warning_and_fewer_an_error(table: Table) -> None:
    opened = relisted(table, [], lambda row: row | {"_NUM_ADDED_FILES": 0})
    with pytest.warns(errors.LakebedWarning, match="holds 1 added and 0 deleted files, its list records 0"):
        assert opened.entries().to_arrow().num_rows == 3
    opened = relisted(table, [], lambda row: row | {"_NUM_ADDED_FILES": 2})
    with pytest.raises(errors.CorruptError, match="its list records 2"):
        opened.entries().to_arrow()


@pytest.mark.parametrize(("total", "warns"), [(-1, False), (4, True)])
def test_entries_of_other_buckets_than_listed_are_a_warning(table: Table, total: int, warns: bool) -> None:
    opened = relisted(table, LISTED[:1], lambda row: row | {"_TOTAL_BUCKETS": total})
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert opened.entries().to_arrow().num_rows == 3
    said = "1 entries do not have the _TOTAL_BUCKETS 4 that their list records"
    assert any(said in str(warning.message) for warning in found) == warns


def test_pypaimon_reads_what_it_needs_of_kept_rows(table: Table) -> None:
    told = rewritten(table)
    after = lakebed.open_table(table.location).append_files(files(FIRST, "d"))
    compacted = after.rewrite_manifests(sort=True)
    peers = pytest.importorskip("pypaimon.table.file_store_table")
    peer = peers.FileStoreTable.from_path(table.location)
    lists = pytest.importorskip("pypaimon.manifest.manifest_list_manager").ManifestListManager(peer)
    current = paimon.read_snapshot(Path(table.location) / "snapshot" / f"snapshot-{after.snapshot_id}")
    read = lists.read(current["baseManifestList"])
    assert {meta.file_name: (meta.total_buckets, meta.extra_files) for meta in read} == {
        name: (row["_TOTAL_BUCKETS"], row["_EXTRA_FILES"])
        for name, row in told.items()
        if "_TOTAL_BUCKETS" in row
    }
    manifests = pytest.importorskip("pypaimon.manifest.manifest_file_manager").ManifestFileManager(peer)
    entries = [entry for name in listed(compacted) for entry in manifests.read(name)]
    assert sorted(entry.file.file_name for entry in entries) == names(compacted)
