"""The Python Data Source `lakebed`: views of tables by `spark.read` and by SQL, with PySpark 4."""

from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

try:
    from pyspark.sql.datasource import DataSource as SparkDataSource
    from pyspark.sql.datasource import DataSourceReader, InputPartition
except ModuleNotFoundError as error:
    if error.name != "pyspark.sql.datasource":
        raise
    raise ImportError(
        "the data source and the table function lakebed are for PySpark 4; with PySpark 3.5 "
        "lakebed.spark.open_table(spark, path) gives the same views as DataFrames"
    ) from None

from lakebed.errors import LakebedError
from lakebed.limits import LIMITS
from lakebed.opening import open_table
from lakebed.predicates import Predicate, col, to_sql
from lakebed.spark.inputs import Reading, mapped, shared_cache, spread
from lakebed.spark.mappers import JobMap, prefix_error_kind, rows_of
from lakebed.spark.sql import FORMS, PLACES, parsed
from lakebed.spark.table import view_of
from lakebed.spark.types import spark_schema
from lakebed.storage import resolve
from lakebed.storage.paths import absolute
from lakebed.view import KEYWORDS, Bounds

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import datasource
    from pyspark.sql.types import StructType

    from lakebed.table import Reopening, Table
    from lakebed.view import ViewScan

TASK_BYTES = 32 << 20
"""Bytes of manifests that one task decodes, unless the option `range_bytes` says otherwise."""

# CREATE TABLE adds, in PySpark 4.0 to 4.3 with and without Hive's catalog: `provider` (always, and no other
# statement does), `owner` (who made the table), `location` (the path once more), `external`, `comment` and
# `collation` (clauses of the statement), and all TBLPROPERTIES. Options it repeats with this before their
# names, which tells them from these.
_REPEATED = "option."
# Readers it tells neither: these get the columns, whose metadata keeps the options.
_KEPT = "lakebed"
# Spark refuses a reader that takes filters where handing them down is switched off. That it is switched on
# shows in the worker that is run for it.
_PUSHDOWN_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "EqualTo": operator.eq,
    "GreaterThan": operator.gt,
    "GreaterThanOrEqual": operator.ge,
    "LessThan": operator.lt,
    "LessThanOrEqual": operator.le,
    "In": lambda column, values: column.isin(values),
    "IsNull": lambda column, _: column.is_null(),
    "IsNotNull": lambda column, _: column.is_not_null(),
}
# A few rows, of which Spark's filters leave those that they test.
_OF_OWN_COLUMNS = frozenset({"snapshots", "changelogs", "refs", "schemas"})


