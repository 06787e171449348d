"""The golden Iceberg tables: where they are, and what Iceberg Java answered about them."""

from __future__ import annotations

import gzip
import json
import re
import warnings
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import compared
import pyarrow as pa
import pytest
from encrypted_files import GoldenKeys, decrypted

import lakebed
from iceberg_answers import Field, Row, leaves, result_type
from lakebed import Table
from lakebed.errors import LakebedWarning
from shared_data import data_root, each_golden

OLDER = "@older"

# What is no released format, or no table; and one that Java refuses.
_OTHERS = ("experimental_", "vectors", "wrong_manifest_length_v4")


@dataclass(frozen=True)
class GoldenTable:
    """A table that Iceberg Java wrote, and that engine's answers about it."""

    name: str
    path: Path

    @cached_property
    def info(self) -> Row:
        """`table.json`: what the engine says of the table as a whole."""
        parsed: Row = json.loads((self.path / "expected" / "table.json").read_text("utf-8"))
        return parsed

    @property
    def relocate(self) -> dict[str, str]:
        """The metadata location, with and without scheme → the folder."""
        location = self.location
        return {written: str(self.path) for written in (location, re.sub(r"^\w+:(//)?(?=/)", "", location))}

    @property
    def location(self) -> str:
        """Where the table was when it was written: metadata of version 4 may not say so, but its paths do."""
        location: str | None = self.info["location"]
        if location is not None:
            return location
        written: str = self.rows("manifest_lists")[0]["manifest_path"]
        return written.partition("/metadata/")[0]

    def rows(self, name: str) -> list[Row]:
        """Parsed lines of `expected/<name>.jsonl.gz`; floats are left as texts.

        Skips the test where this set of data comes without that answer, or the engine had none.
        """
        file = self.path / "expected" / f"{name}.jsonl.gz"
        if not file.is_file():
            pytest.skip(f"{self.name} comes without {file.name}")
        rows = _lines(file)
        if errors := [row["error"] for row in rows if "error" in row and row.keys() <= {"error", "manifest"}]:
            pytest.skip(f"{self.name}, {name}: the engine fails: {errors[0]}")
        compared.count(rows)
        return rows

    def manifest_rows(self, snapshot_id: int | None) -> list[Row]:
        """The engine's rows of one snapshot's manifest list, in order."""
        return [row for row in self.rows("manifest_lists") if row["snapshot_id"] == snapshot_id]

    def raw_entries(self, manifest: Row) -> list[Row]:
        """The engine's entries of one manifest, read as its row in the manifest list says."""
        key = [manifest[name] for name in ("manifest_path", "first_row_id", "sequence_number")]
        names = ("manifest", "manifest_first_row_id", "manifest_sequence_number")
        rows = [row for row in self.rows("raw_entries") if [row[name] for name in names] == key]
        return sorted(rows, key=lambda row: int(row["ord"]))

    def open(self) -> Table:
        """The table, found as a user finds it: by its folder, or by the metadata file where that stands
        in a folder of its own below `metadata`.
        """
        file = self.path / self.info["metadata_file"]
        found = self.path if file.parent == self.path / "metadata" else file
        with warnings.catch_warnings():
            if not file.name.startswith("v"):
                # Which file of a catalog's is current can only be guessed, which is said.
                warnings.simplefilter("ignore", LakebedWarning)
            return lakebed.open_table(found, relocate=self.relocate, keys=self.keys)

    @property
    def keys(self) -> GoldenKeys | None:
        """What unwraps the keys of an encrypted table."""
        file = self.path / "keys.json"
        return GoldenKeys(json.loads(file.read_text("utf-8"))["keys_hex"]) if file.is_file() else None

    def stand(self, answer: str) -> Table:
        """The table where an answer was computed: at the older snapshot for names that end in "@older"."""
        table = self.open()
        return table.at(snapshot=self.info["older_snapshot_id"]) if answer.endswith(OLDER) else table

    def snapshot_id(self, answer: str) -> int | None:
        """The snapshot of an answer."""
        found: int | None = self.info[
            "older_snapshot_id" if answer.endswith(OLDER) else "current_snapshot_id"
        ]
        return found

    def plain(self, written: str, metadata: bytes | None = None) -> bytes | None:
        """The bytes of a file that the metadata names, decrypted; None for Parquet, which has no plain form.

        Args: metadata, the file's key metadata; the engine's for a list or a manifest.
        """
        stored = self.file(written).read_bytes()
        if stored[:4] == b"PARE":
            return None
        if stored[:4] != b"AGS1":
            return stored
        if metadata is not None:
            return decrypted(stored, metadata)
        said = next(row for row in self.rows("encryption") if row["path"] == written)
        text = decrypted(stored, bytes.fromhex(said["key_metadata"]))
        assert sha256(text).hexdigest() == said["plain_sha256"]
        return text

    def file(self, written: str) -> Path:
        """Where a file is that the metadata names."""
        for prefix, folder in self.relocate.items():
            if written.startswith(prefix):
                return Path(folder + written.removeprefix(prefix))
        raise AssertionError(f"{self.name}: {written} is not below {self.info['location']}")

    def schema(self, schema_id: int | None = None) -> list[Field]:
        """The fields of a schema, of the current one without an id."""
        wanted_id = self.info["current_schema_id"] if schema_id is None else schema_id
        (fields,) = (schema["fields"] for schema in self.info["schemas"] if schema["schema-id"] == wanted_id)
        found: list[Field] = fields
        return found

    def partition_fields(self, at: str | None = None) -> dict[int, pa.Field]:
        """Partition field id → name and type over all specs: by id, in the newest spec's words.

        The engine goes by the current schema, and leaves out fields of which that lacks the source. With
        `at`, as views have them there: by the schema of that snapshot, else by any that has the source.
        """
        sources = self.sources(at)
        found: dict[int, pa.Field] = {}
        for field in (field for spec in self.info["specs"] for field in spec["spec"]["fields"]):
            if field["source-id"] not in sources:
                continue
            number, kind = field["field-id"], result_type(field["transform"], sources[field["source-id"]])
            known = number in found and field["transform"] == "void"
            found[number] = pa.field(field["name"], found[number].type if known else kind)
        return dict(sorted(found.items()))

    def partition_type(self, at: str | None = None) -> pa.StructType:
        """The type of partitions over all specs, as `partition_fields`."""
        return pa.struct(list(self.partition_fields(at).values()))

    def sources(self, at: str | None = None) -> dict[int, Any]:
        """Column id → Iceberg type, in the schemas that partition fields go by."""
        schemas = [self.schema()]
        if at is not None:
            schemas = [schema["fields"] for schema in self.info["schemas"]]
            schemas.append(self.schema(self.schema_id(at)))
        return {number: kind for fields in schemas for number, _, kind in leaves(fields)}

    def schema_id(self, at: str) -> int:
        """The schema that the table is read with: the current one, or that of the older snapshot."""
        used = {row["snapshot_id"]: row["schema_id_used"] for row in self.snapshot_details()}
        current: int = self.info["current_schema_id"]
        return used.get(self.snapshot_id(at), current) if at else current

    def snapshot_details(self) -> list[Row]:
        """What the engine says of each snapshot beside its metadata tables."""
        return [row for row in self.rows("time_travel") if "schema_id_used" in row]


