"""Iceberg's table metadata of 1, 25 and 250 MB, in the order in which Iceberg Java writes it, and what is
timed in Python on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from corpus import Corpus, Table, once
from readers import Counted, Run, reader

COLUMNS = 200
"""Columns of each schema; one in fifty snapshots comes with a schema of its own."""


def _metadata(cache: Path, _entries: int, given: Path | None, megabytes: int) -> Corpus:
    path = (given or cache / "metadata" / f"{megabytes}mb") / "metadata" / "v1.metadata.json"
    once(path, lambda file: write(file, count(megabytes)))
    sizes = {"entries": count(megabytes), "columns": COLUMNS, "size": path.stat().st_size}
    return Corpus.of_bytes("metadata", "as Iceberg Java", path, f"metadata-{megabytes}mb", **sizes)


TASKS = ("open", "snapshots", "history")
TABLES = [
    Table("metadata-1mb", TASKS, 0, _metadata, {"megabytes": 1}, quick=("open",)),
    Table("metadata-25mb", TASKS, 0, _metadata, {"megabytes": 25}),
    # PyIceberg's history looks for each snapshot among all of them: not done after 56 minutes.
    Table("metadata-250mb", TASKS, 0, _metadata, {"megabytes": 250}, alone=("history",), most_rounds=3),
]


def count(megabytes: float) -> int:
    """The snapshots that make metadata about as long as that."""
    snapshot_bytes = len(json.dumps(_snapshot(10**9)))
    schema_bytes = len(json.dumps(_schema(1000))) / 50
    return max(2, round(megabytes * 1e6 / (snapshot_bytes + schema_bytes + 60)))


def table_metadata(
    location: str,
    columns: int,
    schemas: Iterable[Any],
    spec: list[dict[str, Any]],
    snapshots: int,
    snapshot: Callable[[int], dict[str, Any]],
    current_schema: int = 0,
) -> dict[str, Any]:
    """The metadata of a table of so many snapshots, numbered from 1, of which nothing was expired.

    Returns: its schemas, snapshots and log are read once.
    """
    last, logged = snapshot(snapshots), ("timestamp-ms", "snapshot-id")
    numbers = range(1, snapshots + 1)
    return {
        "format-version": 2,
        "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
        "location": location,
        "last-sequence-number": snapshots,
        "last-updated-ms": last["timestamp-ms"],
        "last-column-id": columns,
        "current-schema-id": current_schema,
        "schemas": schemas,
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": spec}],
        "last-partition-id": 999 + len(spec),
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {"write.format.default": "parquet"},
        "current-snapshot-id": last["snapshot-id"],
        "refs": {"main": {"snapshot-id": last["snapshot-id"], "type": "branch"}},
        "snapshots": map(snapshot, numbers),
        "snapshot-log": ({key: one[key] for key in logged} for one in map(snapshot, numbers)),
        "metadata-log": [],
    }


def write(path: Path, snapshots: int) -> None:
    """Metadata that was committed to until there were so many snapshots, element by element."""
    newest = snapshots // 50
    schemas = map(_schema, range(newest + 1))
    location = "s3://bucket/warehouse/db/orders"
    metadata = table_metadata(location, COLUMNS, schemas, [], snapshots, _snapshot, newest)
    with path.open("w") as file:
        for place, (key, value) in enumerate(metadata.items()):
            file.write(f"{', ' if place else '{'}{json.dumps(key)}: ")
            if not isinstance(value, Iterator):
                file.write(json.dumps(value))
                continue
            for number, element in enumerate(value):
                file.write((", " if number else "[") + json.dumps(element))
            file.write("]")
        file.write("}")


def snapshot_id(number: int) -> int:
    """A number of 63 bits that looks as random as those of snapshots."""
    return (number * 0x9E3779B97F4A7C15) % 2**63 or 1


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
    folder = "s3://bucket/warehouse/db/orders/metadata"
    return {
        "sequence-number": number,
        "snapshot-id": snapshot_id(number),
        **parent,
        "timestamp-ms": 1_700_000_000_000 + 60_000 * number,
        "summary": summary,
        "manifest-list": f"{folder}/snap-{snapshot_id(number)}-1-{number:032x}.avro",
        "schema-id": number // 50,
    }


def _lakebed(path: str, task: str) -> int:
    import lakebed

    table = lakebed.open_table(path)
    if task == "open":
        return table.snapshot_id or 0
    found = table.snapshots() if task == "snapshots" else table.metadata_table("history")
    return found.to_arrow().num_rows


def _pyiceberg(path: str, task: str) -> int:
    from pyiceberg.table import StaticTable

    table = StaticTable.from_metadata(path)
    if task == "open":
        snapshot = table.current_snapshot()
        return snapshot.snapshot_id if snapshot else 0
    return int(getattr(table.inspect, task)().num_rows)


def _json(path: str, _: str) -> int:
    found: int = json.loads(Path(path).read_bytes())["current-snapshot-id"]
    return found


def _reads(corpus: Corpus, read: Callable[[str, str], int], task: str) -> Run:
    """A run of a view tells its rows; one of `open` all snapshots where the newest one is right, else none.

    Args: read, from the path and the task to the newest snapshot's id, or to the number of rows of a view.
    """
    # It has read a table of two snapshots, and so imported what it needs.
    with TemporaryDirectory() as folder:
        small = Path(folder) / "v1.metadata.json"
        write(small, 2)
        read(str(small), task)
    if task != "open":
        return lambda: Counted(read(corpus.path, task))
    newest = snapshot_id(corpus.entries)
    return lambda: Counted(corpus.entries if read(corpus.path, task) == newest else 0)


READERS = {
    "metadata": [
        *(
            reader(label, task, _reads, read=read, task=task)
            for task in TASKS
            for label, read in (("lakebed", _lakebed), ("pyiceberg", _pyiceberg))
        ),
        reader("json.loads", "open", _reads, read=_json, task="open"),
    ]
}
"""All of them by format, in the order in which they are reported."""
