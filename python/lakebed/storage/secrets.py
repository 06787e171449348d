"""Which secrets the objects of other libraries hold, so that no message has them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

from lakebed import _native
from lakebed.errors import LakebedError

# Names of options whose values are secret, but for those of where and how to ask for a secret.
_SECRET = re.compile(
    r"(?!.*(?:ur[il]|endpoint|type|region|expiry|signer)$)"
    r".*(?:secret|token|passw|pwd|credential|sig|sas(?!l)|connection|auth|header|cookie|key)",
    re.IGNORECASE | re.DOTALL,
)
_SECRET_OF_ENVIRONMENT = re.compile(
    r".*(?:SECRET|TOKEN|PASSW|SAS(?!L)|CONNECTION_STRING|CREDENTIAL|(?:ACCESS|ACCOUNT|API|PRIVATE|STORAGE)_?KEY)(?!.*(?:FILE|URI|URL|ID)$)",
    re.IGNORECASE,
)
# Too short, or words of their own: they would be left out of words that are no secrets.
_LEAST = 4
_WORDS = frozenset({"true", "false", "none", "null", "default", "anon", "bearer", "oauth2", "sigv4"})
# How deep filesystems wrap others.
_DEPTH = 8


def wrapped(holder: Any) -> Iterator[Any]:
    """An object of another library, and those that it wraps, as `SubTreeFileSystem`, `PyFileSystem` with its
    handler, and the wrappers of fsspec do.
    """
    for _ in range(_DEPTH):
        yield holder
        inner = (getattr(holder, name, None) for name in ("base_fs", "handler", "fs"))
        holder = next((one for one in inner if one is not None), None)
        if holder is None:
            return


def without_secrets(text: str, *holders: Any) -> str:
    """A library's words in one line, without secrets: those of the environment and of what was given to the
    library, and all that is written as secrets are.

    Args: text, which may have lone surrogates; holders, objects of the library that hold options, or texts
        such as a URI.
    """
    known = {secret for holder in (os.environ, *holders) for secret in _held(holder)}
    # As they are in queries.
    known |= {quote(secret, safe="") for secret in known}
    return _native.without_secrets(surrogates_spelled(text), [surrogates_spelled(secret) for secret in known])


def error_text(error: Exception, path: str, *holders: Any) -> str:
    """The kind of what is wrong with a table, and its text in one line without secrets.

    Args: path, what the table was opened by; holders, as for `without_secrets`.
    """
    words = str(error).replace(path, _native.without_credentials(path))
    if isinstance(error, LakebedError):
        kind = error.kind
    else:
        kind, words = type(error).__name__, without_secrets(words, path, *holders)
    return f"{kind}: {words.removeprefix(f'{kind}: ')}"


def is_secret(name: str) -> bool:
    """Whether an option of a table, such as `fs.s3a.secret.key`, is a secret by its name."""
    return _SECRET_OF_ENVIRONMENT.match(re.sub("[.-]", "_", name)) is not None


def option_is_secret(name: str) -> bool:
    """Whether an option of a library is a secret by its name."""
    return _SECRET.match(name) is not None


def surrogates_spelled(text: str) -> str:
    """The text with lone surrogates spelled out, which no file and no terminal takes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _held(holder: Any) -> Iterator[str]:
    if holder is os.environ:
        for name, value in os.environ.items():
            # Credentials may be those of a file, and tokens be counted.
            is_other = value.isdigit() or ("CREDENTIAL" in name.upper() and value.startswith("/"))
            if _SECRET_OF_ENVIRONMENT.match(name) and not is_other:
                yield from _parts(value)
    elif isinstance(holder, str):
        yield from _of_uri(holder)
    else:
        for one in wrapped(holder):
            yield from _of_object(one)


def _of_object(holder: Any) -> Iterator[str]:
    for name in ("config", "client_options", "storage_options", "properties"):
        yield from _of_options(getattr(holder, name, None))
    # Of a client of pypaimon.
    yield from _of_options(getattr(getattr(holder, "token", None), "token", None))
    if type(holder).__module__.startswith("pyarrow."):
        try:
            made = holder.__reduce__()
        except (TypeError, NotImplementedError):
            return
        yield from _of_options(made[1] if isinstance(made, tuple) else None)


def _of_options(options: Any, *, is_secret: bool = False) -> Iterator[str]:
    """Values of options whose names, or those that they are under, are names of secrets."""
    to_map = getattr(options, "to_map", None)
    options = to_map() if callable(to_map) else options
    if isinstance(options, Mapping):
        for name, value in options.items():
            yield from _of_options(value, is_secret=is_secret or option_is_secret(str(name)))
    elif isinstance(options, (list, tuple)):
        for value in options:
            yield from _of_options(value, is_secret=is_secret)
    elif is_secret and isinstance(options, str):
        yield from _parts(options)


def _parts(secret: str) -> Iterator[str]:
    """A secret, and those within it: of `id:secret`, and of `AccountName=…;AccountKey=…`."""
    pairs = (pair.partition("=") for pair in secret.split(";"))
    named = [value for name, sign, value in pairs if sign and _SECRET.match(name)]
    yield from (part for part in (secret, secret.partition(":")[2], *named) if _is_said(part))


def _of_uri(uri: str) -> Iterator[str]:
    """The password of a URI and the secrets of its query, as they are written and as they are read.

    A password that is written by hand may have what ends an authority; libraries show what they take for the
    bucket.
    """
    rest = uri.partition("://")[2]
    user, at, _ = rest.rpartition("@")
    password = user.partition(":")[2] if at else ""
    values = [
        password,
        *re.split("[/?#]", password),
        *(value for name, value in parse_qsl(rest.partition("?")[2]) if _SECRET.match(name)),
    ]
    for value in values:
        yield from {secret for secret in (value, unquote(value)) if _is_said(secret)}


def _is_said(value: str) -> bool:
    return len(value) >= _LEAST and value.lower() not in _WORDS
