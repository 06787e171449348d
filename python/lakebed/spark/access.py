"""Whether Spark's workers have what functions of lakebed need, and who can read what: whether the executors'
Python reaches a table's storage, found out once for a session and a storage.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from weakref import WeakKeyDictionary

import pyarrow as pa

import lakebed
from lakebed import _native
from lakebed._text import printable
from lakebed.errors import CorruptError, LimitError, UnsupportedError
from lakebed.limits import LIMITS
from lakebed.spark.catalogs import opened
from lakebed.spark.private_api import at_once, local_python
from lakebed.storage.adapter import Adapter
from lakebed.storage.paths import URI, absolute, split
from lakebed.storage.secrets import without_secrets

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from lakebed.limits import Limits
    from lakebed.spark.catalogs import TablePath
    from lakebed.spark.mappers import Mapper
    from lakebed.storage import Storage
    from lakebed.view import Manifest

Read: TypeAlias = Literal["executors", "spark"]
"""Who reads manifests: the executors' Python through the table's storage, or Spark's source `binaryFile`."""

# Executors that are asked, at most. A few that do not reach a storage show it when they read.
_TASKS = 32
# Seconds that an executor waits for a storage: one behind a firewall may never answer.
_PATIENCE = 20.0
_SHOWN = 300
# No fewer than a cluster may have cores, so that every task has a row.
_ROWS = 1_000
# `versions` of modules, null for those that cannot be imported, `problems` of these.
_PROBED = """host string, python string, executable string, versions array<string>, problems array<string>,
    unread string"""

# What Spark says of a Python that does not run functions at all: of another minor version, or none.
_UNLIKE = re.compile(r"(?m)Python in worker has .*?(?=, PySpark|$)|Cannot run program.*")
_fit: MutableMapping[SparkSession, bool] = WeakKeyDictionary()
_found: MutableMapping[SparkSession, dict[tuple[object, ...], str | None]] = WeakKeyDictionary()


def task_numbers(spark: SparkSession, count: int, tasks: int | None = None) -> DataFrame:
    """The numbers from 0, one for each task unless there are fewer tasks, for `map_in_arrow`.

    `mapInArrow` imports pandas, which takes Python a second; the first DataFrame of a session takes the JVM
    as long. Here they work side by side.
    """
    with ThreadPoolExecutor(1) as pool:
        # Without it `mapInArrow` says what is missing.
        pool.submit(importlib.import_module, "pandas")
        return spark.range(count, numPartitions=tasks or count)


def numbers_of(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    """The numbers of a task, of those of `task_numbers`."""
    return (number for batch in batches for number in batch.column(0).to_pylist())


def map_in_arrow(frame: DataFrame, mapper: Mapper, types: StructType | str) -> DataFrame:
    """The rows that a function of lakebed makes of a frame's. Raises: as `check_workers`.

    PySpark 3.5 forgets how many rows there are in a batch without columns, so there they have one.
    """
    check_workers(frame.sparkSession)
    if isinstance(types, str) or types.names:
        return frame.mapInArrow(mapper, types)
    return frame.mapInArrow(_OneColumn(mapper), "row boolean").select()


@dataclass(frozen=True)
class _OneColumn:
    mapper: Mapper

    @property
    def __name__(self) -> str:
        """What plans show."""
        return getattr(self.mapper, "__name__", type(self.mapper).__name__)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in self.mapper(batches):
            yield pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows, pa.bool_())], ["row"])


