"""Rows as people read them, on a terminal and in a notebook: which columns first, and the texts of cells.

What programs get (pipes, files, Arrow) is never changed so.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

from lakebed._pyarrow import pa
from lakebed._text import printable
from lakebed._values import to_json_values, to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FIRST = {
    "snapshots": (
        *("snapshot_id", "committed_at", "operation", "total_record_count", "delta_record_count"),
        *("engine", "application", "user"),
    ),
    "changelogs": ("snapshot_id", "committed_at", "operation", "changelog_manifest_list"),
    "refs": ("name", "type", "snapshot_id", "schema_id", "committed_at", "created_at"),
    "schemas": ("schema_id", "fields", "partition_keys", "primary_keys", "identifier_fields", "updated_at"),
    "manifests": (
        *("path", "length", "added_files_count", "existing_files_count", "deleted_files_count"),
        *("partition_lower", "partition_upper", "content"),
    ),
    "entries": (
        *("kind", "status", "partition", "stats", "row_count", "record_count"),
        *("file_size", "file_size_in_bytes", "file_name", "file_path", "bucket", "level"),
    ),
    "files": (
        *("partition", "stats", "record_count", "file_size_in_bytes", "file_path"),
        *("content", "bucket", "level", "created_at"),
    ),
    "partitions": (
        *("partition", "file_count", "small_file_count", "file_size_in_bytes", "record_count"),
        *("delete_file_count", "last_updated_at"),
    ),
    "buckets": (
        *("partition", "bucket", "file_count", "file_size_in_bytes", "small_file_count", "record_count"),
        *("delete_file_count", "last_updated_at"),
    ),
    "health": (
        *("location", "file_count", "average_file_size_in_bytes", "small_file_count"),
        *("deleted_record_ratio", "snapshot_count", "manifest_count", "small_manifest_count"),
    ),
    "deletes": (
        *("partition", "bucket", "content", "record_count", "referenced_file_name", "referenced_data_file"),
        *("content_offset", "content_size_in_bytes", "file_path"),
    ),
    "plan": (
        *("partition", "stats", "record_count", "file_size_in_bytes", "file_path"),
        *("residual", "delete_files", "delete_ids"),
    ),
    "indexes": ("index_type", "partition", "bucket", "row_count", "file_size_in_bytes", "file_name"),
}
"""The columns of each view that people look at first, where there is no room for all."""
FIRST["overlap"] = ("column", "partition", "file_count", "average_depth", "max_depth", "sorted_depth")
FIRST["compaction_plan"] = (
    *("group", "partition", "bucket", "level", "record_count", "file_size_in_bytes", "reason", "file_path"),
)
FIRST["reachable"] = FIRST["expire_plan"] = FIRST["freed"] = (
    *("kind", "file_size_in_bytes", "first_reached_by", "last_reached_by", "file_path"),
)
FIRST["dangling_deletes"] = ("kind", "record_count", "file_size_in_bytes", "content_offset", "file_path")
FIRST["repair_plan"] = ("kind", "rows_lost", "rows_back", "problem", "repair", "file_path")
FIRST["orphans"] = ("file_size_in_bytes", "modified_at", "file_path")
FIRST["rewrite_paths"] = ("kind", "file_size_in_bytes", "source", "target")
FIRST["growth"] = (
    *("snapshot_id", "committed_at", "operation", "file_count", "record_count", "file_size_in_bytes"),
    *("delete_file_count", "added_file_count", "removed_file_count"),
)
FIRST["verify"] = ("severity", "kind", "message", "path", "named_by")
FIRST["file_history"] = ("change", "snapshot_id", "committed_at", *FIRST["files"])
FIRST["changes"] = ("change", "change_ordinal", "snapshot_id", "committed_at", *FIRST["files"])
FIRST["diff"] = FIRST["appends"] = ("change", *FIRST["files"])

_FILES = {0: "data", 1: "position deletes", 2: "equality deletes"}
_WORDS = {
    "content": _FILES,
    "status": {0: "existing", 1: "added", 2: "deleted"},
    "kind": {0: "add", 1: "delete"},
}
_CONTENT_OF_MANIFESTS = {0: "data", 1: "deletes"}
_SIZES = frozenset({"length", "file_size"})
_BINARY = {"PiB": 1 << 50, "TiB": 1 << 40, "GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}
_UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def ordered(rows: pa.Table, first: Sequence[str]) -> pa.Table:
    """The columns named first, then the others; those that hold nothing but null are last. Without any named
    first, the columns as they are.
    """
    if not first:
        return rows
    names = [name for name in dict.fromkeys(first) if name in rows.schema.names]
    names += [name for name in rows.schema.names if name not in first]
    return rows.select(sorted(names, key=lambda name: _is_empty(rows, name)))


def shown(rows: pa.Table, first: Sequence[str]) -> list[str]:
    """Those of the columns named first that hold something."""
    return [name for name in first if name in rows.schema.names and not _is_empty(rows, name)]


def cells(rows: pa.Table, view: str | None = None) -> list[list[str]]:
    """The cells of a table, row by row, without what would steer a terminal.

    Args: rows; view, the view that they are of, whose numbers have names; None for rows of anything else.
    """
    columns = [_column(field, rows[field.name], view) for field in rows.schema]
    return [list(map(printable, row)) for row in zip(*columns, strict=True)]


def numbers(schema: pa.Schema, view: str | None = None) -> list[int]:
    """The columns whose cells are numbers, which are aligned to the right. Args: view, as for `cells`."""
    return [i for i, field in enumerate(schema) if _is_number(field.type) and not words_of(field, view)]


def count(number: int, thing: str) -> str:
    """A number of things in words: `1 file`, `2,000 files`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def size(number: float) -> str:
    """A number of bytes in words, with decimal units."""
    value, unit = float(number), 0
    while value >= 1000 and unit + 1 < len(_UNITS):
        value, unit = value / 1000, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit else f"{value:.0f} B"


