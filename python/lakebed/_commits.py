"""What commits to tables of every format return."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lakebed.scan import Scan
    from lakebed.table import Table


class Freed(NamedTuple):
    """What is left of a table after a commit, and what nothing of it reaches any more."""

    table: Table
    """The table after the commit, at the head of its branch."""
    files: Scan
    """What the commit has freed, in the columns of `Table.expire_plan`: a lazy scan, which asks for the
    newest version of the table when its rows are read. The files are there still: delete them, or leave them
    to `Table.orphans`."""
