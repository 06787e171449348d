"""How metadata files are reached where the compiled core cannot: protocols, and what fulfils them."""

from __future__ import annotations

import os
from collections.abc import Callable
from urllib.parse import unquote, urlsplit

from lakebed import _native
from lakebed.errors import LocationError, UnsupportedError
from lakebed.storage.adapter import Adapter
from lakebed.storage.arrow import ArrowStorage
from lakebed.storage.failures import converted, failure
from lakebed.storage.fsspec import FsspecStorage
from lakebed.storage.obstore import ObstoreStorage, is_store, store_of_uri
from lakebed.storage.paths import URI, inner_path
from lakebed.storage.protocols import (
    ConcurrentStorage,
    CopyingStorage,
    DetailListingStorage,
    FolderListingStorage,
    IdentifiedStorage,
    ListableStorage,
    PublishingStorage,
    ReadableStorage,
    RemovingStorage,
    SizedStorage,
    Storage,
    TimedStorage,
    WritableStorage,
)
from lakebed.storage.secrets import surrogates_spelled, without_secrets

__all__ = [
    "ArrowStorage",
    "ConcurrentStorage",
    "CopyingStorage",
    "DetailListingStorage",
    "FolderListingStorage",
    "FsspecStorage",
    "IdentifiedStorage",
    "ListableStorage",
    "ObstoreStorage",
    "PublishingStorage",
    "ReadableStorage",
    "RemovingStorage",
    "SizedStorage",
    "Storage",
    "TimedStorage",
    "WritableStorage",
    "resolve",
]


def resolve(path: str | os.PathLike[str], storage: object | None = None) -> tuple[str, Storage | None]:
    """Where a table or file is, and what reads it: None for the compiled core itself, on local paths.

    Args: path, local or a URI; storage, a `pyarrow.fs.FileSystem`, an fsspec filesystem, a store of obstore,
        a `Storage`, the name of one of these libraries, which then opens the URI, or None.
    Returns: the location, with its scheme but without credentials and query, as messages may show it.
    Raises: UnsupportedError (no filesystem for the scheme, a store of another bucket), TypeError (not a
        storage), ValueError (no such library).
    """
    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError(f"a path is text, not {type(text).__name__}")
    _check(text)
    text = text.rstrip("/") or text[:1]
    location, reader = _resolved(text, storage)
    opened: object = reader
    if isinstance(opened, Adapter):
        opened.given = text
    return location, reader


def _resolved(text: str, storage: object | None) -> tuple[str, Storage | None]:
    if storage is None:
        return (text, None) if not URI.match(text) else _resolve_uri(text)
    location = _native.location_of(text)
    if isinstance(storage, str):
        return _by_name(storage, text)
    if is_store(storage):
        return location, ObstoreStorage(storage, location)
    from pyarrow.fs import FileSystem

    if isinstance(storage, FileSystem):
        return location, ArrowStorage(storage, location, inner_path(text))
    if isinstance(storage, Storage):
        return text, storage
    strip_protocol = getattr(storage, "_strip_protocol", None)
    if strip_protocol is not None:
        root = converted(lambda: strip_protocol(text), lambda error: failure(error, text, storage, text))
        return location, FsspecStorage(storage, location, root)
    raise TypeError(
        "storage= takes a pyarrow.fs.FileSystem, an fsspec filesystem, a store of obstore, an object with "
        f"read() and list(), or the name of one of the three libraries, not {type(storage).__name__}"
    )


def _check(path: str) -> None:
    """Raises: LocationError for what no file can be called."""
    spelled = surrogates_spelled(path)
    if "\0" in path or spelled != path:
        message = f"a path has no NUL and no lone surrogates: {path!r}"
        raise LocationError(message, kind="location", path=spelled)


def _resolve_uri(uri: str) -> tuple[str, Storage | None]:
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return unquote(parts.path), None
    location = _native.location_of(uri)
    # The first is not the quickest one: docs/storage.md, "Which library".
    return location, _first(("pyarrow", "fsspec", "obstore"), uri, location)


def _by_name(name: str, text: str) -> tuple[str, Storage]:
    if name not in _OPENERS:
        raise ValueError(f"storage is {', '.join(map(repr, _OPENERS))}, or an object, not {name!r}")
    if not URI.match(text):
        # Stores begin at the root, not at the working directory.
        text = os.path.abspath(text)  # noqa: PTH100 - links stay as they are
    location = _native.location_of(text)
    return location, _first((name,), text, location)


def _first(names: tuple[str, ...], uri: str, location: str) -> Storage:
    """What the first of some libraries that can makes of a URI. Raises: UnsupportedError where none can."""
    reasons = []
    for name in names:
        opened = _opened(name, uri, location)
        if not isinstance(opened, str):
            return opened
        reasons.append(opened)
    raise UnsupportedError(
        f"no filesystem for this URI, pass storage= ({'; '.join(reasons)})", kind="unsupported", path=location
    )


def _opened(name: str, uri: str, location: str) -> Storage | str:
    """What a library makes of a URI, or why it makes nothing of it."""
    try:
        opened = _OPENERS[name](uri, location)
    except Exception as error:  # noqa: BLE001 - libraries have classes of their own; each is reported
        # The error's own text may hold the credentials of the URI.
        return f"{name}: {without_secrets(str(error).replace(uri, location), uri) or type(error).__name__}"
    opened.of_uri = True
    return opened


def opened_by(name: str, uri: str) -> str | None:
    """Why a library, "pyarrow", "fsspec" or "obstore", does not open a URI; None where it does."""
    opened = _opened(name, uri, _native.location_of(uri))
    return opened if isinstance(opened, str) else None


def _open_arrow(uri: str, location: str) -> ArrowStorage:
    from pyarrow.fs import FileSystem, LocalFileSystem

    if not URI.match(uri):
        return ArrowStorage(LocalFileSystem(), location, uri)
    filesystem, root = FileSystem.from_uri(uri)
    return ArrowStorage(filesystem, location, root)


def _open_fsspec(uri: str, location: str) -> FsspecStorage:
    from fsspec.core import url_to_fs

    filesystem, root = url_to_fs(uri)
    return FsspecStorage(filesystem, location, root)


def _open_obstore(uri: str, location: str) -> ObstoreStorage:
    return ObstoreStorage(store_of_uri(uri), location)


_OPENERS: dict[str, Callable[[str, str], ArrowStorage | FsspecStorage | ObstoreStorage]] = {
    "obstore": _open_obstore,
    "pyarrow": _open_arrow,
    "fsspec": _open_fsspec,
}
