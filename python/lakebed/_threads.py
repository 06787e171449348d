"""Work on many items side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

# What is done ahead at most, in bytes, beside what is taken next.
_AHEAD = 32 << 20


def _nothing(_item: object) -> int:
    return 0


def in_order(
    items: Sequence[Item],
    work: Callable[[Item], Result],
    at_once: int,
    size: Callable[[Item], int] = _nothing,
) -> Iterator[tuple[Item, Result]]:
    """Each item with what work makes of it, in their order.

    Args: at_once, on how many items threads work meanwhile; size, the bytes of an item's result, of which
        some MiB are ahead at most. No thread is left when this ends.
    Raises: what work raises, for its item.
    """
    if at_once < 2 or len(items) < 2:
        yield from ((item, work(item)) for item in items)
        return
    pool = ThreadPoolExecutor(at_once)
    try:
        left, waiting, ahead = deque(items), deque[tuple[Item, Future[Result]]](), 0
        while left or waiting:
            if left and (not waiting or (len(waiting) <= at_once and ahead + size(left[0]) <= _AHEAD)):
                ahead += size(left[0])
                waiting.append((left[0], pool.submit(work, left.popleft())))
            else:
                first, future = waiting.popleft()
                ahead -= size(first)
                yield first, future.result()
    finally:
        pool.shutdown(cancel_futures=True)
