"""How metadata files are reached where the compiled core cannot: one small protocol, and what speaks it."""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from typing import Any, Protocol, cast, runtime_checkable
from urllib.parse import SplitResult, unquote, urlsplit

from lakebed import _native
from lakebed._arguments import milliseconds
from lakebed.errors import LocationError, UnsupportedError

# A scheme of one letter is a Windows drive. Hadoop prints local paths as `file:/path`.
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://|(file):/", re.IGNORECASE)
# Here the authority is `container@account`, in all others `user:password@host` or `host`.
_CONTAINER_SCHEMES = frozenset({"abfs", "abfss", "wasb", "wasbs"})
# Schemes of one storage, by the one that stands for them.
_FAMILIES = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfss": "abfs", "wasb": "abfs", "wasbs": "abfs"}
# Here paths may stand without a scheme, and the authority names a server, which a filesystem object already
# stands for.
_SERVER_SCHEMES = frozenset({"file", "hdfs", "viewfs"})


@runtime_checkable
class Storage(Protocol):
    """What lakebed asks of a storage; paths are the table's location, `/` and what lies below it, and those
    that metadata names in full, as written or as `relocate` has them.

    A storage may also have `modified(path: str) -> int | None`: when a file or folder was last modified, in
    milliseconds since 1970 UTC, None where that is not known. Only the creation times of branches need it.
    `concurrent_reads: int`, where it is there, is how many reads it serves at once, from as many threads; 64
    where it is not, or None. Commits are staged on one with `write(path: str, data: bytes)`, of a file that
    is not there yet, and `remove(path: str)`.
    """

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        """The bytes of a file, all or from `start` up to `end`, fewer where it ends before.

        More than that is an error. A file is read in one range, as long as is recorded and a byte.
        Raises: FileNotFoundError or an OSError, which comes as it is; MemoryError becomes a LimitError.
        """
        ...

    def list(self, prefix: str) -> list[str]:
        """The names (not paths) directly below a directory; where there is none, [] or FileNotFoundError."""
        ...


_LOCAL_READS = 4


class _Adapter(ABC):
    """A filesystem of another library, and how paths below `location` are called there."""

    def __init__(self, filesystem: Any, location: str, root: str) -> None:
        self._filesystem = filesystem
        self._location = location
        self._root = root.rstrip("/")
        self._is_local = _is_local(filesystem)
        # A local read takes a processor, not time.
        self.concurrent_reads = _LOCAL_READS if self._is_local else None

    def _readable(self, path: str) -> str:
        """What the filesystem calls a path. Raises: LocationError where a pipe or a device is there.

        Looked up only where files are local: a device never ends, and a pipe without a writer never begins.
        """
        inner = self._inner(path)
        if self._is_local and self._is_irregular(inner):
            shown = _native.without_credentials(path)
            raise LocationError(
                f"not a regular file: pipes and devices are not read ({shown})", kind="location", path=shown
            )
        return inner

    @abstractmethod
    def _is_irregular(self, inner: str) -> bool:
        """Whether something is there that is neither a file nor a folder."""

    def _inner(self, path: str) -> str:
        """What the filesystem calls a path: one below the location, or one that metadata names in full."""
        if path == self._location or path.startswith(self._location + "/"):
            return self._root + path[len(self._location) :]
        if not _shares_filesystem(self._location, path):
            shown = _native.without_credentials(path)
            raise UnsupportedError(
                f"{shown!r} is on another filesystem than {self._location!r}, give relocate=",
                kind="unsupported",
                path=shown,
            )
        return self._elsewhere(path)

    @abstractmethod
    def _elsewhere(self, path: str) -> str:
        """What the filesystem calls a path that is not below the location."""

    def __repr__(self) -> str:
        return f"<lakebed storage {self._location!r} on {type(self._filesystem).__name__}>"


