"""What other writers' fields hold of what a commit keeps: rows of lists, entries, keys of the metadata."""

from __future__ import annotations

import copy
import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pytest
from iceberg_commits import as_pyiceberg, metadata, newest_metadata
from test_iceberg_commits import files, made

import lakebed
from lakebed import Table, errors

POINT: dict[str, Any] = {
    "type": "record",
    # A name that the format's own records have too.
    "name": "r508",
    "namespace": "other",
    "fields": [
        {"name": "x", "type": "long", "field-id": 9002},
        {"name": "tags", "type": {"type": "array", "items": "string", "element-id": 9004}, "field-id": 9003},
    ],
}
INVENTED: list[dict[str, Any]] = [
    {
        "name": "point",
        "type": ["null", POINT],
        "default": None,
        "field-id": 9001,
        "doc": "where it came from",
    },
    {"name": "code", "type": {"type": "fixed", "name": "code", "size": 3}, "field-id": 9005},
]
DEEP: dict[str, Any] = {"name": "deep", "type": ["null", "double"], "default": None, "field-id": 9006}
NAMES = [field["name"] for field in INVENTED]


def invented(number: int) -> dict[str, Any]:
    point = {"x": number, "tags": [f"{number}"] * (number % 3)}
    return {"point": point if number % 2 else None, "code": b"ab%d" % (number % 10)}


def stored(path: Path) -> tuple[dict[str, Any], dict[str, str], list[dict[str, Any]]]:
    """The schema, the header and the records of an Avro file, by fastavro."""
    with path.open("rb") as content:
        reader = fastavro.reader(content)
        header = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
        rows = [row for row in reader if isinstance(row, dict)]
        return json.loads(reader.metadata["avro.schema"]), header, rows


def write(path: Path, schema: dict[str, Any], header: dict[str, str], rows: list[dict[str, Any]]) -> int:
    sink = io.BytesIO()
    fastavro.writer(sink, fastavro.parse_schema(copy.deepcopy(schema)), rows, "deflate", metadata=header)
    return path.write_bytes(sink.getvalue())


def current(table: Table) -> dict[str, Any]:
    """The snapshot of the latest metadata."""
    stored = metadata(table)
    found: dict[str, Any] = next(
        one for one in stored["snapshots"] if one["snapshot-id"] == stored["current-snapshot-id"]
    )
    return found


def listed(table: Table) -> dict[str, dict[str, Any]]:
    _, _, rows = stored(Path(current(table)["manifest-list"]))
    return {row["manifest_path"]: row for row in rows}


def entries(table: Table) -> dict[str, dict[str, Any]]:
    """Every entry of the manifests of the latest list, by the end of its file's path."""
    rows = [row for path in listed(table) for row in stored(Path(path))[2]]
    return {Path(row["data_file"]["file_path"]).name: row for row in rows}


def rewritten(table: Table, fields: list[dict[str, Any]] = INVENTED) -> dict[str, dict[str, Any]]:
    """Gives the rows of the latest list, and entries of their manifests, fields of another writer's.

    Returns: what they hold of them, by the manifest's path and by the data file's name.
    """
    told: dict[str, dict[str, Any]] = {}
    number = 0
    place = Path(current(table)["manifest-list"])
    schema, header, rows = stored(place)
    schema["fields"] = [*fields, *schema["fields"]]
    for row in rows:
        manifest = Path(row["manifest_path"])
        inner, inner_header, changed = stored(manifest)
        data_file = next(field for field in inner["fields"] if field["name"] == "data_file")
        data_file["type"]["fields"].insert(1, DEEP)
        inner["fields"] += fields
        for entry in changed:
            number += 1
            entry |= invented(number)
            entry["data_file"]["deep"] = number / 7
            name = Path(entry["data_file"]["file_path"]).name
            told[name] = invented(number) | {"deep": number / 7}
        row["manifest_length"] = write(manifest, inner, inner_header, changed)
        number += 1
        row |= invented(number)
        told[row["manifest_path"]] = invented(number)
    write(place, schema, header, rows)
    return told


def held(row: dict[str, Any], more: dict[str, Any] | None = None) -> dict[str, Any]:
    return {name: row.get(name) for name in NAMES} | (more or {})


@pytest.fixture(params=[1, 2, 3])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    """Two appends."""
    table = made(tmp_path, request.param).append_files(files(1, 2))
    return table.append_files(files(3))


def test_rows_of_lists_keep_what_others_wrote(table: Table) -> None:
    told = rewritten(table)
    before = listed(table)
    after = lakebed.open_table(table.location).append_files(files(4))
    rows = listed(after)
    (new,) = rows.keys() - before.keys()
    assert {path: held(rows[path]) for path in before} == {path: told[path] for path in before}
    # What the new manifest cannot have is null.
    assert held(rows[new]) == dict.fromkeys(NAMES)
    schema, _, _ = stored(Path(current(after)["manifest-list"]))
    (point,) = (field for field in schema["fields"] if field["name"] == "point")
    assert (point["field-id"], point["doc"]) == (9001, "where it came from")
    assert point["type"][1]["fields"][0]["field-id"] == 9002
    again = after.append_files(files(5))
    assert {path: held(listed(again)[path]) for path in before} == {path: told[path] for path in before}


