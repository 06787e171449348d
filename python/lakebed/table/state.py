"""A table of the compiled core, and which snapshot it is at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed import _arrow, _native

if TYPE_CHECKING:
    import pyarrow as pa

    from lakebed.storage import Storage
    from lakebed.table.opening import Opening


class TableState:
    """What a table is and which snapshot it is at: plain attributes, read when it was opened."""

    def __init__(
        self, native: _native.Table, storage: Storage | None = None, opening: Opening | None = None
    ) -> None:
        self._native = native
        # How to open it again; None for one that was just made.
        self._opening = opening
        # What the core reads the table through, for workers elsewhere; None for the local file system.
        self._storage = storage

    @property
    def format(self) -> str:
        """The table format: "paimon" or "iceberg"."""
        return self._native.format

    @property
    def format_version(self) -> int | None:
        """Iceberg: 1, 2 or 3; None for Paimon, whose files have versions of their own."""
        return self._native.format_version

    @property
    def location(self) -> str:
        """Where the table is, without credentials."""
        return _native.location_of(self._native.location)

    @property
    def snapshot_id(self) -> int | None:
        """The snapshot the table is at; None for a table without one."""
        return self._native.snapshot_id

    @property
    def branch(self) -> str:
        """The branch the table is on, "main" for the table itself."""
        return self._native.branch

    @property
    def tag(self) -> str | None:
        """The tag that `at` asked for, or None."""
        return self._native.tag

    @property
    def schema(self) -> pa.Schema:
        """The columns of the table's rows, in the Arrow types that views show their values in.

        The latest schema, or that of the snapshot that `at` asked for. Cost: none, it was read when the
        table was opened.
        """
        return _arrow.schema(self._native.data_schema)

    @property
    def properties(self) -> dict[str, str]:
        """Paimon: the options of the schema; Iceberg: the table's properties."""
        return self._native.properties
