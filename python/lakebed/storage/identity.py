"""What tells storages apart, so that a cache never gives a file of one for a file of another."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from lakebed._arguments import encodable
from lakebed.storage.paths import URI
from lakebed.storage.secrets import option_is_secret, wrapped

# Modules of classes that read the same file by the same options in every process.
_KNOWN = (
    "adlfs.",
    "fsspec.implementations.arrow",
    "fsspec.implementations.dirfs",
    "fsspec.implementations.http",
    "fsspec.implementations.local",
    "fsspec.implementations.sftp",
    "fsspec.implementations.webhdfs",
    "gcsfs.",
    "obstore.",
    "ossfs.",
    "pyarrow.",
    "pyiceberg.io",
    "pypaimon.",
    "s3fs.",
)
_UNSHARED = frozenset({"MemoryStore", "_MockFileSystem"})
# What libraries find in the environment where no option says it.
_ENVIRONMENT = (
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_PROFILE",
    "AZURE_STORAGE_ACCOUNT_NAME",
    "STORAGE_EMULATOR_HOST",
)
_ACCOUNT_WITH_KEY = "AZURE_STORAGE_CONNECTION_STRING"
_OPTIONS = ("config", "client_options", "storage_options", "properties", "prefix", "url")
_numbers = itertools.count()
_numbered: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


def identity_of(storage: object) -> tuple[str, bool]:
    """What tells a storage from others, and whether that is so in other processes too.

    Of what is not known to be the same in other processes, such as a filesystem in memory or one of the
    caller's, the object itself counts, in this process alone.

    Args: storage, a `Storage`, whose own `identity` counts, where it has one.
    Raises: TypeError for an `identity` that is no text.
    """
    own: str | None = getattr(storage, "identity", None)
    if own is not None:
        return encodable("identity", own), True
    # Of lakebed's own: the filesystem, store or `FileIO`.
    holders = getattr(storage, "holders", ())
    parts = _parts(holders[0]) if holders else None
    if parts is not None:
        location = str(getattr(storage, "location", ""))
        if getattr(storage, "is_local", False) and not URI.match(location) and not os.path.isabs(location):  # noqa: PTH117
            parts.append(os.getcwd())  # noqa: PTH109 - as relative paths are read
        return "\n".join(parts), True
    holder = holders[0] if holders else storage
    try:
        number = _numbered.setdefault(holder, next(_numbers))
    except TypeError:  # neither hashed nor referred to weakly
        number = next(_numbers)
    return f"{os.getpid()} {number}", False


def _parts(library: Any) -> list[str] | None:
    """Where a library reads, without secrets; None where its options do not say it."""
    if _ACCOUNT_WITH_KEY in os.environ:
        return None
    parts = [f"{name}={os.environ[name]}" for name in _ENVIRONMENT if name in os.environ]
    for one in wrapped(library):
        kind = type(one)
        module = f"{kind.__module__}."
        if not module.startswith(_KNOWN) or kind.__name__ in _UNSHARED:
            return None
        parts.append(f"{module}{kind.__name__}")
        for value in _values(one):
            said = list(_said(value))
            if None in said:
                return None
            parts += [text for text in said if text is not None]
    return parts


def _values(library: Any) -> Iterator[Any]:
    for name in _OPTIONS:
        yield {name: getattr(library, name, None)}
    # fsspec's own, by position.
    yield {"arguments": getattr(library, "storage_args", None)}
    if type(library).__module__.startswith("pyarrow._"):
        try:
            made = library.__reduce__()
        except (TypeError, NotImplementedError):
            return
        yield {"made": [one for one in made[1] if not hasattr(one, "get_file_info")]}


def _said(value: Any, name: str = "") -> Iterator[str | None]:
    """Each option as text, but for secrets; None for one that is not text, number or several of them."""
    to_map = getattr(value, "to_map", None)
    value = to_map() if callable(to_map) else value
    if value is None or value == "":
        return
    if "connection" in name.lower():
        # It names the account, beside its key.
        yield None
    elif isinstance(value, Mapping):
        for key in sorted(value, key=str):
            if not option_is_secret(str(key)) or "connection" in str(key).lower():
                yield from _said(value[key], f"{name}.{key}")
    elif isinstance(value, (list, tuple)):
        for number, one in enumerate(value):
            yield from _said(one, f"{name}.{number}")
    elif isinstance(value, (str, int, float, bool, os.PathLike)):
        yield f"{name}={value}"
    else:
        yield None
