"""What Iceberg's version 4 is to be, read and written as its proposals stand today.

No engine writes these files yet, and field ids, names and rules still move: a release of lakebed may read
them otherwise than the one before, and functions may change or go without a major version. `docs/formats.md`
says what may change.
"""

from __future__ import annotations

import json
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native, _sink
from lakebed._arguments import names, positive
from lakebed._keywords import READING, documented
from lakebed._pyarrow import pa
from lakebed._source import Source, named, resolve_source
from lakebed.limits import LIMITS, Limits
from lakebed.predicates import to_sql
from lakebed.scan import FileScan, Scan
from lakebed.storage import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lakebed._sink import Sink
    from lakebed.predicates import Predicate

__all__ = [
    "decode_mumbling",
    "encode_mumbling",
    "read_content_entries",
    "read_live_files",
    "write_content_entries",
]


@documented(READING)
def read_content_entries(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    metadata: Mapping[str, Any] | None = None,
    listed: Mapping[str, Any] | None = None,
    limits: Limits = LIMITS,
    threads: int | None = None,
    storage: object | None = None,
) -> Scan:
    """The entries of one root or leaf manifest of content entries, in file order, those that are not live
    included. Fields are found by their ids.

    Args:
        metadata: what the table's metadata says, as `lakebed.iceberg.read_metadata` gives it; of it are used
            `schemas` and `current-schema-id`, `partition-specs` and `location`, and each may be absent.
            Without it paths stay as stored, and columns of `partition` and `content_stats` have stored types,
            and field ids as names.
        listed: the manifest's row of its root. With it entries inherit what they leave out (snapshot id,
            sequence numbers, first row id), and those that the root's deletion vector has are not live;
            without it, what is not stored is null.
    Returns: a `Scan`: `pos` int64, from 0; `live` bool, whether the entry counts: `status` int32 is 0
        (existing), 1 (added) or 4 (modified), not 2 (deleted) or 3 (replaced), and the position is not in the
        root's deletion vector; `snapshot_id`, `sequence_number`, `file_sequence_number`, `dv_snapshot_id`,
        `first_row_id` int64, `deleted_positions`, `replaced_positions` binary (as `decode_mumbling` takes
        them), `latest_column_file_snapshot_id` int64; `content_type` int32 (0 data, 2 equality deletes, 3
        data manifest, 4 delete manifest), `format_version` int32, `location`, `file_format` utf8,
        `record_count`, `file_size_in_bytes` int64, `spec_id` int32; `partition` struct of the fields of all
        specs; `content_stats` struct: of each primitive column or variant outside of lists and maps, by its
        full name, struct<`lower_bound`, `upper_bound` in the column's type, `tight_bounds` bool (whether
        they are its least and greatest value), `value_count`, `null_value_count`, `nan_value_count` int64,
        `avg_value_size_in_bytes` int32>, of these what its type has; of geometries bounds are
        struct<`x`, `y`, `z`, `m` float64>, of variants there are none; `sort_order_id` int32,
        `deletion_vector` struct<`location` utf8, `offset`, `size_in_bytes`, `cardinality` int64,
        `key_metadata` binary> (as `lakebed.iceberg.read_deletion_vector` takes them), `manifest_info` struct
        of the counts of a leaf and its deletion vector `dv` binary, `key_metadata` binary, `split_offsets`
        list<int64>, `equality_ids` list<int32>;
        `column_files` list<struct<`format_version` int32, `field_ids` list<int32>, `location`, `file_format`
        utf8, `file_size_in_bytes` int64, `key_metadata` binary, `split_offsets` list<int64>>>.
    Units: sizes and offsets in bytes.
    Raises: (when read) CorruptError (also fewer entries than listed), TruncatedError, UnsupportedError
        (codec, encrypted file, another version of bitmaps), LimitError, SchemaError.
    Warns: LakebedWarning of more entries than listed.
    Cost: one pass; statistics of columns that the schema does not have are not decoded.
    Source: Iceberg's `TrackedFile.java` and `V4ManifestReader.java` of 1.12; Iceberg specification, "Content
        Stats"; Delta's RFC of adaptive metadata; the proposal of column files.
    """
    wanted, threads = names("columns", columns), positive("threads", threads)
    data = resolve_source(source, storage)
    table = None if metadata is None else _types(metadata)
    leaf = None if listed is None else _leaf(listed)
    return FileScan(
        lambda: _native.iceberg_read_content_entries(data, wanted, table, leaf, limits, threads),
        named("content entries", data),
    )


