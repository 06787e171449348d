"""Single files of Apache Iceberg's metadata, read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native
from lakebed._arguments import names, positive
from lakebed._keywords import READING, documented
from lakebed._pyarrow import pa
from lakebed._source import Source, named, resolve_source
from lakebed.limits import LIMITS, Limits
from lakebed.scan import FileScan, Scan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@documented(READING)
def read_manifest(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    listed: Mapping[str, Any] | None = None,
    limits: Limits = LIMITS,
    threads: int | None = None,
    storage: object | None = None,
) -> Scan:
    """The entries of one manifest of any format version, in file order, deleted ones included.

    Fields are found by their ids, whatever a writer called them, and by their names where it gave no ids.

    Args:
        listed: the manifest's row of `read_manifest_list`. With it, entries inherit what they leave out
            (snapshot id, sequence numbers, first row id, spec), and its counts are compared with what is
            there; without it, what is not stored is null.
    Returns: a `Scan`: `status` int32 (0 existing, 1 added, 2 deleted), `snapshot_id`, `sequence_number`,
        `file_sequence_number` int64, then the file's fields under the format's names: `content` int32 (0
        data, 1 position deletes, 2 equality deletes), `file_path`, `file_format` utf8, `spec_id` int32,
        `partition` struct, `record_count`, `file_size_in_bytes` int64; `column_sizes`, `value_counts`,
        `null_value_counts`, `nan_value_counts` map<int32, int64> and `lower_bounds`, `upper_bounds`
        map<int32, binary> by field id; `key_metadata` binary, `split_offsets` list<int64>, `equality_ids`
        list<int32>, `sort_order_id` int32, `first_row_id` int64, `referenced_data_file` utf8,
        `content_offset`, `content_size_in_bytes` int64. Types and names of `partition` are those of the spec
        and schema in the file's header. Where the schema lacks a column of the spec, types are as stored;
        without a spec, names are field ids besides.
    Units: sizes and offsets in bytes.
    Raises: (when read) CorruptError (also fewer entries than listed), TruncatedError, UnsupportedError
        (codec, encrypted file), LimitError, SchemaError.
    Warns: LakebedWarning of a length or of sums of rows other than listed, which some writers get wrong,
        and of more entries than listed.
    Cost: one pass.
    Source: Iceberg specification, "Manifests"; Iceberg's `ManifestReader.java`.
    """
    wanted, threads = names("columns", columns), positive("threads", threads)
    data = resolve_source(source, storage)
    record = None if listed is None else _manifest_file(listed)
    return FileScan(
        lambda: _native.iceberg_read_manifest(data, wanted, record, limits, threads),
        named("manifest entries", data),
    )


def _manifest_file(listed: Mapping[str, Any]) -> str:
    """A row of a manifest list as the core reads it; what is null or negative is unknown."""

    def known(name: str) -> int | None:
        value = listed.get(name)
        return value if value is not None and value >= 0 else None

    counts = {
        status: {"files": known(f"{status}_files_count"), "rows": known(f"{status}_rows_count")}
        for status in ("added", "existing", "deleted")
    }
    record = {
        "path": listed["manifest_path"],
        "length": known("manifest_length"),
        "spec_id": listed["partition_spec_id"],
        "content": listed.get("content") or 0,
        "sequence_number": listed.get("sequence_number") or 0,
        "min_sequence_number": listed.get("min_sequence_number") or 0,
        "added_snapshot_id": listed.get("added_snapshot_id"),
        "first_row_id": listed.get("first_row_id"),
    }
    return json.dumps(record | counts)


@documented(READING)
def read_manifest_list(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    limits: Limits = LIMITS,
    storage: object | None = None,
) -> Scan:
    """The records of one manifest list of any format version: one row per manifest, in file order.

    Fields are found by their ids, whatever a writer called them, and by their names where it gave no ids.

    Returns: a `Scan`: `manifest_path` utf8, `manifest_length` int64 [bytes], `partition_spec_id` int32,
        `content` int32 (0 data, 1 deletes), `sequence_number`, `min_sequence_number` int64 (0 where the list
        has none), `added_snapshot_id` int64, `added_files_count`, `existing_files_count`,
        `deleted_files_count` int32 and `added_rows_count`, `existing_rows_count`, `deleted_rows_count` int64
        (entries and rows by status; null is unknown), `partitions` list<struct<contains_null bool,
        contains_nan bool, lower_bound binary, upper_bound binary>> (null: no summary), `key_metadata` binary,
        `first_row_id` int64.
    Raises: (when read) CorruptError, TruncatedError, UnsupportedError (codec, encrypted file), LimitError,
        SchemaError.
    Cost: one pass.
    Source: Iceberg specification, "Manifest Lists"; Iceberg's `ManifestFile.java`.
    """
    wanted = names("columns", columns)
    data = resolve_source(source, storage)
    return FileScan(
        lambda: _native.iceberg_read_manifest_list(data, wanted, limits), named("manifest list", data)
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
        source: a Puffin file: path or URI, anything with the buffer protocol (never copied), or an open
            binary file. Its footer is not read, and need not be there.
        offset: where the vector begins [bytes]: `content_offset` of its entry or of `Table.deletes`.
        length: its recorded length [bytes]: `content_size_in_bytes`.
        limits: `max_rows` bounds the positions.
    Returns: positions from 0, ascending.
    Raises: CorruptError (magic, checksum, a size other than `length`, a malformed bitmap), TruncatedError,
        LimitError.
    Cost: reads the vector's bytes, of buffers and local or remote files no others; open files are read to
        their end.
    Source: Iceberg specification, "Deletion Vectors"; Puffin's blob type `deletion-vector-v1`; Iceberg's
        `BitmapPositionDeleteIndex.java`.
    """
    data = resolve_source(source, storage, offset, offset + length)
    return pa.array(_native.iceberg_read_deletion_vector(data, offset, length, limits))


