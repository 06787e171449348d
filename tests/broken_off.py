"""Runs that are broken off before or after one of their steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class BrokenOff:
    """Counts the beginnings and ends of steps, and raises KeyboardInterrupt at one of them.

    Attributes: steps, how many there were so far.
    """

    def __init__(self, point: int) -> None:
        self._point, self.steps = point, 0

    def step(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method, each call of which is a step."""

        def step(*given: Any) -> Any:
            self._count()
            result = method(*given)
            self._count()
            return result

        return step

    def _count(self) -> None:
        self.steps += 1
        if self.steps == self._point + 1:
            raise KeyboardInterrupt