def reached(
    spark: SparkSession, storage: Storage | None, manifests: Sequence[Manifest], limits: Limits
) -> str | None:
    """Why executors do not read through a storage; None where they do.

    A storage that the user or a catalog gave is one they can use, if it can be pickled, and so is the local
    disk where everything runs in the driver's process. For others a job asks some executors, once for a
    session: each reads a range of a manifest.

    Args: manifests, at least one of those that are to be read.
    Raises: PySparkException where the job fails, as where lakebed cannot be imported.
    """
    if storage is None and local_python(spark) is not None:
        return None
    try:
        probe = probe_of(storage, manifests, limits)
    except TypeError as error:
        return _shown(str(error))
    if storage is not None and not (isinstance(storage, Adapter) and storage.of_uri):
        return None
    # The same for all tables of one bucket, or server, that are read with the same settings.
    path = probe.manifest["path"]
    place = "/".join((path.partition(":")[0], split(path)[0])) if URI.match(path) else ""
    settings = pickled(getattr(storage, "_filesystem", storage))
    known, key = _found.setdefault(spark, {}), (type(storage), place, hashlib.sha256(settings).digest())
    if key not in known:
        numbers = task_numbers(spark, min(at_once(spark), _TASKS))
        answers = map_in_arrow(numbers, probe, "problem string, missing boolean").collect()
        problem = min((row.problem for row in answers if row.problem is not None), default=None)
        if any(row.missing for row in answers):
            # Of a file that is not there nobody knows whether others are.
            return problem
        known[key] = problem
    return known[key]


def forget(spark: SparkSession) -> None:
    """Has the next frame of a session find out again."""
    _found.pop(spark, None)


def probe_of(storage: Storage | None, manifests: Sequence[Manifest], limits: Limits) -> Probe:
    """What reads a range of the smallest of some manifests. Raises: TypeError as `pickled`."""
    first = min(manifests, key=lambda manifest: manifest["size"])
    path = absolute(first["path"]) if storage is None else first["path"]
    return Probe(pickled(storage), {**first, "path": path}, limits)


