"""How a table is opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lakebed._arguments import encodable, limit_of_reads, unwrapping
from lakebed._native import FORMATS
from lakebed._not_found import explained
from lakebed.catalogs import entry_of
from lakebed.errors import TableNotFoundError
from lakebed.limits import LIMITS, Limits
from lakebed.storage import resolve
from lakebed.table import Table, table_of
from lakebed.table.opening import Opening

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakebed._arguments import KeyClient, UnwrapKey
    from lakebed._native import Cache, ReadLimit
    from lakebed.catalogs import IcebergTable, PaimonTable


def open_table(
    path: str | os.PathLike[str] | IcebergTable | PaimonTable,
    *,
    storage: object | None = None,
    format: str | None = None,
    relocate: Mapping[str, str | os.PathLike[str]] | None = None,
    allowed_prefixes: Sequence[str | os.PathLike[str]] | None = None,
    limits: Limits = LIMITS,
    concurrent_reads: int | ReadLimit | None = None,
    keys: UnwrapKey | KeyClient | None = None,
    cache: Cache | None = None,
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
            "obstore", which then opens the URI. Without one, remote URIs are read with the first of these
            three that is installed and knows the scheme.
        format: "paimon", "iceberg", or None to find out. Paimon is tried first, since its tables may have
            Iceberg metadata for other readers; in a folder of Iceberg's the version hint says which metadata
            file is current, else the highest version does.
        relocate: prefixes of paths written inside the metadata, and where they are now, for tables that were
            copied or moved: `{"s3://old/": "/mnt/copy/"}`. Files are looked for there, on the same storage;
            rows show paths as they are written. Of several prefixes the longest counts.
        allowed_prefixes: where files may be that the metadata names, beside the table's location and what
            `relocate` names; [] for nowhere else. None is anywhere on the table's own storage. Checked as
            by `check_locations`, always: paths that climb by `..`, hold credentials, or lead to a web server,
            a link-local address or, from a remote table, a local file are never opened.
        limits: what reading one metadata file may cost.
        concurrent_reads: reads in flight at most, whatever the storage says and however many cores there are;
            None: as many as the storage serves, one a core of local files. A `ReadLimit` is shared by all
            tables that are opened with it.
        keys: what unwraps keys of encrypted Iceberg metadata: a function of the wrapped key and the id of the
            key that it is wrapped by, `(bytes, str) -> bytes`, or a client with such a method `unwrap` or
            `unwrap_key`. It is asked once for each key of keys, and in Spark's executors again, so that it
            is pickled there; keys that it returned are not.
        cache: what keeps the decoded columns of manifests, for this table and others: views that need the
            same columns of the same manifest get them without a request. None keeps nothing. Encrypted
            manifests are not kept, and `verify` and `repair_plan` read what is there.
    Raises: TableNotFoundError (nothing there that looks like a table), CorruptError and its kin (hint,
        snapshot or schema unreadable), UnsupportedError (no filesystem for the URI, a store of
        another bucket), LocationError (a pipe or a device; here or later, where metadata names a file
        elsewhere), SchemaError (a prefix that is relative, or has `..` or credentials), OSError from the
        storage.
    Cost: Paimon: reads the hint, one snapshot and one schema. Iceberg: one pass over the metadata file,
        keeping what is current. No manifest.
    Source: Paimon's `SnapshotManager.java`; Iceberg's `HadoopTableOperations.java`.

    >>> orders = open_table(catalog.load_table("db.orders"))
    """
    if format not in (None, *FORMATS):
        known = ", ".join(f'"{name}"' for name in FORMATS)
        raise ValueError(f"format is {known} or None, not {format!r}")
    moved = tuple(
        (encodable("relocate", prefix), encodable("relocate", os.fspath(now)))
        for prefix, now in (relocate or {}).items()
    )
    allowed = None
    if allowed_prefixes is not None:
        allowed = tuple(encodable("allowed_prefixes", os.fspath(prefix)) for prefix in allowed_prefixes)
    reads, unwrap = limit_of_reads(concurrent_reads), unwrapping(keys)
    if isinstance(path, str | os.PathLike):
        location, adapter = resolve(path, storage)
        opening = Opening(adapter, location, moved, allowed, limits, reads, keys=unwrap, cache=cache)
        try:
            return table_of(opening.core(format), opening)
        except TableNotFoundError as error:
            raise (explained(error) if adapter is None else error) from None
    entry = entry_of(path)
    location, adapter = (entry.path, entry.storage) if storage is None else resolve(entry.path, storage)
    opening = Opening(adapter, location, moved, allowed, limits, reads, entry, keys=unwrap, cache=cache)
    return table_of(opening.core(format or entry.format, entry.branch), opening)