@documented(READING)
def read_live_files(
    root: str | os.PathLike[str],
    *,
    metadata: Mapping[str, Any],
    snapshot: Mapping[str, Any] | None = None,
    columns: Sequence[str] | None = None,
    where: str | Predicate | None = None,
    relocate: Mapping[str, str | os.PathLike[str]] | None = None,
    limits: Limits = LIMITS,
    threads: int | None = None,
    storage: object | None = None,
) -> Scan:
    """The live files of a snapshot: data files and equality deletes of its root manifest, then those of the
    leaves that it lists, in their order. Deletion vectors and column files are parts of data files.

    Args:
        root: path or URI of the root manifest, or of a single leaf.
        metadata: what the table's metadata says, as `read_content_entries` has it; `schemas` and
            `partition-specs` must be there.
        snapshot: the snapshot of the root, as `snapshots` of the metadata has it: entries of the root inherit
            `snapshot-id`, `sequence-number` and `first-row-id`.
        where: a condition on the table's columns, SQL text or made with `lakebed.col`, which may name
            partition fields too. Leaves and files are left out in which, by partition and statistics, no row
            can match.
        relocate: prefixes of paths written in manifests, and where they are now.
    Returns: a `Scan` with the columns of `read_content_entries`, of live entries alone, and `manifest` utf8,
        the manifest that lists the file, where it is entry `pos`.
    Units: sizes and offsets in bytes.
    Raises: (when read) as `read_content_entries`; UnsupportedError also for leaves of deletes and of older
        versions, PredicateError, LocationError (a leaf in a place that may not be opened), OSError from the
        storage.
    Cost: reads the root, then the leaves that may match, several at once; where `content_stats` is not asked
        for, of statistics those of the columns of `where` alone.
    Source: as `read_content_entries`; Iceberg's `InclusiveStatsEvaluator.java`.
    """
    wanted, threads = names("columns", columns), positive("threads", threads)
    path, adapter = resolve(root, storage)
    told = snapshot or {}
    from_snapshot = {
        "snapshot_id": told.get("snapshot-id"),
        "sequence_number": told.get("sequence-number"),
        "first_row_id": told.get("first-row-id"),
    }
    tree = SimpleNamespace(
        path=path,
        storage=adapter,
        moved=[(prefix, os.fspath(now)) for prefix, now in (relocate or {}).items()],
        columns=wanted,
        filter=to_sql(where),
        table=_types(metadata),
        listed=None if snapshot is None else _leaf(from_snapshot),
        limits=limits,
        threads=threads,
    )
    return FileScan(lambda: _native.iceberg_read_live_files(tree), named("live files", path))


def _types(metadata: Mapping[str, Any]) -> SimpleNamespace:
    """The schemas, the current one first, and the specs of a table."""
    current = metadata.get("current-schema-id")
    schemas = sorted(metadata.get("schemas", ()), key=lambda schema: schema.get("schema-id") != current)
    location = metadata.get("location")
    return SimpleNamespace(
        schemas=[json.dumps(schema) for schema in schemas],
        specs=[json.dumps(spec) for spec in metadata.get("partition-specs", ())],
        location=None if location is None else location.rstrip("/"),
    )


def _leaf(listed: Mapping[str, Any]) -> SimpleNamespace:
    """A row of a root as the core reads it."""
    known = ("snapshot_id", "sequence_number", "first_row_id", "record_count")
    dv = (listed.get("manifest_info") or {}).get("dv")
    return SimpleNamespace(**{name: listed.get(name) for name in known}, dv=dv)


def write_content_entries(
    entries: Any,
    sink: Sink | None = None,
    *,
    metadata: Mapping[str, Any],
    codec: str = "gzip",
    overwrite: bool = False,
    limits: Limits = LIMITS,
) -> bytes | None:
    """Writes the entries of one root or leaf manifest in Parquet, in the order given: the mirror of
    `read_content_entries`.

    Args:
        entries: anything with `__arrow_c_stream__` and the columns of `read_content_entries`, which gives
            what is to be stored where it was not told the manifest's row. `status`, `content_type`,
            `format_version`, `location`, `file_format`, `record_count` and `file_size_in_bytes` must be
            there, any other may be absent, which is null; `pos` and `live` are not stored. Of `content_stats`
            the columns are written that are given.
        sink: a local path, an open binary file, or None for the file as bytes.
        metadata: what the table's metadata says, as `read_content_entries` has it: ids and types of
            `partition` and `content_stats` are from it, and paths below its `location` are stored relative
            to that.
        codec: "gzip", "zstd", "snappy" or "none".
        overwrite: replace a file that is there.
        limits: what readers agree to: a file beyond it is not written.
    Returns: the bytes without a sink, else None.
    Raises: SchemaError (a column or a part of one that entries do not have, another type, a null where there
        must be a value, a status, content or bitmap that there is not; with `.field` and, of a value,
        `.record`), UnsupportedError (UUIDs, where pyarrow is older than 21), LimitError, FileExistsError,
        OSError. A path then has no file, or the one it had.
    Cost: all rows in memory; what is written is read back before it is handed out.
    Source: as `read_content_entries`; Iceberg 1.12 reads it.
    """
    target, rows = (_sink.target(sink), overwrite), _arrow.writable(entries)
    return _native.iceberg_write_content_entries(rows, target, _types(metadata), codec, limits)


def decode_mumbling(bitmap: bytes, *, limits: Limits = LIMITS) -> pa.Int64Array:
    """The positions that a Mumbling bitmap has: `dv` of `manifest_info`, `deleted_positions`, ….

    Args: bitmap, its bytes, all of them; limits, `max_rows` bounds the positions.
    Returns: positions from 0, ascending, below 2,097,152.
    Raises: CorruptError with `.offset` (a malformed bitmap, another number of positions than recorded),
        TruncatedError, UnsupportedError (another version), LimitError.
    Cost: one pass, and 32 bytes of memory for each 256 positions up to the last.
    Source: Iceberg's "Mumbling Bitmap Spec", version 1; Iceberg's `MumblingBitmap.java`.
    """
    return pa.array(_native.decode_mumbling(bitmap, limits))


def encode_mumbling(positions: Iterable[int]) -> bytes:
    """A Mumbling bitmap of some positions: the mirror of `decode_mumbling`.

    Args: positions, from 0 to 2,097,151, in any order and however often each.
    Returns: its bytes, packed as Iceberg packs them.
    Raises: SchemaError for a position that no bitmap can hold.
    Cost: one pass.
    Source: as `decode_mumbling`.
    """
    return _native.encode_mumbling(list(positions))
