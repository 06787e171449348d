"""Iceberg's table metadata of 1, 25 and 250 MB, in the order in which Iceberg Java writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from corpus import Corpus, Table

COLUMNS = 200
"""Columns of each schema; one in fifty snapshots comes with a schema of its own."""


def _metadata(cache: Path, _entries: int, given: Path | None, megabytes: int) -> Corpus:
    path = (given or cache / "metadata" / f"{megabytes}mb") / "metadata" / "v1.metadata.json"
    if not path.exists():
        generate(path, megabytes)
    size = path.stat().st_size
    name, entries = f"metadata-{megabytes}mb", count(megabytes)
    return Corpus.of_bytes(
        "metadata", "as Iceberg Java", path, name, entries=entries, columns=COLUMNS, size=size
    )


TASKS = ("open", "snapshots", "history")
TABLES = [
    Table("metadata-1mb", TASKS, 0, partial(_metadata, megabytes=1), quick=("open",)),
    Table("metadata-25mb", TASKS, 0, partial(_metadata, megabytes=25)),
    # PyIceberg's history looks for each snapshot among all of them: not done after 56 minutes.
    Table("metadata-250mb", TASKS, 0, partial(_metadata, megabytes=250), alone=("history",), most_rounds=3),
]


def count(megabytes: int) -> int:
    """The snapshots that make metadata about as long as that."""
    snapshot_bytes = len(json.dumps(_snapshot(10**9)))
    schema_bytes = len(json.dumps(_schema(1000))) / 50
    return max(2, round(megabytes * 1e6 / (snapshot_bytes + schema_bytes + 60)))


def generate(path: Path, megabytes: int) -> None:
    """A table that was committed to until its metadata was that long; nothing in it was expired."""
    number_of = count(megabytes)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial_file = path.with_suffix(".partial")
    with partial_file.open("w") as file:
        head = {
            "format-version": 2,
            "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
            "location": "s3://bucket/warehouse/db/orders",
            "last-sequence-number": number_of,
            "last-updated-ms": _time(number_of),
            "last-column-id": COLUMNS,
            "current-schema-id": number_of // 50,
        }
        file.write(json.dumps(head)[:-1])
        _write_list(file, "schemas", (_schema(number) for number in range(number_of // 50 + 1)))
        middle = {
            "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "last-partition-id": 999,
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": {"write.format.default": "parquet"},
            "current-snapshot-id": snapshot_id(number_of),
            "refs": {"main": {"snapshot-id": snapshot_id(number_of), "type": "branch"}},
        }
        file.write(", " + json.dumps(middle)[1:-1])
        numbers = range(1, number_of + 1)
        _write_list(file, "snapshots", map(_snapshot, numbers))
        log = ({"timestamp-ms": _time(number), "snapshot-id": snapshot_id(number)} for number in numbers)
        _write_list(file, "snapshot-log", log)
        file.write(', "metadata-log": []}')
    partial_file.rename(path)


def _write_list(file: IO[str], key: str, elements: Iterator[Any]) -> None:
    file.write(f', "{key}": [')
    for number, element in enumerate(elements):
        file.write((", " if number else "") + json.dumps(element))
    file.write("]")


def snapshot_id(number: int) -> int:
    """A number of 63 bits that looks as random as those of snapshots."""
    return (number * 0x9E3779B97F4A7C15) % 2**63 or 1


def _time(number: int) -> int:
    return 1_700_000_000_000 + 60_000 * number


def _schema(number: int) -> dict[str, Any]:
    fields = [
        {"id": field, "name": f"column_{field}", "required": False, "type": "string", "doc": "what it holds"}
        for field in range(1, COLUMNS + 1)
    ]
    return {"type": "struct", "schema-id": number, "fields": fields}


def _snapshot(number: int) -> dict[str, Any]:
    counts = ("data-files", "records", "files-size", "delete-files", "position-deletes", "equality-deletes")
    summary = {"operation": "append", "spark.app.id": "application_1700000000000_0001"}
    summary |= {f"{kind}-{name}": str(number) for kind in ("added", "total") for name in counts}
    parent = {"parent-snapshot-id": snapshot_id(number - 1)} if number > 1 else {}
    manifest_list = (
        f"s3://bucket/warehouse/db/orders/metadata/snap-{snapshot_id(number)}-1-{number:032x}.avro"
    )
    return {
        "sequence-number": number,
        "snapshot-id": snapshot_id(number),
        **parent,
        "timestamp-ms": _time(number),
        "summary": summary,
        "manifest-list": manifest_list,
        "schema-id": number // 50,
    }
