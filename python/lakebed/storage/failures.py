"""What the libraries of storages raise, as an `OSError` that names the path and hides secrets."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lakebed import _native
from lakebed._loaded import loaded
from lakebed.errors import LakebedError

# These are mistakes in a program, no answers of a storage.
_OF_PROGRAMS = (LakebedError, MemoryError, NotImplementedError, TypeError, AttributeError)
_ERRNOS: tuple[tuple[type[OSError], int], ...] = (
    (FileNotFoundError, errno.ENOENT),
    (PermissionError, errno.EACCES),
    (TimeoutError, errno.ETIMEDOUT),
    (ConnectionRefusedError, errno.ECONNREFUSED),
    (ConnectionError, errno.ECONNRESET),
    (IsADirectoryError, errno.EISDIR),
    (NotADirectoryError, errno.ENOTDIR),
    (FileExistsError, errno.EEXIST),
)
# obstore has no class of Python's for these; other libraries' timeouts are named so before Python 3.11.
_ERRNOS_BY_NAME = {
    "PermissionDeniedError": errno.EACCES,
    "UnauthenticatedError": errno.EACCES,
    "NotFoundError": errno.ENOENT,
    "AlreadyExistsError": errno.EEXIST,
    "TimeoutError": errno.ETIMEDOUT,
    "FSTimeoutError": errno.ETIMEDOUT,
    "ReadTimeoutError": errno.ETIMEDOUT,
    "ConnectTimeoutError": errno.ETIMEDOUT,
}
# pyarrow has one number for all answers of servers, obstore one class for those to listings.
_DENIED = re.compile(r"\b(?:ACCESS|PERMISSION)_DENIED\b|\bstatus code: 403\b")
_NOT_IMPLEMENTED = re.compile(r"\bstatus code: 501\b")
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s'\"<>`]+")
# What servers answer with may repeat what they were asked, with the headers that hold tokens, those too that
# no option holds: a credential provider gave them. obstore shows it after the status, whatever its form.
_BODY = re.compile(
    r"(?P<status>\bstatus code: \d{3}[^:<{]*): .*|<(?:\?xml|!doctype|html|error)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_CODE = re.compile(r"<Code>(\w{1,64})</Code>|\"(?:code|error)\": *\"([A-Za-z_]{1,64})\"")
_SECRET = re.compile(r"secret|token|password|credential|signature|sas|(?<!ss_)key(?!_id)", re.IGNORECASE)
_LONGEST = 600


def as_oserror(error: Exception, path: str, filesystem: object) -> Exception:
    """What to raise in place of what a library raised on a path: an `OSError` with the number, text and path.

    Args: filesystem, the library's own object: secrets among its options are left out of the text.
    Returns: the error itself where it is not a storage's.
    """
    if isinstance(error, _OF_PROGRAMS):
        return error
    return OSError(errno_of(error), _message(error, filesystem), _native.without_credentials(path))


def errno_of(error: Exception) -> int:
    """The number of a library's error; EIO where it has none."""
    known = [number for kind, number in _ERRNOS if isinstance(error, kind)]
    given = getattr(error, "errno", None) if isinstance(error, OSError) else None
    number = given if isinstance(given, int) and given else next(iter(known), None)
    number = number or _ERRNOS_BY_NAME.get(type(error).__name__, errno.EIO)
    return errno.EACCES if number == errno.EIO and _DENIED.search(str(error)) else number


def is_not_implemented(error: Exception) -> bool:
    """Whether a store of obstore, or its server, has no such request."""
    own = (NotImplementedError, *loaded("obstore.exceptions", "NotSupportedError"))
    # obstore's errors have the status of an answer in their text only.
    return isinstance(error, own) or _NOT_IMPLEMENTED.search(str(error)) is not None


def of_a_range(error: Exception) -> bool:
    """Whether a library may have raised this since a range begins where the file ends."""
    return "range" in str(error).lower() or getattr(error, "errno", None) == errno.EINVAL


def _message(error: Exception, filesystem: object) -> str:
    text = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
    # obstore prints all that it knows below its sentence.
    text = text.partition("\n\nDebug source")[0]
    text = _BODY.sub(_without_body, text)
    text = _URL.sub(lambda url: _native.without_credentials(url[0]), text)
    for secret in _secrets(filesystem):
        text = text.replace(secret, "…")
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _without_body(answer: re.Match[str]) -> str:
    """The status of an answer where it is known, and the server's own word for what is wrong."""
    code = _CODE.search(answer[0])
    word = (code[1] or code[2]) if code else "…"
    return f"{answer['status']}: {word}" if answer["status"] else word


def _secrets(filesystem: object) -> Iterator[str]:
    """Values of the options that a filesystem was made with whose names are those of secrets."""
    for name in ("config", "client_options", "storage_options"):
        yield from _secret_values(getattr(filesystem, name, None))
    if type(filesystem).__module__.startswith("pyarrow."):
        try:
            made = filesystem.__reduce__()
        except (TypeError, NotImplementedError):
            return
        yield from _secret_values(made[1] if isinstance(made, tuple) else None)


def _secret_values(options: Any, name: str = "") -> Iterator[str]:
    if isinstance(options, Mapping):
        for key, value in options.items():
            yield from _secret_values(value, str(key))
    elif isinstance(options, (list, tuple)):
        for value in options:
            yield from _secret_values(value, name)
    elif isinstance(options, str) and len(options) > 3 and _SECRET.search(name):
        yield options
