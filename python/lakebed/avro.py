"""Any Avro object container file as Arrow."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

from lakebed import _arrow, _native, _sink
from lakebed._arguments import names, positive
from lakebed._keywords import READING, WRITING, documented
from lakebed._source import Source, named, resolve_source
from lakebed.errors import CorruptError
from lakebed.limits import LIMITS, Limits
from lakebed.scan import FileScan, Scan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from lakebed._sink import Sink

Schema: TypeAlias = str | dict[str, Any] | list[Any]
"""An Avro schema: its JSON text, or that text parsed, as `read_schema` gives it."""

__all__ = ["Schema", "read", "read_blocks", "read_metadata", "read_schema", "write"]


@documented(READING)
def read(
    source: Source,
    columns: Sequence[str] | None = None,
    limits: Limits = LIMITS,
    threads: int | None = None,
    *,
    schema: Schema | None = None,
    storage: object | None = None,
) -> Scan:
    """The records of an Avro file, in file order.

    Args:
        columns: dotted paths of the fields wanted, in this order; others are skipped, not decoded.
        schema: the schema to read the records as, parsed or as JSON text; None for the one they were written
            in. Fields are found by name, or by an alias in this schema; those that only the file has are
            skipped, those that only this schema has take their default; numbers are promoted, strings and
            bytes taken for each other; enum symbols that this schema lacks become its default; logical types
            are this schema's. Of a union the branch of the same type is taken, else the first that the value
            can be promoted to. `columns` are then paths of this schema, and only what they name is resolved.
    Returns: a `Scan` with one column per field of the record schema. It reads the file when it is asked for
        its schema or rows, again each time.
    Raises: (when read) CorruptError, TruncatedError, UnsupportedError (codec, recursive schema), LimitError,
        SchemaError, OSError. A SchemaError is an unknown column, or that `schema` is invalid, or does not
        resolve: at once, with the paths of both sides, but with the record where the value of a union or an
        enum decides. Logical types that differ do not resolve, such as milliseconds as microseconds.
    Cost: one pass; a batch reader holds a few blocks and one batch. Resolving happens once, before it.
    Source: Avro specification 1.12, "Object container files", "Schema resolution" and "Aliases".
    """
    wanted, threads = names("columns", columns), positive("threads", threads)
    data = resolve_source(source, storage)
    text = None if schema is None else _schema_text(schema)
    return FileScan(lambda: _native.avro_read(data, wanted, text, limits, threads), named("records", data))


def _schema_text(schema: Schema) -> str:
    # A plain type's name alone, as `read_schema` gives it, is not JSON.
    is_text = isinstance(schema, str) and not schema.isidentifier()
    return str(schema) if is_text else json.dumps(schema)


@documented(READING)
def read_schema(source: Source, limits: Limits = LIMITS, *, storage: object | None = None) -> Any:
    """The schema of an Avro file as its header spells it, parsed from JSON.

    Returns: a dict for a record and for whatever else has attributes, a list for a union, a string for a
        plain type by its name. Types that `read` refuses, such as recursive ones, are given all the same.
    Raises: CorruptError (also where the text is not JSON), TruncatedError, LimitError.
    Cost: reads the header only.
    """
    text, _ = _native.avro_header(resolve_source(source, storage), limits)
    try:
        return json.loads(text)
    except ValueError as error:
        raise CorruptError(f"avro.schema is not JSON: {error}", kind="schema") from error


@documented(READING)
def read_metadata(
    source: Source, limits: Limits = LIMITS, *, storage: object | None = None
) -> dict[str, bytes]:
    """The metadata map of an Avro file's header, as stored: `avro.schema`, `avro.codec` and the writer's own
    keys.

    Raises: CorruptError, TruncatedError, LimitError.
    Cost: reads the header only.
    """
    _, metadata = _native.avro_header(resolve_source(source, storage), limits)
    return metadata


@documented(READING)
def read_blocks(source: Source, limits: Limits = LIMITS, *, storage: object | None = None) -> pa.Table:
    """The blocks of an Avro file, one row each, without decoding a record.

    Returns: `offset` int64 [byte in the file] of the block's data, after its two counts, `row_count` int64,
        `size_in_bytes` int64 (as stored, compressed).
    Raises: CorruptError, TruncatedError, LimitError.
    Cost: reads the file, inflates nothing.
    """
    return _arrow.reader(_native.avro_blocks(resolve_source(source, storage), limits)).read_all()


@documented(WRITING)
def write(
    data: Any,
    sink: Sink | None = None,
    schema: Schema | None = None,
    codec: str = "zstandard",
    level: int | None = None,
    block_bytes: int = 64_000,
    metadata: Mapping[str, bytes | str] | None = None,
    *,
    sync: bytes | None = None,
    verify: bool = False,
    threads: int | None = None,
    overwrite: bool = False,
    limits: Limits = LIMITS,
) -> bytes | None:
    """Writes Arrow data as an Avro file, batch by batch.

    Args:
        data: anything with `__arrow_c_stream__`: a table, a reader, a scan, a frame of Polars.
        schema: the schema to write, parsed or as JSON text, with a field for every column; any that `read`
            takes. None for one that follows from the columns: what may be null is a union with null, maps
            without string keys are arrays with `logicalType: map`, decimals are bytes.
        codec: "null", "deflate", "snappy", "zstandard", "bzip2" or "xz".
        level: of the codec, None for its own (deflate 0 to 12, zstandard -7 to 22, bzip2 1 to 9, xz 0 to 9).
        metadata: more keys of the header.
    Returns: the bytes without a sink, else None.
    Raises: SchemaError (before a byte is written: a column without a field, a field without a column, a type
        that the field does not take; with the row: a null where the schema has none, a decimal, time, symbol
        or length that it does not hold; an invalid schema), UnsupportedError (codec),
        LimitError, FileExistsError, OSError. A path then has no file, or the one it had.
    Cost: one pass; memory of a batch and, for each thread, a block or a megabyte.
    Source: Avro specification 1.12, "Object container files"; Avro Java's `DataFileWriter.java` (blocks).
    """
    encoding = _sink.encoding(codec, level, block_bytes, sync, verify, threads)
    text = None if schema is None else _schema_text(schema)
    pairs = [
        (key, value.encode() if isinstance(value, str) else bytes(value))
        for key, value in (metadata or {}).items()
    ]
    writing = SimpleNamespace(
        schema=text, encoding=encoding, metadata=pairs, overwrite=overwrite, limits=limits
    )
    return _native.avro_write(_arrow.writable(data), _sink.target(sink), writing)
