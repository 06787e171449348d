"""Position deletes of a plan, as each version of PyIceberg finds those of a data file."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyiceberg.table as tables

FIRST_NUMBER: int = vars(tables)["INITIAL_SEQUENCE_NUMBER"]
"""Of what has no sequence number."""


class _SortedDeletes:
    """What PyIceberg before 0.11 has, by the methods of `DeleteFileIndex`."""

    def __init__(self) -> None:
        self._entries = tables.SortedList(key=lambda entry: entry.sequence_number or FIRST_NUMBER)  # type: ignore[attr-defined]

    def is_empty(self) -> bool:
        """Whether no file has been added."""
        return not self._entries

    def add_delete_file(self, entry: Any, partition_key: Any = None) -> None:  # noqa: ARG002 - it looks at none
        """Adds a file of an entry."""
        self._entries.add(entry)

    def for_data_file(self, sequence_number: int, file: Any, partition_key: Any = None) -> Any:  # noqa: ARG002
        """The files that may apply to a data file."""
        entry = SimpleNamespace(sequence_number=sequence_number, data_file=file)
        return tables._match_deletes_to_data_file(entry, self._entries)  # type: ignore[attr-defined]


def delete_index() -> Any:
    """An empty one."""
    try:
        from pyiceberg.table.delete_file_index import DeleteFileIndex
    except ImportError:
        return _SortedDeletes()
    return DeleteFileIndex()
