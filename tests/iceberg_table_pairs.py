"""Two tables of the same content: lakebed changes one, Iceberg Java the other; Java says what they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from java_engine import JavaEngine

import lakebed

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("region", pa.string())])
Answer = dict[str, Any]


@dataclass(frozen=True)
class File:
    """A data file that exists nowhere, with ids from `low` to `high`."""

    name: str
    region: str = "emea"
    low: int = 0
    high: int = 9
    records: int = 10


@dataclass(frozen=True)
class Deletes:
    """A delete file that exists nowhere: a vector where it has an offset, of equality where it has ids."""

    name: str
    region: str = "emea"
    target: str | None = None
    offset: int | None = None
    ids: Sequence[int] = ()
    records: int = 2


def path(root: Path, one: str, region: str, suffix: str = "parquet") -> str:
    return f"{root}/data/region={region}/{one}.{suffix}"


@dataclass
class PairedTable:
    """One of the tables."""

    root: Path
    java: JavaEngine
    names: dict[str, str] = field(default_factory=dict)

    @classmethod
    def made(cls, folder: Path, java: JavaEngine, version: int, **properties: str) -> PairedTable:
        partitioned: dict[str, Any] = {"partition_by": ["region"], "format_version": version}
        lakebed.create_table(folder, SCHEMA, "iceberg", **partitioned, properties=properties)
        return cls(folder, java)

    def now(self, branch: str = "main") -> lakebed.Table:
        table = lakebed.open_table(self.root)
        return table if branch == "main" else table.at(branch=branch)

    def path(self, name: str) -> str:
        """The path of a file that some commit has added."""
        return self.names[name]

    def _named(self, one: File | Deletes) -> str:
        is_vector = isinstance(one, Deletes) and one.offset is not None
        found = path(self.root, one.name, one.region, "puffin" if is_vector else "parquet")
        self.names[one.name] = found
        return found

    def data(self, files: Sequence[File]) -> pa.Table | None:
        """Files as lakebed takes them."""
        bound = pa.struct([(name, pa.int64()) for name in ("lower_bound", "upper_bound", "null_count")])
        rows = [
            {
                "file_path": self._named(file),
                "record_count": file.records,
                "file_size_in_bytes": 100,
                "partition": {"region": file.region},
                "stats": {"id": {"lower_bound": file.low, "upper_bound": file.high, "null_count": 0}},
            }
            for file in files
        ]
        partition = pa.struct([("region", pa.string())])
        types = [("file_path", pa.string()), ("record_count", pa.int64()), ("file_size_in_bytes", pa.int64())]
        schema = pa.schema([*types, ("partition", partition), ("stats", pa.struct([("id", bound)]))])
        return pa.Table.from_pylist(rows, schema) if rows else None

    def deletes(self, files: Sequence[Deletes]) -> pa.Table | None:
        rows = [
            {
                "content": 2 if file.ids else 1,
                "file_path": self._named(file),
                "file_format": "PARQUET" if file.offset is None else "PUFFIN",
                "record_count": file.records,
                "file_size_in_bytes": 100,
                "partition": {"region": file.region},
                "equality_ids": list(file.ids) or None,
                "referenced_data_file": None if file.target is None else self.path(file.target),
                "content_offset": file.offset,
                "content_size_in_bytes": None if file.offset is None else 10,
            }
            for file in files
        ]
        types = {"content": pa.int32(), "equality_ids": pa.list_(pa.int32()), "file_path": pa.string()}
        texts = {name: pa.string() for name in ("file_format", "referenced_data_file")}
        longs = ("record_count", "file_size_in_bytes", "content_offset", "content_size_in_bytes")
        tuples = {"partition": pa.struct([("region", pa.string())])}
        schema = pa.schema(list((types | texts | {name: pa.int64() for name in longs} | tuples).items()))
        return pa.Table.from_pylist(rows, schema) if rows else None

    def ask(self, operation: str, **given: Any) -> Any:
        """Has Java make a commit, of files as lakebed takes them."""
        request = dict(given)
        for key in ("files", "deletes"):
            if key in request:
                request[key] = [self._asked(one) for one in request[key]]
        for key in ("removed", "removed_deletes"):
            if key in request:
                request[key] = [self.path(name) for name in request[key]]
        return self.java.ask(operation, table=self.root, **request)

    def _asked(self, one: File | Deletes) -> dict[str, Any]:
        """A file as Java takes it."""
        common: dict[str, Any] = {"path": self._named(one), "partition": f"region={one.region}"}
        common |= {"records": one.records, "size": 100}
        if isinstance(one, File):
            return {**common, "bounds": [one.low, one.high]}
        target = None if one.target is None else self.path(one.target)
        return {**common, "ids": list(one.ids) or None, "target": target, "offset": one.offset}

    def state(self, branch: str = "main") -> Answer:
        """What Java reads: the plan, the live entries and the summary of a branch's head, without ids."""
        table = self.now(branch)
        newest = table.metadata_table("metadata_log_entries").to_arrow()["file"].to_pylist()[-1]
        read = self.java.ask("read", metadata=newest, relocate={})
        assert not [name for name, rows in read.items() if "error" in rows], read
        metadata = read["metadata"]
        head = metadata["refs"][branch]["snapshot-id"] if metadata.get("refs") else None
        (snapshot,) = [one for one in metadata["snapshots"] if one["snapshot-id"] == head]
        plan = read["plans"][str(head)]
        own = ours(table)
        assert plan == own, "lakebed and Java plan differently"
        found: Answer = {"plan": json.loads(json.dumps(plan).replace(f"{self.root}/", ""))}
        found["summary"] = {
            key: value
            for key, value in snapshot["summary"].items()
            if not key.startswith(("engine", "iceberg-version", "app-id"))
        }
        if branch == "main":
            found["entries"] = sorted(
                (
                    Path(row["data_file"]["file_path"]).name,
                    row["data_file"]["content"],
                    row["status"],
                    row["sequence_number"],
                    row["file_sequence_number"],
                    row["data_file"].get("content_offset") or -1,
                )
                for row in read["entries"]
                if row["status"] != 2
            )
        found["refs"] = {
            name: {key: value for key, value in one.items() if key != "snapshot-id"}
            for name, one in metadata.get("refs", {}).items()
        }
        found["log"] = len(metadata["snapshot-log"])
        found["version"] = metadata["format-version"]
        if metadata["format-version"] == 3:
            found["next-row-id"] = metadata["next-row-id"]
        return found


