"""Tables of catalogs: where PyIceberg and pypaimon say that a table is, and which version is the newest.

Neither library is imported here: their tables are known by what they offer.
"""

from __future__ import annotations

import importlib
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from urllib.parse import unquote, urlsplit

from lakebed import _native
from lakebed._threads import in_order
from lakebed.errors import TableNotFoundError, UnsupportedError
from lakebed.file_io import FileIOStorage, IcebergFiles, PaimonFiles
from lakebed.storage.failures import converted, failure, loaded, words_of
from lakebed.storage.paths import local_path

if TYPE_CHECKING:
    from typing import TypeGuard

    from lakebed.storage import Storage

T = TypeVar("T")

_FOLDED = re.compile(r"^(?!file:)([A-Za-z][A-Za-z0-9+.-]+):/(?!/)")
# The errors of names that no table has, by module.
_NOT_THERE = {
    "pyiceberg.exceptions": ("NoSuchTableError", "NoSuchNamespaceError", "NoSuchIdentifierError"),
    "pypaimon.catalog.catalog_exception": ("TableNotExistException", "DatabaseNotExistException"),
}


class IcebergTable(Protocol):
    """What is asked of a `pyiceberg.table.Table`."""

    metadata_location: str
    """The metadata file of the version that it is at."""
    metadata: Any
    """What that file says."""
    io: Any
    """Its `FileIO`, with `new_input`; to commit also with `new_output` and `delete`."""
    catalog: Any
    """Its catalog, with `load_table`; to commit also with `commit_table`."""

    def name(self) -> tuple[str, ...]:
        """Its name in the catalog."""


class PaimonTable(Protocol):
    """What is asked of a `pypaimon.table.file_store_table.FileStoreTable`."""

    table_path: Any
    """Where it is."""
    file_io: Any
    """Its `FileIO`, with `new_input_stream` and `list_status`."""


@dataclass(frozen=True)
class Entry(ABC):
    """A catalog's entry of a table.

    Attributes:
        table: the library's own table.
        path: what lakebed opens: a folder, or a metadata file.
        storage: what reads it; None for the compiled core, on the local file system.
    """

    table: Any = field(repr=False)
    path: str = field(repr=False)
    storage: Storage | None

    @property
    def branch(self) -> str:
        """The branch that the catalog's name of the table means."""
        return "main"

    @property
    def catalog_name(self) -> str | None:
        """What the catalog is called, where the library says it."""
        return None

    @property
    @abstractmethod
    def format(self) -> str | None:
        """The table format, where it is known."""

    @property
    @abstractmethod
    def commits(self) -> bool:
        """Whether the catalog says which version is current, so that none but it can commit."""

    @abstractmethod
    def newest(self) -> Entry:
        """What the catalog says now. The library's own table stays as it was.

        Raises: TableNotFoundError, UnsupportedError (there is no catalog), OSError.
        """

    @abstractmethod
    def pointer(self) -> Callable[[], Entry] | None:
        """What asks the catalog in another process, raising as `newest`; it may hold credentials. None where
        no catalog says which version is current.
        """

    def elsewhere(self) -> Callable[[], Entry] | None:
        """What is asked in another process where `pointer` raises UnsupportedError: it raises that too. None
        where the version that the table is at counts as the newest then.
        """
        return None


@dataclass(frozen=True)
class _IcebergPointer:
    """Asks a catalog of PyIceberg that is made again from its settings, which may hold credentials.

    Attributes: kind, the catalog's class; name, properties, what it is made of; table, the table's name;
        identity, its UUID.
    """

    kind: Callable[..., Any]
    name: str
    properties: dict[str, str] = field(repr=False)
    table: tuple[str, ...]
    identity: Any

    def __call__(self) -> IcebergEntry:
        catalog = asked(".".join(self.table), lambda: self.kind(self.name, **self.properties), self)
        return _newest_of(catalog, self.table, self.identity)


@dataclass(frozen=True)
class _PaimonPointer:
    """Asks a catalog of pypaimon, whose loader may hold credentials."""

    loader: Any = field(repr=False)
    identifier: Any

    def __call__(self) -> PaimonEntry:
        return asked(str(self.identifier), self.entry)

    def entry(self) -> PaimonEntry:
        """What the catalog says. Raises: what pypaimon raises."""
        return PaimonEntry.of(self.loader.load().get_table(self.identifier))


