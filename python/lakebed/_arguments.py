"""Checks of arguments that every reader takes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta, timezone
from operator import index
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from lakebed._native import ReadLimit
from lakebed.errors import SchemaError, SnapshotNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

T = TypeVar("T")

UnwrapKey: TypeAlias = Callable[[bytes, str], bytes]
"""Unwraps a key: its wrapped bytes, and the id of the key that it is wrapped by."""
_EPOCH = datetime(1970, 1, 1)
_MILLISECOND = timedelta(milliseconds=1)
# What the compiled core takes. No count reaches it, and no instant of a table.
_MOST = 2**63 - 1
MOST_RETAINED = 2**31 - 1
"""Snapshots that a rule of retention can count."""


class _Unwrap(Protocol):
    def unwrap(self, wrapped: bytes, key_id: str, /) -> bytes: ...


class _UnwrapKey(Protocol):
    def unwrap_key(self, wrapped: bytes, key_id: str, /) -> bytes: ...


KeyClient: TypeAlias = _Unwrap | _UnwrapKey
"""A client of a service that keeps keys, with a method that unwraps one."""


def unwrapping(keys: UnwrapKey | KeyClient | None) -> UnwrapKey | None:
    """What unwraps keys, of a function or of a client. Raises: TypeError for something else."""
    if keys is None or callable(keys):
        return keys
    given: Any = keys
    for name in ("unwrap", "unwrap_key"):
        method: UnwrapKey | None = getattr(given, name, None)
        if callable(method):
            return method
    raise TypeError(f"keys takes a function, or an object with a method unwrap, not {type(keys).__name__}")


def names(argument: str, value: Sequence[str] | None) -> list[str] | None:
    """A list of names. Raises: TypeError for one string, which Python would take letter by letter."""
    if value is None:
        return None
    given: object = value
    every = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else None
    if every is None or not all(isinstance(name, str) for name in every):
        raise TypeError(f"{argument} takes a list of names, not {value!r}")
    return [encodable(argument, name) for name in every]


def encodable(argument: str, text: str) -> str:
    """A text that UTF-8 has. Raises: TypeError; SchemaError for lone surrogates."""
    given: object = text
    if not isinstance(given, str):
        raise TypeError(f"{argument} takes a text, not {given!r}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"{argument} has a lone surrogate: {text!r}", kind="argument") from None
    return text


@contextlib.contextmanager
def needing(extra: str, *modules: str) -> Iterator[None]:
    """Says how to install what the block imports: these modules, or the one that is called as its extra.

    Raises: ImportError.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name not in (modules or (extra,)):
            raise
        raise ImportError(f"{error.name} is not installed: pip install 'lakebed[{extra}]'") from error


def one_of(argument: str, value: str, words: Sequence[str]) -> str:
    """One of some words. Raises: ValueError."""
    if value not in words:
        raise ValueError(f"{argument} is one of {', '.join(map(repr, words))}, not {value!r}")
    return value


def positive(argument: str, value: int | None, least: int = 1, most: int = _MOST) -> int | None:
    """A count of at least `least`, or None. One above `most`, which nothing reaches, is `most`.

    Raises: TypeError, ValueError.
    """
    if value is not None and not hasattr(value, "__index__"):
        raise TypeError(f"{argument} takes a whole number, not {value!r}")
    if value is not None and value < least:
        raise ValueError(f"{argument} must be at least {least}, not {value}")
    return None if value is None else min(value, most)


def limit_of_reads(value: int | ReadLimit | None) -> int | ReadLimit | None:
    """How many reads are in flight at most. Raises: as `positive`."""
    return value if isinstance(value, ReadLimit) else positive("concurrent_reads", value)


def integer(argument: str, value: int, bits: int = 64) -> int:
    """A number of so many bits. Raises: TypeError, ValueError."""
    given: object = value
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"{argument} takes a whole number, not {value!r}")
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{argument} is a number of {bits} bits, not {value}")
    return index(value)


def duration(argument: str, value: timedelta) -> timedelta:
    """A length of time. Raises: TypeError."""
    given: object = value
    if not isinstance(given, timedelta):
        raise TypeError(f"{argument} takes a timedelta, not {value!r}")
    return value


def mapping(argument: str, value: Mapping[str, T]) -> Mapping[str, T]:
    """A mapping. Raises: TypeError."""
    given: object = value
    if not isinstance(given, Mapping):
        raise TypeError(f"{argument} takes a mapping, such as a dict, not {value!r}")
    return value


def version(argument: str, value: int | str) -> int | str:
    """A snapshot's id, or the name of a tag or branch. Raises: TypeError."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        message = f"{argument} takes a snapshot's id or the name of a tag or branch"
        raise TypeError(f"{message}, not {type(value).__name__}")
    return encodable(argument, value) if isinstance(value, str) else snapshot_id(value)


def snapshot_id(value: int) -> int:
    """A snapshot's id. Raises: SnapshotNotFoundError for a number that none has."""
    given: object = value
    if isinstance(given, int) and not -_MOST <= given <= _MOST:
        message = f"no snapshot {value}: ids have 64 bits"
        raise SnapshotNotFoundError(message, kind="snapshot-not-found")
    return value


def bounded(number: int) -> int:
    """The nearest number that the compiled core takes, of times that no table has. Anything else itself."""
    given: object = number
    return max(-_MOST, min(given, _MOST)) if isinstance(given, int) else number


def milliseconds(time: datetime | int) -> int:
    """An instant as whole milliseconds since 1970 UTC, rounded down; ints are that already.

    Args: time, if a datetime without zone, local time of this machine.
    """
    if isinstance(time, int) and not isinstance(time, bool):
        return bounded(time)
    if not isinstance(time, datetime):
        raise TypeError(f"timestamp= takes a datetime or milliseconds, not {type(time).__name__}")
    # Not by way of another zone: the first and last days of Python's calendar are not in all of them.
    return (time.replace(tzinfo=None) - _EPOCH - _offset(time)) // _MILLISECOND


def _offset(time: datetime) -> timedelta:
    """How far a clock is before UTC: this machine's if it has no zone, at the ends of time as it is now."""
    if (offset := time.utcoffset()) is None:
        try:
            offset = time.astimezone().utcoffset()
        except (OverflowError, ValueError, OSError):
            offset = datetime.now().astimezone().utcoffset()
    return offset or timedelta(0)


def instant(millis: int) -> datetime:
    """The time of milliseconds since 1970 UTC, or the end of Python's calendar that is nearest to it."""
    try:
        return (_EPOCH + millis * _MILLISECOND).replace(tzinfo=timezone.utc)
    except OverflowError:
        return (datetime.min if millis < 0 else datetime.max).replace(tzinfo=timezone.utc)


def age(argument: str, value: timedelta | datetime) -> int:
    """An instant, or what was so long ago, in milliseconds since 1970 UTC.

    Raises: TypeError; ValueError for a time in the future.
    """
    if isinstance(value, datetime):
        return milliseconds(value)
    if not isinstance(value, timedelta):
        raise TypeError(f"{argument} takes a timedelta or a datetime, not {type(value).__name__}")
    if value < timedelta(0):
        raise ValueError(f"{argument} is an age, which is not below 0: {value}")
    return milliseconds(datetime.now(timezone.utc)) - value // _MILLISECOND