class ArrowStorage(_Adapter):
    """A `pyarrow.fs.FileSystem` as a `Storage`.

    Args: filesystem; location, the table's or file's; root, how the filesystem calls that.
    """

    def _elsewhere(self, path: str) -> str:
        return _literal_path(path)

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        """The bytes of a file, all or from `start` up to `end`."""
        inner = self._readable(path)
        if start is None and end is None:
            # Compression is named, or a suffix such as .gz would make the stream decompress.
            with self._filesystem.open_input_stream(inner, compression=None) as stream:
                return cast("bytes", stream.read())
        with self._filesystem.open_input_file(inner) as file:
            # Room for all that is asked for would be made, however much less there is.
            size = file.size()
            first, last = start or 0, size if end is None else min(end, size)
            return cast("bytes", file.read_at(last - first, first)) if first < last else b""

    def _is_irregular(self, inner: str) -> bool:
        from pyarrow.fs import FileType

        return cast("bool", self._filesystem.get_file_info(inner).type == FileType.Unknown)

    def list(self, prefix: str) -> list[str]:
        """The names directly below a directory; [] where there is none."""
        from pyarrow.fs import FileSelector

        selector = FileSelector(self._inner(prefix), allow_not_found=True)
        return [info.base_name for info in self._filesystem.get_file_info(selector)]

    def modified(self, path: str) -> int | None:
        """When a file or folder was last modified [ms since 1970 UTC]; None where that is not known."""
        nanoseconds = self._filesystem.get_file_info(self._inner(path)).mtime_ns
        return None if nanoseconds is None else nanoseconds // 1_000_000


class FsspecStorage(_Adapter):
    """An fsspec filesystem as a `Storage`.

    Args: filesystem; location, the table's or file's; root, how the filesystem calls that.
    """

    def _elsewhere(self, path: str) -> str:
        # Under the scheme that this filesystem was opened by: it may not know the others of its family.
        scheme, uri = _scheme(self._location), _scheme(path)
        return cast(
            "str", self._filesystem._strip_protocol(scheme + path[len(uri) :] if scheme and uri else path)
        )

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        """The bytes of a file, all or from `start` up to `end`."""
        inner = self._readable(path)
        try:
            return cast("bytes", self._filesystem.cat_file(inner, start=start, end=end))
        except FileNotFoundError:
            raise
        except Exception:
            # Object stores have no range of a file without bytes.
            if start == 0 and self._filesystem.size(inner) == 0:
                return b""
            raise

    def _is_irregular(self, inner: str) -> bool:
        try:
            return self._filesystem.info(inner)["type"] not in ("file", "directory")
        except FileNotFoundError:
            return False

    def list(self, prefix: str) -> list[str]:
        """The names directly below a directory. Raises: FileNotFoundError where there is none."""
        directory = self._inner(prefix)
        # Many filesystems cache listings; a table's snapshots must be those of now.
        self._filesystem.invalidate_cache(directory)
        paths = (path.rstrip("/") for path in self._filesystem.ls(directory, detail=False))
        # Object stores may list the marker of the directory itself.
        return [path.rpartition("/")[2] for path in paths if path.strip("/") != directory.strip("/")]

    def modified(self, path: str) -> int | None:
        """When a file or folder was last modified [ms since 1970 UTC]; None where that is not known."""
        try:
            return milliseconds(self._filesystem.modified(self._inner(path)))
        except (NotImplementedError, FileNotFoundError, IsADirectoryError):
            # How filesystems say that they keep no such time, of anything or of folders.
            return None


def resolve(path: str | os.PathLike[str], storage: object | None = None) -> tuple[str, Storage | None]:
    """Where a table or file is, and what reads it: None for the compiled core itself, on local paths.

    Args: path, local or a URI; storage, a `pyarrow.fs.FileSystem`, an fsspec filesystem, a `Storage`, or
        None.
    Returns: the location, with its scheme but without credentials and query, as it may stand in messages.
    Raises: UnsupportedError (no filesystem for the scheme), TypeError (not a storage).
    """
    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError(f"a path is text, not {type(text).__name__}")
    text = text.rstrip("/") or text[:1]
    if storage is None:
        return (text, None) if not _URI.match(text) else _resolve_uri(text)
    location = _native.without_credentials(text)
    if _is_arrow(storage):
        return location, ArrowStorage(storage, location, _inner_path(text))
    if isinstance(storage, Storage):
        return text, storage
    strip_protocol = getattr(storage, "_strip_protocol", None)
    if strip_protocol is not None:
        return location, FsspecStorage(storage, location, strip_protocol(text))
    raise TypeError(
        "storage= takes a pyarrow.fs.FileSystem, an fsspec filesystem or an object with read() and list(), "
        f"not {type(storage).__name__}"
    )


