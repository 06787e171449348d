"""The tables of `bench_goals.py`, written by lakebed: metadata only, the data files exist nowhere.

Each is as the project describes that named the number; a share below 1 makes it smaller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jobs_tables
import metadata_cases
import numpy as np
import pyarrow as pa
from corpus import in_place, once

import lakebed
from lakebed import iceberg, paimon

MANIFEST_OPTIONS = {"manifest.merge-min-count": "1000000000"}
"""Nobody merges the manifests before they are compacted."""
WIDE_COLUMNS, WIDE_BUCKETS = 11_374, 240
MANIFESTS, PARTITIONS = 118, 365


def share_of(count: int, share: float) -> int:
    """That many, or a share of them; one at least."""
    return max(1, round(count * share))


_NONE = pa.StructArray.from_buffers(pa.struct([]), 1, [None])


def one_file_each(cache: Path, share: float) -> Path:
    """An Iceberg table of 10,000 manifests with a file each, as iceberg-go's
    `BenchmarkPlanFilesWithRowLimit` has it: not partitioned, in one snapshot, a row a file, no statistics.
    """
    count = share_of(10_000, share)

    def entries(root: Path, number: int) -> pa.Table:
        status = {"status": pa.array([1], pa.int32()), "snapshot_id": [1], "sequence_number": [1]}
        file = {"file_path": [f"{root}/data-{number}.parquet"], "file_format": ["PARQUET"]}
        numbers = {"record_count": [1], "file_size_in_bytes": [1024]}
        content = pa.array([0], pa.int32())
        return pa.table({**status, "content": content, **file, "partition": _NONE, **numbers})

    def write(root: Path) -> None:
        _write_iceberg(root, 3, [], (entries(root, number) for number in range(count)))

    return in_place(cache / "goals" / f"one-file-each_{count}", write)


def megabyte_each(cache: Path, share: float) -> Path:
    """An Iceberg table of 1,000 manifests of about 1 MB, 3,700 files each with statistics of 12 columns."""
    count, files, columns = share_of(1000, share), share_of(3700, share), 12
    partition = [{"name": "region", "transform": "identity", "source-id": 2, "field-id": 1000}]

    def write(root: Path) -> None:
        made = (jobs_tables.entries(root, number, files, columns, 1, 1) for number in range(1, count + 1))
        _write_iceberg(root, columns, partition, made)

    return in_place(cache / "goals" / f"megabyte-each_{count}x{files}", write)


def _write_iceberg(
    root: Path, columns: int, partition: list[dict[str, Any]], manifests: Iterable[pa.Table]
) -> None:
    """A table of one snapshot with these manifests."""
    folder = root / "metadata"
    folder.mkdir(parents=True)
    schema = {"type": "struct", "schema-id": 0, "fields": jobs_tables.fields(columns)}
    header = {"schema": schema, "spec": {"spec-id": 0, "fields": partition}}
    listed = []
    for number, entries in enumerate(manifests):
        # As bytes: to a path each would be synced.
        written = iceberg.write_manifest(entries, **header, format_version=2, threads=1)
        path = folder / f"{number:08x}-7f1f-4c3a-9d0e-0000000000ff-m0.avro"
        path.write_bytes(written)
        rows = int(np.sum(entries["record_count"].to_numpy()))
        record = jobs_tables.listed(path, 1, 1, added=(len(entries), rows), deleted=(0, 0))
        listed.append(record if partition else record | {"partitions": []})
    lists = folder / "snap-1-1-7f1f.avro"
    records = pa.Table.from_pylist(listed, jobs_tables.LIST)
    iceberg.write_manifest_list(records, lists, format_version=2, snapshot_id=1, sequence_number=1)
    snapshot = {
        "sequence-number": 1,
        "snapshot-id": 1,
        "timestamp-ms": jobs_tables.FIRST_MS,
        "summary": {"operation": "append"},
        "manifest-list": str(lists),
        "schema-id": 0,
    }
    metadata = metadata_cases.table_metadata(
        str(root), columns, [schema], partition, 1, lambda _number: snapshot
    )
    metadata |= {key: list(metadata[key]) for key in ("snapshots", "snapshot-log")}
    iceberg.write_metadata(metadata, folder / "v1.metadata.json")


def sorted_by_java(cache: Path, share: float) -> Path:
    """A Paimon table as `ManifestFileSorterBenchmark` makes it: 24 manifests of 20,000 entries without
    statistics in 10,000 partitions of an `INT`, which no manifest has in order.
    """
    manifests, files = 24, share_of(20_000, share)
    partitions = max(128, files // 2)

    def batch(number: int) -> _Batch:
        place = np.arange(files, dtype=np.int64)
        name = "data-m{:03d}-e{:06d}-padding-0123456789abcdef0123456789abcdef.parquet"
        names = [name.format(number, one) for one in range(files)]
        return _Batch(names, (place * 104_729 + number * 32_749) % partitions)

    options = {"manifest.target-file-size": "1 mb"}
    return once(
        cache / "goals" / f"sorter_{manifests}x{files}",
        lambda root: _write_paimon(root, options, map(batch, range(manifests))),
    )


def many_records(cache: Path, share: float) -> Path:
    """A Paimon table of 32.9 million live files in 119 manifests, as many as were rewritten there: 118 add
    files of 365 partitions each, in their order, and one deletes one in 200 of these.
    """
    return _many_records(cache / "goals" / "records", share, [(0, PARTITIONS)] * MANIFESTS)


def sectioned_records(cache: Path, share: float) -> Path:
    """The same in 69 sections as there: 38 manifests share partitions, 26 with one other, others none."""
    ranges = [(0, 160)] * 38
    ranges += [(160 + 3 * pair, 163 + 3 * pair) for pair in range(13)] * 2
    ranges += [(199 + 3 * alone, 202 + 3 * alone) for alone in range(MANIFESTS - len(ranges))]
    return _many_records(cache / "goals" / "sectioned", share, ranges)


def _many_records(folder: Path, share: float, ranges: list[tuple[int, int]]) -> Path:
    """Each manifest has files of a range of partitions."""
    manifests, files = len(ranges), share_of(280_133, share)

    def batches() -> Iterator[_Batch]:
        names: list[str] = []
        partitions: list[int] = []
        for number in range(manifests):
            random = np.random.default_rng(number)
            # A writer for each file: names are what manifests have most of, and do not compress.
            writers = random.bytes(16 * files).hex()
            batch = _Batch(
                [f"data-{writers[32 * place : 32 * place + 32]}-0.parquet" for place in range(files)],
                np.sort(random.integers(*ranges[number], files)),
            )
            names += batch.names[::200]
            partitions += batch.partitions[::200].tolist()
            yield batch
        yield _Batch(names, np.array(partitions), kind=1)

    path = folder.with_name(f"{folder.name}_{manifests}x{files}")
    return once(path, lambda root: _write_paimon(root, {}, batches()))


@dataclass(frozen=True)
class _Batch:
    """The files of a manifest: names, partitions, and whether it adds (0) or deletes (1) them."""

    names: list[str]
    partitions: Any
    kind: int = 0


def _write_paimon(root: Path, options: dict[str, str], batches: Iterable[_Batch]) -> None:
    """A table without buckets, partitioned by an `INT`, of one snapshot with a manifest for each batch."""
    schema = pa.schema([("p", pa.int32()), ("id", pa.int64())])
    path, partition = "p=0/bucket-0/first.parquet", pa.array([{"p": 0}], pa.struct([schema.field("p")]))
    table = lakebed.create_table(
        root, schema, "paimon", partition_by=["p"], properties=MANIFEST_OPTIONS | options
    )
    file = {"file_path": [path], "record_count": [1000], "file_size_in_bytes": [128 << 10]}
    table.append_files(pa.table(file | {"partition": partition, "bucket": pa.array([0], pa.int32())}))
    template = _Template(root)
    for batch in batches:
        rows = pa.StructArray.from_arrays([pa.array(batch.partitions, pa.int32())], ["p"])
        bounds = pa.array([{"p": int(batch.partitions.min())}, {"p": int(batch.partitions.max())}], rows.type)
        columns = {
            "kind": pa.repeat(pa.scalar(batch.kind, pa.int8()), len(batch.names)),
            "partition": paimon.encode_rows(rows),
            "file_name": pa.array(batch.names),
        }
        template.add(columns, paimon.encode_rows(bounds).to_pylist())
    template.finish()


class _Template:
    """Turns a table of one file into one of many like it, a manifest at a time."""

    def __init__(self, root: Path) -> None:
        self._root, self._snapshot = root, paimon.read_snapshot(root / "snapshot" / "snapshot-1")
        lists = root / "manifest" / self._snapshot["deltaManifestList"]
        self._listed = paimon.read_manifest_list(lists).to_arrow()
        (self._first,) = self._listed["file_name"].to_pylist()
        self._entry = paimon.read_manifest(root / "manifest" / self._first).to_arrow()
        self._records: list[dict[str, Any]] = []

    def add(self, columns: dict[str, pa.Array], bounds: list[bytes], **listed: Any) -> None:
        """A manifest of entries with these columns, the others as the first file has them. `bounds` are the
        lowest and the highest partition, `listed` what else its record in the list says.
        """
        count = len(columns["file_name"])
        entries = self._entry.take(np.zeros(count, np.int64))
        for name, values in columns.items():
            place = entries.schema.get_field_index(name)
            entries = entries.set_column(place, entries.schema.field(place), values)
        written = paimon.write_manifest(entries, threads=1)
        name = f"manifest-7f1f0000-4c3a-9d0e-0000-{len(self._records):012x}-0"
        (self._root / "manifest" / name).write_bytes(written)
        deleted = int(np.sum(entries["kind"].to_numpy()))
        numbers = {"num_added_files": count - deleted, "num_deleted_files": deleted}
        (record,) = self._listed.to_pylist()
        stats = record["partition_stats"] | {"min_values": bounds[0], "max_values": bounds[1]}
        record |= {
            "file_name": name,
            "file_size": len(written),
            "partition_stats": stats,
            **numbers,
            **listed,
        }
        self._records.append(record)

    def finish(self) -> None:
        """Writes the snapshot of these manifests in place of the first file's."""
        folder = self._root / "manifest"
        rows = 1000 * sum(one["num_added_files"] - one["num_deleted_files"] for one in self._records)
        said = {"totalRecordCount": rows, "deltaRecordCount": rows}
        for kind, records in (("base", []), ("delta", self._records)):
            written = paimon.write_manifest_list(pa.Table.from_pylist(records, self._listed.schema))
            name = f"manifest-list-7f1f0000-{kind}"
            (folder / name).write_bytes(written)
            said |= {f"{kind}ManifestList": name, f"{kind}ManifestListSize": len(written)}
        path = self._root / "snapshot" / "snapshot-1"
        paimon.write_snapshot({**self._snapshot, **said}, path, overwrite=True)
        (folder / self._first).unlink()


