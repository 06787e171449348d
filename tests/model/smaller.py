"""The smallest history that still fails, as far as leaving out one thing after the other leads to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

from model.histories import History, Step

TRIES = 300
_T = TypeVar("_T")


def smallest(history: History, fails: Callable[[History], bool]) -> History:
    """A history that fails and of which nothing can be left out, or what `TRIES` attempts made of it."""
    left = TRIES
    while True:
        for one in _smaller(history):
            left -= 1
            if left < 0:
                return history
            if fails(one):
                history = one
                break
        else:
            return history


def _smaller(history: History) -> Iterator[History]:
    """The history without one thing, large ones first."""
    plain = History(history.format, history.situation, 0, history.retain, (), ())
    for name in (
        "during",
        "lags",
        "asked",
        "opened",
        "second",
        "first",
        "has_inventory",
        "at",
        "holds",
        "between",
    ):
        if getattr(history, name) != getattr(plain, name):
            yield _changed(history, name, getattr(plain, name))
    for name in ("during", "asked", "opened", "second", "first"):
        for fewer in _without_one(getattr(history, name)):
            yield _changed(history, name, fewer)
    for at, one in enumerate(history.during):
        for steps in [*_without_one(one.steps), *_simpler(one.steps)]:
            yield _changed(history, "during", _with(history.during, at, replace(one, steps=steps)))
    for name in ("asked", "opened", "second", "first"):
        for steps in _simpler(getattr(history, name)):
            yield _changed(history, name, steps)


def _changed(history: History, name: str, value: Any) -> History:
    return replace(history, **{name: value})


def _without_one(items: tuple[_T, ...]) -> Iterator[tuple[_T, ...]]:
    if len(items) > 1:
        for at in range(len(items)):
            yield items[:at] + items[at + 1 :]


def _simpler(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """The same operations, each in turn of the first table, or with other numbers."""
    for at, (table, operation, a, b) in enumerate(steps):
        for other in ((0, operation, 0, 0), (table, operation, 0, b), (table, operation, a, 0)):
            if other != (table, operation, a, b) and sum(other) < table + operation + a + b:
                yield _with(steps, at, other)


def _with(items: tuple[_T, ...], at: int, item: _T) -> tuple[_T, ...]:
    return (*items[:at], item, *items[at + 1 :])
