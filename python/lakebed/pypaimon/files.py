"""pypaimon's data files over columns: keys and statistics are made when they are asked for."""

from __future__ import annotations

import copyreg
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pypaimon.manifest.schema import data_file_meta as own
from pypaimon.manifest.schema.simple_stats import SimpleStats

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lakebed.pypaimon.columns import ManifestColumns

FIELDS = tuple(field.name for field in fields(own.DataFileMeta))
"""What pypaimon's class has, which differs between its versions."""
LATER = ("min_key", "max_key", "key_stats", "value_stats", "creation_time")
"""What is made when it is asked for."""
EAGER = tuple(name for name in FIELDS if name not in LATER)
PROBE = "file"
"""A name by whose path those of others in its folder are known."""
_attributes = vars(own.DataFileMeta)["__dict__"].__get__
_set_attributes = vars(own.DataFileMeta)["__dict__"].__set__


_init = own.DataFileMeta.__init__


def is_replaced() -> bool:
    """Whether someone has put a constructor of their own into pypaimon's class, who then wants its calls."""
    return own.DataFileMeta.__init__ is not _init


class _Later:
    """An attribute that is made at its first use; from then on it is one like any other."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.__doc__ = f"{name} of the manifest."

    def __get__(self, file: DataFileMeta | None, owner: type) -> Any:
        if file is None:
            return getattr(own.DataFileMeta, self._name)
        made = file._columns.later(self._name, file._row)
        # Of two threads that make one, both have that of the first.
        return _attributes(file).setdefault(self._name, made)


class DataFileMeta(own.DataFileMeta):  # type: ignore[misc]
    """A file of a manifest, equal to pypaimon's own."""

    __slots__ = ("_columns", "_row")
    _columns: ManifestColumns
    _row: int

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        """All attributes, as `vars` shows them."""
        for name in LATER:
            getattr(self, name)
        return _attributes(self)

    def __eq__(self, other: object) -> bool:
        """Equal to files of pypaimon's own with the same values, as these are to each other."""
        if type(other) not in (own.DataFileMeta, DataFileMeta):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def __reduce_ex__(self, _protocol: Any) -> Any:
        """Pickles and copies are pypaimon's own objects, which need no lakebed."""
        made = vars(self)
        state = {name: made[name] for name in FIELDS}
        return copyreg._reconstructor, (own.DataFileMeta, object, None), state  # type: ignore[attr-defined]

    def set_file_path(self, table_path: Any, partition: Any, bucket: int, *args: Any, **named: Any) -> None:
        """As pypaimon's own, which is asked once for each partition and bucket of a manifest."""
        name = self.file_name
        if not is_plain(name) or getattr(self, "_columns", None) is None:
            super().set_file_path(table_path, partition, bucket, *args, **named)
            return
        known = self._columns.folders
        # By their texts, which paths have: 0.0 equals -0.0.
        key = (str(table_path), str(partition.values), bucket, args, tuple(named.items()))
        folder = known.get(key)
        if folder is None:
            probe = own.DataFileMeta.__new__(own.DataFileMeta)
            probe.file_name = PROBE
            probe.set_file_path(table_path, partition, bucket, *args, **named)
            folder = known[key] = str(probe.file_path).removesuffix(PROBE)
        _attributes(self)["file_path"] = folder + name


def is_plain(name: str) -> bool:
    """Whether a path of this file differs from another's in the folder by the name alone."""
    return name[:1] not in ("", ".") and "/" not in name and "%" not in name


for _name in LATER:
    setattr(DataFileMeta, _name, _Later(_name))
_set_columns, _set_row = (vars(DataFileMeta)[name].__set__ for name in ("_columns", "_row"))


def data_files(
    columns: ManifestColumns, rows: Iterable[int], names: Sequence[str], values: Iterable[tuple[Any, ...]]
) -> list[Any]:
    """The files of rows, with values of attributes by name; those of `LATER` may be left out."""
    made = []
    new = DataFileMeta.__new__
    for row, found in zip(rows, values, strict=True):
        file = new(DataFileMeta)
        _set_attributes(file, dict(zip(names, found, strict=True)))
        _set_columns(file, columns)
        _set_row(file, row)
        made.append(file)
    return made


def drop_stats(file: DataFileMeta) -> None:
    """Leaves out the statistics of values, as pypaimon's own copy without them does."""
    _attributes(file).update(value_stats=SimpleStats.empty_stats(), value_stats_cols=[])