class DataSource(SparkDataSource):
    """`spark.read.format("lakebed").load(path)` and SQL's `USING lakebed OPTIONS (path '…')`, once
    `lakebed.spark.register(spark)` or `spark.dataSource.register(lakebed.spark.DataSource)` was called.

    Options: `path`, which Python workers open, so not a relative one, or a name that `register` was given;
        `view`, "files" unless said, or `$` and a metadata table, such as "$options"; the view's keywords by
        their names, but `threads` and `listing`: names with commas between them, ages such as 3d, times as
        ISO 8601 has them, versions as a snapshot's id or the name of a tag or branch, pairs such as s3a=s3;
        one of `snapshot`, `tag`, `branch`, `timestamp` and `watermark` as `Table.at`; `format` as
        `open_table`; `storage`, the name of the library that opens the path, as `open_table` has it;
        `range_bytes`, of which a task decodes as many.
    Returns: the rows and columns of the view, in no order. Filters on partition columns and, of views of the
        table's history, on any column, prune where Spark gives them to the source
        (`spark.sql.python.filterPushdown.enabled`, PySpark 4.1); Spark tests them all the same.
    Raises: what `open_table` and the view raise, ValueError for other options, in Spark's own errors.
    Cost: views whose rows need no shuffle (`entries`, `files`, `deletes`, `appends`, plans of few deletes)
        are made by as many tasks as their manifests fill; Python reads them, through `pyarrow.fs` or fsspec
        unless `storage` says otherwise. Others, and what has a `limit`, are read by one task: the functions
        of `lakebed.spark` spread these too.
    """

    _tables: ClassVar[Mapping[str, str | Reopening]] = {}
    """What was registered, by its names."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "lakebed"

    def schema(self) -> StructType:
        """The columns of the view."""
        with words_first():
            options = _of_user(self.options)
            schema = spark_schema(Asked.of(options, self._tables).scan().schema)
        if "provider" in self.options and schema.fields:
            schema.fields[0].metadata = {_KEPT: options}
        return schema

    def reader(self, schema: StructType) -> DataSourceReader:
        """What reads the view."""
        kept = schema.fields[0].metadata.get(_KEPT, {}) if schema.fields else {}
        with words_first():
            options = {**({} if "path" in self.options else kept), **self.options}
            asked = Asked.of(options, self._tables)
        return (_PruningReader if _PUSHDOWN_WORKER in sys.modules else _Reader)(asked, schema)


def _of_user(options: Mapping[str, str]) -> dict[str, str]:
    """The options that the user gave, without what CREATE TABLE adds."""
    if "provider" not in options:
        return dict(options)
    given = {name: text for name, text in options.items() if name in FORMS or _REPEATED + name in options}
    # Spark makes a URI of a local path, in which every letter is itself.
    return {**given, "path": given["path"].removeprefix("file:")} if "path" in given else given


class Asked(NamedTuple):
    """What is read: picklable, so that tasks can open the table again."""

    place: str | Reopening
    how: dict[str, Any]
    at: dict[str, Any]
    view: str
    selection: dict[str, Any]
    task_bytes: int

    @staticmethod
    def of(options: Mapping[str, Any], tables: Mapping[str, str | Reopening]) -> Asked:
        """By options, of which some may be texts. Raises: ValueError for others, and for wrong values."""
        given = {name.lower(): value for name, value in options.items()}
        if unknown := given.keys() - FORMS.keys():
            raise ValueError(f"options are {', '.join(sorted(FORMS))}, not {', '.join(sorted(unknown))}")
        given = {name: parsed(name, value) for name, value in given.items()}
        if "path" not in given:
            raise ValueError(
                "the path of a table is wanted, and no columns: spark.read.format('lakebed').load(path), "
                "or CREATE TEMPORARY VIEW name USING lakebed OPTIONS (path '…')"
            )
        path, view, size = given.pop("path"), given.pop("view", "files"), given.pop("range_bytes", TASK_BYTES)
        place = tables.get(path) or absolute(path)
        how = {name: given.pop(name, None) for name in ("storage", "format")}
        if not isinstance(place, str) and any(how.values()):
            raise ValueError(f"{path!r} is a table that is open already: it takes no storage and no format")
        at = {name: given.pop(name) for name in PLACES if name in given}
        return Asked(place, how, at, view, given, size)

    def table(self) -> Table:
        """The table. Raises: as `open_table` and `Table.at`."""
        table = open_table(self.place, **self.how) if isinstance(self.place, str) else self.place()
        return table.at(**self.at) if self.at else table

    def reading(self) -> Reading:
        """How files are read; nothing of the table is."""
        if isinstance(self.place, str):
            return Reading(LIMITS, storage=resolve(self.place, self.how["storage"])[1])
        opening = self.place.opening
        cache = shared_cache(opening.cache)
        return Reading(opening.limits, storage=opening.storage, keys=opening.keys, cache=cache)

    def scan(self, columns: StructType | None = None) -> ViewScan:
        """The view. Args: columns, those that Spark knows of it. Raises: what it raises; ValueError."""
        scan = view_of(self.table, self.view, self.selection)
        # Without what is nullable, and what was kept of the options.
        now = spark_schema(scan.schema)
        if columns is not None and columns.simpleString() != now.simpleString():
            changed = {one.simpleString() for one in now} ^ {one.simpleString() for one in columns}
            names = ", ".join(sorted({text.partition(":")[0] for text in changed})) or "their order"
            raise ValueError(
                f"the view {self.view} has other columns than Spark was told of ({names}): "
                "make the DataFrame, view or table of Spark anew, without columns of its own"
            )
        return scan

    def filtered(self, condition: Predicate) -> Asked:
        """With one more condition."""
        name = "where" if "where" in KEYWORDS.get(self.view, ()) else "filter"
        given = self.selection.get(name)
        both = to_sql(condition) if given is None else f"({given}) AND ({to_sql(condition)})"
        return self._replace(selection={**self.selection, name: both})


class _Reader(DataSourceReader):
    def __init__(self, asked: Asked, columns: StructType) -> None:
        self._asked, self._columns = asked, columns

    def partitions(self) -> list[InputPartition]:
        """Each has the map of a job and pieces of manifests, or is all of the view and has nothing."""
        with words_first():
            scan, size = self._asked.scan(self._columns), self._asked.task_bytes
            tasks: list[InputPartition] = []
            # Of a limit each task would give so many.
            planned = scan.job(Bounds()) if scan.limit is None else None
            if planned is not None and not planned.shuffles and not planned.is_question:
                reading = self._asked.reading()
                pieces = reading.pieces(planned.manifests, size)
                job = JobMap.of(planned, reading.limits, reading.keys, reading.cache)
                tasks = [InputPartition((job, own)) for own in spread(pieces, size)]
            # Of none Spark would make one that is None.
            return tasks or [InputPartition(None)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        with words_first(), prefix_error_kind():
            if partition.value is None:
                yield from rows_of(self._asked.scan(self._columns).core.stream())
            else:
                job, pieces = partition.value
                yield from mapped(job, pieces, self._asked.reading().storage)


class _PruningReader(_Reader):
    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 - the name Spark calls
        with words_first():
            columns = self._asked.table().schema.names
        conditions = (_condition(one, self._asked.view, columns) for one in filters)
        pushed = [condition for condition in conditions if condition is not None]
        # So many rows are counted before Spark tests them.
        if pushed and not self._asked.selection.keys() & {"limit", "row_limit"}:
            self._asked = self._asked.filtered(reduce(operator.and_, pushed))
        # They only prune: what is left is tested by Spark.
        return filters


def _condition(given: datasource.Filter, view: str, columns: list[str]) -> Predicate | None:
    """The part of a filter that the view itself can apply; None if there is none."""
    compare = _COMPARED.get(type(given).__name__)
    path: tuple[str, ...] = getattr(given, "attribute", ())
    is_own = view in _OF_OWN_COLUMNS and len(path) == 1
    # A partition field that is called as a column holds its values.
    if compare is None or not (is_own or (len(path) == 2 and path[0] == "partition" and path[1] in columns)):
        return None
    return cast("Predicate", compare(col(path[-1]), getattr(given, "value", None)))


class _Told(Exception):  # noqa: N818 - it is another's words
    """An error whose words are before its traceback: Spark shows what Python prints of one, its cause first.
    That is the error itself, without traceback; it stays though Spark takes the cause away.
    """

    __cause__ = property(lambda self: self.error, lambda *_: None)

    def __init__(self, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.error = error


@contextlib.contextmanager
def words_first() -> Iterator[None]:
    """Raises errors that tell a user something so that Spark shows their words first."""
    try:
        yield
    except (LakebedError, OSError, ValueError, TypeError, ImportError) as error:
        told = _Told(error).with_traceback(error.__traceback__)
        error.__traceback__ = error.__cause__ = error.__context__ = None
        raise told from None
