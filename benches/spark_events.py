"""What Spark's event log tells of a run: rows, tasks, and the bytes that crossed between processes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_CROSSED = {
    "data sent to Python workers": "to_python_bytes",
    "data returned from Python workers": "from_python_bytes",
    "internal.metrics.shuffle.write.bytesWritten": "shuffle_bytes",
}
_ROWS = "number of output rows"
SETTINGS = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    # One file for all of it, also in Spark 4.
    "spark.eventLog.rolling.enabled": "false",
}
"""What a session is made with, and `spark.eventLog.dir`."""


class Events:
    """The event log of one session, read on from where the last run ended."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read = 0

    def counts(self, spark: Any) -> dict[str, int]:
        """Of tasks that ended since: `tasks`, `step_rows` (the most that a step gave), and bytes by way."""
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        (log,) = self._folder.iterdir()
        text = log.read_text()
        new, self._read = text[self._read :], len(text)
        ended = [json.loads(line) for line in new.splitlines() if '"SparkListenerTaskEnd"' in line]
        rows: dict[int, int] = {}
        found = {"tasks": len(ended), **dict.fromkeys(_CROSSED.values(), 0)}
        for update in (one for event in ended for one in event["Task Info"]["Accumulables"]):
            name, value = update.get("Name"), int(update.get("Update") or 0)
            if name == _ROWS:
                rows[update["ID"]] = rows.get(update["ID"], 0) + value
            elif name in _CROSSED:
                found[_CROSSED[name]] += value
        return {**found, "step_rows": max(rows.values(), default=0)}
