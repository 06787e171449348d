"""Tables of many snapshots for the bench of jobs, written by lakebed; of Iceberg data files exist nowhere.

Each commit adds a manifest of as many files as any other; of Iceberg each tenth deletes the files of the
oldest manifest there is. So the lists of a thousand snapshots share most of up to a thousand manifests.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from corpus import in_place
from metadata_cases import snapshot_id, table_metadata

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
    """The folder of an Iceberg table of that size, written unless it is there."""
    return in_place(cache / "iceberg" / sizes.name, lambda root: _Writer(root, sizes).write())


class _Writer:
    def __init__(self, root: Path, sizes: Sizes) -> None:
        self._root, self._sizes = root, sizes
        self._per_commit = max(1, sizes.files // sizes.snapshots)
        self._schema = {"type": "struct", "schema-id": 0, "fields": fields(sizes.columns)}
        self._partitions = [{"name": "region", "transform": "identity", "source-id": 2, "field-id": 1000}]

    def write(self) -> None:
        (self._root / "metadata").mkdir(parents=True)
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
        made = entries(self._root, of, self._per_commit, self._sizes.columns, status, number)
        header = {"schema": self._schema, "spec": {"spec-id": 0, "fields": self._partitions}}
        lakebed.iceberg.write_manifest(made, path, **header, format_version=2)
        rows = int(np.sum(made["record_count"].to_numpy()))
        added, deleted = ((len(made), rows), (0, 0))[:: 1 if status == ADDED else -1]
        return listed(path, number, of, added, deleted)

    def _snapshot(self, number: int, listed: list[dict[str, Any]]) -> dict[str, Any]:
        path = self._root / "metadata" / f"snap-{snapshot_id(number)}-1-{number:032x}.avro"
        parent = snapshot_id(number - 1) if number > 1 else None
        lakebed.iceberg.write_manifest_list(
            pa.Table.from_pylist(listed, LIST),
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
        of_all = (len(snapshots), lambda number: snapshots[number - 1])
        columns, schemas = self._sizes.columns, [self._schema]
        metadata = table_metadata(str(self._root), columns, schemas, self._partitions, *of_all)
        metadata |= {key: list(metadata[key]) for key in ("snapshots", "snapshot-log")}
        lakebed.iceberg.write_metadata(metadata, self._root / "metadata" / "v1.metadata.json")
        (self._root / "metadata" / "version-hint.text").write_text("1")


def listed(
    path: Path, number: int, of: int, added: tuple[int, int], deleted: tuple[int, int]
) -> dict[str, Any]:
    """What a list says of the manifest of commit `number`, whose entries have the sequence number `of`.

    Args: added and deleted, how many files and rows.
    """
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


def committed_ms(number: int) -> int:
    """When that commit was made, in milliseconds since 1970: one a day."""
    return FIRST_MS + DAY_MS * number


def data_path(root: Path, commit: int, place: int) -> str:
    """The path of a file of a commit."""
    unique = (commit << 24 | place) * 0x9E3779B97F4A7C15 % 2**64
    name = f"{place:05}-{commit}-{unique:016x}-4b1d-9c3e-{unique % 2**48:012x}-00001.parquet"
    return f"{root}/data/region=region-{place % REGIONS:03}/{name}"


def listing(root: Path, sizes: Sizes, orphans: int | None = None) -> Path:
    """What lies in the table's folders, as an inventory has it, in Parquet: its files, and as many that no
    snapshot has; None for a thousand, or as many as a commit adds. Columns: `path`, `size`, `modified`. The
    paths of the latter are in `orphans.parquet` beside it too.
    """
    path = root / "listing.parquet"
    if not path.exists():
        per_commit = max(1, sizes.files // sizes.snapshots)
        commits = range(1, sizes.snapshots + 1)
        files = [data_path(root, commit, place) for commit in commits for place in range(per_commit)]
        # Of a commit that there was not.
        lost = [
            data_path(root, sizes.snapshots + 1, place)
            for place in range(orphans or min(ORPHANS, per_commit))
        ]
        pq.write_table(pa.table({"path": lost}), root / "orphans.parquet")
        files += [*lost, *(str(file) for file in (root / "metadata").iterdir())]
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
_SUMMARY = pa.struct([(name, pa.bool_() if "contains" in name else pa.binary()) for name in _REGIONS])
_COUNTS = [
    (f"{status}_{what}_count", kind)
    for what, kind in (("files", pa.int32()), ("rows", pa.int64()))
    for status in ("added", "existing", "deleted")
]
_NUMBERS = ("sequence_number", "min_sequence_number", "added_snapshot_id")
LIST = pa.schema(
    [
        *(("manifest_path", pa.string()), ("manifest_length", pa.int64())),
        *(("partition_spec_id", pa.int32()), ("content", pa.int32())),
        *((name, pa.int64()) for name in _NUMBERS),
        *_COUNTS,
        ("partitions", pa.list_(_SUMMARY)),
    ]
)


def fields(columns: int) -> list[dict[str, Any]]:
    named = [("id", "long"), ("region", "string"), *((f"c{n}", "long") for n in range(3, columns + 1))]
    return [
        {"id": number, "name": name, "required": False, "type": kind}
        for number, (name, kind) in enumerate(named[:columns], 1)
    ]


def entries(root: Path, commit: int, count: int, columns: int, status: int, by: int) -> pa.Table:
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


DELETING_PAIMON = 50
"""So many commits for each that deletes."""


def made_paimon(cache: Path, sizes: Sizes) -> Path:
    """The folder of a Paimon table of that size, written unless it is there.

    Each commit adds a manifest of as many files as any other; each fiftieth deletes the files of the oldest
    commit there is. The data files are there, empty: Paimon lists folders, and knows no inventory of them.
    """
    return in_place(cache / "paimon" / sizes.name, lambda root: _write_paimon(root, sizes))


def _write_paimon(root: Path, sizes: Sizes) -> None:
    columns = [("id", pa.int64()), ("region", pa.string())]
    columns += [(f"c{number}", pa.int64()) for number in range(3, sizes.columns + 1)]
    # Manifests stay as they were committed, and an expiry takes all snapshots at once.
    options = {
        "bucket": "-1",
        "manifest.merge-min-count": str(sizes.snapshots + 1),
        "snapshot.expire.limit": str(sizes.snapshots),
    }
    table = lakebed.create_table(
        root, pa.schema(columns), "paimon", partition_by=["region"], properties=options
    )
    for region in range(REGIONS):
        (root / _bucket(region)).mkdir(parents=True)
    live: list[int] = []
    per_commit = max(1, sizes.files // sizes.snapshots)
    for commit in range(1, sizes.snapshots + 1):
        if commit % DELETING_PAIMON == 0:
            table = table.delete_files(_paths(live.pop(0), per_commit))
        else:
            table = table.append_files(_files(commit, per_commit), check_files=False)
            live.append(commit)
            for path in _paths(commit, per_commit):
                (root / path).touch()
    for path in _paths(sizes.snapshots + 1, min(ORPHANS, per_commit)):
        (root / path).touch()


def _bucket(region: int) -> str:
    return f"region=region-{region:03}/bucket-0"


def _paths(commit: int, count: int) -> list[str]:
    names = (f"data-{commit:08x}-7f1f-4c3a-9d0e-{place:012x}-0.parquet" for place in range(count))
    return [f"{_bucket(place % REGIONS)}/{name}" for place, name in enumerate(names)]


def _files(commit: int, count: int) -> pa.Table:
    regions = [{"region": f"region-{place % REGIONS:03}"} for place in range(count)]
    return pa.table(
        {
            "file_path": _paths(commit, count),
            "record_count": pa.array([1_000 + place for place in range(count)], pa.int64()),
            "file_size_in_bytes": pa.repeat(pa.scalar(1 << 20, pa.int64()), count),
            "partition": pa.array(regions, pa.struct([("region", pa.string())])),
            "bucket": pa.repeat(pa.scalar(0, pa.int32()), count),
        }
    )
