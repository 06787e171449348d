"""The Python Data Source `lakebed`: views of tables by `spark.read`, with PySpark 4."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pyspark.sql.datasource import DataSource as SparkDataSource
from pyspark.sql.datasource import DataSourceReader, InputPartition

from lakebed.limits import LIMITS
from lakebed.opening import open_table
from lakebed.predicates import Predicate, col, to_sql
from lakebed.spark.inputs import Piece, Reading, contents, reads_at_once, spread
from lakebed.spark.mappers import JobMap, prefix_error_kind
from lakebed.spark.table import view_of
from lakebed.spark.types import cast_batch, spark_schema, to_spark
from lakebed.storage import resolve
from lakebed.view import KEYWORDS, Bounds

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import datasource
    from pyspark.sql.types import StructType

    from lakebed.table import Table
    from lakebed.view import ViewScan

TASK_BYTES = 32 << 20
"""Bytes of manifests that one task decodes, unless the option `range_bytes` says otherwise."""

# Spark refuses a reader that takes filters where handing them down is switched off. That it is switched on
# shows in the worker that is run for it.
_PUSHDOWN_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"
_PLACES: dict[str, Callable[[str], Any]] = {"snapshot": int, "tag": str, "branch": str, "timestamp": int}
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
    """`spark.dataSource.register(lakebed.spark.DataSource)`, then `spark.read.format("lakebed").load(path)`.

    Options: `path`, which Python workers open, so not a relative one; `view`, "files" unless said, or `$` and
        a metadata table, such as "$options"; `where`, `filter`, `columns` and `stats` (names with commas
        between them) as the view takes them; one of `snapshot`, `tag`, `branch` and `timestamp` as
        `Table.at`; `format` as `open_table`; `storage`, the name of the library that opens the path, as
        `open_table` has it; `range_bytes`, of which a task decodes as many.
    Returns: the rows and columns of the view, in no order. Filters on partition columns and, of views of the
        table's history, on any column, prune where Spark hands them down
        (`spark.sql.python.filterPushdown.enabled`, PySpark 4.1); Spark tests them all the same.
    Raises: what `open_table` and the view raise, in the words of Spark's own errors.
    Cost: `entries` and `files` are decoded by as many tasks as their manifests fill; Python reads them,
        through `pyarrow.fs` or fsspec unless `storage` says otherwise. Views of sums, plans, and `files` of
        Paimon where some are deleted or decided on together, are read by one task: the functions of
        `lakebed.spark` spread these too.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "lakebed"

    def schema(self) -> StructType:
        """The columns of the view."""
        return spark_schema(_Asked.of(self.options).scan().schema)

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 - it is what `schema` gave
        """What reads the view."""
        asked = _Asked.of(self.options)
        return _PruningReader(asked) if _PUSHDOWN_WORKER in sys.modules else _Reader(asked)


class _Asked(NamedTuple):
    """What is read: picklable, so that tasks can open the table again."""

    path: str
    storage: str | None
    format: str | None
    at: dict[str, Any]
    view: str
    selection: dict[str, Any]
    task_bytes: int

    @staticmethod
    def of(options: Mapping[str, str]) -> _Asked:
        names = {"view", "where", "filter", "columns", "stats", "format", "storage", "range_bytes", "path"}
        names |= _PLACES.keys()
        if unknown := [name for name in options if name.lower() not in names]:
            raise ValueError(f"options are {', '.join(sorted(names))}, not {', '.join(unknown)}")
        if "path" not in options:
            raise ValueError("the path of a table is wanted: spark.read.format('lakebed').load(path)")
        lists = {name: options[name].split(",") for name in ("columns", "stats") if name in options}
        selection: dict[str, Any] = {name: [one.strip() for one in listed] for name, listed in lists.items()}
        selection.update((name, options[name]) for name in ("where", "filter") if name in options)
        at = {name: parse(options[name]) for name, parse in _PLACES.items() if name in options}
        size = int(options.get("range_bytes", TASK_BYTES))
        view = options.get("view", "files")
        place = (options["path"], options.get("storage"), options.get("format"))
        return _Asked(*place, at, view, selection, size)

    def table(self) -> Table:
        table = open_table(self.path, storage=self.storage, format=self.format)
        return table.at(**self.at) if self.at else table

    def scan(self) -> ViewScan:
        return view_of(self.table(), self.view, self.selection)

    def filtered(self, condition: Predicate) -> _Asked:
        name = "where" if "where" in KEYWORDS.get(self.view, ()) else "filter"
        given = self.selection.get(name)
        both = to_sql(condition) if given is None else f"({given}) AND ({to_sql(condition)})"
        return self._replace(selection={**self.selection, name: both})


class _Share(InputPartition):
    """Pieces of manifests and what is to be done with them, or all of the view."""

    def __init__(self, job: JobMap | None, pieces: list[Piece]) -> None:
        super().__init__(None)
        self.job = job
        self.pieces = pieces


class _Reader(DataSourceReader):
    def __init__(self, asked: _Asked) -> None:
        self._asked = asked

    def partitions(self) -> list[InputPartition]:
        asked, shares = self._asked, list[_Share]()
        table = asked.table()
        scan = view_of(table, asked.view, asked.selection)
        planned = scan.job(Bounds())
        # Tasks of a source do not shuffle.
        if planned is not None and not planned.shuffles and not planned.is_question:
            job, reading = JobMap(planned.to_bytes(), LIMITS), Reading(LIMITS, storage=table.opening.storage)
            pieces = reading.pieces(planned.manifests, asked.task_bytes)
            shares = [_Share(job, own) for own in spread(pieces, asked.task_bytes)]
        # Of none Spark would make one that is None.
        return [*shares] or [_Share(None, [])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        share = cast("_Share", partition)
        if share.job is not None:
            # Where it is says how it is read: nothing of the table is read again.
            _, storage = resolve(self._asked.path, self._asked.storage)
            given = contents(share.pieces, storage, LIMITS, reads_at_once(storage))
            yield from share.job.of_contents(given)
            return
        with prefix_error_kind():
            scan = self._asked.scan()
            types = to_spark(scan.schema)
            for batch in scan:
                yield cast_batch(batch, types)


class _PruningReader(_Reader):
    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802 - the name Spark calls
        columns = self._asked.table().schema.names
        conditions = (_condition(one, self._asked.view, columns) for one in filters)
        pushed = [condition for condition in conditions if condition is not None]
        if pushed:
            self._asked = self._asked.filtered(reduce(operator.and_, pushed))
        # They only prune: what is left is tested by Spark.
        return filters


def _condition(given: datasource.Filter, view: str, columns: list[str]) -> Predicate | None:
    """The part of a filter that the view itself can apply; None if there is none."""
    compare = _COMPARED.get(type(given).__name__)
    path: tuple[str, ...] = getattr(given, "attribute", ())
    if compare is None or not path:
        return None
    if view in _OF_OWN_COLUMNS and len(path) == 1:
        return cast("Predicate", compare(col(path[0]), getattr(given, "value", None)))
    # A partition field that is called as a column holds its values.
    if len(path) == 2 and path[0] == "partition" and path[1] in columns:
        return cast("Predicate", compare(col(path[1]), getattr(given, "value", None)))
    return None
