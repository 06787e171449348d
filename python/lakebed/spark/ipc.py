"""Rows that travel inside a function or a column: as the bytes of an Arrow IPC stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa


def ipc_stream(batches: Iterable[pa.RecordBatch], *, compression: str | None = None) -> bytes:
    """Batches of one schema as an Arrow IPC stream; no bytes for none."""
    sink, writer = pa.BufferOutputStream(), None
    options = pa.ipc.IpcWriteOptions(compression=compression)
    for batch in batches:
        writer = writer or pa.ipc.new_stream(sink, batch.schema, options=options)
        writer.write_batch(batch)
    if writer is None:
        return b""
    writer.close()
    stream: bytes = sink.getvalue().to_pybytes()
    return stream


def ipc_batches(stream: bytes | pa.Buffer) -> Iterator[pa.RecordBatch]:
    """What `ipc_stream` was given."""
    if len(stream):
        yield from pa.ipc.open_stream(stream)