def threshold(number: int) -> str:
    """A bound on sizes as it is set: `32 MiB` or `1.5 MB` where it is a few of a unit, else in binary units,
    which tables' properties have.
    """
    return thresholds(number)[0]


def thresholds(first: int, *others: int) -> list[str]:
    """Bounds that are read together, in units of one kind: that of the first."""
    decimal = max((1000**power for power in range(len(_UNITS)) if 1000**power <= first), default=1)
    is_whole = any(first % unit == 0 and 0 < first < 10_000 * unit for unit in _BINARY.values())
    form = size if not is_whole and 10 * first % decimal == 0 else _binary
    return [form(number) for number in (first, *others)]


def _binary(number: int) -> str:
    """A number of bytes with binary units."""
    for name, unit in _BINARY.items():
        if number % unit == 0 and 0 < number < 10_000 * unit:
            return f"{number // unit} {name}"
    name, unit = next((one for one in _BINARY.items() if number >= one[1]), ("B", 1))
    return f"{number / unit:.1f} {name}" if unit > 1 else f"{number} B"


def moment(text: str) -> str:
    """A time as JSON has it, to the second: `2026-01-02 10:11:12`, with `UTC` after an instant."""
    zone = " UTC" if text.endswith("Z") else ""
    return text.removesuffix("Z").partition(".")[0].replace("T", " ") + zone


def age(seconds: float) -> str:
    """A time that has passed, in its largest unit: `3 h`."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length:,.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def partition(values: dict[str, Any] | None) -> str:
    """A partition as it is written in paths: `dt=2026-01-02/region=emea`."""
    return "/".join(f"{name}={to_text(value)}" for name, value in (values or {}).items())


def measure(name: str, value: Any) -> str:
    """A number as its column's name says: bytes with a unit, counts with separators, shares in percent.

    Args: name, of the column; value, as JSON has it.
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        return to_text(value)
    if name.endswith("_in_bytes"):
        return size(value)
    if name.endswith("_ratio"):
        return f"{value:.1%}"
    if name.endswith(("_count", "_depth")):
        return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}"
    return to_text(value)


def _is_empty(rows: pa.Table, name: str) -> bool:
    return bool(rows.num_rows > 0 and rows[name].null_count == rows.num_rows)


def _column(field: pa.Field, column: pa.ChunkedArray, view: str | None) -> list[str]:
    form = _form(field, view)
    return ["null" if value is None else form(value) for value in to_json_values(column.combine_chunks())]


def _form(field: pa.Field, view: str | None) -> Callable[[Any], str]:
    """How a column's values become texts."""
    # Partitions may be unions of structs: each has the fields of its spec.
    name, is_struct = field.name, pa.types.is_struct(field.type) or pa.types.is_union(field.type)
    if pa.types.is_timestamp(field.type):
        return moment
    if words := words_of(field, view):
        return lambda value: words.get(value, str(value))
    if view is not None and name in _SIZES:
        return size
    if is_struct and name in ("partition", "partition_lower", "partition_upper"):
        return partition
    if is_struct and name == "stats":
        return _stats
    if view == "schemas" and name == "fields":
        return _fields
    if pa.types.is_list(field.type) and pa.types.is_string(field.type.value_type):
        return ", ".join
    return functools.partial(measure, name)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def words_of(field: pa.Field, view: str | None) -> dict[int, str] | None:
    """What the numbers of a view's column mean; None where they are but numbers."""
    if view is None or not _is_number(field.type):
        return None
    if (view, field.name) == ("manifests", "content"):
        return _CONTENT_OF_MANIFESTS
    return _WORDS.get(field.name)


def _stats(columns: dict[str, Any]) -> str:
    """The bounds of each column."""
    bounds = ((name, stats or {}) for name, stats in columns.items())
    return ", ".join(
        f"{name} {to_text(stats.get('lower_bound'))} to {to_text(stats.get('upper_bound'))}"
        for name, stats in bounds
    )


def _fields(fields: list[dict[str, Any]]) -> str:
    return ", ".join(f"{field['name']} {readable(field['type'])}" for field in fields)


def readable(text: str) -> str:
    """A type's text; of a nested one, which both formats keep as JSON, `struct<a: int, b: list<string>>` and
    the like.
    """
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
