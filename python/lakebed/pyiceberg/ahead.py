"""Values made when they are asked for: once, or in blocks for whoever asks for one row after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lakebed._below import Pause

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

PAUSE = Pause()
_MOST = 4096
"""Rows of a block."""


Made = TypeVar("Made")


class Once(Generic[Made]):
    """A property whose value is made once and kept. Of threads that make it at once, all have the same.

    That of functools has a lock until Python 3.12, which all objects share and a fork could leave taken.
    """

    def __init__(self, make: Callable[[Any], Made]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __get__(self, owner: Any, _kind: type) -> Made:
        """The value; from then on it is the object's own attribute."""
        made: Made = vars(owner).setdefault(self._make.__name__, self._make(owner))
        return made


class Ahead(dict[int, Any]):
    """Objects by row. Of threads that ask for the same row at once, all have the same object.

    A block is twice as long as the one before it where it is asked for next, so that hardly more is made in
    vain than was asked for. While it is made no cyclic garbage is collected: for objects that are made one by
    one Python collects so often that it takes longer than making them.
    """

    def __init__(self, rows: int, make: Callable[[int, int], Iterable[Any]]) -> None:
        """Makes nothing. Args: rows, how many there are; make, gives the objects of rows, first to end."""
        super().__init__()
        self._rows, self._make = rows, make
        self._next, self._length = 0, 1

    def __missing__(self, row: int) -> Any:
        """Raises: what making raises."""
        self._length = min(2 * self._length, _MOST) if row == self._next else 1
        end = min(row + self._length, self._rows)
        with PAUSE:
            made = list(self._make(row, end))
            for at, value in enumerate(made[1:], row + 1):
                self.setdefault(at, value)
        self._next = end
        return self.setdefault(row, made[0])
