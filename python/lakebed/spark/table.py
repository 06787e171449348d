"""A table whose views are DataFrames, and the functions that are one-line forms of its methods."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from lakebed._arguments import age, instant, milliseconds
from lakebed.spark.access import task_numbers
from lakebed.spark.catalogs import TablePath, opened
from lakebed.spark.frames import frame_of, newest_again
from lakebed.spark.inputs import ContentReader, Reading
from lakebed.spark.mappers import JobMap, Lister, ViewReader
from lakebed.spark.types import spark_schema
from lakebed.table import Table
from lakebed.table.jobs import THREE_DAYS
from lakebed.view import KEYWORDS, Bounds, ViewScan

if TYPE_CHECKING:
    from datetime import timedelta

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType
    from typing_extensions import Unpack

    from lakebed._arguments import KeyClient, UnwrapKey
    from lakebed._keywords import FileKeywords
    from lakebed._native import Cache
    from lakebed.limits import Limits
    from lakebed.spark.access import Read
    from lakebed.spark.mappers import Mapper
    from lakebed.version import AnyVersion

_OF_TASKS = """TypeError for a storage that cannot be pickled; MissingFileError when the DataFrame is
        computed by executors that do not reach the table."""
_COSTS = {
    "files": """The driver reads the manifest lists; executors read the manifests that `where` leaves. Of
        Paimon the driver also reads which files are deleted, up to 100,000 entries in manifests of 128 MiB;
        where there are more, or where `where` decides on files together (by values of a table with primary
        keys, or whose rows are spread over files), entries cross one shuffle, by identity or by bucket.""",
    "plan": """Iceberg: manifests of deletes of up to 16 MiB in all are read by the driver and sent along;
        so are all with `deletes="ids"`, whose numbers are those of `Table.plan(…).deletes`. Of more,
        executors say which columns equality deletes compare; then data files and deletes cross a shuffle by
        spec and partition, those of unpartitioned tables by data file, and each task holds the deletes of
        its own. In partitioned tables deletes of one file cross it by the file's path too, to find those of
        another partition: UnsupportedError where there is one, which `deletes="ids"` plans. Paimon: as
        `files`; the driver reads the index manifest and sends the deletion vectors of the partitions that
        `where` leaves, some dozen bytes each, which every task holds.""",
    "partitions": """A task gives one row per group that it has, and one shuffle merges these. Of
        Paimon as `files`; for the columns `delete_…` the driver reads the index manifest too; of Iceberg,
        for `last_updated_…`, the times of the snapshots.""",
    "diff": """The driver reads the manifest lists of both; executors read the manifests that one of them
        alone has, once, and their files are shuffled by identity, unless all were added or all were
        removed.""",
    "reachable": """The driver reads all but manifests, and holds what names these and the sets
        of snapshots that have each. Executors read every manifest once; some 100 bytes for each file that an
        entry names and its path cross one shuffle, after which a task holds those of one part.""",
    "verify": f"""The driver reads all but manifests, and looks for files of statistics. Executors read every
        manifest once, through the table's storage; some 150 bytes for each entry of the table's snapshot
        cross one shuffle, and a task has those of one part. With data_files each part looks for its files:
        one request each. What was found crosses another shuffle, to one task. {_OF_TASKS}""",
    "expire_plan": """Ages are counted to now. As `reachable`; the rows cross another shuffle, to one task,
        which reads the newest version again, until nothing is new, and takes out rows of what the table
        keeps by then. TypeError for a storage or catalog that cannot be pickled.""",
    "totals": f"""As `reachable`; a row per kind of file of each task crosses another shuffle, to one task.
        With orphans one task opens the table again and reads it. {_OF_TASKS}""",
    "columns": """As `files`; a row of each task crosses a shuffle, to one task.""",
    "overlap": """As `files`; the bounds of all files cross a shuffle, to one task, which holds them.""",
    "compaction_plan": f"""One task opens the table again and reads it. {_OF_TASKS}""",
    "growth": f"""One task opens the table again and reads it. {_OF_TASKS}""",
}
_COSTS |= dict.fromkeys(("buckets", "health"), _COSTS["partitions"])
_COSTS |= dict.fromkeys(("file_history", "changes", "dangling_deletes", "repair_plan"), _COSTS["growth"])


def _view(method: Callable[..., ViewScan]) -> Callable[..., DataFrame]:
    """The method of a Spark table for a method of `Table`: the same arguments, the same rows and columns."""
    name, signature = method.__name__, inspect.signature(method)
    parameters = list(signature.parameters)[1:]

    def frame(self: SparkTable, *args: Any, **given: Any) -> DataFrame:
        scan = method(self.table, *args, **given)
        reading = Reading.of(self.table, self.limits, self.range_bytes, self.read)
        keywords = {**dict(zip(parameters, args, strict=False)), **given}
        return frame_of(self.spark, self.table, scan, reading, keywords)

    frame.__name__, frame.__qualname__ = name, f"SparkTable.{name}"
    frame.__signature__ = signature.replace(return_annotation="DataFrame")  # type: ignore[attr-defined]
    cost = inspect.cleandoc(_COSTS.get(name, ""))
    own = f"The rows and columns of `Table.{name}`. {cost}".rstrip()
    frame.__doc__ = f"{own}\n\n{inspect.getdoc(method)}"
    return frame


@dataclass(frozen=True)
class SparkTable:
    """A table whose views are DataFrames: the methods of `Table`, with the same arguments but `threads`.

    The rows are those of `Table`'s views, in no order unless the driver reads them.

    Attributes: spark, the session; table, the table; limits, what one metadata file may cost; range_bytes and
        read, as `open_table` of this module has them.
    """

    spark: SparkSession
    table: Table
    limits: Limits
    range_bytes: int | None = None
    read: Read | None = None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., DataFrame]: ...

    def orphans(
        self,
        older_than: timedelta | datetime | None = THREE_DAYS,
        listing: DataFrame | None = None,
        **given: Any,
    ) -> DataFrame:
        """One row per file that is in the table's folders and that nothing of the table reaches; the rows
        and columns of `Table.orphans`, in no order.

        The table is read as it is now, folders are listed when the DataFrame is computed: what was modified
        since is not an orphan. After all else a task reads the newest version again, until nothing is new,
        and takes out rows of files that the table keeps by then.

        Args: those of `Table.orphans`; listing, a DataFrame with `path`, `size` and `modified`.
        Raises: what `Table.orphans` raises; TypeError for a storage or catalog that cannot be pickled.
        Cost: that of `reachable`. Each partition of `listing` is read by a task, which opens the table again
            to know its folders; without `listing` one task lists them, side by side. Some 150 bytes for each
            file that is listed cross the same shuffle, and the rows another one, to one task.
        """
        now = milliseconds(datetime.now(timezone.utc))
        before = None if older_than is None else age("older_than", older_than)
        if listing is None and (before is None or before > now):
            before = now
        keywords = {"older_than": None if before is None else instant(before), **given}
        reader = ViewReader("orphans", newest_again(self.table), keywords)
        rows = task_numbers(self.spark, 1) if listing is None else listing
        scan, reading = reader.scan(self.table), Reading.of(self.table, self.limits, None, self.read)
        listed = (rows, partial(Lister, reader, listing is not None))
        return frame_of(self.spark, self.table, scan, reading, keywords, listed)


# Which of `listing` is given is all that differs.
SparkTable.orphans.__signature__ = inspect.signature(Table.orphans).replace(  # type: ignore[attr-defined]
    return_annotation="DataFrame"
)

for _name in KEYWORDS:
    if not hasattr(SparkTable, _name):
        setattr(SparkTable, _name, _view(getattr(Table, _name)))


def open_table(
    spark: SparkSession,
    path: TablePath,
    *,
    at: AnyVersion | None = None,
    limits: Limits | None = None,
    range_bytes: int | None = None,
    read: Read | None = None,
    keys: UnwrapKey | KeyClient | None = None,
    cache: Cache | None = None,
) -> SparkTable:
    """A table whose views are DataFrames.

    Args:
        spark: the session.
        path: a path or URI that the driver can open and the executors can reach, a table that a catalog of
            PyIceberg or pypaimon loaded, or a `lakebed.Table`, with the storage that it was opened with. Or a
            name in the catalogs of Spark, such as "lake.db.orders", "db.orders" of the current catalog, or
            "lake.`a.b`.orders": a string without `/`, `:` and backslash outside quotes, of which there is no
            local file or folder. It is read through the storage of its URI.
        at: which version of it; None for the one that it is at, or the latest.
        limits: what one metadata file may cost; None for those of the table.
        range_bytes: of which executors read and decode as many in a task, of one manifest or several; None:
            so many that the cores have about the same.
        read: who reads manifests: "executors" through the storage that the table was opened with, larger ones
            in ranges that begin at a sync marker; "spark", as its source `binaryFile` with the cluster's
            credentials, and each is decoded as a whole; None: the driver, here, where they have 32 MiB or
            less and their rows 16 MiB or less in Arrow; else executors where they reach that storage, else
            Spark. `explain` shows which, and why.
        keys: as `lakebed.open_table` has it; it is pickled for the executors, which ask it again.
        cache: as `lakebed.open_table` has it; executors share its folder, each on its host, where they read
            whole manifests.
    Raises: what `lakebed.open_table` and `Table.at` raise; of a name TableNotFoundError (no such catalog or
        table), UnsupportedError (a view, another format, Paimon's REST catalogs), OSError (a catalog that
        does not answer). Views raise what those of `Table` raise, here; `orphans` and `expire_plan`
        UnsupportedError for a name where Spark's process alone can ask which version is the newest, which is
        so in Iceberg's catalogs but Hadoop's; ValueError where `read` and `range_bytes` contradict each
        other, TypeError for a storage that executors are to read through and that cannot be pickled; errors
        of a manifest here where the driver reads it, else when the DataFrame is computed.
    Cost: that of `lakebed.open_table`; of a name some statements of SQL, and in Iceberg's catalogs but
        Hadoop's one small job and another read of the metadata file. Of a storage that was opened by its URI,
        and of local files on a cluster, one job finds out whether executors reach it: once for a session,
        with a read on at most 32 cores.
    """
    table = opened(spark, path, at, limits, keys, cache)
    return SparkTable(spark, table, limits or table.opening.limits, range_bytes, read)


def function(method: Callable[..., DataFrame]) -> Callable[..., DataFrame]:
    """The function of a view: its method on the table that `open_table` opens, in one call."""
    opening = list(inspect.signature(open_table).parameters.values())
    how = {one.name for one in opening[2:]}

    def frame(spark: SparkSession, path: TablePath, *args: Any, **given: Any) -> DataFrame:
        table = open_table(spark, path, **{name: given.pop(name) for name in how & given.keys()})
        return method(table, *args, **given)

    frame.__name__ = frame.__qualname__ = method.__name__
    frame.__doc__ = f"`open_table(spark, path, at=…, …).{method.__name__}(…)`.\n\n{inspect.getdoc(method)}"
    own = list(inspect.signature(method).parameters.values())[1:]
    first = [one for one in own if one.kind is not inspect.Parameter.KEYWORD_ONLY]
    parameters = [*opening[:2], *first, *opening[2:], *(one for one in own if one not in first)]
    frame.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return frame


def schema(
    view: str,
    path: TablePath,
    *,
    columns: Sequence[str] | None = None,
    stats: Sequence[str] | None = None,
    deletes: Literal["list", "ids"] | None = None,
    at: AnyVersion | None = None,
) -> StructType:
    """The Spark schema of a view, such as "files", or of a metadata table, such as "$options".

    Args: columns and stats, as the view takes them; deletes, for "plan" only; path and at, as `open_table`.
    Raises: what `open_table` and the view raise; ValueError for another view.
    Cost: the driver opens the table.
    """
    given: dict[str, Any] = {"columns": columns, "stats": stats, "deletes": deletes}
    selection = {name: value for name, value in given.items() if value is not None}
    table = opened(None, path, at, None)
    if view == "diff":
        # Between which snapshots does not matter to the columns.
        selection |= dict.fromkeys(("snapshot_a", "snapshot_b"), table.snapshot_id)
    return spark_schema(view_of(lambda: table, view, selection).schema)


def view_of(opened: Callable[[], Table], view: str, selection: dict[str, Any]) -> ViewScan:
    """A view, or a metadata table, by its name. Raises: ValueError for others; what it and `opened` raise."""
    is_metadata = view.startswith("$")
    if not is_metadata and (view not in KEYWORDS or view == "metadata_table"):
        views = ", ".join(name for name in KEYWORDS if name != "metadata_table")
        raise ValueError(f"a view is one of {views}, or $ and a metadata table, not {view!r}")
    method = getattr(opened(), "metadata_table" if is_metadata else view)
    scan: ViewScan = method(*[view[1:]] * is_metadata, **selection)
    return scan


def manifest_mapper(
    fmt: str,
    path: TablePath,
    *,
    at: AnyVersion | None = None,
    limits: Limits | None = None,
    **given: Unpack[FileKeywords],
) -> Mapper:
    """The function for `DataFrame.mapInArrow` that turns manifests into rows of `Table.entries`.

    It takes rows with `path` and `content`, those of Spark's `binaryFile` source for manifests of this
    snapshot, and its rows have the schema `schema("entries", path, columns=…, stats=…, at=…)`.

    Args: fmt, the table format, "paimon" or "iceberg"; path, at and limits, as `open_table`; the others are
        those of `Table.entries`.
    Raises: what `open_table` and `Table.entries` raise; ValueError where the table is of another format.
    Cost: the driver reads the manifest lists.
    """
    table = opened(None, path, at, limits)
    if table.format != fmt:
        raise ValueError(f"{table.location} is a {table.format} table, not {fmt}")
    planned = table.entries(**given).job(Bounds())
    if planned is None:
        raise AssertionError("entries are made of manifests")
    return ContentReader(JobMap.of(planned, limits or table.opening.limits, table.opening.keys))
