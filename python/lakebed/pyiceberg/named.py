"""Entries and files over columns, of PyIceberg before 0.10: its records have an attribute for each field."""

from __future__ import annotations

import copyreg
from typing import TYPE_CHECKING, Any

from pyiceberg import manifest

from lakebed._below import NotTheSameError
from lakebed.errors import LakebedError
from lakebed.pyiceberg.columns import ENTRIES, FILE_NAMES, LATER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakebed.pyiceberg.columns import ManifestColumns

_NAMES = "_position_to_field_name"
_ENTRY_NAMES = tuple(field.name for field in ENTRIES.fields)


class _Later:
    """Attributes that are made when they are first asked for; from then on they are like any other."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        """What no slot has yet."""
        if name not in self._later:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        made = self._made(name)
        object.__setattr__(self, name, made)
        return made

    def __getitem__(self, position: int) -> Any:
        """The value of a field."""
        return getattr(self, getattr(self, _NAMES)[position])

    def __reduce_ex__(self, _protocol: Any) -> Any:
        """Pickles and copies are PyIceberg's own objects, which need no lakebed."""
        own = type(self).__mro__[2]
        slots = {name: getattr(self, name) for name in self._later}
        return copyreg._reconstructor, (own, object, None), (dict(vars(self)), slots)  # type: ignore[attr-defined]


class DataFile(_Later, manifest.DataFile):
    """A file of a manifest."""

    __slots__ = ("_columns", "_row")
    _columns: ManifestColumns
    _row: int
    _later = frozenset((_NAMES, "spec_id", *FILE_NAMES))

    def _made(self, name: str) -> Any:
        columns, row = self._columns, self._row
        if name == _NAMES:
            return FILE_NAMES
        if name == "spec_id":
            return columns.spec_id
        try:
            return columns.file_columns[FILE_NAMES.index(name)][row]
        except (LakebedError, NotTheSameError):
            return columns.read_by_pyiceberg()[row][LATER.index(name)]


class ManifestEntry(_Later, manifest.ManifestEntry):
    """An entry of a manifest."""

    __slots__ = ("_columns", "_row")
    _columns: ManifestColumns
    _row: int
    _later = frozenset((_NAMES, *_ENTRY_NAMES))

    def _made(self, name: str) -> Any:
        columns, row = self._columns, self._row
        if name == _NAMES:
            return _ENTRY_NAMES
        if name == "data_file":
            return data_file(columns, row)
        return columns.entry_columns[_ENTRY_NAMES.index(name)][row]


# What PyIceberg's classes do in Python when an attribute is set is too slow for each of a million files.
_set_columns, _set_row = (vars(DataFile)[name].__set__ for name in ("_columns", "_row"))
_set_entry_columns, _set_entry_row = (vars(ManifestEntry)[name].__set__ for name in ("_columns", "_row"))


def data_file(columns: ManifestColumns, row: int) -> Any:
    """The file of a row."""
    made: Any = DataFile.__new__(DataFile)
    _set_columns(made, columns)
    _set_row(made, row)
    return made


def entries(columns: ManifestColumns, rows: Iterable[int]) -> list[Any]:
    """The entries of rows."""
    made = []
    for row in rows:
        entry = ManifestEntry.__new__(ManifestEntry)
        _set_entry_columns(entry, columns)
        _set_entry_row(entry, row)
        made.append(entry)
    return made
