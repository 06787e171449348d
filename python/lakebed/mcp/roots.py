"""What a server may open: tables below its roots and in its catalogs, and of these no file elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lakebed
from lakebed import _native
from lakebed.catalogs import entry_of, list_tables, load_catalog, load_table
from lakebed.errors import LocationError
from lakebed.storage import ArrowStorage, resolve
from lakebed.storage.paths import scheme_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.catalogs import IcebergTable
    from lakebed.scan import Scan
    from lakebed.table import Table


class _LocalFiles(ArrowStorage):
    """Local files, of which none is opened that is not below a root, whatever links there are to it."""

    def __init__(self, roots: Roots, location: str) -> None:
        from pyarrow.fs import LocalFileSystem

        super().__init__(LocalFileSystem(), location, location, local=True)
        self._roots = roots

    def _inner(self, path: str) -> str:
        return self._roots.real(super()._inner(path), path)


@dataclass(frozen=True)
class Roots:
    """Where tables may be.

    Attributes: local, folders without links in their paths; remote, URIs and the filesystem of each;
        catalogs, the names of catalogs of PyIceberg's configuration; relocate, as `open_table` has it.
    """

    local: tuple[Path, ...] = ()
    remote: dict[str, Any] = field(default_factory=dict)
    catalogs: tuple[str, ...] = ()
    relocate: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, roots: Sequence[str], catalogs: Sequence[str] = (), relocate: dict[str, str] | None = None
    ) -> Roots:
        """Args: roots, local folders and URIs; relocate, whose new places are below roots.

        Raises: as `open_table` for a URI that nothing opens; LocationError for a new place that is elsewhere.
        """
        local, remote = [], {}
        for root in roots:
            location, storage = resolve(root)
            if storage is None:
                local.append(Path(location).resolve())
            else:
                holders: Any = storage
                remote[location] = holders.holders[0]
        made = cls(tuple(local), remote, tuple(catalogs))
        moved = {old: made._location(new)[0] for old, new in (relocate or {}).items()}
        return cls(made.local, remote, made.catalogs, moved)

    @property
    def places(self) -> list[str]:
        """All roots, as people write them."""
        return [*map(str, self.local), *self.remote]

    def open(self, table: str, catalog: str | None = None) -> Table:
        """A table by its path or URI, or by its name in a catalog.

        Raises: LocationError for what is not below a root, ValueError for another catalog; as `open_table`.
        """
        if catalog is None:
            location, storage = self._location(table)
            return self._opened(location, storage)
        entry = self._entry(catalog, table)
        path = entry_of(entry).path
        if scheme_of(path) in ("", "file"):
            return self._opened(entry, self._location(path)[1])
        return self._opened(entry, None, is_remote=True)

    def find(self, prefix: str) -> Scan:
        """The tables below a root, or below a folder of one. Raises: LocationError; as `find_tables`."""
        location, storage = self._location(prefix)
        return lakebed.find_tables(location, storage=storage)

    def names(self, catalog: str) -> list[str]:
        """The names of a catalog's tables. Raises: ValueError for another catalog."""
        return sorted(list_tables(self._catalog(catalog)))

    def real(self, inner: str, path: str) -> str:
        """A local path without links. Raises: LocationError where that is not below a root."""
        real = Path(inner).resolve()
        if any(real.is_relative_to(root) for root in self.local):
            return str(real)
        raise self._elsewhere(path)

    def _opened(self, given: str | IcebergTable, storage: object | None, *, is_remote: bool = False) -> Table:
        # Of a table in a bucket no local file is opened, and the other way round.
        is_local = not is_remote and isinstance(storage, _LocalFiles)
        allowed = list(map(str, self.local)) if is_local else list(self.remote)
        return lakebed.open_table(given, storage=storage, relocate=self.relocate, allowed_prefixes=allowed)

    def _location(self, path: str) -> tuple[str, object]:
        """Where a table is, and what reads it."""
        if scheme_of(path) in ("", "file"):
            real = self.real(resolve(path)[0], path)
            return real, _LocalFiles(self, real)
        path = path.rstrip("/")
        for root, filesystem in self.remote.items():
            if lakebed.check_locations([path], [root], policy="mark")[0].as_py():
                return path, filesystem
        raise self._elsewhere(path)

    def _entry(self, catalog: str, name: str) -> IcebergTable:
        return load_table(self._catalog(catalog), name)

    def _catalog(self, name: str) -> Any:
        if name not in self.catalogs:
            there = ", ".join(self.catalogs) or "none"
            raise ValueError(f"this server was not started with a catalog {name!r}; there are: {there}")
        return load_catalog(name)

    def _elsewhere(self, path: str) -> LocationError:
        shown = _native.without_credentials(path)
        message = f"not below a root of this server ({', '.join(self.places) or 'it has none'}): {shown}"
        return LocationError(message, kind="location", path=shown)
