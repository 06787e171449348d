"""Small Paimon tables that a test makes: a schema, and commits of entries, in the project's own hand."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
from paimon_files import Record, avro_file, records

from lakebed import avro, paimon
from shared_data import SAMPLE_TABLE

_MANIFEST = next(file for file in (SAMPLE_TABLE / "manifest").iterdir() if "list" not in file.name)
_LIST = next(file for file in (SAMPLE_TABLE / "manifest").glob("manifest-list-*") if records(file))

EMPTY_ROW = bytes(12)
EMPTY_STATS = {"_MIN_VALUES": EMPTY_ROW, "_MAX_VALUES": EMPTY_ROW, "_NULL_COUNTS": []}
ADD, DELETE = 0, 1


def entry(kind: int, name: str, partition: bytes = EMPTY_ROW, bucket: int = 0, **file: Any) -> Record:
    """A manifest entry; `file` gives fields of the data file under their names without underscore."""
    record = copy.deepcopy(records(_MANIFEST)[0])
    record |= {"_KIND": kind, "_PARTITION": partition, "_BUCKET": bucket}
    plain = {"_FILE_NAME": name, "_ROW_COUNT": 1, "_KEY_STATS": EMPTY_STATS, "_VALUE_STATS": EMPTY_STATS}
    record["_FILE"] |= plain | {f"_{field.upper()}": value for field, value in file.items()}
    return record


def field(number: int, name: str, kind: Any) -> dict[str, Any]:
    """A field of a schema file."""
    return {"id": number, "name": name, "type": kind}


def row(types: list[tuple[str, pa.DataType]], **values: Any) -> bytes:
    """Values as a serialised BinaryRow."""
    schema = pa.schema(types)
    (encoded,) = paimon.encode_rows(pa.array([values], pa.struct(list(schema))), schema).to_pylist()
    return bytes(encoded)


class MadeTable:
    """A table that a test writes."""

    def __init__(self, root: Path, *columns: tuple[str, Any], **schema: Any) -> None:
        """Starts a table with schema 0; columns are names with types as the schema file spells them."""
        self.root = root
        self.last = 0
        self._base: list[Record] = []
        for folder in ("snapshot", "schema", "manifest"):
            (root / folder).mkdir(parents=True)
        self.write_schema(0, *columns, **schema)

    def write_schema(self, number: int, *columns: tuple[str, Any], **schema: Any) -> None:
        """Writes `schema-<number>`; keywords are keys of the file, of which None takes one away."""
        fields = [
            {"id": position, "name": name, "type": kind} for position, (name, kind) in enumerate(columns)
        ]
        whole = {
            "version": 3,
            "id": number,
            "fields": fields,
            "highestFieldId": len(fields) - 1,
            "partitionKeys": [],
            "primaryKeys": [],
            "options": {},
            "timeMillis": 0,
            **schema,
        }
        self._write(f"schema/schema-{number}", {key: part for key, part in whole.items() if part is not None})

    def commit(self, *entries: Record, **snapshot: Any) -> int:
        """Writes the next snapshot; keywords are keys of its file, of which None takes one away."""
        self.last += 1
        delta = [self._manifest(f"manifest-{self.last}-0", list(entries))] if entries else []
        names = [self._list(f"manifest-list-{self.last}-0", self._base)]
        names.append(self._list(f"manifest-list-{self.last}-1", delta))
        self._base = self._base + delta
        self.write_snapshot(self.last, *names, **snapshot)
        return self.last

    def write_snapshot(self, number: int, base: str, delta: str, **snapshot: Any) -> None:
        """Writes `snapshot-<number>` over two manifest lists that are there."""
        whole = {
            "version": 3,
            "id": number,
            "schemaId": 0,
            "baseManifestList": base,
            "deltaManifestList": delta,
            "commitUser": "tests",
            "commitIdentifier": number,
            "commitKind": "APPEND",
            "timeMillis": 1000 * number,
            **snapshot,
        }
        self._write(
            f"snapshot/snapshot-{number}", {key: part for key, part in whole.items() if part is not None}
        )

    def write(self, path: str, text: str) -> None:
        """Writes a file below the table."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, "utf-8")

    def _write(self, path: str, content: dict[str, Any]) -> None:
        self.write(path, json.dumps(content, indent=2))

    def _manifest(self, name: str, entries: list[Record]) -> Record:
        size = (self.root / "manifest" / name).write_bytes(avro_file(avro.read_schema(_MANIFEST), entries))
        deleted = sum(record["_KIND"] for record in entries)
        counts = {"_NUM_ADDED_FILES": len(entries) - deleted, "_NUM_DELETED_FILES": deleted}
        record = dict.fromkeys(records(_LIST)[0])
        known = {"_VERSION": 2, "_FILE_NAME": name, "_FILE_SIZE": size, "_SCHEMA_ID": 0}
        return record | known | counts | {"_PARTITION_STATS": self._bounds(entries)}

    def _bounds(self, entries: list[Record]) -> Record:
        rows = sorted(record["_PARTITION"] for record in entries)
        return {"_MIN_VALUES": rows[0], "_MAX_VALUES": rows[-1], "_NULL_COUNTS": None}

    def _list(self, name: str, manifests: list[Record]) -> str:
        (self.root / "manifest" / name).write_bytes(avro_file(avro.read_schema(_LIST), manifests))
        return name
