"""Iceberg tables of many snapshots for the bench of jobs, written by lakebed: data files that exist nowhere.

Each commit adds a manifest of as many files as any other; each tenth deletes the files of the oldest manifest
there is. So the lists of a thousand snapshots share most of up to a thousand manifests.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import lakebed

REGIONS, DAY_MS, FIRST_MS = 20, 86_400_000, 1_700_000_000_000
ADDED, DELETED = 1, 2
DELETING = 10
"""So many commits for each that deletes."""
ORPHANS = 1000


@dataclass(frozen=True)
class Sizes:
    """How large a table is: the files that its commits add, its commits, its columns with statistics."""

    files: int
    snapshots: int
    columns: int = 12

    @property
    def name(self) -> str:
        """What its folder is called."""
        return f"jobs_{self.files}x{self.columns}_s{self.snapshots}"


def made(cache: Path, sizes: Sizes) -> Path:
    """The folder of a table of that size, written unless it is there."""
    root = cache / "iceberg" / sizes.name
    if not (root / "complete").exists():
        shutil.rmtree(root, ignore_errors=True)
        (root / "metadata").mkdir(parents=True)
        _Writer(root, sizes).write()
        (root / "complete").touch()
    return root


class _Writer:
    def __init__(self, root: Path, sizes: Sizes) -> None:
        self._root, self._sizes = root, sizes
        self._per_commit = max(1, sizes.files // sizes.snapshots)
        self._schema = {"type": "struct", "schema-id": 0, "fields": _fields(sizes.columns)}
        region = {"name": "region", "transform": "identity", "source-id": 2, "field-id": 1000}
        self._spec = {"spec-id": 0, "fields": [region]}

    def write(self) -> None:
        live: list[dict[str, Any]] = []
        snapshots: list[dict[str, Any]] = []
        for number in range(1, self._sizes.snapshots + 1):
            deleted = []
            if number % DELETING == 0:
                deleted = [self._manifest(number, DELETED, live.pop(0)["sequence_number"])]
            live.append(self._manifest(number, ADDED, number))
            snapshots.append(self._snapshot(number, [*deleted, *live]))
        self._metadata(snapshots)

    def _manifest(self, number: int, status: int, of: int) -> dict[str, Any]:
        """A manifest of the files that commit `of` added. Returns: its record in lists."""
        path = self._root / "metadata" / f"{number:08x}-7f1f-4c3a-9d0e-{of:012x}-m{status}.avro"
        entries = _entries(self._root, of, self._per_commit, self._sizes.columns, status, number)
        lakebed.iceberg.write_manifest(entries, path, schema=self._schema, spec=self._spec, format_version=2)
        rows = int(np.sum(entries["record_count"].to_numpy()))
        added, deleted = ((len(entries), rows), (0, 0))[:: 1 if status == ADDED else -1]
        return {
            "manifest_path": str(path),
            "manifest_length": path.stat().st_size,
            "partition_spec_id": 0,
            "content": 0,
            "sequence_number": number,
            "min_sequence_number": of,
            "added_snapshot_id": snapshot_id(number),
            "added_files_count": added[0],
            "existing_files_count": 0,
            "deleted_files_count": deleted[0],
            "added_rows_count": added[1],
            "existing_rows_count": 0,
            "deleted_rows_count": deleted[1],
            "partitions": [_REGIONS],
        }

    def _snapshot(self, number: int, listed: list[dict[str, Any]]) -> dict[str, Any]:
        path = self._root / "metadata" / f"snap-{snapshot_id(number)}-1-{number:032x}.avro"
        parent = snapshot_id(number - 1) if number > 1 else None
        lakebed.iceberg.write_manifest_list(
            pa.Table.from_pylist(listed, _LIST),
            path,
            format_version=2,
            snapshot_id=snapshot_id(number),
            parent_snapshot_id=parent,
            sequence_number=number,
        )
        operation = "overwrite" if number % DELETING == 0 else "append"
        return {
            "sequence-number": number,
            "snapshot-id": snapshot_id(number),
            **({} if parent is None else {"parent-snapshot-id": parent}),
            "timestamp-ms": committed_ms(number),
            "summary": {"operation": operation, "added-data-files": str(self._per_commit)},
            "manifest-list": str(path),
            "schema-id": 0,
        }

    def _metadata(self, snapshots: list[dict[str, Any]]) -> None:
        last = snapshots[-1]
        times = [{key: one[key] for key in ("timestamp-ms", "snapshot-id")} for one in snapshots]
        metadata = {
            "format-version": 2,
            "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
            "location": str(self._root),
            "last-sequence-number": last["sequence-number"],
            "last-updated-ms": last["timestamp-ms"],
            "last-column-id": self._sizes.columns,
            "current-schema-id": 0,
            "schemas": [self._schema],
            "default-spec-id": 0,
            "partition-specs": [self._spec],
            "last-partition-id": 1000,
            "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "properties": {},
            "current-snapshot-id": last["snapshot-id"],
            "refs": {"main": {"snapshot-id": last["snapshot-id"], "type": "branch"}},
            "snapshots": snapshots,
            "snapshot-log": times,
            "metadata-log": [],
        }
        lakebed.iceberg.write_metadata(metadata, self._root / "metadata" / "v1.metadata.json")
        (self._root / "metadata" / "version-hint.text").write_text("1")


def snapshot_id(number: int) -> int:
    """A number of 63 bits that looks as random as those of snapshots."""
    return (number * 0x9E3779B97F4A7C15) % 2**63 or 1


def committed_ms(number: int) -> int:
    """When that commit was made, in milliseconds since 1970: one a day."""
    return FIRST_MS + DAY_MS * number


def data_path(root: Path, commit: int, place: int) -> str:
    """The path of a file of a commit."""
    unique = (commit << 24 | place) * 0x9E3779B97F4A7C15 % 2**64
    name = f"{place:05}-{commit}-{unique:016x}-4b1d-9c3e-{unique % 2**48:012x}-00001.parquet"
    return f"{root}/data/region=region-{place % REGIONS:03}/{name}"


def listing(root: Path, sizes: Sizes) -> Path:
    """What lies in the table's folders, as an inventory has it, in Parquet: its files, and a thousand that no
    snapshot has. Columns: `path`, `size`, `modified`.
    """
    path = root / "listing.parquet"
    if not path.exists():
        per_commit = max(1, sizes.files // sizes.snapshots)
        commits = range(1, sizes.snapshots + 2)
        files = [data_path(root, commit, place) for commit in commits for place in range(per_commit)]
        # Of the last commit, which there was not, a thousand are left.
        files = files[: sizes.snapshots * per_commit + ORPHANS]
        files += [str(file) for file in (root / "metadata").iterdir()]
        times = pa.repeat(pa.scalar(FIRST_MS, pa.timestamp("ms", "UTC")), len(files))
        size = pa.repeat(pa.scalar(1 << 20, pa.int64()), len(files))
        pq.write_table(pa.table({"path": files, "size": size, "modified": times}), path)
    return path


_REGIONS = {
    "contains_null": False,
    "contains_nan": False,
    "lower_bound": b"region-000",
    "upper_bound": f"region-{REGIONS - 1:03}".encode(),
}
_SUMMARY = pa.struct(
    [
        ("contains_null", pa.bool_()),
        ("contains_nan", pa.bool_()),
        ("lower_bound", pa.binary()),
        ("upper_bound", pa.binary()),
    ]
)
_COUNTS = [
    (f"{status}_{what}_count", kind)
    for what, kind in (("files", pa.int32()), ("rows", pa.int64()))
    for status in ("added", "existing", "deleted")
]
_LIST = pa.schema(
    [
        ("manifest_path", pa.string()),
        ("manifest_length", pa.int64()),
        ("partition_spec_id", pa.int32()),
        ("content", pa.int32()),
        ("sequence_number", pa.int64()),
        ("min_sequence_number", pa.int64()),
        ("added_snapshot_id", pa.int64()),
        *_COUNTS,
        ("partitions", pa.list_(_SUMMARY)),
    ]
)


def _fields(columns: int) -> list[dict[str, Any]]:
    named = [
        ("id", "long"),
        ("region", "string"),
        *((f"c{number}", "long") for number in range(3, columns + 1)),
    ]
    return [
        {"id": number, "name": name, "required": False, "type": kind}
        for number, (name, kind) in enumerate(named[:columns], 1)
    ]


def _entries(root: Path, commit: int, count: int, columns: int, status: int, by: int) -> pa.Table:
    """The entries of the files that a commit added, added by it or deleted by another."""
    random, size = np.random.default_rng(commit), count * columns
    rows = random.integers(1_000, 10_000, count)
    regions = [f"region-{place % REGIONS:03}" for place in range(count)]
    low = random.integers(0, 1 << 40, size)

    def of_columns(values: pa.Array) -> pa.Array:
        keys = np.tile(np.arange(1, columns + 1, dtype=np.int32), count)
        return pa.MapArray.from_arrays(np.arange(0, size + 1, columns, dtype=np.int32), keys, values)

    def bounds(values: Any) -> pa.Array:
        raw = pa.py_buffer(np.ascontiguousarray(values, "<i8"))
        made = pa.Array.from_buffers(pa.binary(8), size, [None, raw]).cast(pa.binary())
        # Those of the region are texts.
        texts = pa.array([region.encode() for region in regions for _ in range(columns)], pa.binary())
        return pc.if_else(np.tile(np.arange(columns) == 1, count), texts, made)

    def fill(value: Any, kind: pa.DataType) -> pa.Array:
        return pa.repeat(pa.scalar(value, kind), count)

    return pa.table(
        {
            "status": fill(status, pa.int32()),
            "snapshot_id": fill(snapshot_id(by), pa.int64()),
            "sequence_number": fill(commit, pa.int64()),
            "file_sequence_number": fill(commit, pa.int64()),
            "content": fill(0, pa.int32()),
            "file_path": pa.array([data_path(root, commit, place) for place in range(count)]),
            "file_format": fill("PARQUET", pa.string()),
            "partition": pa.StructArray.from_arrays([pa.array(regions)], ["region"]),
            "record_count": pa.array(rows, pa.int64()),
            "file_size_in_bytes": pa.array(random.integers(1 << 20, 1 << 28, count), pa.int64()),
            "column_sizes": of_columns(pa.array(random.integers(500, 100_000, size))),
            "value_counts": of_columns(pa.array(np.repeat(rows, columns))),
            "null_value_counts": of_columns(pa.array(random.integers(0, 50, size))),
            "lower_bounds": of_columns(bounds(low)),
            "upper_bounds": of_columns(bounds(low + 1000)),
        }
    )