def wide(cache: Path, share: float) -> Path:
    """A Paimon table of 11,374 columns and 240 buckets: 1,200 files with statistics of all columns, five of
    each bucket, about 230 MB of entries in 40 manifests.
    """
    columns, files = share_of(WIDE_COLUMNS, share), 30
    names = ["id", *(f"c{number}" for number in range(2, columns + 1))]

    def write(root: Path) -> None:
        options = MANIFEST_OPTIONS | {"bucket": str(WIDE_BUCKETS), "bucket-key": "id"}
        schema = pa.schema([(name, pa.int64()) for name in names])
        table = lakebed.create_table(root, schema, "paimon", properties=options)
        file = {"file_path": ["bucket-0/first.parquet"], "record_count": [1000], "file_size_in_bytes": [1]}
        table.append_files(pa.table(file | {"bucket": pa.array([0], pa.int32())}))
        template = _Template(root)
        for number in range(5 * WIDE_BUCKETS // files):
            random = np.random.default_rng(number)
            low = random.integers(0, 1 << 40, (files, columns), dtype=np.int64)
            nulls = random.integers(0, 50, files * columns)
            offsets = np.arange(0, nulls.size + 1, columns, dtype=np.int32)
            stats = [_rows_of(low), _rows_of(low + 1000), pa.ListArray.from_arrays(offsets, nulls)]
            bucket = (np.arange(files) + files * number) % WIDE_BUCKETS
            columns_of = {
                "file_name": pa.array([f"data-{number:08x}-{place}.parquet" for place in range(files)]),
                "bucket": pa.array(bucket, pa.int32()),
                "total_buckets": pa.repeat(pa.scalar(WIDE_BUCKETS, pa.int32()), files),
                "value_stats": pa.StructArray.from_arrays(stats, ["min_values", "max_values", "null_counts"]),
                "value_stats_cols": pa.nulls(files, pa.list_(pa.string())),
            }
            empty = paimon.encode_rows(pa.array([{}], pa.struct([])))[0].as_py()
            buckets = {"min_bucket": int(bucket.min()), "max_bucket": int(bucket.max())}
            template.add(columns_of, [empty, empty], **buckets)
        template.finish()

    return once(cache / "goals" / f"wide_{columns}", write)


def _rows_of(numbers: Any) -> pa.Array:
    """The rows of a matrix of int64 as BinaryRows of Paimon: arity, bits of nulls, numbers."""
    count, columns = numbers.shape
    head = 4 + (columns + 63 + 8) // 64 * 8
    rows = np.zeros((count, head + 8 * columns), np.uint8)
    rows[:, :4] = np.frombuffer(columns.to_bytes(4, "big"), np.uint8)
    rows[:, head:] = numbers.astype("<i8").view(np.uint8)
    offsets = np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32)
    return pa.Array.from_buffers(
        pa.binary(), count, [None, pa.py_buffer(offsets), pa.py_buffer(rows.tobytes())]
    )


def long_metadata(cache: Path, share: float) -> Path:
    """Iceberg's table metadata of 250 MB with 200,000 snapshots, as `metadata-250mb` of `bench.py`."""
    megabytes = 250 * share
    path = cache / "goals" / f"metadata_{megabytes:g}mb" / "metadata" / "v1.metadata.json"
    return once(path, lambda file: metadata_cases.write(file, metadata_cases.count(megabytes)))