def _resolve_uri(uri: str) -> tuple[str, Storage | None]:
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return unquote(parts.path), None
    from pyarrow.fs import FileSystem

    location = _native.without_credentials(uri)
    try:
        filesystem, root = FileSystem.from_uri(uri)
    except (ValueError, NotImplementedError) as error:
        return location, _fsspec_storage(uri, location, str(error))
    return location, ArrowStorage(filesystem, location, root)


def _fsspec_storage(uri: str, location: str, reason: str) -> FsspecStorage:
    try:
        from fsspec.core import url_to_fs

        filesystem, root = url_to_fs(uri)
    except (ImportError, ValueError) as error:
        why = f"pyarrow: {reason}; fsspec: {error}".replace(uri, location)
        # The cause's own text may hold the credentials of the URI.
        raise UnsupportedError(
            f"no filesystem for this URI, pass storage= ({why})", kind="unsupported", path=location
        ) from None
    return FsspecStorage(filesystem, location, root)


def _scheme(path: str) -> str:
    """The scheme of a URI in lower case; empty for paths."""
    match = _URI.match(path)
    return (match[1] or match[2]).lower() if match else ""


def _shares_filesystem(location: str, path: str) -> bool:
    here, there = _scheme(location), _scheme(path)
    if not here or not there:
        return not here or here in _SERVER_SCHEMES
    return _FAMILIES.get(here, here) == _FAMILIES.get(there, there)


def _literal_path(path: str) -> str:
    """What `pyarrow.fs` calls a path of metadata, where `%`, `?` and `#` are letters like any others."""
    scheme = _scheme(path)
    if not scheme:
        return path
    authority, slash, key = path[len(scheme) + 1 :].removeprefix("//").partition("/")
    if scheme in _SERVER_SCHEMES:
        return f"/{key}"
    return authority.partition("@")[0] + slash + key


def _is_local(filesystem: object) -> bool:
    """Whether a filesystem of either library reads local files, itself or through others that it wraps."""
    from pyarrow.fs import LocalFileSystem

    for _ in range(8):
        protocol = getattr(filesystem, "protocol", ())
        protocols = (protocol,) if isinstance(protocol, str) else protocol
        if isinstance(filesystem, LocalFileSystem) or "file" in protocols or "local" in protocols:
            return True
        # `SubTreeFileSystem`, `PyFileSystem` with its handler, and the wrappers of fsspec.
        inner = (getattr(filesystem, name, None) for name in ("base_fs", "handler", "fs"))
        filesystem = next((wrapped for wrapped in inner if wrapped is not None), None)
        if filesystem is None:
            return False
    return False


def _is_arrow(storage: object) -> bool:
    from pyarrow.fs import FileSystem

    return isinstance(storage, FileSystem)


def _inner_path(text: str) -> str:
    """What `pyarrow.fs` calls the place of a URI: `bucket/key`, or `/path` where there are servers."""
    if not _URI.match(text):
        return text
    parts = urlsplit(text)
    if parts.scheme in _SERVER_SCHEMES:
        return unquote(parts.path) if parts.scheme == "file" else parts.path
    return _authority(parts).partition("@")[0] + parts.path


def _authority(parts: SplitResult) -> str:
    user, _, host = parts.netloc.rpartition("@")
    if parts.scheme in _CONTAINER_SCHEMES and user:
        return f"{user.partition(':')[0]}@{host}"
    return host
