"""How a table is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed import _native
from lakebed.errors import UnsupportedError
from lakebed.limits import LIMITS, Limits
from lakebed.storage import resolve
from lakebed.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping


def open_table(
    path: str | os.PathLike[str],
    *,
    storage: object | None = None,
    format: str | None = None,  # noqa: A002 - the word users type
    relocate: Mapping[str, str] | None = None,
    limits: Limits = LIMITS,
) -> Table:
    """The table at `path`, standing at its latest snapshot.

    Args:
        path: local path, `file:` URI, or the URI of a remote storage.
        storage: how to read it: a `pyarrow.fs.FileSystem`, an fsspec filesystem or any `lakebed.Storage`.
            Without one, remote URIs go through `pyarrow.fs`, else through fsspec where that is installed.
        format: "paimon", or None to find out.
        relocate: prefixes of paths written inside the metadata, and where they are now.
        limits: what reading one metadata file may cost.
    Raises: TableNotFoundError (nothing there that looks like a table), CorruptError and its kin (hint,
        snapshot or schema unreadable), UnsupportedError (`format="iceberg"`, `relocate=`), OSError from the
        storage.
    Cost: reads the hint, one snapshot and one schema; no manifest.
    """
    if format not in (None, "paimon", "iceberg"):
        raise ValueError(f'format is "paimon", "iceberg" or None, not {format!r}')
    if relocate:
        raise UnsupportedError(
            "relocate= is not supported yet: paths are returned as written", kind="unsupported"
        )
    location, adapter = resolve(path, storage)
    return Table(_native.Table.open(location, format, adapter, limits))