def read_metadata(
    source: Source, *, limits: Limits = LIMITS, storage: object | None = None
) -> dict[str, Any]:
    """One `metadata.json` of any format version: the JSON object as stored, once what a table needs is found
    to be well-formed. gzip is recognized by its first bytes, whatever the file is called.

    Args: source: path or URI, anything with the buffer protocol (never copied), or an open binary file;
        limits: what the file may cost, `max_file_bytes` of JSON and `max_value_bytes` of one element;
        storage: what reads a path or URI, as `open_table` has it.
    Returns: the object with the keys of the specification and any others that are there; nothing is added
        that only a reader assumes.
    Units: `-ms` are milliseconds since 1970 UTC.
    Raises: CorruptError (not JSON, a required key absent or of the wrong type, ids that are not there),
        TruncatedError, UnsupportedError (a later version), LimitError.
    Cost: the whole object, in Python's own objects; `open_table` keeps no more than what is asked for.
    Source: Iceberg specification, "Table Metadata"; Iceberg's `TableMetadataParser.java`.
    """
    parsed: dict[str, Any] = json.loads(
        _native.iceberg_read_metadata(resolve_source(source, storage), limits)
    )
    return parsed


def decode_values(binary: pa.Array, type: pa.DataType) -> pa.Array:  # noqa: A002
    """Binary single values, as bounds of files and of manifests hold them, as an array of their type.

    | `type` | read as Iceberg's | bytes |
    |---|---|---|
    | `bool_` | boolean | 1, 0 for false |
    | `int32`, `int64`, `float32`, `float64` | int, long, float, double | 4 or 8, little-endian |
    | `decimal128(P, S)` | decimal(P, S) | unscaled value, big-endian, as few as hold it, or more |
    | `date32`, `time64("us")` | date, time | 4, 8, little-endian |
    | `timestamp("us")`, `timestamp("ns")` | timestamp, timestamp_ns | 8, little-endian |
    | the same with any zone | timestamptz, timestamptz_ns | 8, little-endian |
    | `string`, `large_string` | string | UTF-8 |
    | `uuid` | uuid | 16, big-endian |
    | `binary(L)` | fixed[L] | L |
    | `binary`, `large_binary` | binary, variant, geometry, geography | as they are |

    Args:
        binary: `binary` or `large_binary`; null stays null.
        type: the type of the values. Extension types are read as what they store.
    Units: microseconds or nanoseconds, whichever `type` has.
    Raises: CorruptError with `.record` (wrong number of bytes, more digits than `type`, not UTF-8),
        SchemaError (any other type).
    Cost: one pass.
    Source: Iceberg specification, appendix D; Iceberg's `Conversions.java`.
    """
    values = _native.decode_values(binary, _arrow.type_schema(type))
    return _arrow.extended(pa.array(values), type)


def encode_values(array: pa.Array) -> pa.Array:
    """An array as binary single values, byte for byte as Iceberg writes them.

    Args: array, of one of the types in the table of `decode_values`.
    Returns: `binary`; null where the array is null.
    Raises: CorruptError with `.record` (a decimal of more digits than its type), SchemaError (any other
        type).
    Cost: one pass.
    Source: as `decode_values`.
    """
    return pa.array(_native.encode_values(_arrow.storage(array)))