class IcebergEntry(Entry):
    """PyIceberg's entry of a table."""

    format = "iceberg"
    commits = True  # a folder's metadata files are of no order without the catalog

    @staticmethod
    def of(table: IcebergTable) -> IcebergEntry:
        """What a table of PyIceberg says."""
        path, storage = _reached(table.metadata_location, table.io, IcebergFiles)
        return IcebergEntry(table, path, storage)

    @property
    def catalog_name(self) -> str | None:
        """What the catalog is called; None where there is none."""
        return None if self._is_alone() else str(self.table.catalog.name)

    def newest(self) -> IcebergEntry:
        """The catalog's newest entry. Raises: as `Entry.newest`; another table of the same name does not
        count.
        """
        return _newest_of(self._catalog(), self.table.name(), _uuid(self.table), self.table.io)

    def pointer(self) -> _IcebergPointer:
        """Of the catalog's class and settings. Raises: UnsupportedError where there is no catalog."""
        catalog = self._catalog()
        settings = (type(catalog), catalog.name, dict(catalog.properties))
        return _IcebergPointer(*settings, self.table.name(), _uuid(self.table))

    def _is_alone(self) -> bool:
        catalog = getattr(self.table, "catalog", None)
        is_none = isinstance(catalog, loaded("pyiceberg.catalog.noop", "NoopCatalog"))
        return is_none or not hasattr(catalog, "load_table")

    def _catalog(self) -> Any:
        catalog = self.table.catalog
        if self._is_alone():
            shown = _native.without_credentials(self.path)
            message = f"the table was given without a catalog, which knows its current metadata ({shown})"
            raise UnsupportedError(message, kind="unsupported", path=shown)
        return catalog


class PaimonEntry(Entry):
    """pypaimon's entry of a table."""

    @staticmethod
    def of(table: Any) -> PaimonEntry:
        """What a table of pypaimon says; of Iceberg's tables in its catalogs too.

        Raises: UnsupportedError (a format table).
        """
        if isinstance(table, loaded("pypaimon.table.format.format_table", "FormatTable")):
            what = "a Paimon table of type format-table, which has no snapshots and manifests"
            message = f"{name_of(table)} is {what}"
            raise UnsupportedError(message, kind="unsupported")
        place = table.table_path if hasattr(table, "table_path") else table.location()
        # Before 1.4 it was a `Path`, which makes one slash of two.
        location = _FOLDED.sub(r"\1://", os.fspath(place))
        path, storage = _reached(location, table.file_io, PaimonFiles)
        return PaimonEntry(table, path, storage)

    @property
    def format(self) -> str | None:
        """Paimon; other tables of such catalogs are found out."""
        return "paimon" if hasattr(self.table, "table_path") else None

    @property
    def branch(self) -> str:
        """The branch of the identifier: of `orders$branch_dev` it is `dev`."""
        branch = getattr(self.table, "current_branch", None)
        return (branch() if callable(branch) else None) or "main"

    @property
    def commits(self) -> bool:
        """In REST catalogs, which keep the snapshots."""
        environment = getattr(self.table, "catalog_environment", None)
        return bool(getattr(environment, "supports_version_management", False))

    def newest(self) -> PaimonEntry:
        """What the catalog says now; where it is the folder itself that says so, the same."""
        pointer = self.pointer()
        return self if pointer is None else asked(name_of(self.table), pointer.entry, self.table.file_io)

    def pointer(self) -> _PaimonPointer | None:
        """Of what loads the catalog."""
        if not self.commits:
            return None
        return _PaimonPointer(self.table.catalog_environment.catalog_loader, self.table.identifier)


def _uuid(table: Any) -> Any:
    return getattr(table.metadata, "table_uuid", None)


def _newest_of(catalog: Any, name: tuple[str, ...], identity: Any, *holders: Any) -> IcebergEntry:
    """A catalog's newest entry of a table. Raises: as `Entry.newest`."""
    table: Any = asked(".".join(name), lambda: catalog.load_table(name), catalog, *holders)
    if _uuid(table) != identity:
        shown = _native.without_credentials(table.metadata_location)
        message = f"the catalog has another table of the name {name_of(table)} now ({shown})"
        raise TableNotFoundError(message, kind="table-not-found", path=shown)
    return IcebergEntry.of(table)


def is_of_catalog(given: object) -> TypeGuard[IcebergTable | PaimonTable]:
    """Whether it is a table of PyIceberg or of pypaimon."""
    return _is_iceberg(given) or _is_paimon(given)


def _is_iceberg(given: object) -> bool:
    return hasattr(given, "metadata_location") and hasattr(given, "io")


def _is_paimon(given: object) -> bool:
    return hasattr(given, "file_io") and (hasattr(given, "table_path") or hasattr(given, "location"))


def load_catalog(name: str) -> Any:
    """The catalog that PyIceberg's configuration calls so: `~/.pyiceberg.yaml`, environment variables.

    Raises: UnsupportedError (PyIceberg is not installed, or not with what the catalog needs), ValueError (no
        such catalog, or none that can be made).
    """
    # Importing it reads the configuration.
    load = lambda: importlib.import_module("pyiceberg.catalog").load_catalog(name)  # noqa: E731
    return converted(load, lambda error: _not_loaded(name, error))


