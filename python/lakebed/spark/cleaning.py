"""Removes orphans from executors, by reviewed rows.

    reviewed rows ─ spelled ─┐
                             ├─ shuffle by share ─▶ each share: what still is as planned ─ log ─ remove ─ log
    orphans, anew ─ spelled ─┘

A share is a hash of the path, so that each task has all that is known of its files. Spark begins no task
after a shuffle before all tasks before it have ended: nothing is removed until the whole look is made. What
follows is `lakebed.cleaning`'s own code, as on one machine. It is run when `apply` is called, once: tasks
keep what became of their files beside their parts of the log, and the DataFrame that is returned reads that,
however often it is computed.

A task that Spark tries again finds in the log what it may have moved, and a file that is gone is removed.
Shares are as many as the log says, so that a later run with it finds its parts too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.cleaning import looking
from lakebed.cleaning.applying import check_limits
from lakebed.cleaning.outcome import rows_of as outcome_rows
from lakebed.cleaning.places import Folder, respelled
from lakebed.cleaning.removing import Removal
from lakebed.cleaning.rows import OF_FILES, OF_PLANS, distinct, file_types, files_of, reviewed, wrong
from lakebed.cleaning.shared_log import LogFolder
from lakebed.errors import UnsupportedError
from lakebed.spark.access import map_in_arrow, numbers_of, pickled, task_numbers
from lakebed.spark.catalogs import opened
from lakebed.spark.frames import from_batches
from lakebed.spark.mappers import gathered_batches, prefix_error_kind
from lakebed.spark.private_api import at_once, computes_anew, is_classic
from lakebed.spark.table import SparkTable
from lakebed.spark.types import cast_batch, spark_schema, to_spark
from lakebed.table.jobs import THREE_DAYS

if TYPE_CHECKING:
    import os

    from pyspark.sql import DataFrame, SparkSession

    from lakebed.cleaning.rows import ReviewedPlan
    from lakebed.spark.catalogs import TablePath

_SHARE = 20_000
"""Reviewed files of a share: some megabytes, and twenty turns of the log."""

_FEW = 100_000
"""Reviewed files up to which every task has their paths, to pass over all other orphans."""

_ANSWER = pa.schema([("rows", pa.string())])


def apply(
    spark: SparkSession,
    rows: DataFrame,
    path: TablePath,
    quarantine: str | os.PathLike[str] | None = None,
    *,
    log: str | os.PathLike[str],
    younger: timedelta = THREE_DAYS,
    listing: DataFrame | None = None,
    equal_schemes: Mapping[str, str] | None = None,
    equal_authorities: Mapping[str, str] | None = None,
    files_per_second: int = 2000,
) -> DataFrame:
    """Removes orphans by reviewed rows, from the executors: `lakebed.apply`, with its promises, for more rows
    than one machine holds or removes in time. It removes when it is called, not when its rows are read.

    Args:
        spark: the session.
        rows: rows of `orphans` that were written and looked at, with all their columns, such as
            `spark.read.parquet("plan.parquet").filter(…)`. Rows may have been taken out.
        path: the table that they are of, as `open_table` has it; its newest version counts.
        quarantine: as `lakebed.apply` has it; `lakebed.restore` brings files back.
        log: a folder apart from the table, which is made: a local one that the driver and all executors have,
            or one on the table's storage where that writes and lists, as with `storage="obstore"`. Each task
            writes its own parts: a file of JSON lines before each thousand files, and one after them. With
            the log of a run that was broken off, the same rows are looked at again, and what is left is done.
        younger: orphans that were modified less than this ago are kept.
        listing: for the fresh look, as `orphans` of this module has it: of now, not of the plan.
        equal_schemes: for the fresh look, as `Table.orphans` has it.
        equal_authorities: likewise.
        files_per_second: at most so many are removed by all tasks that run at once.
    Returns: a row per file, in no order, with the columns of `lakebed.Cleanup.rows`: what became of it, and
        why. They are read from the log's folder.
    Raises: SchemaError for rows that Spark would make anew (those of a view, also if cached), and for what
        `lakebed.apply` refuses; UnsupportedError for rows of other views, which `lakebed.apply` takes, for
        a log that the table's storage does not write, and as `orphans`; LocationError, CommitConflictError
        and ValueError as `lakebed.apply`, but that two runs may write one log; TypeError for a storage that
        cannot be pickled; PySparkException where a task fails, as where executors do not have the log: what
        it has removed the log says, and another run ends it.
    Cost: that of `orphans`, the rows twice, and some 150 bytes for each reviewed file and each orphan across
        a shuffle; then as `lakebed.apply`, side by side. A task holds the rows of some shares of 20,000
        files, the driver some bytes for each share.
    Source: as `lakebed.apply`.

    >>> lakebed.spark.orphans(spark, "orders").write.parquet("plan.parquet")
    >>> rows = spark.read.parquet("plan.parquet")                # look
    >>> lakebed.spark.apply(spark, rows, "orders", log="orders.log").groupBy("outcome").count().show()
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

    check_limits(younger, files_per_second)
    found = _reviewed(rows)
    if found is None:
        return from_batches(spark, outcome_rows().schema, [])
    plan, count = found
    if plan.view != "orphans":
        message = f"executors remove no files by rows of {plan.view}: give them to lakebed.apply"
        raise UnsupportedError(message, kind="unsupported", field="plan")
    table = opened(spark, path, None, None).refresh()
    plan.check(table)
    pickled(table.opening.storage)
    folder, kept = Folder.of(table), LogFolder.of(table, log)
    header = Removal(folder, plan.view, quarantine, files_per_second).header(plan)
    before = datetime.now(timezone.utc) - younger
    equal: dict[str, Any] = {"equal_schemes": equal_schemes, "equal_authorities": equal_authorities}
    of_spark = SparkTable(spark, table, table.opening.limits)
    orphans = of_spark.orphans(younger, listing, **equal, columns=looking.COLUMNS)
    shares = int(kept.begun(header, -(-count // _SHARE)).header["shares"])
    types = spark_schema(_SENT)
    named = map_in_arrow(rows.select(*OF_FILES), Spelled(folder, shares, True), types)
    lying = map_in_arrow(orphans, Spelled(folder, shares, False), types)
    if count <= _FEW:
        few = F.broadcast(named.select("file_path"))
        lying = lying.join(few, "file_path", "left_semi").select(*_SENT.names)
    tasks = min(shares, at_once(spark)) if is_classic(spark) else shares
    remover = Cleaner(folder, kept, quarantine, files_per_second / tasks, before, younger)
    moved = named.union(lying).repartition(shares, "share")
    done = map_in_arrow(moved, remover, spark_schema(_ANSWER)).collect()
    reader = Outcomes(kept, [row.rows for row in done])
    return map_in_arrow(task_numbers(spark, len(done)), reader, spark_schema(outcome_rows().schema))


def _reviewed(rows: DataFrame) -> tuple[ReviewedPlan, int] | None:
    """The plan that rows are of, without its files, and how many rows there are; None for no rows.

    Raises: as `rows.reviewed`; SchemaError for rows that are no DataFrame of Spark's, and for such as Spark
        would make anew.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

    if not hasattr(rows, "sparkSession"):
        raise wrong(f"rows are a DataFrame of Spark, not a {type(rows).__name__}: see lakebed.apply", "rows")
    if computes_anew(rows):
        what = "apply takes rows that were written and looked at, not a view, which Spark would make anew"
        raise wrong(f"{what}: write them, look at them, and give what Spark reads of that", "rows")
    own = [name for name in OF_PLANS if name in rows.columns]
    # Spark would give a time as the driver's zone has it.
    is_instant = dict(rows.dtypes).get("planned_at") == "timestamp"
    columns = [
        F.unix_micros(name).alias(name) if is_instant and name == "planned_at" else F.col(name)
        for name in own
    ]
    heads = rows.groupBy(*columns).count().limit(2).collect()
    if not heads:
        return None
    values = {name: pa.array([head[name] for head in heads]) for name in own}
    others = {name: pa.nulls(len(heads)) for name in rows.columns if name not in own}
    plan = reviewed(pa.table(values | others))
    return None if plan is None else (plan, sum(head["count"] for head in heads))


_SENT = to_spark(pa.schema([("share", pa.int32()), ("is_reviewed", pa.bool_()), *file_types().items()]))
"""What crosses the shuffle: files, and whether they are rows or orphans by now."""


@dataclass(frozen=True)
class Spelled:
    """Gives each file as the table's folder spells it, with its share; made for `mapInArrow`.

    Attributes: shares, how many there are; is_reviewed, whether these are the reviewed rows, or orphans.
    """

    folder: Folder = field(repr=False)
    shares: int
    is_reviewed: bool

    @property
    def __name__(self) -> str:
        """What plans show."""
        return "reviewed_rows" if self.is_reviewed else "orphans_by_now"

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives rows of `_SENT`."""
        for batch in batches:
            rows = pa.Table.from_batches([batch])
            if not self.is_reviewed:
                rows = rows.append_column("kind", pa.nulls(rows.num_rows, pa.string()))
            with prefix_error_kind():
                files = respelled(files_of(rows), self.folder)
            paths = files["file_path"].to_pylist()
            shares = [crc32(path.encode("utf-8", "surrogatepass")) % self.shares for path in paths]
            own = pa.repeat(pa.scalar(self.is_reviewed), files.num_rows)
            sent = pa.table([pa.array(shares, pa.int32()), own, *files.columns], names=_SENT.names)
            yield from (cast_batch(one, _SENT) for one in sent.combine_chunks().to_batches())


@dataclass(frozen=True)
class Cleaner:
    """Removes or moves what is still as it was planned; made for `mapInArrow` over shares of files.

    Attributes: folder, of the table; rate, how many files a task removes in a second; before, when files have
        to be modified that are not younger.
    """

    folder: Folder = field(repr=False)
    log: LogFolder
    quarantine: str | os.PathLike[str] | None
    rate: float
    before: datetime
    younger: timedelta

    __name__ = "executors_remove_files"  # what plans show

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives the names of the files in the log's folder that have what became of each share."""
        given = list(batches)
        if not given:
            return
        rows = pa.Table.from_batches(given)
        with prefix_error_kind():
            removal = Removal(self.folder, "orphans", self.quarantine, self.rate)
            for share in pc.unique(rows["share"]).to_pylist():
                log = self.log.opened(share)
                own = rows.filter(pc.equal(rows["share"], share))
                files = distinct(files_of(own.filter(own["is_reviewed"])))
                found = files_of(own.filter(pc.invert(own["is_reviewed"])))
                verdicts = looking.of_orphans(files, found, self.before, self.younger)
                name = log.keep(removal.done(verdicts, log))
                yield pa.RecordBatch.from_pydict({"rows": [name]}, _ANSWER)


@dataclass(frozen=True)
class Outcomes:
    """Reads what became of files; made for `mapInArrow` over numbers of these names."""

    log: LogFolder
    names: Sequence[str] = field(repr=False)

    __name__ = "executors_read_outcomes"  # what plans show

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives rows of a `Cleanup`."""
        types = to_spark(outcome_rows().schema)
        with prefix_error_kind():
            log = self.log.opened()
            for number in numbers_of(batches):
                rows = log.kept(self.names[number]).to_batches()
                yield from gathered_batches(cast_batch(batch, types) for batch in rows)
