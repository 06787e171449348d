"""Checks of arguments that every reader takes."""

from __future__ import annotations

import contextlib
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def names(argument: str, value: Sequence[str] | None) -> list[str] | None:
    """A list of column names. Raises: TypeError for one string, which Python would take letter by letter."""
    if value is None:
        return None
    if isinstance(value, str) or not all(isinstance(name, str) for name in value):
        raise TypeError(f"{argument} takes a list of column names, not {value!r}")
    return list(value)


@contextlib.contextmanager
def needing(extra: str) -> Iterator[None]:
    """Says how to install what the block imports. Raises: ImportError."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name != extra:
            raise
        raise ImportError(f"{extra} is not installed: pip install 'lakebed[{extra}]'") from error


def one_of(argument: str, value: str, words: Sequence[str]) -> str:
    """One of some words. Raises: ValueError."""
    if value not in words:
        raise ValueError(f"{argument} is one of {', '.join(map(repr, words))}, not {value!r}")
    return value


def positive(argument: str, value: int | None, least: int = 1) -> int | None:
    """A count of at least `least`, or None. Raises: TypeError, ValueError."""
    if value is not None and not hasattr(value, "__index__"):
        raise TypeError(f"{argument} takes a whole number, not {value!r}")
    if value is not None and value < least:
        raise ValueError(f"{argument} must be at least {least}, not {value}")
    return value


def version(argument: str, value: int | str) -> int | str:
    """A snapshot's id, or the name of a tag or branch. Raises: TypeError."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        message = f"{argument} takes a snapshot's id or the name of a tag or branch"
        raise TypeError(f"{message}, not {type(value).__name__}")
    return value


def milliseconds(time: datetime | int) -> int:
    """An instant as whole milliseconds since 1970 UTC, rounded down; ints are that already.

    Args: time, if a datetime without zone, local time of this machine.
    """
    if isinstance(time, int) and not isinstance(time, bool):
        return time
    if not isinstance(time, datetime):
        raise TypeError(f"timestamp= takes a datetime or milliseconds, not {type(time).__name__}")
    return (time.astimezone(timezone.utc) - _EPOCH) // timedelta(milliseconds=1)


def age(argument: str, value: timedelta | datetime) -> datetime:
    """An instant, or what was so long ago. Raises: TypeError; ValueError for what is still to come."""
    if isinstance(value, datetime):
        return value
    if not isinstance(value, timedelta):
        raise TypeError(f"{argument} takes a timedelta or a datetime, not {type(value).__name__}")
    if value < timedelta(0):
        raise ValueError(f"{argument} is an age, which is not below 0: {value}")
    return datetime.now(timezone.utc) - value
