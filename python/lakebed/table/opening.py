"""How a table was opened, so that it can be opened again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakebed import _native
from lakebed.file_io import FileIOStorage

if TYPE_CHECKING:
    from lakebed.catalogs import Entry
    from lakebed.limits import Limits
    from lakebed.storage import Storage


@dataclass(frozen=True)
class Opening:
    """How a table was opened, for those who open it again.

    Attributes: moved, prefixes and where they are now; allowed, limits and reads (`concurrent_reads`), as
        `open_table` has them; entry, the catalog's entry; None for one that was opened by its
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

    def native(
        self,
        location: str,
        adapter: Storage | None,
        format: str | None,  # noqa: A002 - the word users type
        branch: str = "main",
    ) -> _native.Table:
        """The table of the core at a location, on one of its branches. Raises: as `open_table`."""
        allowed = None if self.allowed is None else list(self.allowed)
        native = _native.Table.open(
            location, format, adapter, list(self.moved), allowed, self.limits, self.reads
        )
        return native if branch == "main" else native.at(branch=branch)

    def refreshed(self, table: _native.Table, adapter: Storage | None) -> tuple[_native.Table, Opening]:
        """The table at what is newest now, and how that was opened. Raises: as `Table.refresh`."""
        entry = self.entry
        if entry is None:
            return table.refreshed(), self
        newest = entry.newest()
        if isinstance(adapter, FileIOStorage) and isinstance(newest.storage, FileIOStorage):
            adapter.renew(newest.storage)
        opening = replace(self, entry=newest, path=newest.path)
        if newest.path == entry.path:
            return table.refreshed(), opening
        return opening.native(newest.path, adapter, table.format, table.branch), opening
