"""Reading single files and bytes, without a table around them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lakebed import _native
from lakebed._arguments import names, positive
from lakebed._keywords import READING, documented
from lakebed._native import PaimonFileKind
from lakebed._pyarrow import pa
from lakebed._source import Source, named, resolve_source
from lakebed.limits import LIMITS, Limits
from lakebed.scan import FileScan, Scan

if TYPE_CHECKING:
    from collections.abc import Sequence


# Bytes of the size before a deletion vector and the checksum after it, which the length may leave out.
_VECTOR_FRAMING = 8


@documented(READING)
def read_manifest(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    limits: Limits = LIMITS,
    threads: int | None = None,
    storage: object | None = None,
) -> Scan:
    """The entries of one manifest as stored, in file order; nothing is merged.

    Returns: a `Scan`: `kind` int8 (0 add, 1 delete), `partition` binary (BinaryRow with its arity prefix),
        `bucket`, `total_buckets`, then the data file's fields under the format's names without the leading
        underscore; stats as stored (BinaryRow bytes and null counts).
    Units: sizes in bytes; `creation_time` is the writer's local wall clock, without a zone.
    Raises: (when read) CorruptError, TruncatedError, UnsupportedError (codec, `_VERSION`), LimitError,
        SchemaError.
    Cost: one pass.
    Source: Paimon's `ManifestEntry.java`, `DataFileMeta.java`.
    """
    wanted, threads = names("columns", columns), positive("threads", threads)
    data = resolve_source(source, storage)
    return FileScan(
        lambda: _native.paimon_read_records(PaimonFileKind.MANIFEST, data, wanted, limits, threads),
        named("manifest entries", data),
    )


@documented(READING)
def read_manifest_list(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    limits: Limits = LIMITS,
    storage: object | None = None,
) -> Scan:
    """The records of one manifest list as stored: one row per manifest, in file order.

    Returns: a `Scan`: `file_name`, `file_size` [bytes], `num_added_files`, `num_deleted_files`, partition
        stats as stored (BinaryRow bytes and null counts), `schema_id`, then bucket, level and row id ranges
        where written.
    Raises: (when read) CorruptError, TruncatedError, UnsupportedError (codec, `_VERSION`), LimitError,
        SchemaError.
    Cost: one pass.
    Source: Paimon's `ManifestFileMeta.java`.
    """
    wanted = names("columns", columns)
    data = resolve_source(source, storage)
    return FileScan(
        lambda: _native.paimon_read_records(PaimonFileKind.MANIFEST_LIST, data, wanted, limits, None),
        named("manifest list", data),
    )


@documented(READING)
def read_index_manifest(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    limits: Limits = LIMITS,
    storage: object | None = None,
) -> Scan:
    """The records of one index manifest as stored: one row per index file, in file order.

    Returns: a `Scan`: `kind` int8 (0 add), `partition` binary (BinaryRow with its arity prefix), `bucket`
        int32, `index_type` utf8 ("HASH", "DELETION_VECTORS", or the kind of a global index), `file_name`
        utf8, `file_size` int64 [bytes], `row_count` int64 (keys, deletion vectors or rows covered),
        `deletions_vectors_ranges` list<struct<f0 utf8 (data file), f1 int32 (offset) [bytes], f2 int32
        (length) [bytes], cardinality int64 [rows]>>, `external_path` utf8, `global_index`
        struct<row_range_start int64, row_range_end int64 (inclusive), index_field_id int32,
        extra_field_ids list<int32>, index_meta binary, source_meta binary>.
    Raises: (when read) CorruptError, TruncatedError, UnsupportedError (codec, `_VERSION`), LimitError,
        SchemaError.
    Cost: one pass.
    Source: Paimon's `IndexManifestEntry.java`, `DeletionVectorMeta.java`, `GlobalIndexMeta.java`.
    """
    wanted = names("columns", columns)
    data = resolve_source(source, storage)
    return FileScan(
        lambda: _native.paimon_read_records(PaimonFileKind.INDEX_MANIFEST, data, wanted, limits, None),
        named("index manifest", data),
    )


@documented(READING)
def read_deletion_vector(
    source: Source,
    offset: int,
    length: int,
    *,
    limits: Limits = LIMITS,
    storage: object | None = None,
) -> pa.Int64Array:
    """The deleted rows of one data file, by their position in it.

    Args:
        source: an index file of deletion vectors: path or URI, anything with the buffer protocol (never
            copied), or an open binary file.
        offset: where the vector begins [bytes]: `f1` of its range in the index manifest, `content_offset` of
            `Table.deletes`.
        length: its recorded length [bytes]: `f2`, `content_size_in_bytes`.
        limits: `max_rows` bounds the positions.
    Returns: positions from 0, ascending.
    Raises: CorruptError (magic, checksum, a size other than `length`, a malformed bitmap), TruncatedError,
        LimitError.
    Cost: reads the vector's bytes, of buffers and local or remote files no others; open files are read to
        their end.
    Source: Paimon's `DeletionVector.java`, `BitmapDeletionVector.java`, `Bitmap64DeletionVector.java`.
    """
    data = resolve_source(source, storage, offset, offset + length + _VECTOR_FRAMING)
    return pa.array(_native.paimon_read_deletion_vector(data, offset, length, limits))


@documented(READING)
def read_hash_index(source: Source, *, storage: object | None = None) -> pa.Int32Array:
    """The hashes of a bucket's keys, from a HASH index file, in file order.

    Raises: CorruptError (not a whole number of 4-byte hashes).
    Cost: one pass over the file, which has no header.
    Source: Paimon's `HashIndexFile.java`.
    """
    return pa.array(_native.paimon_read_hash_index(resolve_source(source, storage)))


@documented(READING)
def read_snapshot(source: Source, *, storage: object | None = None) -> dict[str, Any]:
    """One `snapshot-<id>`, `changelog-<id>` or `tag-<name>` file: the JSON object as stored, once its
    required keys are found to be well-formed.

    Returns: a tag that is kept for a time also has `tagCreateTime` (year, month, day, hour, minute, then
        second and nanosecond unless 0, of the writer's wall clock) and `tagTimeRetained` [s].
    Raises: CorruptError (not JSON, a required key absent or of the wrong type).
    Source: Paimon's `Snapshot.java`, `Tag.java`.
    """
    return _parsed(_native.paimon_read_snapshot(resolve_source(source, storage)))


@documented(READING)
def read_schema(source: Source, *, storage: object | None = None) -> dict[str, Any]:
    """One `schema-<id>` file: the JSON object as stored, once its fields and types are found to be
    well-formed.

    Raises: CorruptError (not JSON, a required key absent, a type outside the grammar).
    Source: Paimon's `TableSchema.java`.
    """
    return _parsed(_native.paimon_read_schema(resolve_source(source, storage)))


def decode_rows(binary: pa.Array, types: pa.Schema) -> pa.StructArray:
    """Serialised BinaryRows as a struct array, one struct per row, null where the binary is null.

    Args:
        binary: `binary` or `large_binary`, each value a row after its 4-byte big-endian arity, as stored.
        types: names and types of the fields; field metadata may have the Paimon type.
    Raises: CorruptError with `.record` and `.field` (arity, offset, truncated, decimal, timestamp, utf8),
        UnsupportedError (a type without a BinaryRow form).
    Cost: one pass over all rows per field; no row objects.
    Source: Paimon's `BinaryRow.java`, `BinaryRowSerializer.java`.
    """
    return pa.array(_native.decode_rows(binary, types))


def encode_rows(struct: pa.StructArray, types: pa.Schema | None = None) -> pa.Array:
    """A struct array as serialised BinaryRows, byte for byte as Paimon writes them.

    Args:
        struct: one struct per row.
        types: names and types of the fields, where they differ from the struct's own (precision, CHAR
            lengths).
    Returns: `binary`, each value a row after its 4-byte big-endian arity; null where the struct is null.
    Raises: SchemaError (a type without a BinaryRow form, fields that do not match).
    Source: Paimon's `BinaryRowWriter.java`.
    """
    return pa.array(_native.encode_rows(struct, types))


def _parsed(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(text)
    return parsed
