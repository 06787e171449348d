"""Stores of obstore."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote

from lakebed import _native
from lakebed._arguments import milliseconds
from lakebed.errors import UnsupportedError
from lakebed.storage.adapter import Adapter
from lakebed.storage.failures import is_not_implemented, of_a_range, reported
from lakebed.storage.paths import URI, family_of, scheme_of, split
from lakebed.storage.protocols import Contents, PublishingStorage, RemovalErrors
from lakebed.storage.removal import check_absent, removed_each
from lakebed.storage.secrets import without_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

# Classes of obstore, and the family of schemes whose paths they read.
_FAMILIES = {
    "S3Store": "s3",
    "GCSStore": "gs",
    "AzureStore": "abfs",
    "HTTPStore": "http",
    "LocalStore": "file",
    "MemoryStore": "memory",
}

# The process whose threads answer: obstore has a runtime of its own, of which a forked process has none.
_process: int | None = None


class ObstoreStorage(Adapter, PublishingStorage):
    """A store of obstore (`obstore.store.S3Store` and its kin) as a `Storage`.

    Args: store; location, the table's or file's: a URI in the store's bucket, below its prefix where it has
        one, or a path without a scheme, which the store takes as it is.
    Raises: UnsupportedError for a location in another bucket or outside of the prefix.
    """

    def __init__(self, store: Any, location: str) -> None:
        self._family = family_of_store(store)
        prefix = getattr(store, "prefix", None) or ""
        if self._family == "file" and prefix:
            prefix = Path(prefix).absolute()
        self._prefix = str(prefix).strip("/")
        super().__init__(store, location, "", local=self._family == "file")
        # A location is a URI that users write, other than the paths in metadata.
        self._root = self._elsewhere(unquote(location) if scheme_of(location) == "file" else location)

    def _inner(self, path: str) -> str:
        _check_process(path)
        # A store is asked for the empty path where the location is all of it.
        return super()._inner(path).lstrip("/")

    def _elsewhere(self, path: str) -> str:
        """What the store calls a path."""
        if not URI.match(path):
            # Without a prefix the root is that of the machine, and absolute paths begin there.
            absolute = self._is_local and path.startswith("/")
            return self._below_prefix(path, path.strip("/")) if absolute else path.strip("/")
        authority, key = split(path)
        if self._family == "http":
            url = _native.location_of(self._filesystem.url).rstrip("/")
            if path != url and not path.startswith(url + "/"):
                raise self._elsewhere_error(path)
            return path[len(url) + 1 :]
        if family_of(path) != self._family or not self._has(authority):
            raise self._elsewhere_error(path)
        if self._family == "memory":
            return f"{authority}/{key}".strip("/")
        return self._below_prefix(path, key.strip("/"))

    def _below_prefix(self, path: str, key: str) -> str:
        if not self._prefix or key == self._prefix:
            return "" if self._prefix else key
        if not key.startswith(self._prefix + "/"):
            raise self._elsewhere_error(path)
        return key[len(self._prefix) + 1 :]

    def _has(self, authority: str) -> bool:
        """Whether the store's bucket, or container and account, are those of a URI."""
        config = getattr(self._filesystem, "config", None) or {}
        container, at, host = authority.rpartition("@")
        if self._family == "abfs" and at:
            account = host.partition(".")[0]
            known = (config.get("container_name"), config.get("account_name"))
            return all(
                mine in (None, theirs) for mine, theirs in zip(known, (container, account), strict=True)
            )
        bucket = config.get("container_name" if self._family == "abfs" else "bucket")
        return self._family in ("file", "memory") or bucket in (None, host)

    def _elsewhere_error(self, path: str) -> UnsupportedError:
        shown = _native.without_credentials(path)
        store = self._filesystem
        config = getattr(store, "config", None) or {}
        place = config.get("container_name") or config.get("bucket") or getattr(store, "url", None) or ""
        place = "/".join(part for part in (_native.without_credentials(place), self._prefix) if part)
        return UnsupportedError(
            f"{shown!r} is not in the {type(store).__name__} of {place!r}: "
            "give the store of its bucket, or relocate=",
            kind="unsupported",
            path=shown,
        )

    @reported
    def read(self, path: str, start: int | None = None, end: int | None = None) -> memoryview:
        """The bytes of a file, all or from `start` up to `end`, where obstore keeps them."""
        inner = self._opened(path)
        first = start or 0
        if end is not None and end <= first:
            return memoryview(b"")
        try:
            if end is not None:
                return memoryview(self._filesystem.get_range(inner, start=first, end=end))
            options = {"range": {"offset": first}} if first else None
            return memoryview(self._filesystem.get(inner, options=options).bytes())
        except Exception as error:
            # Stores have no range that begins where a file ends.
            if of_a_range(error) and self._filesystem.head(inner)["size"] <= first:
                return memoryview(b"")
            raise

    def _is_irregular(self, inner: str) -> bool:
        try:
            mode = Path(f"/{self._prefix}", inner).stat().st_mode
        except OSError:
            return False
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))

    @reported
    def folders(self, prefix: str) -> list[str]:
        """The names of folders directly below a directory. Raises: FileNotFoundError where there is none."""
        return [name for name, is_folder, _, _ in self._contents(prefix) if is_folder]

    @reported
    def contents(self, prefix: str) -> Contents:
        """The entries of a directory. Raises: FileNotFoundError where there is none."""
        return self._contents(prefix)

    def _contents(self, prefix: str) -> Contents:
        # What is reported twice loses the code of a server's answer.
        inner = self._inner(prefix)
        found = self._filesystem.list_with_delimiter(inner or None)
        if inner and not found["common_prefixes"] and not found["objects"]:
            # Stores have no folders without files.
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), prefix)
        names = [path.rpartition("/")[2] for path in found["common_prefixes"] if path != inner]
        files = [file for file in found["objects"] if file["path"] != inner]
        return [
            *((name, True, None, None) for name in self._without_links(prefix, inner, names)),
            *(
                (file["path"].rpartition("/")[2], False, file["size"], milliseconds(file["last_modified"]))
                for file in files
            ),
        ]

    @reported
    def list(self, prefix: str) -> list[str]:
        """The names directly below a directory; [] where there is none."""
        inner = self._inner(prefix)
        found = self._filesystem.list_with_delimiter(inner or None)
        paths = [*found["common_prefixes"], *(file["path"] for file in found["objects"])]
        # Stores may list the marker of the directory itself.
        return [path.rpartition("/")[2] for path in paths if path != inner]

    @reported
    def write(self, path: str, data: bytes) -> None:
        """Writes a file under a name that no other has."""
        self._put(path, data, "overwrite")

    @reported
    def publish(self, path: str, data: bytes, replace: bool) -> None:
        """Writes a file in one step: a conditional put, unless what is there is replaced.

        Raises: FileExistsError where a file is there that is to stay; UnsupportedError for a store that
            cannot tell.
        """
        self._put(path, data, "overwrite" if replace else "create")

    def _put(self, path: str, data: bytes, mode: str) -> None:
        inner = self._inner(path)
        try:
            self._filesystem.put(inner, data, mode=mode, use_multipart=False)
        except Exception as error:
            if not is_not_implemented(error):
                raise
            shown = _native.without_credentials(path)
            kind = type(self._filesystem).__name__
            raise UnsupportedError(
                f"this {kind} does not write a file only if none exists, so that commits to it could be "
                "lost: allow its conditional put, or commit through a catalog",
                kind="unsupported",
                path=shown,
            ) from None

    @reported
    def remove(self, path: str) -> None:
        """Deletes a file."""
        inner = self._inner(path)
        self._filesystem.delete(inner)

    def remove_files(self, paths: Sequence[str]) -> RemovalErrors:
        """Deletes files by the store's request for many."""
        try:
            _check_process(paths[0] if paths else "")
            self._filesystem.delete([self._inner(path) for path in paths])
        except Exception:  # noqa: BLE001 - obstore does not say of which file: each is asked for alone
            return removed_each(self.remove, paths)
        return [None] * len(paths)

    @reported
    def size(self, path: str) -> int | None:
        """The size of a file [bytes]; None where there is none."""
        try:
            return cast("int", self._filesystem.head(self._inner(path))["size"])
        except FileNotFoundError:
            return None

    @reported
    def copy(self, path: str, target: str) -> None:
        """Copies a file, by a conditional copy where the store has one.

        Raises: FileExistsError, FileNotFoundError.
        """
        source, there = self._inner(path), self._inner(target)
        try:
            self._filesystem.copy(source, there, overwrite=False)
        except Exception as error:
            if not is_not_implemented(error):
                raise
            check_absent(self, target)
            self._filesystem.copy(source, there, overwrite=True)

    def _is_link(self, inner: str) -> bool:
        return super()._is_link(f"/{self._prefix}/{inner}")

    @reported
    def modified(self, path: str) -> int | None:
        """When a file was last modified [ms since 1970 UTC]; None of folders, which stores do not have."""
        inner = self._inner(path)
        try:
            return milliseconds(self._filesystem.head(inner)["last_modified"])
        except FileNotFoundError:
            return None


