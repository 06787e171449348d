"""Plans of a table of PyIceberg, as its own tasks and without `install`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from lakebed.errors import UnsupportedError
from lakebed.opening import open_table
from lakebed.predicates import Predicate, col

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.manifest import DataFile
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask, Table

    from lakebed._arguments import KeyClient, UnwrapKey

__all__ = ["plan", "predicate"]

_CONTENTS = {"data": 0, "position-deletes": 1, "equality-deletes": 2}


def plan(
    table: Table,
    row_filter: str | BooleanExpression | None = None,
    *,
    snapshot_id: int | None = None,
    case_sensitive: bool = True,
    limit: int | None = None,
    threads: int | None = None,
    keys: UnwrapKey | KeyClient | None = None,
) -> list[FileScanTask]:
    """What PyIceberg must read of a table of its own, as `table.scan(…).plan_files()` would give it.

    Args:
        table: as PyIceberg loaded it, at the version that it is at; it is read through its own `FileIO`.
        row_filter: PyIceberg's expression, or the text of one; None for all rows.
        snapshot_id: an older snapshot; None for the current one.
        case_sensitive: whether names in `row_filter` are compared as they are written.
        limit: rows of the table: the plan ends with the file by which those whose rows are all wanted hold so
            many.
        threads: manifests decoded at once; None for all cores.
        keys: what unwraps the keys of encrypted metadata, as `open_table` takes it.
    Returns: one `FileScanTask` per data file, with its position deletes and deletion vectors, and what
        PyIceberg says is left of `row_filter` in its partition. Metrics of columns are not filled in: there
        is nothing left to prune by them.
    Raises: UnsupportedError where a file has equality deletes, which PyIceberg does not read; ImportError
        without PyIceberg (0.12 is tested); else as `open_table` and `Table.plan`.
    Cost: as `Table.plan`, and some Python objects per file.
    Source: Iceberg specification, "Scan Planning"; PyIceberg's `ManifestGroupPlanner` and `ArrowScan`.

    >>> tasks = lakebed.pyiceberg.plan(table, row_filter)
    >>> ArrowScan(table.metadata, table.io, table.schema(), row_filter).to_table(tasks)
    """
    from pyiceberg.expressions.visitors import residual_evaluator_of
    from pyiceberg.table import FileScanTask

    schema, expression = table.schema(), _expression(row_filter)
    opened = open_table(table, keys=keys)
    shown = schema
    if snapshot_id is not None:
        opened = opened.at(snapshot=snapshot_id)
        shown = _schema_of(table, snapshot_id)
    where = _to_predicate(_bound(expression, schema, case_sensitive), shown)
    answer = opened.plan(where=where, row_limit=limit, threads=threads).to_rest()

    @cache
    def read(spec_id: int) -> tuple[Callable[[dict[str, Any]], DataFile], Any]:
        spec = table.specs()[spec_id]
        return _files(spec, schema), residual_evaluator_of(spec, expression, case_sensitive, schema)

    deletes = [read(file["spec-id"])[0](file) for file in answer["delete-files"]]
    tasks = []
    for task in answer["file-scan-tasks"]:
        make, residual = read(task["data-file"]["spec-id"])
        file = make(task["data-file"])
        applied = {deletes[number] for number in task.get("delete-file-references", ())}
        tasks.append(FileScanTask(file, applied, residual.residual_for(file.partition)))
    return tasks


def predicate(
    row_filter: str | BooleanExpression, schema: Schema, *, case_sensitive: bool = True
) -> Predicate | None:
    """A filter of PyIceberg's, such as a REST catalog is sent, as one that `where=` takes.

    Args:
        row_filter: PyIceberg's expression, or the text of one.
        schema: PyIceberg's, with the columns that the filter names.
        case_sensitive: whether names are compared as they are written.
    Returns: a filter that every row matches which `row_filter` matches; comparisons with nanoseconds are left
        out. None where it would match all rows.
    Raises: ValueError and TypeError of PyIceberg for names and values that do not fit.
    """
    return _to_predicate(_bound(_expression(row_filter), schema, case_sensitive), schema)


def _expression(row_filter: str | BooleanExpression | None) -> BooleanExpression:
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.expressions.parser import parse

    if isinstance(row_filter, str):
        return parse(row_filter)
    return AlwaysTrue() if row_filter is None else row_filter


def _bound(expression: BooleanExpression, schema: Schema, case_sensitive: bool) -> BooleanExpression:
    """The expression without `Not`, bound to columns by their ids."""
    from pyiceberg.expressions.visitors import bind, rewrite_not

    return bind(schema, rewrite_not(expression), case_sensitive)


def _schema_of(table: Table, snapshot_id: int) -> Schema:
    """The columns that a snapshot had."""
    snapshot = table.snapshot_by_id(snapshot_id)
    known = None if snapshot is None else snapshot.schema_id
    return table.schema() if known is None else table.schemas()[known]


def _to_predicate(expression: Any, schema: Schema) -> Predicate | None:
    """A bound expression in the names of a schema, None for one that may be true of every row."""
    from pyiceberg.expressions import AlwaysFalse, AlwaysTrue, And, Or

    match expression:
        case AlwaysTrue():
            return None
        case AlwaysFalse():
            return Predicate("FALSE")
        case And() | Or():
            sides = [_to_predicate(side, schema) for side in (expression.left, expression.right)]
            known = [side for side in sides if side is not None]
            if len(known) == 2:
                return known[0] & known[1] if isinstance(expression, And) else known[0] | known[1]
            return known[0] if known and isinstance(expression, And) else None
    field = expression.term.ref().field
    name = schema.find_column_name(field.field_id)
    # A column that the snapshot did not have yet.
    return None if name is None else _column_predicate(expression, field.field_type, name)


def _column_predicate(expression: Any, column_type: Any, name: str) -> Predicate | None:
    """The same of one comparison."""
    kind, column = expression.as_unbound.__name__, col(name)
    literals = expression.value_set if hasattr(expression, "value_set") else ()
    if hasattr(expression, "literal"):
        literals = (expression.literal.value,)
    try:
        values = [_literal(value, column_type) for value in literals]
    except TypeError:
        # PyIceberg has no text of this type.
        return None
    made: dict[str, Callable[[], Predicate]] = {
        "IsNull": column.is_null,
        "NotNull": column.is_not_null,
        "IsNaN": column.is_nan,
        "NotNaN": lambda: ~column.is_nan(),
        "In": lambda: column.isin(values),
        "NotIn": lambda: ~column.isin(values),
        "EqualTo": lambda: column == values[0],
        "NotEqualTo": lambda: column != values[0],
        "LessThan": lambda: column < values[0],
        "LessThanOrEqual": lambda: column <= values[0],
        "GreaterThan": lambda: column > values[0],
        "GreaterThanOrEqual": lambda: column >= values[0],
        "StartsWith": lambda: column.starts_with(values[0]),
        "NotStartsWith": lambda: ~column.starts_with(values[0]),
    }
    return made[kind]() if kind in made else None


def _literal(value: Any, column_type: Any) -> Any:
    """A value as PyIceberg keeps it, as one that filters take. Raises: TypeError for types without a text."""
    from pyiceberg import conversions, types

    if isinstance(column_type, types.BinaryType | types.FixedType):
        return value
    if isinstance(column_type, types.UUIDType):
        return UUID(bytes=value) if isinstance(value, bytes) else value
    return conversions.to_json(column_type, value)


def _files(spec: PartitionSpec, schema: Schema) -> Callable[[dict[str, Any]], DataFile]:
    """What makes PyIceberg's files of those of a spec in an answer."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    kinds = [field.field_type for field in spec.partition_type(schema).fields]

    def make(file: dict[str, Any]) -> DataFile:
        content = _CONTENTS[file["content"]]
        if content == _CONTENTS["equality-deletes"]:
            path = file["file-path"]
            message = f"PyIceberg cannot read equality deletes, as in {path}"
            raise UnsupportedError(message, kind="unsupported", path=path)
        made = DataFile.from_args(
            content=DataFileContent(content),
            file_path=file["file-path"],
            file_format=FileFormat(file["file-format"].upper()),
            partition=Record(*_kept(file["partition"], kinds)),
            record_count=file["record-count"],
            file_size_in_bytes=file["file-size-in-bytes"],
            split_offsets=file.get("split-offsets"),
            sort_order_id=file.get("sort-order-id"),
        )
        made.spec_id = file["spec-id"]
        return made

    return make


def _kept(tuple_: Iterable[Any], kinds: Iterable[Any]) -> list[Any]:
    """The values of a partition as PyIceberg keeps what it reads from a manifest: times are numbers."""
    from pyiceberg import types
    from pyiceberg.expressions.literals import literal

    def kept(value: Any, kind: Any) -> Any:
        if isinstance(kind, types.BinaryType | types.FixedType):
            return bytes.fromhex(value)
        if isinstance(kind, types.UUIDType):
            return UUID(value)
        return literal(value).to(kind).value if isinstance(value, str) else value

    return [value if value is None else kept(value, kind) for value, kind in zip(tuple_, kinds, strict=True)]
