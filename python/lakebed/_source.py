"""What users may give where a file is wanted: a path, a URI, bytes, or an open file."""

from __future__ import annotations

import os
from typing import IO, TYPE_CHECKING, Any, TypeAlias, Union

from lakebed import _arrow, _native
from lakebed.storage import resolve

if TYPE_CHECKING:
    import pyarrow as pa

    Resolved: TypeAlias = str | pa.Array | tuple[str, pa.Array]

Source: TypeAlias = Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, "pa.Buffer", IO[bytes]]
"""A path or URI, anything with the buffer protocol (never copied), or a binary file-like object."""


def resolve_source(source: Source, storage: object | None = None, *within: int) -> Resolved:
    """A local path for the compiled core to read, or the bytes themselves as one Arrow value.

    The bytes that a storage reads have their path beside them, which errors name.

    Args: source, of which open files are read to their end here, once; storage, what reads a path or URI;
        within, the first byte that is wanted and the one behind the last, which may be after the source's
        end; without them all are.
    Raises: TypeError for anything else, also for a storage without a path; UnsupportedError, ValueError
        as `open_table`; the `OSError` of a storage that fails.
    Cost: local files are not opened, unless a storage reads them; a URI is fetched. Of a URI or a buffer no
        other bytes are touched.
    """
    if isinstance(source, (str, os.PathLike)):
        location, adapter = resolve(source, storage)
        if adapter is None:
            return location
        content: Any = _native.interruptibly(adapter.read, location, *within)
        return _native.location_of(location), _arrow.frozen(content)
    if storage is not None:
        raise TypeError(f"storage= reads a path or URI, not {type(source).__name__}")
    if hasattr(source, "read") and not _has_buffer(source):
        source = source.read()
    if not _has_buffer(source):
        raise TypeError(f"a path, bytes or binary file is expected, not {type(source).__name__}")
    whole = _arrow.bytes_array(source)
    return _arrow.bytes_array(whole[0].as_buffer()[slice(*within)]) if within else whole


def named(what: str, resolved: Resolved) -> str:
    """What a reader of this source is called where it prints itself."""
    path = resolved[0] if isinstance(resolved, tuple) else resolved
    return f"{what} of {path!r}" if isinstance(path, str) else f"{what} of {path.nbytes:,} bytes"


def _has_buffer(value: Any) -> bool:
    try:
        memoryview(value).release()
    except TypeError:
        return False
    return True
