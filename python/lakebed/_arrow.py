"""Where Arrow capsules become pyarrow objects, and bytes become Arrow: the one place.

pyarrow is imported inside the functions, so that `lakebed --help` and a mere `import lakebed` do not wait for
it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed import _native

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from lakebed._native import Batch, BatchStream


def schema(source: object) -> pa.Schema:
    """The `pa.Schema` of anything with `__arrow_c_schema__`. Cost: none beyond the schema."""
    import pyarrow as pa

    return pa.schema(source)


def named(source: Any) -> Any:
    """Anything with `__arrow_c_schema__`, itself.

    Raises: UnsupportedError for a name of a `pa.Schema` with a NUL, at which the C interface would end it.
    """
    import pyarrow as pa

    fields = list(source) if isinstance(source, pa.Schema) else []
    for field in fields:
        # Which are looked at in turn.
        fields += [field.type.field(number) for number in range(field.type.num_fields)]
    _native.check_names([field.name for field in fields])
    return source


def record_batch(batch: Batch) -> pa.RecordBatch:
    """The `pa.RecordBatch` of a native batch; buffers move, nothing is copied."""
    import pyarrow as pa

    return pa.record_batch(batch)


def read_whole(source: Any) -> Any:
    """What is left of a `pa.RecordBatchReader` as a table; anything else itself."""
    import pyarrow as pa

    return source.read_all() if isinstance(source, pa.RecordBatchReader) else source


def array(batch: Batch) -> pa.Array:
    """The `pa.Array` of a native array; buffers move, nothing is copied."""
    import pyarrow as pa

    return pa.array(batch)


def type_schema(kind: pa.DataType) -> pa.Schema:
    """A type as it enters the compiled core: that of the only field of a schema, extension types as what they
    store.
    """
    import pyarrow as pa

    return pa.schema([("value", kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind)])


def storage(values: pa.Array) -> pa.Array:
    """What an extension array stores; other arrays themselves."""
    import pyarrow as pa

    return values.storage if isinstance(values, pa.ExtensionArray) else values


def extended(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """What an extension array of `kind` stores as that array; of other types the values themselves."""
    import pyarrow as pa

    return kind.wrap_array(values) if isinstance(kind, pa.BaseExtensionType) else values


def record_batches(data: Any) -> pa.RecordBatchReader:
    """Anything with `__arrow_c_stream__` as a reader; one of pyarrow itself, since of exceptions the C stream
    keeps texts.
    """
    import pyarrow as pa

    is_reader = isinstance(data, pa.RecordBatchReader)
    return data if is_reader else pa.RecordBatchReader.from_stream(data)


def writable(data: Any) -> pa.RecordBatchReader:
    """Anything with `__arrow_c_stream__` as a reader of types that are written: dictionaries and views as
    what they stand for.

    Raises: TypeError for anything that is not Arrow data.
    Cost: a copy of columns of other types, batch by batch.
    """
    import pyarrow as pa

    if not hasattr(data, "__arrow_c_stream__"):
        raise TypeError(f"Arrow data (with __arrow_c_stream__) is expected, not {type(data).__name__}")
    reader = record_batches(data)
    plain = pa.schema([field.with_type(_plain(field.type)) for field in reader.schema])
    return reader if plain == reader.schema else reader.cast(plain)


def _plain(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return _plain(kind.storage_type)
    if pa.types.is_dictionary(kind):
        return _plain(kind.value_type)
    views = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return views.get(kind, kind)


def batches(stream: BatchStream) -> Iterator[pa.RecordBatch]:
    """The record batches of a native stream, decoded as they are asked for.

    Raises: the typed errors of `lakebed.errors`, which the Arrow C stream would reduce to their text.
    """
    while (batch := stream.next_batch()) is not None:
        yield record_batch(batch)


def reader(stream: BatchStream) -> pa.RecordBatchReader:
    """A `pa.RecordBatchReader` over a native stream; memory is that of one batch and the decoder's own."""
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema(stream), batches(stream))


def bytes_array(data: Any) -> pa.Array:
    """A buffer as the only value of a `large_binary` array: how bytes enter the compiled core.

    Args: data, anything with the buffer protocol; it is not copied, and kept alive by the array.
    Raises: TypeError where there is no contiguous buffer.
    """
    import pyarrow as pa

    buffer = pa.py_buffer(data)
    offsets = pa.array([0, buffer.size], pa.int64()).buffers()[1]
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, buffer])


def frozen(data: Any) -> pa.Array:
    """As `bytes_array`, of what nobody writes to: a buffer that may be written to is copied."""
    view = memoryview(data)
    return bytes_array(view if view.readonly and view.c_contiguous else bytes(view))
