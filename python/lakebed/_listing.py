"""A listing of files that users give, as the compiled core takes it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lakebed import _arrow
from lakebed._pyarrow import pa, pc
from lakebed.errors import SchemaError
from lakebed.storage.paths import URI

CURRENT = {"is_latest": True, "is_delete_marker": False}
"""Columns of inventories of buckets with versions, and their value for objects that are there."""


def listing_of(listing: Any, location: str) -> Callable[[], pa.RecordBatchReader]:
    """What starts reading a listing, once more each time where it can be read again.

    Args: listing, anything with `__arrow_c_stream__`, or a Dataset of pyarrow; location, the table's: where
        that is relative, absolute paths below it become such as the table's own.
    Raises: TypeError for anything that is not Arrow data. What it returns raises SchemaError for columns that
        are missing or of another kind.
    """
    if not hasattr(listing, "__arrow_c_stream__") and not hasattr(listing, "scanner"):
        raise TypeError(
            f"listing takes Arrow data (with __arrow_c_stream__) or a Dataset, not {type(listing).__name__}"
        )
    return lambda: _as_listed(_reader(listing), location)


def _reader(listing: Any) -> pa.RecordBatchReader:
    if hasattr(listing, "__arrow_c_stream__"):
        return _arrow.record_batches(listing)
    names = [name for name in ("path", "size", "modified", *CURRENT) if name in listing.schema.names]
    return listing.scanner(columns=names).to_reader()


def _as_listed(reader: pa.RecordBatchReader, location: str) -> pa.RecordBatchReader:
    """The columns `path`, `size` and `modified` [ms since 1970 UTC] of any stream that has them, without
    older versions of objects and deleted ones.

    What is wrong with the columns is found before the first batch: the C stream knows no errors but texts.
    """
    kinds = {
        "path": (_is_text, "text"),
        "size": (pa.types.is_integer, "an integer"),
        "modified": (pa.types.is_timestamp, "a timestamp"),
        **dict.fromkeys(CURRENT, (pa.types.is_boolean, "boolean")),
    }
    names = reader.schema.names
    for name, (is_kind, word) in kinds.items():
        if names.count(name) > 1 or (name in ("path", "modified") and name not in names):
            message = f"a listing has one column {name!r}, this has {', '.join(map(repr, names))}"
            raise SchemaError(message, kind="unknown-column", field=name)
        kind = reader.schema.field(name).type if name in names else None
        if kind is not None and not is_kind(kind):
            message = f"{name!r} of a listing is {word}, not {kind}"
            raise SchemaError(message, kind="argument", field=name)
    schema = pa.schema([("path", pa.large_string()), ("size", pa.int64()), ("modified", pa.int64())])
    return pa.RecordBatchReader.from_batches(schema, (_batch(batch, schema, location) for batch in reader))


def _batch(batch: pa.RecordBatch, schema: pa.Schema, location: str) -> pa.RecordBatch:
    for name, value in CURRENT.items():
        if name in batch.schema.names:
            # Null where the bucket has no versions.
            batch = batch.filter(pc.fill_null(pc.equal(batch[name], value), fill_value=True))
    has_sizes = "size" in batch.schema.names
    sizes = batch["size"].cast(pa.int64()) if has_sizes else pa.nulls(batch.num_rows, pa.int64())
    times = batch["modified"]
    # Rounded down to milliseconds; a time without zone is UTC.
    times = times.cast(pa.timestamp("ms", times.type.tz), safe=False).cast(pa.int64())
    paths = _located(batch["path"].cast(pa.large_string()), location)
    return pa.record_batch([paths, sizes, times], schema=schema)


def _located(paths: pa.Array, location: str) -> pa.Array:
    if URI.match(location) or Path(location).is_absolute():
        return paths
    absolute = os.path.abspath(location)  # noqa: PTH100 - without `..`, as listings are
    rest = pc.utf8_slice_codeunits(paths, len(absolute))
    folder, nothing = (pa.scalar(text, pa.large_string()) for text in (location, ""))
    moved = pc.binary_join_element_wise(folder, rest, nothing)
    return pc.if_else(pc.starts_with(paths, f"{absolute}/"), moved, paths)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return kind in (pa.string(), pa.large_string(), pa.string_view())
