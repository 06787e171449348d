"""PyIceberg's entries and files over columns, since its 0.10: values are made when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyiceberg import manifest
from pyiceberg.typedef import Record

from lakebed._below import NotTheSameError
from lakebed.errors import LakebedError
from lakebed.pyiceberg.columns import FILE_NAMES, ManifestColumns

if TYPE_CHECKING:
    from collections.abc import Iterable


def _value(position: int) -> Any:
    """What a record has at a position, as a property that makes no other value."""

    def value(self: DataFile) -> Any:
        columns = self._columns
        if columns is not None:
            try:
                return columns.file_columns[position][self._row]
            except (LakebedError, NotTheSameError):
                # PyIceberg's own code reads it into the list.
                return self._data[position]
        return self._data[position]

    return property(value, doc=f"{FILE_NAMES[position]} of the manifest.")


class DataFile(manifest.DataFile):
    """A file of a manifest, whose values are made when they are asked for.

    What asks for the record's own list makes it, from which on it is PyIceberg's record like any other.
    """

    __slots__ = ("_columns", "_row")
    _columns: ManifestColumns | None
    _row: int

    def __getattr__(self, name: str) -> Any:
        """The list of a record, and the id of its spec, before they are there."""
        columns = self._columns
        if name == "_data" and columns is not None:
            made = columns.file_values(self._row)
            _set_data(self, made)
            self.__dict__.setdefault("_spec_id", columns.spec_id)
            _set_columns(self, None)
            return made
        if name == "_spec_id" and columns is not None:
            return columns.spec_id
        if name in ("_data", "_spec_id"):
            # Another thread has made it in between.
            return object.__getattribute__(self, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    content, file_path, file_format, partition, record_count, file_size_in_bytes = map(_value, range(6))
    column_sizes, value_counts, null_value_counts, nan_value_counts = map(_value, range(6, 10))
    lower_bounds, upper_bounds, key_metadata = map(_value, range(10, 13))
    split_offsets, equality_ids, sort_order_id = map(_value, range(13, 16))

    def __reduce_ex__(self, _protocol: Any) -> Any:
        """Pickles and copies are PyIceberg's own objects, which need no lakebed."""
        data = self._data
        return manifest.DataFile, (), (dict(self.__dict__), {"_data": data})


class ManifestEntry(manifest.ManifestEntry):
    """An entry of a manifest, with its record's list made when it is first asked for."""

    __slots__ = ("_columns", "_row")
    _columns: ManifestColumns
    _row: int

    def __getattr__(self, name: str) -> Any:
        """The list of the record, before it is there."""
        if name != "_data":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        columns, row = self._columns, self._row
        made = [*(one[row] for one in columns.entry_columns), data_file(columns, row)]
        _set_data(self, made)
        return made

    def __reduce_ex__(self, _protocol: Any) -> Any:
        """Pickles and copies are PyIceberg's own objects, which need no lakebed."""
        data = self._data
        return manifest.ManifestEntry, (), (dict(self.__dict__), {"_data": data})


# What PyIceberg's classes do in Python when an attribute is set is too slow for each of a million files.
_set_data = vars(Record)["_data"].__set__
_set_columns, _set_row = (vars(DataFile)[name].__set__ for name in ("_columns", "_row"))
_set_entry_columns, _set_entry_row = (vars(ManifestEntry)[name].__set__ for name in ("_columns", "_row"))


def data_file(columns: ManifestColumns, row: int) -> DataFile:
    """The file of a row."""
    made = DataFile.__new__(DataFile)
    _set_columns(made, columns)
    _set_row(made, row)
    return made


def entries(columns: ManifestColumns, rows: Iterable[int]) -> list[Any]:
    """The entries of rows."""
    made = []
    new = ManifestEntry.__new__
    for row in rows:
        entry = new(ManifestEntry)
        _set_entry_columns(entry, columns)
        _set_entry_row(entry, row)
        made.append(entry)
    return made
