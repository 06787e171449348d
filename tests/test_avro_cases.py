"""Small Avro files, well-formed and malformed: each gives its rows or a typed error, fast and in bounds."""

from __future__ import annotations

import base64
import io
import random
import subprocess
import sys
import time
import zlib
from collections.abc import Sequence
from typing import Any

import fastavro
import pytest
from avro_blocks import SYNC_BYTES, assert_place, blocks

import lakebed
from lakebed import avro
from lakebed._values import to_json_values
from lakebed.errors import LakebedError, TruncatedError
from shared_data import Case, cases, each_case

SUITE = "avro_hostile"
CODECS = ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"]
SECONDS = 1.0
# Above the limits themselves: the interpreter's own noise, and decoders' fixed buffers.
SPARE_BYTES = 16 << 20


def content(case: Case) -> bytes:
    """The file of a case."""
    if (packed := case.get("file_zlib_b64")) is not None:
        return zlib.decompress(base64.b64decode(packed))
    return base64.b64decode(case["file_b64"])


def limits(case: Case) -> lakebed.Limits:
    """The limits a case is to be read with; the defaults where it names none."""
    return lakebed.Limits(**case.get("limits", {}))


@each_case(SUITE)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.timeout(30)
def test_rows_or_a_typed_error(case: Case, threads: int):
    data = content(case)
    # Of this process: a busy machine takes longer.
    start = time.process_time()
    rows, error = _read(data, limits(case), threads)
    took = time.process_time() - start
    if rows is not None:
        _assert_rows(case, _json_rows(rows))
    else:
        assert case.error_kinds is not None, f"refused: {error!r}"
        assert error.kind in case.error_kinds, error
        assert str(error)
    assert took < SECONDS


def _read(data: bytes, limits: lakebed.Limits, threads: int = 1) -> tuple[Any, Any]:
    """The rows, or the typed error; of the two, the other is None."""
    try:
        return avro.read(data, limits=limits, threads=threads).to_arrow(), None
    except LakebedError as error:
        return None, error


def _assert_rows(case: Case, rows: list[Any]) -> None:
    expect = case["expect"]
    assert "rows" in expect or "rows_or_error" in expect, f"read as {rows[:3]}, not refused"
    wanted = expect.get("rows", expect.get("rows_or_error"))
    if wanted != "any":
        assert rows == wanted


def _json_rows(table: Any) -> list[dict[str, Any]]:
    columns = [to_json_values(column.combine_chunks()) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


@each_case(SUITE)
def test_errors_say_where(case: Case):
    _, error = _read(content(case), limits(case))
    if error is not None and case["class"] not in ("header", "recursion"):
        assert error.offset is not None, error
        assert 0 <= error.offset <= case["bytes"], error
    if error is not None and case["class"] in ("varint", "length", "utf8", "index", "count", "logical"):
        assert error.block == 0, error
        assert_place(content(case), error)


# A process of its own, so that its peak is this file's; read twice, so that the first reading pays for what
# is loaded once.
_PEAK = """
import resource, sys
from lakebed import LIMITS, Limits, avro

data = sys.stdin.buffer.read()
limits = Limits(**eval(sys.argv[1]))
list(avro.read(bytes.fromhex(sys.argv[2]), threads=1))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    for batch in avro.read(data, limits=limits, threads=1):
        pass
except ValueError:
    pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""

_BOUNDED = [case for case in cases(SUITE) if case["class"] == "bomb" or case.get("limits")]


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
@pytest.mark.parametrize("case", _BOUNDED, ids=[case.id for case in _BOUNDED])
def test_memory_stays_within_the_limits(case: Case):
    bounds = case.get("limits", {})
    warm = _written("snappy", 1, [{"id": 1, "name": ""}])
    done = subprocess.run(
        [sys.executable, "-c", _PEAK, repr(bounds), warm.hex()],
        input=content(case),
        capture_output=True,
        timeout=60,
        check=True,
    )
    allowed = bounds.get("max_block_bytes", 0) + SPARE_BYTES
    assert int(done.stdout) < allowed


# --- prefixes -----------------------------------------------------------------------------------------------

SCHEMA = {
    "type": "record",
    "name": "r",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}],
}
RECORDS = [{"id": 1 << number, "name": "n" * number if number % 3 else None} for number in range(24)]


def _written(codec: str, interval: int, records: Sequence[dict[str, Any]] = RECORDS) -> bytes:
    file = io.BytesIO()
    fastavro.writer(file, SCHEMA, records, codec=codec, sync_interval=interval)
    return file.getvalue()


@pytest.mark.parametrize("codec", CODECS)
def test_every_prefix_is_refused_or_ends_at_a_block(codec: str):
    data = _written(codec, 60)
    known = avro.read_blocks(data).to_pylist()
    assert len(known) > 3
    rows_until = {len(_written(codec, 60, [])): 0}
    for block in known:
        end = block["offset"] + block["size_in_bytes"] + SYNC_BYTES
        rows_until[end] = max(rows_until.values()) + block["row_count"]
    assert rows_until.pop(len(data)) == len(RECORDS)
    assert avro.read(data).to_arrow().to_pylist() == RECORDS
    for length in range(len(data)):
        prefix = data[:length]
        if length in rows_until:
            assert avro.read(prefix).to_arrow().to_pylist() == RECORDS[: rows_until[length]]
            continue
        with pytest.raises(TruncatedError) as refused:
            avro.read(prefix).to_arrow()
        assert refused.value.kind == "truncated", f"{length} bytes"


@pytest.mark.parametrize("codec", ["null", "deflate"])
@pytest.mark.parametrize(
    ("count", "size", "kind"),
    [
        (b"\x01", b"", "count"),
        (b"\xff" * 9 + b"\x7f", b"", "varint"),
        (b"\x80" * 11, b"", "varint"),
        (b"\xfe\xff\xff\xff\x0f", b"", "limit"),
        (b"\xfe\x3f", b"", "truncated"),
        (b"\x30", b"\x01", "length"),
        (b"\x30", b"\xff" * 10, "varint"),
        (b"\x30", b"\xfe\xff\xff\xff\x0f", "limit"),
        (b"\x30", b"\xfe\x3f", "truncated"),
    ],
)
def test_a_fault_in_the_numbers_of_a_block_is_no_record_s(codec: str, count: bytes, size: bytes, kind: str):
    """They are read before any record is; a number that is not given is the right one."""
    data = _written(codec, 1 << 20)
    (block,) = blocks(data)
    damaged = (
        data[: block.start] + count + (size or data[block.start + 1 : block.payload]) + data[block.payload :]
    )
    _, error = _read(damaged, lakebed.LIMITS)
    assert error.kind == kind, error
    assert (error.block, error.record) == (0, None)
    assert_place(damaged, error)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("seed", range(8))
def test_errors_of_flipped_bits_say_where(codec: str, seed: int):
    data, header = _written(codec, 40), len(_written(codec, 40, []))
    chosen = random.Random(seed)
    refused = 0
    for _ in range(100):
        damaged = bytearray(data)
        damaged[chosen.randrange(header, len(data))] ^= 1 << chosen.randrange(8)
        _, error = _read(bytes(damaged), lakebed.LIMITS)
        if error is not None:
            refused += 1
            assert_place(bytes(damaged), error)
    assert refused > 20
