"""What paths and URIs say of where a file is: scheme, server or bucket, and key."""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from urllib.parse import unquote, urlsplit

from lakebed import _native

# A scheme of one letter is a Windows drive. Hadoop prints local paths as `file:/path`.
URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://|(file):/", re.IGNORECASE)
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_LOCAL = re.compile(r"file:(//)?(?=/)", re.IGNORECASE)
# Here the authority is `container@account`, in all others `user:password@host` or `host`.
_CONTAINER_SCHEMES = frozenset({"abfs", "abfss", "wasb", "wasbs"})
# Here paths may have no scheme, and the authority names a server, which a filesystem object already
# has.
_SERVER_SCHEMES = frozenset({"file", "hdfs", "viewfs"})


def without_climbing(path: str) -> str:
    """A local path, without `..`: what that leads to on this machine."""
    climbs = ".." in PurePath(path).parts and "\0" not in path
    return str(Path(path).resolve()) if climbs else path


def absolute(path: str) -> str:
    """A path as this process means it; others have folders of their own to work in."""
    return path if SCHEME.match(path) else str(Path(path).absolute())


def local_path(location: str) -> str | None:
    """The path of a local location, in which every letter is itself; None for URIs of other schemes."""
    if match := _LOCAL.match(location):
        return location[match.end() :]
    return None if URI.match(location) else location


def scheme_of(path: str) -> str:
    """The scheme of a URI in lower case; empty for paths."""
    match = URI.match(path)
    return (match[1] or match[2]).lower() if match else ""


def family_of(path: str) -> str:
    """The canonical scheme of a storage; empty for paths."""
    return _native.scheme_family(scheme_of(path))


def split(path: str) -> tuple[str, str]:
    """The authority of a URI and what follows its slash; every letter of that is itself."""
    authority, _, key = path[len(scheme_of(path)) + 1 :].removeprefix("//").partition("/")
    return authority, key


def shares_filesystem(location: str, path: str) -> bool:
    """Whether a filesystem on which a table is may have a path that its metadata names."""
    here, there = family_of(location), family_of(path)
    if not here or not there:
        return not here or here in _SERVER_SCHEMES
    return here == there


def literal_path(path: str) -> str:
    """What `pyarrow.fs` calls a path of metadata, where `%`, `?` and `#` are letters like any others."""
    if not (scheme := scheme_of(path)):
        return path
    authority, key = split(path)
    if scheme in _SERVER_SCHEMES:
        return f"/{key}"
    return authority.partition("@")[0] + (f"/{key}" if key else "")


def inner_path(text: str) -> str:
    """What `pyarrow.fs` calls the place of a URI: `bucket/key`, or `/path` where there are servers."""
    if not URI.match(text):
        return text
    parts = urlsplit(text)
    if parts.scheme in _SERVER_SCHEMES:
        return unquote(parts.path) if parts.scheme == "file" else parts.path
    user, _, host = parts.netloc.rpartition("@")
    is_container = parts.scheme in _CONTAINER_SCHEMES and user
    return (user.partition(":")[0].partition("@")[0] if is_container else host) + parts.path
