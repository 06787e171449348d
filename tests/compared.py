"""How many values a run compared with those of an engine, another reader, or another door of lakebed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_total = 0


def count(values: Any) -> None:
    """Adds the values of what was compared: of an Arrow table, or of rows as sequences, mappings or texts."""
    global _total
    if hasattr(values, "num_rows"):
        _total += values.num_rows * max(values.num_columns, 1)
    else:
        _total += sum(
            len(row) if isinstance(row, (dict, Sequence)) and not isinstance(row, str) else 1
            for row in values
        )


def total() -> int:
    """Values compared so far in this process."""
    return _total