@lru_cache(maxsize=8)
def _lines(file: Path) -> list[Row]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line, parse_float=str) for line in lines if line.strip()]


@cache
def golden_iceberg_tables(folder: str = "iceberg") -> tuple[GoldenTable, ...]:
    """Every golden Iceberg table there is, by name; empty where there is none. Those of "iceberg_next" are of
    what Iceberg Java reads and writes from 1.12 on.

    Raises: AssertionError for a folder that comes without answers.
    """
    root = data_root("golden", folder)
    folders = sorted(path for path in root.iterdir() if path.is_dir()) if root else []
    folders = [path for path in folders if not path.name.startswith(_OTHERS)]
    for path in folders:
        assert (path / "expected" / "table.json").is_file(), f"{path} comes without answers"
    return tuple(GoldenTable(path.name, path) for path in folders)


def golden(name: str, folder: str = "iceberg_next") -> GoldenTable:
    """A golden table by its name; skips the test where it is not there."""
    path = data_root("golden", folder, name)
    if path is None:
        pytest.skip(f"no golden table {name}")
    return GoldenTable(name, path)


def each_golden_iceberg_table(*patterns: str) -> pytest.MarkDecorator:
    """As `each_golden` over Iceberg's tables."""
    tables = (*golden_iceberg_tables(), *golden_iceberg_tables("iceberg_next"))
    return each_golden("Iceberg", tables, patterns)
