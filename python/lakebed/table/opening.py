"""How a table was opened, so that it can be opened again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lakebed import _native
from lakebed.file_io import FileIOStorage
from lakebed.limits import LIMITS, Limits
from lakebed.storage.paths import absolute

if TYPE_CHECKING:
    from lakebed._arguments import UnwrapKey
    from lakebed.catalogs import Entry
    from lakebed.storage import Storage


@dataclass(frozen=True)
class Opening:
    """How a table was opened, for those who open it again; its `repr` shows nothing that may be secret.
    The compiled core reads the attributes.

    Attributes: storage, what the core reads the table through; None for the local file system. path, what was
        opened, as the storage has it. moved, prefixes and where they are
        now; allowed, limits and reads (`concurrent_reads`), as `open_table` has them. entry, the catalog's
        entry; None for a table that was opened by its path. pointer, what asks the catalog in a process that
        does not have the entry. keys, what unwraps keys of encrypted metadata, which every process asks.
        cache, what keeps decoded manifests.
    """

    storage: Storage | None = field(repr=False)
    path: str = field(repr=False)
    moved: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    allowed: tuple[str, ...] | None = field(default=None, repr=False)
    limits: Limits = LIMITS
    reads: int | _native.ReadLimit | None = None
    entry: Entry | None = None
    pointer: Callable[[], Entry] | None = field(default=None, repr=False)
    keys: UnwrapKey | None = field(default=None, repr=False)
    cache: _native.Cache | None = None

    def for_workers(self, *, asks: bool = False) -> Opening:
        """How other processes open the table: local paths are absolute, and the catalog's entry is not there;
        what is newest they ask the catalog only where that is wanted.

        Raises: UnsupportedError for a table of PyIceberg's without a catalog, if that is to be asked.
        """
        pointer = self.entry.pointer() if asks and self.entry is not None else None
        path, moved = self.path, self.moved
        if self.storage is None:
            path = absolute(path)
            moved = tuple((prefix, absolute(now)) for prefix, now in moved)
        return replace(self, path=path, moved=moved, entry=None, pointer=pointer)

    def newest(self, table: _native.Table) -> Callable[[], _native.Table] | None:
        """What reads the newest version, raising as `Table.refresh`; None where no catalog says which it
        is.
        """
        if self.entry is None and self.pointer is None:
            return None
        return lambda: self.refreshed(table)[0]

    def core(self, format: str | None, branch: str = "main") -> _native.Table:
        """The table of the core, on one of its branches. Raises: as `open_table`."""
        opened = _native.Table.open(self, format)
        return opened if branch == "main" else opened.at(_native.Place.branch(branch))

    def refreshed(self, table: _native.Table) -> tuple[_native.Table, Opening]:
        """The table at what is newest now, and how that was opened. Raises: as `Table.refresh`."""
        entry = self.entry
        if entry is None and self.pointer is not None:
            newest = self.pointer()
            opening = replace(self, storage=newest.storage, path=newest.path, entry=newest)
            return opening.core(table.format, table.branch), opening
        if entry is None:
            return table.refreshed(), self
        newest = entry.newest()
        if isinstance(self.storage, FileIOStorage) and isinstance(newest.storage, FileIOStorage):
            self.storage.renew(newest.storage)
        if newest.path == entry.path:
            return table.refreshed(), replace(self, entry=newest, path=newest.path)
        return self.at(newest, table)

    def at(self, entry: Entry, table: _native.Table) -> tuple[_native.Table, Opening]:
        """The table at another entry of its catalog, and how that was opened. Raises: as `open_table`."""
        opening = replace(self, entry=entry, path=entry.path)
        return opening.core(table.format, table.branch), opening
