"""What SQL asks of lakebed: options as text, names of tables, and the table function `lakebed`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from lakebed import _texts
from lakebed.spark.access import pickled
from lakebed.spark.catalogs import opened
from lakebed.spark.mappers import prefix_error_kind, rows_of
from lakebed.spark.types import spark_schema
from lakebed.storage.paths import absolute
from lakebed.table import Reopening

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.spark.catalogs import TablePath

_registered: MutableMapping[SparkSession, dict[str, str | Reopening]] = WeakKeyDictionary()


def register(spark: SparkSession, **tables: TablePath) -> None:
    """Registers in a session the data source `lakebed`, the table function `lakebed`, and names of tables.

    Of the function the first argument is a path, a URI or one of the names, the second the view ("files"
    unless said), others are the options of `DataSource` by name; all are constants. One task reads the view,
    row by row in Python: it is for small ones.

    Args: spark, the session; tables, what is opened by which name: a path at its newest snapshot whenever it
        is read, one that is open or of a catalog at the snapshot it is at now, through its own storage.
    Raises: what `lakebed.open_table` raises; TypeError for a storage that cannot be pickled; ImportError with
        PySpark 3.5.
    Cost: opens the tables. Names of earlier calls stay.

    >>> register(spark, orders="s3://bucket/orders")
    >>> spark.sql("SELECT * FROM lakebed('orders', 'partitions', where => 'dt > ''2026-01-01''')")
    """
    from lakebed.spark.source import DataSource

    known = {**_registered.get(spark, {}), **{name: _opener(given) for name, given in tables.items()}}
    _registered[spark] = known
    # Classes of no module, which are sent with the names that they have.
    spark.dataSource.register(type("DataSource", (DataSource,), {"_tables": known}))
    spark.udtf.register("lakebed", _table_function(known))


def _opener(given: TablePath) -> str | Reopening:
    table = opened(None, given, None, None)
    pickled(table.opening.storage)
    return absolute(os.fspath(given)) if isinstance(given, str | os.PathLike) else Reopening.of(table)


def _table_function(tables: Mapping[str, str | Reopening]) -> Any:
    from pyspark.sql.functions import udtf
    from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult

    from lakebed.spark.source import Asked, words_first

    def asked(arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Asked:
        if len(arguments) > 2:
            raise ValueError("lakebed('table', 'view', option => value, …): all but two have names")
        given = {**dict(zip(("path", "view"), arguments, strict=False)), **named}
        return Asked.of({name: value for name, value in given.items() if value is not None}, tables)

    class Function:
        def __init__(self, analyzed: AnalyzeResult) -> None:
            self._columns = analyzed.schema

        @staticmethod
        def analyze(*arguments: AnalyzeArgument, **named: AnalyzeArgument) -> AnalyzeResult:
            with words_first():
                if not all(one.isConstantExpression for one in (*arguments, *named.values())):
                    raise ValueError("the arguments of lakebed(…) are constants")
                given = tuple(one.value for one in arguments)
                options = {name: one.value for name, one in named.items()}
                return AnalyzeResult(spark_schema(asked(given, options).scan().schema))

        def eval(self, *arguments: Any, **named: Any) -> Iterator[tuple[Any, ...]]:
            with words_first(), prefix_error_kind():
                scan = asked(arguments, named).scan(self._columns)
                for batch in rows_of(scan.core.stream()):
                    yield from zip(*map(values, batch.columns), strict=True)

    return udtf(Function, useArrow=False)


def values(array: pa.Array) -> list[Any]:
    """The values as Spark takes them of Python: structs by position, maps as dicts."""
    kind, valid = array.type, array.is_valid().to_pylist()
    if pa.types.is_struct(kind):
        rows = zip(*map(values, array.flatten()), strict=True) if kind.num_fields else [()] * len(array)
        return [row if one else None for row, one in zip(rows, valid, strict=True)]
    if pa.types.is_map(kind) or pa.types.is_list(kind):
        parts = (array.keys, array.items) if pa.types.is_map(kind) else (array.values,)
        entries = list(zip(*map(values, parts), strict=True))
        ends = array.offsets.to_pylist()
        ranges = [entries[start:end] for start, end in pairwise(ends)]
        made = dict if pa.types.is_map(kind) else lambda rows: [value for (value,) in rows]
        return [made(rows) if one else None for rows, one in zip(ranges, valid, strict=True)]
    plain: list[Any] = array.to_pylist()
    return plain


_TEXT: tuple[Callable[[str], Any], str] = (str, "a text")
_NUMBER = (int, "a whole number")
_YES_OR_NO = (lambda text: {"true": True, "false": False}[text.strip().lower()], "true or false")
_NAMES = (_texts.names, "names with commas between them")
_PAIRS = (lambda text: _texts.pairs(_texts.names(text)), "pairs such as s3a=s3 with commas between them")
_VERSION = (_texts.version, "a snapshot's id, or the name of a tag or branch")
_INSTANT = (_texts.instant, "milliseconds since 1970, or a time as ISO 8601 has it")
_AGE = (_texts.age, "an age such as 3d, 12h or 30m, or a time as ISO 8601 has it")

PLACES: dict[str, tuple[Callable[[str], Any], str]] = {
    **dict.fromkeys(("snapshot", "watermark"), _NUMBER),
    **dict.fromkeys(("tag", "branch"), _TEXT),
    "timestamp": _INSTANT,
}
"""Options that say at which version, and how each is read of a text."""
FORMS: dict[str, tuple[Callable[[str], Any], str]] = {
    **dict.fromkeys(("path", "view", "format", "storage", "where", "filter", "deletes", "engine"), _TEXT),
    **dict.fromkeys(("range_bytes", "limit", "row_limit", "small_bytes", "retain_last"), _NUMBER),
    **dict.fromkeys(("data_files", "orphans"), _YES_OR_NO),
    **dict.fromkeys(("columns", "stats", "kinds"), _NAMES),
    **dict.fromkeys(("equal_schemes", "equal_authorities", "options"), _PAIRS),
    **dict.fromkeys(("snapshot_a", "snapshot_b", "after", "to"), _VERSION),
    "older_than": _AGE,
    **PLACES,
}
"""All options. Of the views' keywords `threads` is not among them, since a task has a core, nor `listing`."""


def parsed(name: str, value: Any) -> Any:
    """What an option says; values of SQL that are no texts stay as they are. Raises: ValueError."""
    parse, form = FORMS[name]
    with contextlib.suppress(LookupError, ValueError):
        if isinstance(value, str):
            return parse(value)
        if parse is not str:
            return value
    raise ValueError(f"the option {name} is {form}, not {value!r}")
