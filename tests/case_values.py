"""Values of cases that are given as text."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa


def ticks(text: str, kind: pa.DataType) -> int:
    """The integer that stands for a date, time or timestamp in the form of ISO 8601."""
    if pa.types.is_time(kind):
        array = pa.array([dt.time.fromisoformat(text)], kind)
    else:
        array = pa.array([text]).cast(kind)
    number: int = array.view(pa.int32() if kind.bit_width == 32 else pa.int64())[0].as_py()
    return number
