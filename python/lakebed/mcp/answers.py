"""What a server answers: JSON values of bounded size, and errors with their kind and place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed import _native
from lakebed._values import to_records
from lakebed.errors import LakebedError, is_retryable

if TYPE_CHECKING:
    from lakebed.view import ViewScan

MOST_ROWS = 100
"""Rows of an answer, unless the server is started with another number."""

# Characters.
_MOST, _MOST_OF_ROW, _MOST_OF_TEXT = 256 * 1024, 64 * 1024, 2000
_MOST_WARNINGS = 20
# Items of a list or an object that are tried, until the whole is small enough.
_ITEMS = (1000, 100, 10, 1)
_PLACE = ("kind", "path", "offset", "block", "record", "field")
_SHORTENED = "long lists and texts have only their beginning"


def of_rows(scan: ViewScan, most: int) -> dict[str, Any]:
    """The first rows of a scan, as `of_records`. Cost: reads no further than it takes."""
    return of_records(to_records(scan.preview(most + 1)), most)


def of_records(records: Sequence[dict[str, Any]], most: int) -> dict[str, Any]:
    """`rows`, the first records; `is_cut`, whether there are more or some are not whole; a `note` on that."""
    shown, notes, size, is_shortened = list[dict[str, Any]](), list[str](), 0, False
    for record in records[:most]:
        smaller, has_cut = _bounded(record, _MOST_OF_ROW)
        size += len(to_text(smaller))
        if size > _MOST:
            break
        shown.append(smaller)
        is_shortened |= has_cut
    if len(shown) < len(records):
        notes.append(f"the first {len(shown)} rows, there are more: ask for fewer by a condition")
    if is_shortened:
        notes.append(f"{_SHORTENED}: ask for fewer columns")
    return {"rows": shown, "is_cut": bool(notes)} | ({"note": "; ".join(notes)} if notes else {})


def of_object(value: dict[str, Any]) -> dict[str, Any]:
    """An object, and `is_cut`, whether something in it is not whole."""
    smaller, has_cut = _bounded(value, _MOST)
    return {**smaller, "is_cut": has_cut} | ({"note": _SHORTENED} if has_cut else {})


def of_error(error: Exception) -> dict[str, Any]:
    """`error`: its `type`, `kind` and `message`, the place, as far as that is known, and `retryable`."""
    kind = "io" if isinstance(error, OSError) else "argument"
    about = {"type": type(error).__name__, "kind": kind, "message": str(error)}
    if isinstance(error, LakebedError):
        place = {name: getattr(error, name) for name in _PLACE}
        about |= {name: value for name, value in place.items() if value is not None}
    elif isinstance(error, OSError) and error.filename:
        about |= {"message": error.strerror or str(error), "path": str(error.filename)}
    return {"error": {**_bounded(about, _MOST)[0], "retryable": is_retryable(error)}}


def of_warnings(texts: Iterable[str]) -> dict[str, Any]:
    """`warnings`, where there are some."""
    shown, _ = _bounded({"warnings": list(texts)[:_MOST_WARNINGS]}, _MOST)
    return shown if shown["warnings"] else {}


def to_text(value: Any) -> str:
    """JSON, as short as it can be written."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@dataclass
class _Cutter:
    """Makes values of JSON smaller: of lists and objects so many items are left, of texts their beginning.
    Whether something was left out is `has_cut`.
    """

    items: int
    has_cut: bool = False

    def cut(self, value: Any) -> Any:
        """The value, or what is left of it, without the credentials of URIs."""
        if isinstance(value, str):
            text = _native.without_credentials(value) if "://" in value else value
            self.has_cut |= len(text) > _MOST_OF_TEXT
            return text if len(text) <= _MOST_OF_TEXT else f"{text[:_MOST_OF_TEXT]}…"
        if isinstance(value, dict | list):
            self.has_cut |= len(value) > self.items
        if isinstance(value, dict):
            return {key: self.cut(one) for key, one in list(value.items())[: self.items]}
        return [self.cut(one) for one in value[: self.items]] if isinstance(value, list) else value


def _bounded(value: dict[str, Any], most: int) -> tuple[dict[str, Any], bool]:
    """An object of at most so many characters, and whether something of it is left out."""
    for items in _ITEMS:
        cutter = _Cutter(items)
        smaller = cutter.cut(value)
        if len(to_text(smaller)) <= most:
            return smaller, cutter.has_cut
    return {}, True