def ours(table: lakebed.Table) -> dict[str, list[str]]:
    """lakebed's plan in the words of the engine's."""
    rows = table.plan(columns=["file_path", "delete_files"]).to_arrow().to_pylist()

    def text(one: Answer) -> str:
        offset = one["content_offset"]
        return f"{one['file_path']}#{'null' if offset is None else offset}"

    return {row["file_path"]: sorted(map(text, row["delete_files"])) for row in rows}


@dataclass
class TablePair:
    """Both tables: what is done is done to both, and must come to the same."""

    ours: PairedTable
    theirs: PairedTable

    @classmethod
    def made(cls, folder: Path, java: JavaEngine, version: int, **properties: str) -> TablePair:
        ours = PairedTable.made(folder / "ours", java, version, **properties)
        return cls(ours, PairedTable.made(folder / "java", java, version, **properties))

    def both(self, operation: str, **given: Any) -> Answer:
        """A commit of lakebed's and the same of Java's; what then is the same of both."""
        lakebeds(self.ours, operation, **given)
        asked = dict(given)
        if operation in ("overwrite", "row_delta", "replace"):
            asked["since"] = self.theirs.now(given.get("branch", "main")).snapshot_id
        if "where" in asked:
            asked["where"] = EXPRESSIONS[asked["where"]]
        self.theirs.ask(operation, **asked)
        return self.same(given.get("branch", "main"))

    def same(self, branch: str = "main") -> Answer:
        one, other = self.ours.state(branch), self.theirs.state(branch)
        assert one == other
        return one


EXPRESSIONS = {
    "region = 'emea'": {"type": "eq", "term": "region", "value": "emea"},
    "region = 'emea' AND id < 10": {
        "type": "and",
        "left": {"type": "eq", "term": "region", "value": "emea"},
        "right": {"type": "lt", "term": "id", "value": 10},
    },
    "id >= 5": {"type": "gt-eq", "term": "id", "value": 5},
}
"""The same filters in the words of each."""


def lakebeds(paired: PairedTable, operation: str, table: lakebed.Table | None = None, **given: Any) -> Any:
    """A commit of lakebed's in the words of `IcebergEngine.java`."""
    table = paired.now(given.pop("branch", "main")) if table is None else table
    files, deletes = paired.data(given.pop("files", ())), paired.deletes(given.pop("deletes", ()))
    removed = [paired.path(name) for name in given.pop("removed", ())]
    given.pop("since", None)
    if operation in ("append", "fast_append"):
        return table.append_files(files, merge=operation == "append")
    if operation == "delete":
        return table.delete_files(removed)
    if operation == "overwrite":
        return table.overwrite_files(files, removed=removed, **{"isolation": None, **given})
    gone = [paired.path(name) for name in given.pop("removed_deletes", ())]
    if operation == "replace":
        return table.replace_files(removed, files, removed_deletes=gone, **given)
    assert operation == "row_delta"
    return table.add_deletes(
        files=files, deletes=deletes, removed=removed, removed_deletes=gone, **{"isolation": None, **given}
    )
