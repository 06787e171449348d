"""Which objects of other libraries read local files."""

from __future__ import annotations


def is_local(filesystem: object) -> bool:
    """Whether a filesystem of pyarrow or fsspec reads local files, itself or through others that it wraps."""
    from pyarrow.fs import LocalFileSystem

    for _ in range(8):
        protocol = getattr(filesystem, "protocol", ())
        protocols = (protocol,) if isinstance(protocol, str) else protocol
        if isinstance(filesystem, LocalFileSystem) or "file" in protocols or "local" in protocols:
            return True
        # `SubTreeFileSystem`, `PyFileSystem` with its handler, and the wrappers of fsspec.
        inner = (getattr(filesystem, name, None) for name in ("base_fs", "handler", "fs"))
        filesystem = next((wrapped for wrapped in inner if wrapped is not None), None)
        if filesystem is None:
            return False
    return False
