"""What tasks of Spark do with small batches, and with work that waits, without Spark."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pyarrow as pa
import pytest

from lakebed._threads import in_order
from lakebed.spark.mappers import gathered_batches

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("map", pa.map_(pa.int32(), pa.binary()))])


def batches(sizes: list[int]) -> Iterator[pa.RecordBatch]:
    start = 0
    for size in sizes:
        ids = range(start, start + size)
        names = [None if number % 3 else f"n{number}" for number in ids]
        columns = {"id": ids, "name": names, "map": [[(number, b"x")] for number in ids]}
        yield pa.RecordBatch.from_pydict(columns, SCHEMA)
        start += size


@pytest.mark.parametrize("sizes", [[10] * 2000, [5000, 1, 1, 5000, 0], [0, 0], []])
def test_small_batches_are_put_together_and_rows_stay_as_they_are(sizes: list[int]) -> None:
    found = list(gathered_batches(batches(sizes)))
    given = list(batches(sizes))
    assert pa.Table.from_batches(found, SCHEMA).equals(pa.Table.from_batches(given, SCHEMA).combine_chunks())
    assert len(found) <= len(given)
    if sum(sizes) > 10_000 and max(sizes) < 100:
        assert len(found) < 20
        assert max(batch.num_rows for batch in found) < 5000


def test_the_first_rows_are_not_held_back() -> None:
    taken = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal taken
        for batch in batches([10] * 1000):
            taken += 1
            yield batch

    next(gathered_batches(counted()))
    assert taken == 1


def test_work_ahead_is_bounded_in_bytes_and_in_number() -> None:
    lock, begun = threading.Lock(), 0

    def work(item: int) -> int:
        nonlocal begun
        with lock:
            begun += 1
        return -item

    def most_ahead(size: int) -> int:
        nonlocal begun
        begun = most = 0
        found = []
        for number, pair in enumerate(in_order(range(50), work, 8, lambda _: size)):
            found.append(pair)
            with lock:
                most = max(most, begun - number)
        assert found == [(item, -item) for item in range(50)]
        return most

    assert 1 <= most_ahead(1) <= 9
    assert 1 <= most_ahead(16 << 20) <= 3
    assert 1 <= most_ahead(64 << 20) <= 2


def test_what_work_raises_comes_in_its_place_and_no_thread_is_left() -> None:
    def work(item: int) -> int:
        if item == 3:
            raise OSError("no access")
        return item

    before = threading.active_count()
    found: list[tuple[int, int]] = []
    with pytest.raises(OSError, match="no access"):
        found.extend(in_order(range(50), work, 4, lambda _: 1))
    given = in_order(range(50), work, 4, lambda _: 1)
    assert next(given) == (0, 0)
    # It is abandoned, as where a limit is met.
    del given
    gc.collect()
    assert threading.active_count() == before
