"""Any Avro object container file as Arrow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lakebed import _native
from lakebed._arguments import names, positive
from lakebed._source import Source, named, resolve_source
from lakebed.limits import LIMITS, Limits
from lakebed.scan import FileScan, Scan

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

__all__ = ["read", "read_blocks", "read_metadata", "read_schema"]


def read(
    source: Source,
    columns: Sequence[str] | None = None,
    limits: Limits = LIMITS,
    threads: int | None = None,
) -> Scan:
    """The records of an Avro file, in file order.

    Args:
        source: path or URI, anything with the buffer protocol (never copied), or an open binary file.
        columns: dotted paths of the fields wanted, in this order; others are skipped, not decoded.
        limits: what the file may cost.
        threads: blocks decoded at once; None for all cores.
    Returns: a `Scan` with one column per field of the record schema. It reads the file when it is asked for
        its schema or rows, again each time.
    Raises: (when read) CorruptError, TruncatedError, UnsupportedError (codec, schema), LimitError,
        SchemaError (unknown column), OSError.
    Cost: one pass; a batch reader holds a few blocks and one batch.
    Source: Avro specification 1.12, "Object container files".
    """
    wanted, threads = names("columns", columns), positive("threads", threads)
    data = resolve_source(source)
    return FileScan(lambda: _native.avro_read(data, wanted, limits, threads), named("records", data))


def read_schema(source: Source, limits: Limits = LIMITS) -> dict[str, Any]:
    """The schema of an Avro file as its header spells it, parsed from JSON.

    Raises: CorruptError, TruncatedError, LimitError, UnsupportedError (a top-level type that is not a
        record).
    Cost: reads the header only.
    """
    text, _ = _native.avro_header(resolve_source(source), limits)
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def read_metadata(source: Source, limits: Limits = LIMITS) -> dict[str, bytes]:
    """The metadata map of an Avro file's header, as stored: `avro.schema`, `avro.codec` and the writer's own
    keys.

    Raises: CorruptError, TruncatedError, LimitError.
    Cost: reads the header only.
    """
    _, metadata = _native.avro_header(resolve_source(source), limits)
    return metadata


def read_blocks(source: Source, limits: Limits = LIMITS) -> pa.Table:
    """The blocks of an Avro file, one row each, without decoding a record.

    Returns: `offset` int64 [byte in the file] of the block's data, behind its two counts, `row_count` int64,
        `size_in_bytes` int64 (as stored, compressed).
    Raises: CorruptError, TruncatedError, LimitError.
    Cost: reads the file, inflates nothing.
    """
    from lakebed import _arrow

    return _arrow.reader(_native.avro_blocks(resolve_source(source), limits)).read_all()