def test_summaries_of_partitions_keep_what_others_wrote(table: Table) -> None:
    place = Path(current(table)["manifest-list"])
    schema, header, rows = stored(place)
    partitions = next(field for field in schema["fields"] if field["name"] == "partitions")["type"]
    items = next(kind for kind in partitions if isinstance(kind, dict))["items"]
    items["fields"] = [DEEP, *items["fields"], *INVENTED]
    for number, summary in enumerate(summary for row in rows for summary in row["partitions"]):
        summary |= invented(number) | {"deep": number / 7}
    before = {row["manifest_path"]: row["partitions"] for row in rows}
    write(place, schema, header, rows)
    after = lakebed.open_table(table.location).append_files(files(4))
    again = after.append_files(files(5))
    for standing in (after, again):
        found = {path: row["partitions"] for path, row in listed(standing).items()}
        assert {path: found[path] for path in before} == before
        for path in found.keys() - before.keys():
            assert all(set(summary.values()) >= {None} for summary in found[path])
            assert [held(one, {"deep": one["deep"]}) for one in found[path]] == 3 * [
                dict.fromkeys([*NAMES, "deep"])
            ]


def test_entries_keep_what_others_wrote(table: Table) -> None:
    told = rewritten(table)
    grown = lakebed.open_table(table.location).append_files(files(4))
    after = grown.rewrite_manifests()
    found = entries(after)
    assert found.keys() == {"1.parquet", "2.parquet", "3.parquet", "4.parquet"}
    kept = {name: held(row, {"deep": row["data_file"]["deep"]}) for name, row in found.items()}
    assert kept.pop("4.parquet") == dict.fromkeys([*NAMES, "deep"])
    assert kept == {name: told[name] for name in kept}
    shown = {
        Path(path).name for path in after.files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    }
    assert shown == found.keys()


def test_entries_beside_deleted_ones_keep_theirs(table: Table) -> None:
    told = rewritten(table)
    opened = lakebed.open_table(table.location)
    (gone,) = (
        path for path in opened.files().to_arrow()["file_path"].to_pylist() if path.endswith("/1.parquet")
    )
    after = opened.delete_files([gone])
    again = after.rewrite_manifests()
    for standing in (after, again):
        found = entries(standing)
        kept = {name: held(row, {"deep": row["data_file"]["deep"]}) for name, row in found.items()}
        assert kept == {name: told[name] for name in kept}
        assert kept.keys() >= {"2.parquet", "3.parquet"}


def test_peers_read_what_is_kept(table: Table) -> None:
    # PyIceberg passes over no record that it does not know.
    rewritten(table, INVENTED[1:])
    after = lakebed.open_table(table.location).append_files(files(4)).rewrite_manifests()
    planned = [Path(task.file.file_path).name for task in as_pyiceberg(after).scan().plan_files()]
    assert sorted(planned) == ["1.parquet", "2.parquet", "3.parquet", "4.parquet"]


def test_fields_of_two_types_are_refused(table: Table) -> None:
    rewritten(table)
    path = Path(next(iter(listed(table))))
    schema, header, rows = stored(path)
    (code,) = (field for field in schema["fields"] if field["name"] == "code")
    code["type"] = "string"
    length = write(path, schema, header, [row | {"code": "é"} for row in rows])
    place = Path(current(table)["manifest-list"])
    schema, header, rows = stored(place)
    for row in rows:
        if row["manifest_path"] == str(path):
            row["manifest_length"] = length
    write(place, schema, header, rows)
    with pytest.raises(errors.UnsupportedError, match="code, a field of another writer, is of two types"):
        lakebed.open_table(table.location).rewrite_manifests()


def everywhere(value: Any, invented: dict[str, Any]) -> Any:
    """The JSON with a key of its own in every object, those of strings aside."""
    match value:
        case dict() if value and all(isinstance(item, str) for item in value.values()):
            return value
        case dict():
            found = {key: everywhere(item, invented) for key, item in value.items()}
            # Keys of references are their names.
            return found if "main" in found else found | invented
        case list():
            return [everywhere(item, invented) for item in value]
        case _:
            return value


def test_metadata_keeps_keys_of_others_at_every_depth(table: Table) -> None:
    table = table.append_files(files(9))
    stored = metadata(table)
    changed = everywhere(stored, {"x-future": {"deep": [1, {"y": None}]}})
    assert json.dumps(changed).count("x-future") > 8
    newest_metadata(table).write_text(json.dumps(changed))
    after = metadata(lakebed.open_table(table.location).append_files(files(10)))
    assert lost(changed, after) == []


# What a commit replaces: where the table stands, and when.
REPLACED = {"current-snapshot-id", "last-sequence-number", "last-updated-ms", "next-row-id", "snapshot-id"}


def lost(before: Any, after: Any, path: str = "") -> list[str]:
    """Paths of values that are not where they were, but for those that a commit replaces."""
    match before, after:
        case dict(), dict():
            return [
                found
                for key, value in before.items()
                if not (key in REPLACED and path in ("", "/refs/main"))
                for found in (lost(value, after[key], f"{path}/{key}") if key in after else [f"{path}/{key}"])
            ]
        case list(), list():
            pairs = zip(before, after, strict=False)
            found = [one for number, pair in enumerate(pairs) for one in lost(*pair, f"{path}/{number}")]
            return found + [f"{path}/{number}" for number in range(len(after), len(before))]
        case _:
            return [] if before == after else [path]
