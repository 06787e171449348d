"""What clients of REST catalogs ask of a planner, checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from lakebed.errors import PlanRequestError


@dataclass(frozen=True)
class ScanRequest:
    """A `PlanTableScanRequest`: each attribute is the key of the same name, None where it is absent."""

    snapshot_id: int | None = None
    start_snapshot_id: int | None = None
    end_snapshot_id: int | None = None
    select: list[str] | None = None
    filter: str | None = None
    min_rows_requested: int | None = None
    case_sensitive: bool = True
    use_snapshot_schema: bool = False
    stats_fields: list[str] | None = None

    @classmethod
    def of(cls, request: Mapping[str, Any]) -> ScanRequest:
        """The request that JSON is. Keys that are null are absent, keys that are unknown are passed over.

        Raises: PlanRequestError for what is no such request, and for one that asks for a snapshot and an
            increment, or for half an increment.
        """
        given = {field.name: _of(request, field.name.replace("_", "-")) for field in fields(cls)}
        asked = cls(**{name: value for name, value in given.items() if value is not None})
        increment = (asked.start_snapshot_id, asked.end_snapshot_id)
        if asked.snapshot_id is not None and increment != (None, None):
            raise refused("snapshot-id and start-snapshot-id exclude each other", "snapshot-id")
        if (increment[0] is None) != (increment[1] is None):
            raise refused("start-snapshot-id and end-snapshot-id need each other", "start-snapshot-id")
        return asked


def refused(message: str, field: str | None = None) -> PlanRequestError:
    """The error for a request that cannot be answered."""
    return PlanRequestError(message, kind="argument", field=field)


def text_of(request: Mapping[str, Any], key: str) -> str:
    """A text that a request must have. Raises: PlanRequestError."""
    given: object = request
    value = given.get(key) if isinstance(given, Mapping) else None
    if not isinstance(value, str):
        raise refused(f"{key} is a text, not {_shown(value)}", key)
    return value


def _of(request: Mapping[str, Any], key: str) -> Any:
    given: object = request
    if not isinstance(given, Mapping):
        raise refused(f"a request is an object, not {_shown(given)}")
    value = given.get(key)
    if value is None:
        return None
    if key == "filter":
        return _expression(value)
    if key in ("case-sensitive", "use-snapshot-schema"):
        is_right, wanted = isinstance(value, bool), "true or false"
    elif key in ("select", "stats-fields"):
        names = isinstance(value, list) and all(isinstance(name, str) for name in value)
        is_right, wanted = names, "a list of names"
    else:
        least = 0 if key == "min-rows-requested" else -(1 << 63)
        is_number = isinstance(value, int) and not isinstance(value, bool)
        is_right, wanted = is_number and least <= value < 1 << 63, f"a number of 64 bits from {least} on"
    if not is_right:
        raise refused(f"{key} is {wanted}, not {_shown(value)}", key)
    return value


def _expression(value: object) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise refused(f"filter is no expression in JSON: {error}", "filter") from error


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
