"""How a table's metadata is copied to where the table will be."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

from lakebed import _native
from lakebed._display import FIRST
from lakebed.explain import Explain
from lakebed.scan import Scan
from lakebed.storage import resolve
from lakebed.storage.paths import scheme_of
from lakebed.view import Options, place

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakebed.predicates import Predicate
    from lakebed.table import Table


class CopyScan(Scan):
    """The files that are to be copied; the metadata is written already."""

    _source: _native.Scan

    def explain(self) -> Explain:
        """How many files were written anew, and how many are to be copied. Cost: that of reading the rows."""
        return Explain.from_json(self._source.explain())


def rewrite_paths(
    table: Table,
    prefixes: Mapping[str, str],
    *,
    to: str | os.PathLike[str],
    since: int | str | None = None,
    storage: object | None = None,
    columns: Sequence[str] | None = None,
    filter: str | Predicate | None = None,
    limit: int | None = None,
    threads: int | None = None,
) -> CopyScan:
    """Writes a copy of a table's metadata whose paths are elsewhere, and lists the files to copy for it.

    The metadata is written below `to` when this is called, as the table's own folder will be: `to` may be
    that folder itself, or one to copy from. Data files are not touched: copy what the rows say, and the
    table is complete.

    Iceberg: the metadata file and those of the metadata log that are still there, manifest lists, manifests,
    position delete files and deletion vectors, with the bounds of the paths in them and the lengths that
    each records of the others; bounds of deletes of several data files are left out. Paimon: everything but
    data, index and statistics files; what is exchanged are full paths, of files outside of the table and in
    options. Whatever else a file holds, other writers' fields too, stays as it is.

    Args:
        table: the whole of it is copied, whatever its snapshot.
        prefixes: what paths begin with, and what they are to begin with, as whole names, `s3://b/t` not
            being one of `s3://b/t10`; of several the longest. A path that none of them covers is an error:
            map what is to stay onto itself.
        to: a folder without files of these names, local or a URI.
        since: what was copied before: a snapshot's id, for Iceberg also a metadata file of the log, by its
            path or name. Files that it reached are left out, and have to be where an earlier call with the
            same prefixes said.
        storage: how to write to `to`, as `open_table` has it; None takes obstore for a URI. A store has to
            write a file only where none is, by conditional puts.
        columns: these of the columns below, in this order.
        filter: SQL or `lakebed.col(…)`, on the columns below.
        limit: the most rows.
        threads: None for all cores.
    Returns: `source` utf8, where the file is; `target` utf8, where it is to be; `kind` utf8, as in
        `reachable`; `file_size_in_bytes` int64 (null where nothing records it). What is where it is to be is
        no row. Metadata is first; copy it last, so that nobody finds a table without its files.
    Raises: LocationError for a path that no prefix covers; FileExistsError where a file is in the way;
        UnsupportedError for an encrypted table, position deletes in ORC, full paths in manifests that are
        not Avro, and a storage that only reads; SnapshotNotFoundError and SchemaError for a `since` that is
        not there; CorruptError and its kin, OSError. Nothing of what was written is left then.
    Cost: reads and writes every manifest of what is copied, and reads them once more when the rows are read.
        Memory: a few manifests, some 200 bytes for each manifest and position delete file, and then that of
        `reachable`. With `since` manifests that newer lists share with older ones are read and measured too.
    Source: Iceberg's `RewriteTablePathUtil.java`, `RewriteTablePathSparkAction.java`.

    >>> files = lakebed.rewrite_paths(t, {"s3://old/db": "s3://new/db"}, to="/tmp/staged")
    >>> for file in files.to_arrow().to_pylist():
    ...     copy(file["source"], file["target"])
    """
    if storage is None and scheme_of(os.fspath(to)) not in ("", "file"):
        storage = "obstore"
    folder, adapter = resolve(to, storage)
    if adapter is None:
        folder = str(Path(folder).absolute())
    if since is not None and (isinstance(since, bool) or not isinstance(since, int | str)):
        message = f"since takes a snapshot's id or the name of a metadata file, not {type(since).__name__}"
        raise TypeError(message)
    rewriting = SimpleNamespace(prefixes=list(prefixes.items()), to=folder, storage=adapter, since=since)
    wanted = {"columns": columns, "filter": filter, "limit": limit, "threads": threads}
    files = _native.rewrite_paths(table.core, rewriting, Options.checked(wanted))
    name = f"files to copy of {table.location!r} {place(table.core)}"
    return CopyScan(files, name, "rewrite_paths", columns or FIRST["rewrite_paths"])