def _not_loaded(name: str, error: Exception) -> Exception:
    """What to raise where PyIceberg raised this, whose text may hold credentials."""
    if isinstance(error, ImportError):
        message = f"PyIceberg cannot load a catalog: pip install 'lakebed[catalogs]' ({error})"
        return UnsupportedError(message, kind="unsupported")
    words = words_of(error)
    if isinstance(error, loaded("pyiceberg.exceptions", "NotInstalledError")):
        message = f"PyIceberg lacks what the catalog {name!r} needs: {words}"
        return UnsupportedError(message, kind="unsupported")
    known = catalog_names()
    if known is not None and name not in known:
        there = f"there are {', '.join(sorted(known))}" if known else "it has none"
        return ValueError(f"PyIceberg's configuration (.pyiceberg.yaml) has no catalog {name!r}; {there}")
    return ValueError(f"PyIceberg cannot load the catalog {name!r}: {type(error).__name__}: {words}")


def catalog_names() -> list[str] | None:
    """The catalogs that PyIceberg's configuration has; None where it cannot be read. Raises: ImportError."""
    from pyiceberg.utils.config import Config

    try:
        known: list[str] = Config().get_known_catalogs()
    except Exception:  # noqa: BLE001 - of many classes; the catalog's own error is reported
        return None
    return known


def load_table(catalog: Any, name: str) -> IcebergTable:
    """A table of a catalog of PyIceberg. Raises: TableNotFoundError, OSError."""
    if "." not in name:
        message = f"{name}: a table of a catalog is called by namespace and name, such as db.orders"
        raise TableNotFoundError(message, kind="table-not-found")
    table: IcebergTable = asked(name, lambda: catalog.load_table(name), catalog)
    return table


def list_tables(catalog: Any, namespace: tuple[str, ...] = ()) -> Iterator[str]:
    """The names of the tables in a namespace of a catalog of PyIceberg, and in those within it.

    Raises: TableNotFoundError for a namespace that is not there, OSError.
    Cost: two requests a namespace, of up to 16 namespaces of a catalog at once.
    """
    shown = ".".join(namespace)
    if namespace:
        tables = asked(shown, lambda: sorted(catalog.list_tables(namespace)), catalog)
        yield from (".".join(name) for name in tables)
    try:
        inner = asked(shown, lambda: sorted(catalog.list_namespaces(namespace)), catalog)
    except (TableNotFoundError, UnsupportedError):
        # Catalogs without nested namespaces say so in different ways.
        inner = []
    # Some give a namespace's own name where it has none within it.
    within = [tuple(one) for one in inner if len(one) > len(namespace)]
    for _, found in in_order(within, lambda one: list(list_tables(catalog, one)), 1 if namespace else 16):
        yield from found


def entry_of(given: IcebergTable | PaimonTable) -> Entry:
    """A catalog's entry of a table. Raises: TypeError for anything but PyIceberg's and pypaimon's."""
    table: Any = given
    if _is_iceberg(given):
        return IcebergEntry.of(table)
    if _is_paimon(given):
        return PaimonEntry.of(table)
    raise TypeError(
        "a table is opened by a path, a URI or what PyIceberg or pypaimon loaded, not by "
        f"{type(given).__name__}"
    )


def name_of(table: Any) -> str:
    """What a table of either library is called in its catalog."""
    name = table.name() if callable(getattr(table, "name", None)) else getattr(table, "identifier", "")
    if isinstance(name, tuple):
        return ".".join(name)
    full = getattr(name, "get_full_name", None)
    return str(full() if callable(full) else name)


def parts_of(table: Any) -> tuple[str, ...]:
    """The namespace's parts and the name of a table of either library."""
    name = table.name() if callable(getattr(table, "name", None)) else None
    return name if isinstance(name, tuple) else tuple(name_of(table).split(".", 1))


def asked(name: str, ask: Callable[[], T], *holders: Any) -> T:
    """What a catalog answers that is asked for a table.

    Args: name, the table's; ask, asks the catalog's library; holders, whose properties hold secrets.
    Raises: errors of lakebed's and of Python's own for whatever the library raises.
    """
    return converted(ask, lambda error: refused(error, name, *holders))


def refused(error: Exception, name: str, *holders: Any) -> Exception:
    """What to raise in place of what a catalog raised on a table."""
    if isinstance(error, ImportError):
        # It says what is to be installed.
        return error
    if any(isinstance(error, loaded(module, *names)) for module, names in _NOT_THERE.items()):
        message = f"the catalog has no table {name}"
        return TableNotFoundError(message, kind="table-not-found", path=name)
    return failure(error, name, *holders)


def _reached(location: str, io: Any, files: type[FileIOStorage]) -> tuple[str, FileIOStorage | None]:
    """What lakebed opens, and what reads it: the compiled core where a library would read local files too."""
    location = location.rstrip("/")
    local = local_path(location)
    module = type(io).__module__
    if local is None or not module.startswith(("pyiceberg.", "pypaimon.")):
        return location, files(io, location)
    if module.startswith("pyiceberg."):
        # PyIceberg takes paths as they are written, unless its properties give a scheme for those without
        # one.
        scheme = (getattr(io, "properties", None) or {}).get("DEFAULT_SCHEME", "file")
        if local == location and scheme != "file":
            return location, files(io, location)
        return local, None
    return (unquote(urlsplit(location).path) if local != location else local), None
