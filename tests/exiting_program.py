"""A program that ends while a stream is open, or reads while it ends.

Arguments: a table's folder, how it ends.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from typing import Any

import pyarrow as pa
from slow_storage import Slow

import lakebed


def say(*words: object, write: Any = os.write) -> None:
    """Writes at once: what `print` needs may be gone."""
    write(1, (" ".join(map(str, words)) + "\n").encode())


storage = Slow()
table = lakebed.open_table(sys.argv[1], storage=storage)
local = lakebed.open_table(sys.argv[1])
# What pyarrow imports when it is first used cannot be imported at the end.
pa.table(local.files(limit=0))
Slow.seconds = 0.1


def begun() -> pa.RecordBatchReader:
    reader = pa.RecordBatchReader.from_stream(table.files())
    reader.read_next_batch()
    return reader


class Last:
    """Reads when it is the last to be removed."""

    def __init__(self) -> None:
        self.tables, self.begun = (table, local), begun()

    def __del__(self, say: Any = say, read: Any = pa.table) -> None:
        for last in self.tables:
            try:
                rows = read(last.files()).num_rows
            except Exception as error:  # noqa: BLE001 - the interpreter may give no more than an error
                rows = type(error).__name__
            say(rows)


class SlowEnd:
    """Takes a second to be removed, in which threads that read meet the interpreter that ends."""

    def __del__(self, sleep: Any = time.sleep) -> None:
        sleep(1)


def for_ever() -> None:
    while True:
        table.files().to_arrow()
        pa.table(table.files())


how = sys.argv[2]
if how == "reader":
    kept = table.files().to_arrow_batch_reader()
    kept.read_next_batch()
elif how == "stream":
    kept = begun()
elif how == "atexit":
    atexit.register(lambda: say(pa.table(table.files()).num_rows, table.files().to_arrow().num_rows))
elif how == "daemon":
    threading.Thread(target=for_ever, daemon=True).start()
    time.sleep(0.5)
elif how == "teardown":
    threading.Thread(target=for_ever, daemon=True).start()
    time.sleep(0.5)
    late = SlowEnd()
elif how == "finaliser":
    last = Last()
say("end")
