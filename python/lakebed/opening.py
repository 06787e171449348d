"""How a table is opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lakebed import _native
from lakebed.limits import LIMITS, Limits
from lakebed.storage import resolve
from lakebed.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping


def open_table(
    path: str | os.PathLike[str],
    *,
    storage: object | None = None,
    format: str | None = None,  # noqa: A002 - the word users type
    relocate: Mapping[str, str | os.PathLike[str]] | None = None,
    limits: Limits = LIMITS,
) -> Table:
    """The Paimon or Iceberg table at `path`, standing at its latest snapshot.

    Args:
        path: local path, `file:` URI, or the URI of a remote storage; of Iceberg the table's folder or one of
            its metadata files, which is then read as it is.
        storage: how to read it: a `pyarrow.fs.FileSystem`, an fsspec filesystem or any `lakebed.Storage`.
            Without one, remote URIs go through `pyarrow.fs`, else through fsspec where that is installed.
        format: "paimon", "iceberg", or None to find out. Paimon is tried first, since its tables may carry
            Iceberg metadata for other readers; in a folder of Iceberg's the version hint says which metadata
            file is current, else the highest version does.
        relocate: prefixes of paths written inside the metadata, and where they are now, for tables that were
            copied or moved: `{"s3://old/": "/mnt/copy/"}`. Files are looked for there, on the same storage;
            rows show paths as they are written. Of several prefixes the longest counts.
        limits: what reading one metadata file may cost.
    Raises: TableNotFoundError (nothing there that looks like a table), CorruptError and its kin (hint,
        snapshot or schema unreadable), UnsupportedError (no filesystem for the URI), OSError from the
        storage.
    Cost: Paimon: reads the hint, one snapshot and one schema. Iceberg: one pass over the metadata file,
        keeping what is current. No manifest.
    Source: Paimon's `SnapshotManager.java`; Iceberg's `HadoopTableOperations.java`.
    """
    if format not in (None, "paimon", "iceberg"):
        raise ValueError(f'format is "paimon", "iceberg" or None, not {format!r}')
    location, adapter = resolve(path, storage)
    moved = [(prefix, os.fspath(now)) for prefix, now in (relocate or {}).items()]
    return Table(_native.Table.open(location, format, adapter, moved, limits), adapter)
