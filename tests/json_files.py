"""Metadata in JSON that tests change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def edited(path: Path) -> Iterator[dict[str, Any]]:
    """What a file holds, which is written again as it is left."""
    stored = json.loads(path.read_text("utf-8"))
    yield stored
    path.write_text(json.dumps(stored), "utf-8")
