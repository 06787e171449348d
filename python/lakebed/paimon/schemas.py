"""New tables, and changes to the schema of a table."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _native
from lakebed._arguments import encodable, names
from lakebed.limits import LIMITS, Limits
from lakebed.paimon._commit import commit
from lakebed.storage import resolve
from lakebed.storage.paths import without_climbing
from lakebed.table import Table, table_of
from lakebed.table.opening import Opening

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from typing import TypeAlias

    import pyarrow as pa

    Path: TypeAlias = str | Sequence[str]
    Type: TypeAlias = pa.DataType | pa.Field | str | Mapping[str, Any]


@dataclass(frozen=True)
class NewTable:
    """The definition of a new table, whose attributes the compiled core reads.

    `columns`: anything with `__arrow_c_schema__`, or `fields` of a schema file as JSON text.
    """

    columns: Any
    partition_keys: list[str]
    primary_keys: list[str]
    options: list[tuple[str, str]]
    comment: str | None


def create_table(
    location: str | os.PathLike[str],
    schema: Any,
    *,
    partition_by: Sequence[str] = (),
    partition_keys: Sequence[str] = (),
    primary_keys: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    comment: str | None = None,
    limits: Limits = LIMITS,
    storage: object | None = None,
) -> Table:
    """Creates a table without snapshots: its folder, and in it `schema/schema-0`.

    Args:
        location: a folder, which need not exist, or a URI; it must not have a table.
        schema: the columns: anything with `__arrow_c_schema__`, whose fields may name a Paimon type in their
            metadata (`paimon.type`: `VARCHAR(10)`); or the `fields` of a schema file, a list of dicts of
            `name` and `type`, which get their ids here unless they have some. Columns of primary keys are
            never null.
        partition_by: names of the columns that partition the table, in the order of its folders; the same
            word as `lakebed.iceberg.create_table` has.
        partition_keys: the same by Paimon's own word; give one of the two.
        primary_keys: names of the key columns, including those of the partition.
        options: Paimon's: `{"bucket": "4", "bucket-key": "id"}`. `manifest.format` may be `orc` or `parquet`,
            which Paimon reads up to 2.0.
        comment: of the table.
        limits: of the returned table.
        storage: what `open_table` takes as `storage`; a local disk, a store of obstore that has conditional
            puts, or a `Storage` that has `publish`.
    Raises: SchemaError (types, keys or buckets that make no table), UnsupportedError (a storage without
        commits, a format or codec of manifests that is not written), LocationError (a location with control
        characters), FileExistsError (the table exists), TypeError, OSError. Nothing is then left behind,
        except an empty file where the storage fails on the way, and what was written where it does not report
        whether it has.
    Source: Paimon's `SchemaManager.java`, `SchemaValidation.java`.

    >>> create_table("/data/orders", pa.schema([("id", pa.int64()), ("day", pa.date32())]),
    ...              partition_by=["day"])
    <lakebed paimon table '/data/orders' ...>
    """
    path, adapter = resolve(location, storage)
    path = path if adapter else without_climbing(path)
    columns = _arrow.named(schema) if hasattr(schema, "__arrow_c_schema__") else json.dumps(list(schema))
    pairs = [
        (encodable("options", key), encodable("options", str(value)))
        for key, value in (options or {}).items()
    ]
    if partition_by and partition_keys:
        raise TypeError("partition_by and partition_keys mean the same: give one")
    partitioned = names("partition_by", partition_by) or names("partition_keys", partition_keys) or []
    definition = NewTable(columns, partitioned, list(primary_keys), pairs, comment)
    native = _native.paimon_create_table(path, adapter, definition, limits)
    return table_of(native, Opening(adapter, path, limits=limits))


@dataclass(frozen=True)
class SchemaChange:
    """One change of a schema; Paimon's `SchemaChange.java` has them by the same names.

    A column is named by its name; a nested one by the names of all that it is in (`["address", "zip"]`), with
    `element` for what an array holds and `value` for the values of a map. A type is one of Arrow's (a
    field's metadata may name it: `paimon.type`), or Paimon's: `"DECIMAL(10, 2)"`, or the object that schema
    files have for constructed types.
    """

    json: str
    """The change as Paimon's REST catalogs spell it."""

    @classmethod
    def set_option(cls, key: str, value: str) -> SchemaChange:
        """Sets an option."""
        return cls._of("setOption", key=key, value=str(value))

    @classmethod
    def remove_option(cls, key: str) -> SchemaChange:
        """Removes an option, which then has its default."""
        return cls._of("removeOption", key=key)

    @classmethod
    def update_comment(cls, comment: str | None) -> SchemaChange:
        """Sets or removes the comment of the table."""
        return cls._of("updateComment", comment=comment)

    @classmethod
    def add_column(
        cls,
        field_names: Path,
        data_type: Type,
        comment: str | None = None,
        *,
        first: bool = False,
        after: str | None = None,
        before: str | None = None,
    ) -> SchemaChange:
        """Adds a column, whose values are null in files that are there: first, beside another, or last."""
        move = _move(None, first, after, before, last=False)
        of_type = _data_type(data_type)
        return cls._of(
            "addColumn", fieldNames=_names(field_names), dataType=of_type, comment=comment, move=move
        )

    @classmethod
    def rename_column(cls, field_names: Path, new_name: str) -> SchemaChange:
        """Renames a column, also in the key and in options that name it."""
        return cls._of("renameColumn", fieldNames=_names(field_names), newName=new_name)

    @classmethod
    def drop_column(cls, field_names: Path) -> SchemaChange:
        """Drops a column; files keep its values, which nobody reads any more."""
        return cls._of("dropColumn", fieldNames=_names(field_names))

    @classmethod
    def update_column_type(
        cls, field_names: Path, new_data_type: Type, *, keep_nullability: bool = True
    ) -> SchemaChange:
        """Changes the type of a column to one that its values can be cast to."""
        of_type = _data_type(new_data_type)
        keep = {
            "fieldNames": _names(field_names),
            "newDataType": of_type,
            "keepNullability": keep_nullability,
        }
        return cls._of("updateColumnType", **keep)

    @classmethod
    def update_column_nullability(cls, field_names: Path, new_nullability: bool) -> SchemaChange:
        """Says whether a column may be null."""
        names = _names(field_names)
        return cls._of("updateColumnNullability", fieldNames=names, newNullability=new_nullability)

    @classmethod
    def update_column_comment(cls, field_names: Path, comment: str | None) -> SchemaChange:
        """Sets or removes the comment of a column."""
        return cls._of("updateColumnComment", fieldNames=_names(field_names), newComment=comment)

    @classmethod
    def update_column_default_value(cls, field_names: Path, default_value: str | None) -> SchemaChange:
        """Sets or removes the default of a column, as text."""
        names = _names(field_names)
        return cls._of("updateColumnDefaultValue", fieldNames=names, newDefaultValue=default_value)

    @classmethod
    def update_column_position(
        cls,
        field_name: str,
        *,
        first: bool = False,
        after: str | None = None,
        before: str | None = None,
        last: bool = False,
    ) -> SchemaChange:
        """Moves a column: first, beside another, or last."""
        move = _move(field_name, first, after, before, last)
        if move is None:
            raise TypeError("update_column_position takes one of first, after, before and last")
        return cls._of("updateColumnPosition", move=move)

    @classmethod
    def _of(cls, action: str, **values: Any) -> SchemaChange:
        return cls(json.dumps({"action": action, **values}))


