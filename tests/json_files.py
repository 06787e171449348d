"""Metadata in JSON that tests change."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def edited(path: Path) -> Iterator[dict[str, Any]]:
    """What a file holds, which is written again as it is left."""
    stored = json.loads(path.read_text("utf-8"))
    yield stored
    path.write_text(json.dumps(stored), "utf-8")


def _same(value: Any) -> Any:
    return value


def changed(
    value: Any, objects: Callable[[dict[str, Any]], Any] = _same, scalars: Callable[[Any], Any] = _same
) -> Any:
    """A value of JSON with its objects and scalars changed, those within others first."""
    if isinstance(value, dict):
        return objects({key: changed(part, objects, scalars) for key, part in value.items()})
    if isinstance(value, list):
        return [changed(part, objects, scalars) for part in value]
    return scalars(value)


def without(value: Any, *keys: str) -> Any:
    """A value of JSON without these keys of its objects."""
    return changed(value, lambda parts: {key: part for key, part in parts.items() if key not in keys})
