"""Python that lakebed calls may read tables itself, by any door; what it raises reaches the caller."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import nested_reads
import polars as pl
import pyarrow as pa
import pytest
from interpreters import printed
from nested_reads import COLUMNS, DOORS, FORMATS, Calling, made

import lakebed
from lakebed import LakebedError


class OwnError(Exception):
    """What a storage may raise."""


@pytest.fixture(scope="module", params=FORMATS)
def location(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return made(tmp_path_factory.mktemp("nested") / "t", request.param, 12)


@pytest.mark.parametrize("form", FORMATS)
def test_whatever_lakebed_calls_reads_by_every_door(form: str, tmp_path: Path):
    assert printed(nested_reads.__file__, tmp_path, form) == "read\n"


class Raising(Calling):
    """Raises while manifests are read, so that streams have begun."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__()
        self.raised = raised

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        name = path.rsplit("/", 1)[-1]
        if name.startswith("manifest-") or name.endswith(".avro"):
            is_list = name.startswith(("manifest-list", "snap-"))
            if not is_list:
                raise self.raised
        return super().read(path, start, end)


RAISED = [OwnError("mine"), KeyboardInterrupt("mine"), SystemExit(3)]


@pytest.mark.parametrize("raised", RAISED, ids=repr)
@pytest.mark.parametrize("door", ["to_arrow", "to_arrow_batch_reader"])
def test_what_a_storage_raises_arrives(location: str, raised: BaseException, door: str):
    table = lakebed.open_table(location, storage=Raising(raised))
    with pytest.raises(type(raised)) as caught:
        DOORS[door](table.files(columns=COLUMNS))
    assert caught.value is raised


ERRORS = [("pyarrow", pa.ArrowInvalid), ("polars", pl.exceptions.ComputeError), ("duckdb", duckdb.Error)]


@pytest.mark.parametrize(("door", "error"), ERRORS)
def test_the_c_stream_tells_what_a_storage_raises(location: str, door: str, error: type[Exception]):
    table = lakebed.open_table(location, storage=Raising(OwnError("mine")))
    with pytest.raises(error, match="OwnError: mine"):
        DOORS[door](table.files(columns=COLUMNS))


@pytest.mark.parametrize("raised", RAISED[1:], ids=repr)
@pytest.mark.parametrize("door", ["pyarrow", "polars", "duckdb"])
def test_an_interrupt_passes_the_c_stream(location: str, raised: BaseException, door: str):
    table = lakebed.open_table(location, storage=Raising(raised))
    caught: BaseException | None = None
    # What is raised while a callback of the collector runs is lost, and the tests have one.
    gc.disable()
    try:
        try:
            DOORS[door](table.files(columns=COLUMNS))
        except Exception:  # noqa: BLE001 - each library has a class of its own for the text
            for _ in range(1000):
                time.sleep(0.001)
    except BaseException as error:  # noqa: BLE001 - an interrupt is what is expected
        caught = error
    finally:
        gc.enable()
    assert caught is raised


@pytest.mark.parametrize("raised", RAISED, ids=repr)
def test_what_a_given_stream_raises_arrives(location: str, raised: BaseException):
    table = lakebed.open_table(location)

    def reader(*columns: tuple[str, pa.DataType]) -> pa.RecordBatchReader:
        def batches() -> Iterator[pa.RecordBatch]:
            raise raised
            yield  # type: ignore[unreachable]

        return pa.RecordBatchReader.from_batches(pa.schema(columns), batches())

    files = [("file_path", pa.string()), ("record_count", pa.int64()), ("file_size_in_bytes", pa.int64())]
    listed = [("path", pa.string()), ("size", pa.int64()), ("modified", pa.timestamp("ms"))]
    calls: list[Callable[[], Any]] = [
        lambda: table.append_files(reader(*files)),
        lambda: table.orphans(listing=reader(*listed)).to_arrow(),
        lambda: lakebed.avro.write(reader(*files), None),
    ]
    for call in calls:
        with pytest.raises(type(raised)) as caught:
            call()
        assert caught.value is raised


def test_a_batch_of_other_columns_than_its_stream_is_refused(location: str):
    schema = pa.schema([("file_path", pa.string()), ("record_count", pa.int64())])
    other = pa.record_batch({"file_path": [1], "record_count": ["x"]})
    with pytest.raises(LakebedError, match="other columns than its stream"):
        lakebed.avro.write(pa.RecordBatchReader.from_batches(schema, iter([other])), None)


def test_a_stream_refuses_to_be_read_from_within(location: str):
    storage, refused = Calling(), list[Exception]()
    table = lakebed.open_table(location, storage=storage)
    reader = pa.RecordBatchReader.from_stream(table.files(columns=COLUMNS))

    def inside() -> None:
        with pytest.raises(pa.ArrowInvalid, match="is being read") as caught:
            reader.read_next_batch()
        refused.append(caught.value)

    storage.inside = inside
    rows = reader.read_all().num_rows
    storage.inside = None
    assert rows == 12
    assert len(refused) == storage.calls > 0


def test_threads_that_share_a_c_stream_take_turns(location: str):
    reader = pa.RecordBatchReader.from_stream(lakebed.open_table(location).files(columns=COLUMNS, threads=2))
    rows: list[int] = []

    def pull() -> None:
        rows.extend(batch.num_rows for batch in reader)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: pull(), range(4)))
    assert sum(rows) == 12
