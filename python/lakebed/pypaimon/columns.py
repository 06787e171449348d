"""The entries of a manifest as Arrow columns, and the values of pypaimon's objects that are made of them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from importlib import import_module
from inspect import signature
from io import BytesIO
from itertools import repeat
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pypaimon.manifest.manifest_file_manager import ManifestFileManager
from pypaimon.manifest.schema.simple_stats import SimpleStats
from pypaimon.table.row.binary_row import BinaryRow
from pypaimon.table.row.generic_row import GenericRowDeserializer

from lakebed import _native
from lakebed._below import NotTheSameError, column_arrays, python_values
from lakebed._source import resolve_source
from lakebed.errors import LakebedError
from lakebed.limits import LIMITS
from lakebed.paimon.reading import read_manifest
from lakebed.pypaimon.files import EAGER, is_replaced
from lakebed.pypaimon.installing import BELOW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pypaimon.table.row.generic_row import GenericRow

PREFIX = ("kind", "partition", "bucket", "total_buckets")
_NAMES = {"embedded_index": "embedded_file_index"}
"""What lakebed calls otherwise than pypaimon."""
_FIRST = (
    *PREFIX, "file_name", "file_size", "row_count", "min_key", "max_key", "key_stats", "min_sequence_number",
    "max_sequence_number", "schema_id", "level", "extra_files", "creation_time", "delete_row_count",
    "embedded_file_index", "file_source", "value_stats_cols", "external_path", "first_row_id", "write_cols",
    "write_cols_sequences",
)  # fmt: skip
"""All but the statistics of values, which are most of a manifest's bytes."""
_ENTRY = {"_KIND": "int", "_PARTITION": "bytes", "_BUCKET": "int", "_TOTAL_BUCKETS": "int"}
_FILE: dict[str, Any] = {
    "_FILE_NAME": "string", "_FILE_SIZE": "long", "_ROW_COUNT": "long", "_MIN_KEY": "bytes",
    "_MAX_KEY": "bytes", "_KEY_STATS": "record", "_MIN_SEQUENCE_NUMBER": "long",
    "_MAX_SEQUENCE_NUMBER": "long", "_SCHEMA_ID": "long", "_LEVEL": "int", "_EXTRA_FILES": "array",
    "_CREATION_TIME": "timestamp-millis", "_DELETE_ROW_COUNT": "long", "_EMBEDDED_FILE_INDEX": "bytes",
    "_FILE_SOURCE": "int", "_VALUE_STATS_COLS": "array",
}  # fmt: skip
"""What pypaimon asks every entry for."""
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_FIRST_TIME, _LAST_TIME = -62_135_596_800_000_000, 253_402_300_799_999_000
"""What Python's times hold."""
# How the versions of pypaimon differ.
_REUSES_SCHEMA = "early_entry_filter" in signature(ManifestFileManager.read).parameters
_TAKES_SCHEMA = "file_schema" in signature(ManifestFileManager._get_value_stats_fields).parameters
_TIMES: Any
try:
    _TIMES = import_module("pypaimon.data.timestamp").Timestamp
except ModuleNotFoundError:
    # Of 1.3, whose times are Python's own.
    _TIMES = None


SMALL = 8192
"""Bytes below which a file's few entries take lakebed longer than pypaimon: a file costs it a millisecond."""


class FileInMemory:
    """A `FileIO` of pypaimon's with one file that was read."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def new_input_stream(self, _path: Any) -> BytesIO:
        """Its bytes, whatever it is called."""
        return BytesIO(self._data)


def header_schema(data: bytes) -> str:
    """The Avro schema of a file. Raises: NotTheSameError for a file of few entries; LakebedError."""
    if len(data) < SMALL:
        raise NotTheSameError("a file of a few entries, which pypaimon's own code reads sooner")
    text, _ = _native.avro_header(resolve_source(data), LIMITS)
    return text


@lru_cache(maxsize=256)
def record_fields(schema: str) -> dict[str, str]:
    """The types of a record's fields by name, of nullable ones the type that is not null."""
    parsed = json.loads(schema)
    return _types(parsed) if isinstance(parsed, dict) else {}


