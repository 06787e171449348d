"""Conditions built in Python: `col("dt") >= "2026-01-01"`, as SQL text for `where=` and `filter=`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Literal, NoReturn, SupportsIndex
from uuid import UUID

from lakebed.errors import PredicateError

__all__ = ["Column", "Predicate", "Value", "col", "to_sql"]

_Time = dt.datetime | dt.date | dt.time
_Bytes = bytes | bytearray | memoryview
Value = str | bool | SupportsIndex | float | Decimal | _Time | _Bytes | UUID | None
"""What a column is compared with. `None` is SQL's NULL: no comparison with it is true but `eq_null_safe`."""

ExpressionForm = Literal["term", "operand"]
"""The forms of expressions in Iceberg's JSON: tests of a `term`, or of `left`, `right` and `child`."""


def col(name: str) -> Column:
    """A column to filter by.

    Args:    name: the column's name; nested fields joined by dots. Quotes and case are kept as they are.
    Returns: a `Column`, whose operators and methods make a `Predicate`.
    Raises:  TypeError for a name that is not text, ValueError for an empty one.
    """
    if not isinstance(name, str):
        raise TypeError(f"a column's name is a str, not {type(name).__name__}")
    if not name:
        raise ValueError("a column's name is empty")
    return Column(name)


def to_sql(where: str | Predicate | None) -> str | None:
    """The text of a filter: text as it is, a `Predicate` rendered, `None` for no filter.

    Raises:  PredicateError for a lone surrogate, which no text of a table has; TypeError for anything else.
    """
    if isinstance(where, Column):
        raise TypeError(f"{where!r} is a column, not a filter: compare it, for example {where!r} == True")
    sql = where.sql if isinstance(where, Predicate) else where
    if sql is None:
        return None
    if isinstance(sql, str):
        # What the parser reads is UTF-8.
        try:
            sql.encode()
        except UnicodeEncodeError:
            raise PredicateError(f"a filter has a lone surrogate: {sql!r}", kind="predicate") from None
        return sql
    raise TypeError(
        f"a filter is SQL text or a predicate made with lakebed.col(...), not {type(where).__name__}"
    )


@dataclass(frozen=True, slots=True)
class Predicate:
    """A filter: join with `&` and `|`, negate with `~`; parentheses are needed around comparisons.

    Null is as in SQL: where a column is null a comparison is not true, and neither is its negation.
    """

    sql: str
    """The text, as `where=` and `filter=` take it."""

    _joined: Literal["", "AND", "OR"] = ""
    """What joins the text at its outermost level, where something does."""

    def __and__(self, other: Predicate) -> Predicate:
        return self._join("AND", other)

    def __or__(self, other: Predicate) -> Predicate:
        return self._join("OR", other)

    def __invert__(self) -> Predicate:
        return Predicate(f"NOT ({self.sql})")

    def _join(self, word: Literal["AND", "OR"], other: Predicate) -> Predicate:
        if not isinstance(other, Predicate):
            return NotImplemented
        # Terms of one kind stay on one level: a thousand of them joined in a loop do not nest.
        terms = [term.sql if term._joined in ("", word) else f"({term.sql})" for term in (self, other)]
        return Predicate(f" {word} ".join(terms), word)

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"the filter {self.sql} has no truth value of its own: join filters with & | ~ instead of "
            "and, or, not, put parentheses around each comparison, write col.between(a, b) for a <= col <= b"
        )

    def __repr__(self) -> str:
        return f"<Predicate {self.sql}>"


