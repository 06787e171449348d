"""Filters as expressions in Iceberg's JSON, which REST catalogs are sent, and send."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lakebed import _native
from lakebed.predicates import Predicate, to_sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakebed.predicates import ExpressionForm
    from lakebed.table import Table


def decode_expression(
    expression: bool | str | Mapping[str, Any],
    table: Table,
    *,
    case_sensitive: bool = True,
) -> Predicate:
    """An expression in Iceberg's JSON as a filter that `where=` takes.

    Args:
        expression: its JSON as text, or as `json.loads` gives it: the `filter` of a request for a plan, the
            `residual-filter` of a task. Each test may be of either form: of a `term`, or of `left` and
            `right` or a `child`, which may name columns by `id`.
        table: whose columns it names: values are read as those of the columns' types, bytes as hex;
            dates may be numbers of days, other times of microseconds, as Java's clients send them.
        case_sensitive: whether names are compared as they are written.
    Returns: the filter on the table's columns as they are called in it. A negated order (`not` of `lt`, …)
        matches null and NaN where it is of operands, as the specification has it, and not where it is of a
        term, as in Java. Names that no column has are left as they are, for `where=` to refuse.
    Raises: PredicateError for JSON that is no expression, nests too deep, or compares with null, NaN or what
        is no value of the column's type; UnsupportedError for comparisons of two columns, for functions other
        than partition transforms, and for a table of another format.
    Cost: one pass; reads nothing.
    Source: Iceberg's specification of expressions, appendix B; Iceberg's `ExpressionParser.java`.
    """
    text = expression if isinstance(expression, str) else json.dumps(expression)
    return Predicate(f"({_native.iceberg_filter(table.core, text, case_sensitive)})")


def encode_expression(
    where: str | Predicate | None, table: Table, *, form: ExpressionForm = "term"
) -> bool | dict[str, Any]:
    """A filter on a table's columns as an expression in Iceberg's JSON.

    Args:
        where: SQL text, or made with `lakebed.col`; None for all rows.
        table: whose columns it names.
        form: "term", which Iceberg Java writes and reads until 1.12; "operand", which Iceberg's specification
            of expressions has in its place.
    Returns: the expression, ready for `json.dumps`; `True` and `False` for what all or no rows match.
    Raises: PredicateError for a filter that does not fit the table; UnsupportedError for what Iceberg has no
        expression for (a `LIKE` that tests more than a prefix, partition fields, NaN and the infinities), and
        for a table of another format; ValueError for another form.
    Cost: reads the table's schemas, where its partitions need older ones.
    Source: as `decode_expression`.
    """
    filter_ = to_sql(where)
    made: bool | dict[str, Any] = json.loads(_native.iceberg_expression(table.core, filter_ or "TRUE", form))
    return made
