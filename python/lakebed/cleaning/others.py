"""Other tables in the folders of a table, whose files are not the table's to remove."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed import _native
from lakebed.errors import LakebedError, LocationError, TableNotFoundError
from lakebed.opening import open_table

if TYPE_CHECKING:
    from lakebed.table import Table

_FORMATS = ("paimon", "iceberg")


def tables_within(table: Table) -> list[Table]:
    """The tables of both formats in a table's folders.

    Raises: UnsupportedError for a storage that lists no folders, and for a table whose files may not be
        deleted; LocationError for one whose metadata names another place, and where another table cannot be
        read: what it reaches is not known then; OSError where a folder cannot be listed.
    Cost: a listing of each folder.
    """
    opening = table.opening
    found: list[Table] = []
    for location in table.core.tables_within(opening.newest(table.core) is not None):
        for name in _FORMATS:
            if (location, name) == (table.location, table.format):
                continue
            try:
                found.append(open_table(location, format=name, storage=opening.storage))
            except TableNotFoundError:
                # Of one format alone, or metadata of a table that is elsewhere.
                continue
            except LakebedError as error:
                shown = _native.without_credentials(location)
                message = (
                    f"another table is in the table's folder, at {shown!r}, and cannot be read, so it is "
                    f"unknown which files are its own: {error}"
                )
                raise LocationError(message, kind="location", path=shown) from error
    return found
