"""What users give as the compiled core takes it, and what that streams as pyarrow has it: the one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed import _native
from lakebed._pyarrow import pa

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakebed._native import BatchStream


def named(source: Any) -> Any:
    """Anything with `__arrow_c_schema__`, itself.

    Raises: UnsupportedError for a name of a `pa.Schema` with a NUL, at which the C interface would end it.
    """
    fields = list(source) if isinstance(source, pa.Schema) else []
    for field in fields:
        # Which are looked at in turn.
        fields += [field.type.field(number) for number in range(field.type.num_fields)]
    _native.check_names([field.name for field in fields])
    return source


def type_schema(kind: pa.DataType) -> pa.Schema:
    """A type as the compiled core takes it: that of the only field of a schema, extension types as what they
    store.
    """
    return pa.schema([("value", kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind)])


def storage(values: pa.Array) -> pa.Array:
    """What an extension array stores; other arrays themselves."""
    return values.storage if isinstance(values, pa.ExtensionArray) else values


def extended(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """What an extension array of `kind` stores as that array; of other types the values themselves."""
    return kind.wrap_array(values) if isinstance(kind, pa.BaseExtensionType) else values


def record_batches(data: Any) -> pa.RecordBatchReader:
    """Anything with `__arrow_c_stream__` as a reader; one of pyarrow itself, since of exceptions the C stream
    keeps texts.
    """
    is_reader = isinstance(data, pa.RecordBatchReader)
    return data if is_reader else pa.RecordBatchReader.from_stream(data)


def writable(data: Any) -> pa.RecordBatchReader:
    """Anything with `__arrow_c_stream__` as a reader of types that are written: dictionaries and views as
    what they mean.

    Raises: TypeError for anything that is not Arrow data.
    Cost: a copy of columns of other types, batch by batch.
    """
    if not hasattr(data, "__arrow_c_stream__"):
        raise TypeError(f"Arrow data (with __arrow_c_stream__) is expected, not {type(data).__name__}")
    reader = record_batches(data)
    plain = pa.schema([field.with_type(_plain(field.type)) for field in reader.schema])
    return reader if plain == reader.schema else reader.cast(plain)


def _plain(kind: pa.DataType) -> pa.DataType:
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
        yield pa.record_batch(batch)


def reader(stream: BatchStream) -> pa.RecordBatchReader:
    """A `pa.RecordBatchReader` over a native stream; memory is that of one batch and the decoder's own."""
    return pa.RecordBatchReader.from_batches(pa.schema(stream), batches(stream))


def bytes_array(data: Any) -> pa.Array:
    """A buffer as the only value of a `large_binary` array: how the compiled core takes bytes.

    Args: data, anything with the buffer protocol; it is not copied, and kept alive by the array.
    Raises: TypeError where there is no contiguous buffer.
    """
    buffer = pa.py_buffer(data)
    offsets = pa.array([0, buffer.size], pa.int64()).buffers()[1]
    return pa.Array.from_buffers(pa.large_binary(), 1, [None, offsets, buffer])


def frozen(data: Any) -> pa.Array:
    """As `bytes_array`, of what nobody writes to: a buffer that may be written to is copied."""
    view = memoryview(data)
    return bytes_array(view if view.readonly and view.c_contiguous else bytes(view))