def alter_table(table: Table, changes: SchemaChange | Iterable[SchemaChange]) -> Table:
    """Changes the latest schema of the table's branch: all changes at once, or none.

    Args:
        table: a Paimon table on a storage with commits.
        changes: one, or several, made one after the other.
    Returns: the table at its latest snapshot, read with the new schema; unchanged where nothing changes.
    Raises: before anything is written: SchemaError with `.field` (a column that does not exist, a type that
        the column's values cannot be cast to, a change of what partitions or keys rows, an option that cannot
        change once there are snapshots, and whatever else Paimon's rules of compatibility forbid),
        UnsupportedError (a storage without commits, an option that only Paimon's own writers check),
        CommitConflictError after 200 lost races, OSError.
    Cost: reads the latest schema and looks for a snapshot, writes a schema. No data file is read.
    Source: Paimon's `SchemaManager.java`, `SchemaChange.java`, `DataTypeCasts.java`, `SchemaValidation.java`.

    >>> alter_table(table, [SchemaChange.add_column("note", pa.string(), after="id"),
    ...                     SchemaChange.update_column_type("id", "BIGINT")])
    <lakebed paimon table '/data/orders' ...>
    """
    every = [changes] if isinstance(changes, SchemaChange) else list(changes)
    texts = ",".join(change.json for change in every)
    return commit(table, _native.PaimonChange.alter_table(f"[{texts}]"))


def _names(field_names: Path) -> list[str]:
    return [field_names] if isinstance(field_names, str) else list(field_names)


def _data_type(kind: Type) -> Any:
    """A type as schema files have it."""
    if isinstance(kind, str):
        return kind
    import pyarrow as pa

    if isinstance(kind, pa.DataType):
        kind = pa.field("value", kind)
    if isinstance(kind, pa.Field):
        storage = _arrow.type_schema(kind.type).field(0).type
        field = pa.field("value", storage, kind.nullable, kind.metadata)
        return json.loads(_native.paimon_fields(pa.schema([field])))[0]["type"]
    return dict(kind)


def _move(
    name: str | None, first: bool, after: str | None, before: str | None, last: bool
) -> dict[str, str | None] | None:
    """Where a column goes. Raises: TypeError for more than one place."""
    places = {"FIRST": first, "AFTER": after, "BEFORE": before, "LAST": last}
    given = [kind for kind, place in places.items() if place is not None and place is not False]
    if len(given) > 1:
        raise TypeError("a column has one place: first, after, before or last")
    if not given:
        return None
    return {"fieldName": name, "referenceFieldName": after or before, "type": given[0]}
