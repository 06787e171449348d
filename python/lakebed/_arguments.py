"""Checks of arguments that every reader takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def names(argument: str, value: Sequence[str] | None) -> list[str] | None:
    """A list of column names. Raises: TypeError for one string, which Python would take letter by letter."""
    if value is None:
        return None
    if isinstance(value, str) or not all(isinstance(name, str) for name in value):
        raise TypeError(f"{argument} takes a list of column names, not {value!r}")
    return list(value)


def positive(argument: str, value: int | None, least: int = 1) -> int | None:
    """A count of at least `least`, or None. Raises: ValueError."""
    if value is not None and value < least:
        raise ValueError(f"{argument} must be at least {least}, not {value}")
    return value
