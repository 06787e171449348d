"""Changes to the schema of an Iceberg table, and to what partitions it."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lakebed import _native
from lakebed.iceberg import _actions
from lakebed.iceberg._commit import commit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    import pyarrow as pa

    from lakebed.table import Table

    Path: TypeAlias = str | Sequence[str]
    Type: TypeAlias = pa.DataType | pa.Field | str | Mapping[str, Any]


@dataclass(frozen=True)
class SchemaChange:
    """One change of a schema; Iceberg's `UpdateSchema.java` has them by the same names.

    A column is named by its full name (`"address.zip"`, or `["address", "zip"]`), with `element` for what a
    list holds and `key` and `value` for a map. Names are those before the changes, of columns that come those
    they come by. A type is one of Arrow's, or Iceberg's: `"decimal(10, 2)"`, or the object that metadata has
    for nested types. A default is a JSON single value, or a `date`, `time`, `datetime`, `Decimal`, `UUID` or
    `bytes` that becomes one.
    """

    json: str
    """The change as the core takes it."""

    @classmethod
    def add_column(
        cls,
        path: Path,
        field_type: Type,
        doc: str | None = None,
        *,
        required: bool = False,
        default_value: Any = None,
    ) -> SchemaChange:
        """Adds a column, behind the others of its struct; a nested one by a sequence of names.

        Rows that are there have the default (version 3), else null. A required column needs one.
        """
        *parent, name = [path] if isinstance(path, str) else path
        if isinstance(path, str) and "." in path:
            raise TypeError(
                f"{name!r} could be nested: name a new column by a sequence of names, [{name!r}] here"
            )
        return cls._of(
            "add_column",
            {
                "parent": ".".join(parent) or None,
                "name": name,
                "field_type": _field_type(field_type),
                "required": required,
                "doc": doc,
                "default_value": _single_value(default_value),
            },
        )

    @classmethod
    def delete_column(cls, path: Path) -> SchemaChange:
        """Takes a column away; files keep its values, and its id is never given out again."""
        return cls._of("delete_column", _name(path))

    @classmethod
    def rename_column(cls, path: Path, new_name: str) -> SchemaChange:
        """Gives a column another name, in its struct."""
        return cls._of("rename_column", [_name(path), new_name])

    @classmethod
    def update_column(cls, path: Path, field_type: Type) -> SchemaChange:
        """Gives a column a wider type: int to long, float to double, a decimal more digits."""
        return cls._of("update_column", [_name(path), _field_type(field_type)])

    @classmethod
    def update_column_doc(cls, path: Path, doc: str | None) -> SchemaChange:
        """Gives a column a comment, or none."""
        return cls._of("update_column_doc", [_name(path), doc])

    @classmethod
    def update_column_default(cls, path: Path, default_value: Any) -> SchemaChange:
        """Says what rows to come have where nothing is given (version 3); None takes the default away."""
        return cls._of("update_column_default", [_name(path), _single_value(default_value)])

    @classmethod
    def make_column_optional(cls, path: Path) -> SchemaChange:
        """Lets a column be null."""
        return cls._of("make_column_optional", _name(path))

    @classmethod
    def require_column(cls, path: Path) -> SchemaChange:
        """Lets a column no longer be null: an incompatible change, but for a new column with a default."""
        return cls._of("require_column", _name(path))

    @classmethod
    def move_first(cls, path: Path) -> SchemaChange:
        """Moves a column before all others of its struct."""
        return cls._of("move_first", _name(path))

    @classmethod
    def move_before(cls, path: Path, before: Path) -> SchemaChange:
        """Moves a column before another of its struct."""
        return cls._of("move_before", [_name(path), _name(before)])

    @classmethod
    def move_after(cls, path: Path, after: Path) -> SchemaChange:
        """Moves a column behind another of its struct."""
        return cls._of("move_after", [_name(path), _name(after)])

    @classmethod
    def set_identifier_fields(cls, paths: Iterable[Path]) -> SchemaChange:
        """Says which columns tell rows apart: required ones, by their names behind the changes."""
        return cls._of("set_identifier_fields", [_name(path) for path in paths])

    @classmethod
    def _of(cls, action: str, given: Any) -> SchemaChange:
        return cls(json.dumps({action: given}))


def update_schema(
    table: Table,
    changes: SchemaChange | Iterable[SchemaChange],
    *,
    allow_incompatible_changes: bool = False,
) -> Table:
    """Changes the current schema of a table: all changes at once, or none.

    Properties that name columns follow: metrics modes, bloom filters, the default name mapping.

    Args:
        table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit.
        changes: one, or some, made one after the other.
        allow_incompatible_changes: lets columns be required without a default, though files that are there
            may have nulls.
    Returns: the table at the head of its branch, read with the new schema; as it is now where nothing
        changes.
    Raises: before anything is written: SchemaError with `.field` (a column that is not there, a name that is
        taken, a type that values cannot be read as, a default that is not a value of the type, a column
        dropped that the table is partitioned or sorted by, or that identifies rows), UnsupportedError (types
        and defaults that the table's version does not have); CommitConflictError (every attempt was lost to
        another commit: `commit.retry.num-retries`, 1,000 unless set), SnapshotNotFoundError (the table's
        branch is gone), UnsupportedError (opened by its path though a catalog has it, or with `relocate=`),
        LocationError (metadata leads to where the table may not read), OSError. The table is then as before,
        unless the message says that the commit may have happened.
    Cost: reads and writes the metadata file. No data file is read.
    Source: Iceberg specification, "Schema Evolution"; Iceberg's `SchemaUpdate.java`.

    >>> update_schema(table, [SchemaChange.add_column("note", pa.string()),
    ...                       SchemaChange.move_after("note", "id")])
    <lakebed iceberg table '/data/orders' ...>
    """
    action = _actions.update_schema(changes, allow_incompatible_changes=allow_incompatible_changes)
    return commit(table, action)


def update_spec(
    table: Table,
    *,
    add: Sequence[str] | Mapping[str, str] = (),
    remove: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
) -> Table:
    """Changes what new files of a table are partitioned by; files that are there stay in their partitions.

    Fields are removed first, then some are renamed, then others are added. In version 1 a removed field stays
    as one that is always null. A field that some spec of the table has had keeps its id.

    Args:
        table: on the local file system, or loaded from a catalog of PyIceberg, which then makes the commit.
        add: fields to add: `"region"`, `"bucket(16, id)"`, `"day(ts)"`, in all forms that `create_table`
            takes; or their names and what they are: `{"shard": "bucket(16, id)"}`. Without a name a field is
            called `id_bucket_16`, `ts_day`.
        remove: names of fields to remove.
        rename: names of fields, and their new ones.
    Returns: the table at the head of its branch; as it is now where nothing changes.
    Raises: before anything is written: SchemaError with `.field` (no such field or column, a name that is
        taken, a field that is there already), UnsupportedError (a column that the transform does not take, a
        spec of transforms that are not known); CommitConflictError (every attempt was lost to another commit:
        `commit.retry.num-retries`, 1,000 unless set), SnapshotNotFoundError (the table's branch is gone),
        UnsupportedError (opened by its path though a catalog has it, or with `relocate=`), LocationError
        (metadata leads to where the table may not read), OSError. The table is then as before, unless the
        message says that the commit may have happened.
    Cost: reads and writes the metadata file.
    Source: Iceberg specification, "Partition Evolution"; Iceberg's `BaseUpdatePartitionSpec.java`.

    >>> update_spec(table, remove=["ts_day"], add=["hour(ts)"])
    <lakebed iceberg table '/data/orders' ...>
    """
    return commit(table, _actions.update_spec(add=add, remove=remove, rename=rename))


def _name(path: Path) -> str:
    return path if isinstance(path, str) else ".".join(path)


def _field_type(kind: Type) -> Any:
    """A type as metadata has it."""
    if isinstance(kind, str):
        return kind
    import pyarrow as pa

    if isinstance(kind, pa.DataType):
        kind = pa.field("value", kind)
    if isinstance(kind, pa.Field):
        return json.loads(_native.iceberg_fields(pa.schema([kind])))[0]["type"]
    return dict(kind)


def _single_value(value: Any) -> Any:
    """A default as a JSON single value."""
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    if isinstance(value, (Decimal, uuid.UUID)):
        return str(value)
    return value.hex() if isinstance(value, (bytes, bytearray)) else value
