"""What the libraries of storages raise, as an `OSError` that names the path and hides secrets."""

from __future__ import annotations

import errno
import functools
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from lakebed import _native
from lakebed.errors import LakebedError, LakebedWarning
from lakebed.storage.secrets import surrogates_spelled, without_secrets

_Method = TypeVar("_Method", bound=Callable[..., Any])
_Result = TypeVar("_Result")

# What lakebed says itself, and a lack of memory, which the core makes a `LimitError` of.
_OWN = (LakebedError, LakebedWarning, MemoryError)
_ERRNOS: tuple[tuple[type[Exception], int], ...] = (
    (FileNotFoundError, errno.ENOENT),
    (PermissionError, errno.EACCES),
    (TimeoutError, errno.ETIMEDOUT),
    (ConnectionRefusedError, errno.ECONNREFUSED),
    (ConnectionError, errno.ECONNRESET),
    (IsADirectoryError, errno.EISDIR),
    (NotADirectoryError, errno.ENOTDIR),
    (FileExistsError, errno.EEXIST),
    (NotImplementedError, errno.ENOTSUP),
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
# Errors of catalogs whose words are a server's: the kind of the error, and a sentence.
_ANSWERS = {"pyiceberg.exceptions": "RESTError", "pypaimon.api.rest_exception": "RESTException"}
_KIND = re.compile(r"(\w{1,64}): ")
# A code is a word; whatever else is in its place is none.
_CODE = re.compile(r"\w[\w.-]{0,63}")
# Their texts below the first line are the server's.
_OF_SERVERS = ("gcsfs", "adlfs", "azure")


def loaded(module: str, *names: str) -> tuple[type, ...]:
    """The classes of a module of these names, for `isinstance`: none where nothing has imported it, so that
    no object is of them, and without those that its version does not have.
    """
    found = (getattr(sys.modules.get(module), name, None) for name in names)
    return tuple(kind for kind in found if isinstance(kind, type))


def reported(method: _Method) -> _Method:
    """A method of a storage, which has a path first: whatever a library raises in it is an `OSError` with
    that path. The object's `holders` are the library's own, whose secrets no text has.
    """

    @functools.wraps(method)
    def call(self: Any, path: str, *arguments: Any, **keywords: Any) -> Any:
        return converted(
            lambda: method(self, path, *arguments, **keywords),
            lambda error: failure(error, path, *self.holders),
        )

    return cast("_Method", call)


def converted(work: Callable[[], _Result], convert: Callable[[Exception], Exception]) -> _Result:
    """The result of work that asks another library. What lakebed raises itself stays as it is.

    Args: convert, what to raise in place of what the library raised, which is nobody's cause: tracebacks
        would print it, with its secrets.
    """
    try:
        return work()
    except _OWN as error:
        raised: Exception = error
    except Exception as error:  # noqa: BLE001 - libraries have classes of their own; each is converted
        raised = convert(error)
    raised.__context__ = None
    raise raised from None


def words_of(error: Exception, *holders: Any) -> str:
    """What a library's error says, in one line and without secrets.

    Args: holders, objects of the library: their secrets, too, are left out.
    """
    return without_secrets(_words(error, holders), *holders)


def failure(error: Exception, path: str, *holders: Any) -> OSError:
    """The error of a library as an `OSError` with its number, whose class that is, its text and the path.

    Args: holders, objects of the library: their secrets, too, are left out.
    """
    words = words_of(error, *holders)
    if not isinstance(error, OSError):
        words = f"{type(error).__name__}: {words}" if words else type(error).__name__
    shown = _native.without_credentials(surrogates_spelled(path))
    return OSError(errno_of(error), words or type(error).__name__, shown)


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


def _words(error: Exception, holders: Sequence[Any]) -> str:
    """What an error says, without what a server says of its own: that may repeat what it was asked, with the
    headers that hold tokens, those too that no option holds.
    """
    for one in _chain(error):
        if (code := _code(one)) is not None:
            return code
    if any(isinstance(argument, (Mapping, list, bytes)) for argument in error.args):
        # An answer as it was parsed.
        return "…"
    text = error.strerror if isinstance(error, OSError) and isinstance(error.strerror, str) else str(error)
    roots = {type(one).__module__.partition(".")[0] for one in (error, *holders)}
    return text.partition("\n")[0] if roots.intersection(_OF_SERVERS) else text


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what its library says led to it. What is handled besides may be the caller's own."""
    seen = set[int]()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__


def _code(error: BaseException) -> str | None:
    """The status of an answer, by the attributes that clients keep it in: botocore, azure, gcsfs."""
    response = getattr(error, "response", None)
    if isinstance(response, Mapping) and isinstance(answer := response.get("Error"), Mapping):
        operation = _word(getattr(error, "operation_name", ""))
        return f"An error occurred ({_word(answer.get('Code'))}) when calling the {operation} operation"
    if any(isinstance(error, loaded(module, name)) for module, name in _ANSWERS.items()):
        kind_of_server = _KIND.match(str(error))
        return kind_of_server[1] if kind_of_server else "…"
    root, kind = type(error).__module__.partition(".")[0], type(error).__name__
    if root == "azure" and hasattr(error, "status_code"):
        return f"{kind}: {_word(error.status_code)} {_word(getattr(error, 'error_code', None))}"
    if root == "gcsfs" and hasattr(error, "code"):
        return f"{kind}: {_word(error.code)}"
    return None


def _word(code: Any) -> str:
    text = str(getattr(code, "value", code))
    return text if _CODE.fullmatch(text) else "…"
