"""What the command line writes where reading fails."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed
from lakebed.cli import output


@pytest.mark.parametrize("sound", [0, 1, 2])
def test_no_row_is_written_of_what_cannot_be_read(sound: int, tmp_path: Path, capsysbinary: Any) -> None:
    """Whoever reads a pipe would take part of the rows for all."""
    batch = pa.record_batch({"a": [1, 2]})

    class Rows:
        def to_arrow(self) -> pa.Table:
            return pa.Table.from_batches(self)

        def to_arrow_batch_reader(self) -> Any:
            return self

        schema = batch.schema

        def __iter__(self) -> Any:
            yield from [batch] * sound
            raise lakebed.errors.CorruptError("damaged", kind="mismatch")

    rows: Any = Rows()
    with pytest.raises(lakebed.errors.CorruptError):
        output.write(rows, "json", None, all_rows=True)
    sys.stdout.flush()
    assert capsysbinary.readouterr().out == b""
    with pytest.raises(lakebed.errors.CorruptError):
        output.write(rows, "json", str(tmp_path / "rows"), all_rows=True)
    assert list(tmp_path.iterdir()) == []
