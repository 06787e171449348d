"""Properties that are computed once."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar, overload

Value = TypeVar("Value")


class kept(cached_property[Value]):  # noqa: N801 - it is written as `property` is
    """`functools.cached_property` as it is from Python 3.12 on.

    The older one has one lock for all objects of a class: threads that read schemas of different tables wait
    for each other, and a fork amid them waits forever. Here two threads that ask at once may both compute.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> kept[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Value: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> kept[Value] | Value:
        if instance is None or self.attrname is None:
            return super().__get__(instance, owner)
        value = self.func(instance)
        vars(instance)[self.attrname] = value
        return value