class Column:
    """A column by name, an element of it, or what a transform makes of it; comparing it gives a `Predicate`.
    Made by `col`.
    """

    __slots__ = ("_key", "_name", "_transform")
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __init__(self, name: str, transform: str | None = None, key: str | None = None) -> None:
        self._name = name
        self._transform = transform
        """The start of the transform's call: `bucket(16, `."""
        self._key = key
        """Of a map the key of its element."""

    def __getitem__(self, key: str) -> Column:
        """The element that a map has for a key, in filters on a view's own columns; null where it has none.

        >>> table.snapshots(filter=lakebed.col("summary")["spark.app.id"] == "local-1")
        """
        if not isinstance(key, str):
            raise TypeError(f"the key of a map's element is a str, not {type(key).__name__}")
        if self._transform is not None or self._key is not None:
            raise TypeError(f"{self!r} is no column: a column has elements")
        return Column(self._name, None, key)

    def bucket(self, count: int) -> Column:
        """(Iceberg) The bucket of `count` that the value is in, an int."""
        return self._transformed(f"bucket({int(count)}, ")

    def truncate(self, width: int) -> Column:
        """(Iceberg) Text or bytes cut to `width`, numbers rounded down to a multiple of it."""
        return self._transformed(f"truncate({int(width)}, ")

    def year(self) -> Column:
        """(Iceberg) Years since 1970 of a date or timestamp, an int."""
        return self._transformed("year(")

    def month(self) -> Column:
        """(Iceberg) Months since January 1970 of a date or timestamp, an int."""
        return self._transformed("month(")

    def day(self) -> Column:
        """(Iceberg) The date of a date or timestamp, in UTC."""
        return self._transformed("day(")

    def hour(self) -> Column:
        """(Iceberg) Hours since 1970 of a timestamp, an int."""
        return self._transformed("hour(")

    def _transformed(self, call: str) -> Column:
        if self._transform is not None:
            raise TypeError(f"{self!r} is transformed already: a transform takes a column")
        if self._key is not None:
            raise TypeError(f"{self!r} is an element: a transform takes a column")
        return Column(self._name, call)

    def __eq__(self, value: Value) -> Predicate:  # type: ignore[override]
        return self._compare("=", value)

    def __ne__(self, value: Value) -> Predicate:  # type: ignore[override]
        return self._compare("<>", value)

    def __lt__(self, value: Value) -> Predicate:
        return self._compare("<", value)

    def __le__(self, value: Value) -> Predicate:
        return self._compare("<=", value)

    def __gt__(self, value: Value) -> Predicate:
        return self._compare(">", value)

    def __ge__(self, value: Value) -> Predicate:
        return self._compare(">=", value)

    def eq_null_safe(self, value: Value) -> Predicate:
        """Equal, or both null (SQL's `<=>`)."""
        return self._compare("<=>", value)

    def isin(self, values: Iterable[Value]) -> Predicate:
        """Equal to any of `values`; never true without values. A `None` among them matches nothing."""
        if isinstance(values, str | bytes | bytearray):
            raise TypeError(f"isin takes a collection of values, not one {type(values).__name__}")
        rendered = ", ".join(map(_literal, values))
        return Predicate(f"{self._sql} IN ({rendered})" if rendered else "FALSE")

    def between(self, low: Value, high: Value) -> Predicate:
        """At least `low` and at most `high`."""
        return Predicate(f"{self._sql} BETWEEN {_literal(low)} AND {_literal(high)}")

    def is_null(self) -> Predicate:
        """Null."""
        return Predicate(f"{self._sql} IS NULL")

    def is_not_null(self) -> Predicate:
        """Not null."""
        return Predicate(f"{self._sql} IS NOT NULL")

    def is_nan(self) -> Predicate:
        """Not a number; for floating point columns."""
        return Predicate(f"is_nan({self._sql})")

    def starts_with(self, prefix: str | bytes) -> Predicate:
        """Beginning with `prefix`, byte for byte."""
        return Predicate(f"starts_with({self._sql}, {_literal(prefix)})")

    def like(self, pattern: str, escape: str | None = None) -> Predicate:
        r"""Text as `pattern` says: `%` any text, `_` one character, literal after `escape` (or `\`)."""
        escaped = "" if escape is None else f" ESCAPE {_literal(escape)}"
        return Predicate(f"{self._sql} LIKE {_literal(pattern)}{escaped}")

    def _compare(self, operator: str, value: Value) -> Predicate:
        return Predicate(f"{self._sql} {operator} {_literal(value)}")

    @property
    def _sql(self) -> str:
        column = _quoted(self._name, '"')
        if self._key is not None:
            key = _quoted(self._key, "'")
            return f"{column}[{key}]"
        return column if self._transform is None else f"{self._transform}{column})"

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self!r} has no truth value: compare it, for example {self!r} == True")

    def __repr__(self) -> str:
        if self._transform is None:
            return f"col({self._name!r})" + ("" if self._key is None else f"[{self._key!r}]")
        name, _, parameter = self._transform.partition("(")
        return f"col({self._name!r}).{name}({parameter.removesuffix(', ')})"


def _literal(value: Value) -> str:
    """`value` as SQL, exactly. Subclasses are before their bases: bool is an int, datetime a date."""
    if isinstance(value, Column | Predicate):
        raise TypeError(f"a column is compared with values, not with a {type(value).__name__}")
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return _quoted(value, "'")
        case float():
            return _float(value)
        case Decimal():
            return _decimal(value)
        case dt.datetime():
            return f"TIMESTAMP '{_datetime(value)}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case dt.time():
            return _time(value)
        case bytes() | bytearray() | memoryview():
            return f"X'{value.hex()}'"
        case UUID():
            return f"UUID '{value}'"
        case SupportsIndex():
            return str(int(value))
    raise TypeError(f"no SQL literal can be made of {type(value).__module__}.{type(value).__qualname__}")


def _quoted(text: str, quote: str) -> str:
    return quote + text.replace(quote, 2 * quote) + quote


def _float(value: float) -> str:
    """SQL has no literals for NaN and the infinities; strings are cast to the column's type."""
    if value != value:
        return "'NaN'"
    if value in (float("inf"), float("-inf")):
        return "'Infinity'" if value > 0 else "'-Infinity'"
    return float.__repr__(value)


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise ValueError(f"no decimal column can hold {value}")
    return str(value)


def _datetime(value: dt.datetime) -> str:
    """An aware time with its offset; SQL offsets are whole minutes, others are written in UTC."""
    offset = value.utcoffset()
    if offset is not None and offset % dt.timedelta(minutes=1):
        try:
            value = value.astimezone(dt.timezone.utc)
        except OverflowError:
            message = f"{value.isoformat(sep=' ')} is in no year from 1 to 9999 in UTC"
            raise PredicateError(message, kind="predicate") from None
    return value.isoformat(sep=" ")


def _time(value: dt.time) -> str:
    if value.tzinfo is not None:
        raise ValueError(f"time columns have no time zone, {value} has one")
    return f"TIME '{value.isoformat()}'"
