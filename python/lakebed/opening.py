"""How a table is opened, and opened again."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakebed import _native
from lakebed._arguments import positive
from lakebed.catalogs import entry_of
from lakebed.file_io import FileIOStorage
from lakebed.limits import LIMITS, Limits
from lakebed.storage import resolve
from lakebed.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakebed.catalogs import Entry, IcebergTable, PaimonTable
    from lakebed.storage import Storage


def open_table(
    path: str | os.PathLike[str] | IcebergTable | PaimonTable,
    *,
    storage: object | None = None,
    format: str | None = None,  # noqa: A002 - the word users type
    relocate: Mapping[str, str | os.PathLike[str]] | None = None,
    allowed_prefixes: Sequence[str | os.PathLike[str]] | None = None,
    limits: Limits = LIMITS,
    concurrent_reads: int | None = None,
) -> Table:
    """The Paimon or Iceberg table at `path` at its latest snapshot.

    Args:
        path: local path, `file:` URI, or the URI of a remote storage; of Iceberg the table's folder or one of
            its metadata files, which is then read as it is. Or a table that a catalog of PyIceberg or of
            pypaimon loaded: of PyIceberg exactly the version that it is at, of pypaimon the latest of its
            branch; each is read through its own `FileIO`, with the credentials that the catalog gave it, but
            for local files, which need neither.
        storage: how to read it: a `pyarrow.fs.FileSystem`, an fsspec filesystem, a store of obstore
            (`obstore.store.S3Store` and its kin) or any `lakebed.Storage`; or "pyarrow", "fsspec" or
            "obstore", which then opens the URI. Without one, remote URIs go through the first of these
            three that is installed and knows the scheme.
        format: "paimon", "iceberg", or None to find out. Paimon is tried first, since its tables may carry
            Iceberg metadata for other readers; in a folder of Iceberg's the version hint says which metadata
            file is current, else the highest version does.
        relocate: prefixes of paths written inside the metadata, and where they are now, for tables that were
            copied or moved: `{"s3://old/": "/mnt/copy/"}`. Files are looked for there, on the same storage;
            rows show paths as they are written. Of several prefixes the longest counts.
        allowed_prefixes: where files may be that the metadata names, beside the table's location and what
            `relocate` leads to; [] for nowhere else. None is anywhere on the table's own storage. Checked as
            by `check_locations`, always: paths that climb by `..`, hold credentials, or lead to a web server,
            a link-local address or, from a remote table, a local file are never opened.
        limits: what reading one metadata file may cost.
        concurrent_reads: reads in flight at most, whatever the storage says and however many cores there are;
            None: as many as the storage serves, one a core of local files.
    Raises: TableNotFoundError (nothing there that looks like a table), CorruptError and its kin (hint,
        snapshot or schema unreadable), UnsupportedError (no filesystem for the URI, a store of
        another bucket), LocationError (a pipe or a device; here or later, where metadata names a file
        elsewhere), SchemaError (a prefix that is no plain place), OSError from the storage.
    Cost: Paimon: reads the hint, one snapshot and one schema. Iceberg: one pass over the metadata file,
        keeping what is current. No manifest.
    Source: Paimon's `SnapshotManager.java`; Iceberg's `HadoopTableOperations.java`.

    >>> orders = open_table(catalog.load_table("db.orders"))
    """
    if format not in (None, "paimon", "iceberg"):
        raise ValueError(f'format is "paimon", "iceberg" or None, not {format!r}')
    moved = tuple((prefix, os.fspath(now)) for prefix, now in (relocate or {}).items())
    allowed = None if allowed_prefixes is None else tuple(os.fspath(prefix) for prefix in allowed_prefixes)
    reads = positive("concurrent_reads", concurrent_reads)
    if isinstance(path, str | os.PathLike):
        location, adapter = resolve(path, storage)
        return Opening(moved, allowed, limits, reads, None, location).table(location, adapter, format)
    entry = entry_of(path)
    location, adapter = (entry.path, entry.storage) if storage is None else resolve(entry.path, storage)
    opening = Opening(moved, allowed, limits, reads, entry, location)
    return opening.table(location, adapter, format or entry.format, entry.branch)


@dataclass(frozen=True)
class Opening:
    """How a table was opened, for those who open it again.

    Attributes: moved, prefixes and where they are now; allowed, limits and reads (`concurrent_reads`), as
        `open_table` has them; entry, what the table's catalog says of it; None for one that was opened by its
        path; path, what was opened, as the storage has it.
    """

    moved: tuple[tuple[str, str], ...]
    allowed: tuple[str, ...] | None
    limits: Limits
    reads: int | None
    entry: Entry | None
    path: str | None = None

    def elsewhere(self, moved: tuple[tuple[str, str], ...]) -> Opening:
        """How workers open the table: they ask no catalog."""
        return replace(self, moved=moved, entry=None)

    def table(
        self,
        location: str,
        adapter: Storage | None,
        format: str | None,  # noqa: A002 - the word users type
        branch: str = "main",
    ) -> Table:
        """The table at a location, on one of its branches. Raises: as `open_table`."""
        allowed = None if self.allowed is None else list(self.allowed)
        native = _native.Table.open(
            location, format, adapter, list(self.moved), allowed, self.limits, self.reads
        )
        return Table(native if branch == "main" else native.at(branch=branch), adapter, self)

    def refreshed(self, table: Table) -> Table:
        """The table at what is newest now. Raises: as `Table.refresh`."""
        entry, adapter = self.entry, table._storage
        if entry is None:
            return Table(table._native.refreshed(), adapter, self)
        newest = entry.newest()
        if isinstance(adapter, FileIOStorage) and isinstance(newest.storage, FileIOStorage):
            adapter.renew(newest.storage)
        opening = replace(self, entry=newest, path=newest.path)
        if newest.path == entry.path:
            return Table(table._native.refreshed(), adapter, opening)
        return opening.table(newest.path, adapter, table.format, table.branch)
