"""How the tables below a place are found."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lakebed import _native
from lakebed._arguments import limit_of_reads
from lakebed.scan import Scan
from lakebed.storage import resolve
from lakebed.view import Options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed._native import ReadLimit
    from lakebed.predicates import Predicate


def find_tables(
    prefix: str | os.PathLike[str],
    *,
    storage: object | None = None,
    columns: Sequence[str] | None = None,
    filter: str | Predicate | None = None,
    limit: int | None = None,
    concurrent_reads: int | ReadLimit | None = None,
) -> Scan:
    """The tables of both formats at a folder and below it, found by their folders alone.

    A Paimon table is a folder whose `schema/` has a schema in it, an Iceberg table one whose `metadata/` has
    a metadata file; what is both is Paimon's, as for `open_table`. Nothing within a table is looked at, so
    that branches are not tables of their own. Tables are not opened: one that is damaged is a row like any
    other. Views of Iceberg are no tables and are left out.

    Args:
        prefix: a local folder, or a URI.
        storage: how to list it, as `open_table` has it; a `storage.FolderListingStorage` of your own lists no
            files.
        columns: these of the columns below, in this order.
        filter: SQL or `lakebed.col(…)`, on the columns below.
        limit: the most rows.
        concurrent_reads: folders listed at once at most; None: as many as the storage serves reads, one a
            core of local ones.
    Returns: a Scan, which lists anew for each reading: `location` utf8, which `open_table` takes with the
        same storage; `format` utf8, "paimon" or "iceberg"; `name` utf8, the folders below the prefix with
        dots between them and without a database's `.db`, `db.orders` for `db.db/orders`, or the folder's own
        name where the prefix is the table. Level by level, those of one level in the order of `location`.
    Raises: UnsupportedError, TypeError, ValueError as `open_table`, SchemaError and PredicateError, at once.
        When it is read, TableNotFoundError where there is no folder at the prefix, and the OSError of any
        folder that cannot be listed, with its path: none is left out. Local links to folders are not
        followed, with a warning for each. A `Storage` of your own that lists nothing where nothing is has
        no tables there.
    Cost: one listing a folder outside of tables, two or three a table, those of a level side by side; files
        are not opened, but for the version hint of an Iceberg folder in which no file's name has a version,
        and the newest metadata where no manifests are beside it, as of views.
        Memory grows with the folders of one level. `limit` stops with its last row.
    Source: Paimon's `AbstractCatalog.java`; Iceberg's `HadoopCatalog.java`.

    >>> lakebed.find_tables("s3://bucket/warehouse", filter="format = 'iceberg'").to_arrow()
    """
    location, adapter = resolve(prefix, storage)
    reads = limit_of_reads(concurrent_reads)
    wanted = Options.checked({"columns": columns, "filter": filter, "limit": limit})
    found = _native.find_tables(location, adapter, reads, wanted)
    return Scan(found, f"tables below {_native.without_credentials(location)!r}")