@dataclass(frozen=True)
class Probe:
    """Reads a range of a manifest; made for `mapInArrow` over any rows, and for others that run in a task."""

    storage: bytes = field(repr=False)
    manifest: Manifest = field(repr=False)
    limits: Limits

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Gives what was found, as `answer`."""
        for _ in batches:
            problem, missing = self.answer()
            yield pa.RecordBatch.from_pydict(
                {"problem": pa.array([problem], pa.string()), "missing": [missing]}
            )

    def answer(self) -> tuple[str | None, bool]:
        """What keeps this process from reading, None for nothing, and whether it is that no file is there."""
        found: list[tuple[str | None, bool]] = []
        thread = Thread(target=lambda: found.append(self._read()), daemon=True)
        thread.start()
        thread.join(_PATIENCE)
        return found[0] if found else (f"no answer within {_PATIENCE:.0f} seconds", False)

    def _read(self) -> tuple[str | None, bool]:
        try:
            # Here and not with the function: the library that it needs may be missing.
            storage = pickle.loads(self.storage)
            _native.divisible(storage, [self.manifest], self.limits)
        except Exception as error:  # noqa: BLE001 - whatever a storage raises is the answer
            missing = isinstance(error, FileNotFoundError)
            # What can be said to be damaged was read.
            was_read = isinstance(error, CorruptError | LimitError) and not missing
            path = self.manifest["path"]
            words = str(error).replace(path, _native.without_credentials(path))
            problem = f"{type(error).__name__}: {without_secrets(words)}"
            return (None if was_read else _shown(problem)), missing
        return None, False


def pickled(given: object, name: str = "storage=") -> bytes:
    """What Spark sends. Raises: TypeError, with the name, for what cannot be pickled, as a `MemoryStore`."""
    from pyspark import cloudpickle

    # It has no types of its own.
    pickle_it: Callable[[object], bytes] = cloudpickle.dumps
    try:
        return pickle_it(given)
    except Exception as error:  # noqa: BLE001 - whatever pickling raises is the reason
        why = without_secrets(str(error), given)
    raise TypeError(f"{name} is pickled for Spark's executors, which this one cannot be: {why}")


def _shown(problem: str) -> str:
    text = printable(problem)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def check(spark: SparkSession, path: TablePath | None = None) -> DataFrame:
    """One row per executor host and Python, and whether it can decode manifests and read those of a table.

    Args: path, the table, as `open_table` has it; with it the next frame of the session finds out again who
        reads manifests.
    Returns: `host`, `python`, `lakebed`, `pyarrow` strings (versions; null where it cannot be imported), `ok`
        boolean (imports work, and lakebed is the driver's version), `problem` string; with a table that has
        manifests `read` string ("executors" or "spark": who is to read them, for what this host finds), and
        `unread` string: what keeps Python there from reading one, null where nothing does.
    Raises: with a table what `open_table` and `Table.manifests` raise, and TypeError for a storage that
        cannot be pickled.
    Cost: two small tasks per core; with a table each reads a range of a manifest, the driver manifest lists.
    """
    from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

    reading = None
    if path is not None:
        table = opened(spark, path, None, LIMITS)
        if manifests := table.entries(columns=[]).planned_manifests():
            reading = pickle.dumps(probe_of(table.opening.storage, manifests, LIMITS))
            forget(spark)
    # Ranges have a partition per core unless `range_bytes` says otherwise; Spark Connect does not give the
    # number of cores.
    once = spark.range(_ROWS)
    # No pandas: `mapInArrow` alone needs it.
    probed = once.union(once).select(_probe(("lakebed", "pyarrow"), reading).alias("probe"))
    here, pyarrow = F.col("versions")[0], F.col("versions")[1]
    works, same = F.size("problems") == 0, here == lakebed.__version__
    differs = F.concat(F.lit(f"the driver has lakebed {lakebed.__version__}, here is "), here)
    problem = F.when(~works, F.array_join("problems", "; ")).when(~same, differs)
    columns: list[str | Column] = ["host", "python", here.alias("lakebed"), pyarrow.alias("pyarrow")]
    columns += [(works & same).alias("ok"), problem.alias("problem")]
    if reading is not None:
        reader = F.when(F.col("unread").isNull(), "executors").otherwise("spark")
        columns += [reader.alias("read"), "unread"]
    return probed.select("probe.*").select(*columns).distinct()


def check_workers(spark: SparkSession) -> None:
    """Has Spark's workers import what functions of lakebed need; once for a session.

    Raises: UnsupportedError, one sentence with the worker's Python, what that lacks and `PYSPARK_PYTHON`;
        PySparkException where the job fails for another reason.
    Cost: nothing in a session of `local[…]` whose workers run the driver's Python; else one small task.
    """
    python = local_python(spark)
    if spark in _fit or python == os.path.abspath(sys.executable):  # noqa: PTH100 - of a venv, its link
        return
    try:
        probe = _probe(("pyarrow", "pandas", "lakebed"))
        found = spark.range(1, numPartitions=1).select(probe).collect()[0][0]
    except Exception as error:
        unlike = _UNLIKE.search(str(error))
        if unlike is None:
            raise
        why = unlike[0]
    else:
        if not found.problems:
            _fit[spark] = True
            return
        python, why = found.executable, found.problems[0].partition(": ")[2]
    told = f"Spark's workers run {python or 'a Python'}, which lakebed cannot use ({printable(why)})"
    way = f"set PYSPARK_PYTHON to a Python that has lakebed, such as {sys.executable}"
    raise UnsupportedError(f"{told}: {way}, before the session starts", kind="unsupported")


def _probe(modules: Sequence[str], reading: bytes | None = None) -> Column:
    """What a worker's Python is, which of some modules it imports, and what keeps a pickled `Probe` there
    from reading: as `_PROBED`.
    """
    from pyspark.sql.functions import udf

    found: list[tuple[Any, ...]] = []

    # A nested function is sent by value: it runs where lakebed cannot be imported.
    def look(_: Any) -> tuple[Any, ...]:
        if found:
            return found[0]
        import importlib
        import pickle
        import platform
        import socket
        import sys

        versions: list[str | None] = []
        problems: list[str] = []
        for name in modules:
            try:
                versions.append(importlib.import_module(name).__version__)
            except Exception as error:  # noqa: BLE001, PERF203 - whatever importing raises is the answer
                versions.append(None)
                problems.append(f"{name}: {type(error).__name__}: {error}")
        unread = "; ".join(problems) or None
        if unread is None and reading is not None:
            unread = pickle.loads(reading).answer()[0]
        here = (socket.gethostname(), platform.python_version(), sys.executable)
        found.append((*here, versions, problems, unread))
        return found[0]

    # A plain UDF, not an Arrow one: it must run where pyarrow is what is missing.
    return udf(look, _PROBED, useArrow=False)("id")