def _types(record: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for field in record.get("fields", ()):
        kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
        plain = [one for one in kinds if one != "null"]
        kind = plain[0] if len(plain) == 1 else None
        if isinstance(kind, dict):
            if field["name"] == "_FILE" and kind.get("type") == "record":
                found |= _types(kind)
            kind = kind.get("logicalType", kind["type"])
        found[field["name"]] = str(kind)
    return found


def own_value(make: Callable[..., Any], *values: Any) -> Any:
    """What pypaimon's own code makes of stored values. Raises: NotTheSameError where it raises anything."""
    try:
        return make(*values)
    except Exception as error:
        raise NotTheSameError(f"values that pypaimon does not take ({type(error).__name__})") from error


def check_schema(data: bytes) -> dict[str, str]:
    """The types of a manifest's fields by name.

    Raises: NotTheSameError where pypaimon's own code reads them in another way, or not; LakebedError.
    """
    found = record_fields(header_schema(data))
    for name, kind in (_ENTRY | _FILE).items():
        if found.get(name) != kind:
            raise NotTheSameError(f"a schema whose {name} is {found.get(name, 'absent')}")
    return found


class Rows:
    """Columns of some entries of a manifest, as Python's values."""

    def __init__(self, data: bytes, columns: Sequence[str], taken: list[int] | None = None) -> None:
        """Args: taken, the entries that are wanted, None for all. Raises: NotTheSameError; LakebedError."""
        self.arrays = _arrays(data, columns)
        if taken is not None:
            places = pa.array(taken, pa.int64())
            self.arrays = {name: array.take(places) for name, array in self.arrays.items()}
        self._lists: dict[str, list[Any]] = {}
        self._stats: dict[str, tuple[list[Any], ...]] = {}
        self._length = len(self.arrays[columns[0]])

    def __len__(self) -> int:
        return self._length

    def list_of(self, name: str) -> list[Any]:
        """A column under pypaimon's name; times in microseconds."""
        found = self._lists.get(name)
        if found is None:
            found = self._lists[name] = python_values(self.arrays[_NAMES.get(name, name)])
        return found

    def stats(self, name: str, row: int, fields: Any) -> Any:
        """The statistics of an entry."""
        found = self._stats.get(name)
        if found is None:
            children = self.arrays[name].flatten()
            found = self._stats[name] = tuple(map(python_values, children))
        low, high, null_counts = found
        counts = null_counts[row]
        return SimpleStats(
            BinaryRow(low[row], fields),
            BinaryRow(high[row], fields),
            counts if counts is None else list(counts),
        )

    def partitions(self, fields: Any) -> list[GenericRow]:
        """The partition of each entry, one object for those that are equal."""
        known: dict[bytes, Any] = {}
        for stored in self.list_of("partition"):
            if stored not in known:
                known[stored] = own_value(GenericRowDeserializer.from_bytes, stored, fields)
        return [known[stored] for stored in self.list_of("partition")]


class ManifestColumns:
    """Some entries of a manifest, in file order, and what pypaimon has of them."""

    def __init__(self, manager: Any, data: bytes, taken: list[int] | None) -> None:
        """Decodes all but the statistics of values.

        Args: manager, pypaimon's `ManifestFileManager`; data, of the whole file; taken, the entries that are
            wanted, None for all.
        Raises: NotTheSameError where pypaimon's own code would refuse one of them; LakebedError for what
            lakebed does not read.
        """
        if is_replaced():
            raise NotTheSameError("another constructor of files")
        self._has_write_cols = "_WRITE_COLS" in check_schema(data)
        self._manager, self._data, self._taken = manager, data, taken
        self.rows = Rows(data, _FIRST, taken)
        self.folders: dict[Any, str] = {}
        self._values: Rows | None = None
        self._key_fields = manager.trimmed_primary_keys_fields
        self._keys = {name: self._made_keys(name) for name in ("min_key", "max_key")} if len(self) else {}
        for head in _heads(self.rows.arrays["key_stats"]):
            own_value(BinaryRow, head, self._key_fields)
        _check_times(self.rows.arrays["creation_time"])
        self._stats_kinds = list(self._kinds_of_stats())
        self._stats_fields = {
            kind: own_value(self._fields_of_stats, *kind) for kind in set(self._stats_kinds)
        }

    def __len__(self) -> int:
        return len(self.rows)

    def eager_values(self, drop_stats: bool) -> Iterator[tuple[Any, ...]]:
        """The values of `EAGER` of each entry; without statistics also the empty ones in their place."""
        columns: list[Any] = []
        for name in EAGER:
            if name == "file_path":
                columns.append(repeat(None, len(self)))
            elif name == "value_stats_cols" and drop_stats:
                columns.append([[] for _ in range(len(self))])
            else:
                columns.append(self.rows.list_of(name))
        if drop_stats:
            columns.append(repeat(SimpleStats.empty_stats(), len(self)))
        return zip(*columns, strict=True)

    def later(self, name: str, row: int) -> Any:
        """A value of an attribute that is made when it is asked for."""
        if name == "creation_time":
            return _time(self.rows.list_of(name)[row])
        if name == "key_stats":
            return self.rows.stats(name, row, self._key_fields)
        if name == "value_stats":
            return self._value_stats(row)
        made = self._keys[name]
        return self._key(self.rows.list_of(name)[row]) if made is None else made[row]

    def _key(self, stored: bytes) -> Any:
        return GenericRowDeserializer.from_bytes(stored, self._key_fields)

    def _made_keys(self, name: str) -> list[Any] | None:
        """The keys of all entries where they have columns; else all are alike, and one is tried."""
        if self._key_fields:
            return [own_value(self._key, stored) for stored in self.rows.list_of(name)]
        for stored in self.rows.arrays[name].unique().to_pylist():
            own_value(self._key, stored)
        return None

    def _kinds_of_stats(self) -> Iterator[tuple[Any, ...]]:
        """What decides which columns the statistics of each entry have."""
        listed = []
        for name in ("value_stats_cols", "write_cols"):
            has_none = self.rows.arrays[name].null_count == len(self)
            values = repeat(None, len(self)) if has_none else self.rows.list_of(name)
            listed.append([None if one is None else tuple(one) for one in values])
        return zip(self.rows.list_of("schema_id"), *listed, strict=True)

    def _fields_of_stats(self, schema_id: int, stats_cols: Any, write_cols: Any) -> Any:
        """The columns, by pypaimon's own code."""
        table = self._manager.table
        is_current = _REUSES_SCHEMA and schema_id == table.table_schema.id
        schema = table.table_schema if is_current else table.schema_manager.get_schema(schema_id)
        file: dict[str, Any] = {"_VALUE_STATS_COLS": stats_cols if stats_cols is None else list(stats_cols)}
        if self._has_write_cols:
            file["_WRITE_COLS"] = write_cols if write_cols is None else list(write_cols)
        return self._manager._get_value_stats_fields(file, schema if _TAKES_SCHEMA else schema.fields)

    def _value_stats(self, row: int) -> Any:
        """Decoded when the first of them is asked for."""
        if self._values is None:
            try:
                # Two threads may both decode; there is no lock that a fork could leave taken.
                self._values = Rows(self._data, ("value_stats",), self._taken)
            except (LakebedError, NotTheSameError):
                # Too large for one of lakebed's limits.
                return self._stats_by_pypaimon(row)
        return self._values.stats("value_stats", row, self._stats_fields[self._stats_kinds[row]])

    def _stats_by_pypaimon(self, row: int) -> Any:
        read = BELOW.own("read")(in_memory(self._manager, self._data), "", drop_stats=False)
        return read[row if self._taken is None else self._taken[row]].file.value_stats


def in_memory(manager: Any, data: bytes) -> Any:
    """A manager of pypaimon's that reads one file that was read."""
    other: Any = object.__new__(type(manager))
    vars(other).update(vars(manager), file_io=FileInMemory(data))
    return other


def _arrays(data: bytes, columns: Sequence[str]) -> dict[str, pa.Array]:
    return column_arrays(read_manifest(data, columns=columns, threads=1).to_arrow())


def _heads(stats: pa.StructArray) -> list[bytes]:
    """The number of columns and the kind of row, of all rows of statistics."""
    found: set[bytes] = set()
    for name in ("min_values", "max_values"):
        found.update(pc.binary_slice(stats.field(name), 0, 5).unique().to_pylist())
    return list(found)


def _check_times(times: pa.Array) -> None:
    """Raises: NotTheSameError for times that Python does not hold."""
    if times.null_count < len(times):
        ends = pc.min_max(times.cast(pa.int64())).as_py()
        if ends["min"] < _FIRST_TIME or ends["max"] > _LAST_TIME:
            raise NotTheSameError("a time before year 1 or after year 9999")


def _time(micros: int | None) -> Any:
    if micros is None:
        return None
    if _TIMES is None:
        return _EPOCH + timedelta(microseconds=micros)
    # By seconds in floating point, as pypaimon does.
    return _TIMES.from_epoch_millis(int(micros / 1_000_000 * 1000))
