"""How a table was opened, so that it can be opened again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lakebed import _native
from lakebed.file_io import FileIOStorage

if TYPE_CHECKING:
    from lakebed.catalogs import Entry
    from lakebed.limits import Limits
    from lakebed.storage import Storage


@dataclass(frozen=True)
class Opening:
    """How a table was opened, for those who open it again; its `repr` shows nothing that may be secret.

    Attributes: moved, prefixes and where they are now; allowed, limits and reads (`concurrent_reads`), as
        `open_table` has them; entry, the catalog's entry; None for one that was opened by its
        path; path, what was opened, as the storage has it; pointer, what asks the catalog in a process that
        does not have the entry.
    """

    moved: tuple[tuple[str, str], ...] = field(repr=False)
    allowed: tuple[str, ...] | None = field(repr=False)
    limits: Limits
    reads: int | None
    entry: Entry | None
    path: str | None = field(default=None, repr=False)
    pointer: Callable[[], Entry] | None = field(default=None, repr=False)

    def elsewhere(self, moved: tuple[tuple[str, str], ...], *, asks: bool = False) -> Opening:
        """How workers open the table: they do not have the catalog's entry, and ask the catalog what is
        newest only where that is wanted.

        Raises: UnsupportedError for a table of PyIceberg's without a catalog, if that is to be asked.
        """
        pointer = self.entry.pointer() if asks and self.entry is not None else None
        return replace(self, moved=moved, entry=None, pointer=pointer)

    def newest(self, table: _native.Table, adapter: Storage | None) -> Callable[[], _native.Table] | None:
        """What reads the newest version, raising as `Table.refresh`; None where no catalog says which it
        is.
        """
        if self.entry is not None:
            return lambda: self.refreshed(table, adapter)[0]
        if (pointer := self.pointer) is None:
            return None

        def of_catalog() -> _native.Table:
            entry = pointer()
            return self.native(entry.path, entry.storage, table.format, table.branch)

        return of_catalog

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
        return native if branch == "main" else native.at(_native.Place.branch(branch))

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