def _check_process(path: str) -> None:
    """Raises: OSError where obstore was used before this process was forked: it would wait for ever."""
    global _process
    if _process is None:
        _process = os.getpid()
    if _process != os.getpid():
        why = (
            "obstore was used before this process was forked, and cannot be used after: start processes with "
            "spawn, or read through pyarrow"
        )
        raise OSError(errno.EIO, why, _native.without_credentials(path))


def is_store(storage: object) -> bool:
    """Whether an object is a store of obstore. Cost: nothing is imported."""
    return "obstore" in sys.modules and family_of_store(storage) != ""


def family_of_store(store: object) -> str:
    """The family of schemes whose paths a store reads; empty for objects that are not stores."""
    own = (kind for kind in type(store).__mro__ if kind.__module__.partition(".")[0] == "obstore")
    return next((_FAMILIES[kind.__name__] for kind in own if kind.__name__ in _FAMILIES), "")


def store_of_uri(uri: str) -> Any:
    """The store of all of a URI's bucket or server, with the credentials of the environment.

    Raises: ImportError without obstore; ValueError for a URI that it has no store for, or with options of
        its own, which would be passed over.
    """
    from obstore.exceptions import BaseError
    from obstore.store import HTTPStore, from_url

    if _native.location_of(uri) != uri:
        raise ValueError("obstore takes no options or credentials in a URI")
    # obstore does not know all schemes of a family.
    scheme = family_of(uri) or "file"
    root = f"{scheme}://{split(uri)[0] if URI.match(uri) else ''}/"
    # `from_url` makes stores of buckets of the addresses that clouds have on the web.
    make = HTTPStore.from_url if scheme in ("http", "https") else from_url
    try:
        return make(root, client_options={"allow_http": True}) if _is_plain(scheme) else make(root)
    except BaseError as error:
        raise ValueError(without_secrets(str(error).partition("\n")[0])) from None


def _is_plain(scheme: str) -> bool:
    """Whether the environment names a server of S3 without TLS, which obstore wants to be told twice."""
    names = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
    endpoint = next((os.environ[name] for name in names if os.environ.get(name)), "")
    return scheme == "http" or (family_of(f"{scheme}://") == "s3" and endpoint.startswith("http://"))
