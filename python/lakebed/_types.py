"""Types as people read them: nested ones, which both formats keep as JSON, in the words of SQL."""

from __future__ import annotations

import json
from typing import Any


def readable(text: str) -> str:
    """A type's text; of a nested type `struct<a: int, b: list<string>>` and the like."""
    return _words(json.loads(text)) if text.startswith("{") else text


def _words(kind: Any) -> str:
    """Of a type as JSON has it: a text, or an object for one that is nested."""
    if isinstance(kind, str):
        return kind
    name = kind["type"].lower()
    ending = " NOT NULL" if name.endswith(" not null") else ""
    match name.removesuffix(" not null"):
        case "struct" | "row":
            inner = ", ".join(f"{field['name']}: {_words(field['type'])}" for field in kind["fields"])
        case "map":
            inner = f"{_words(kind['key'])}, {_words(kind['value'])}"
        case _:
            # Iceberg's lists, Paimon's arrays and multisets have elements, its vectors a length besides.
            inner = _words(kind["element"])
            inner += f", {kind['length']}" if "length" in kind else ""
    return f"{name.removesuffix(' not null')}<{inner}>{ending}"
