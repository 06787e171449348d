"""Whether the executors' Python reaches a table's storage: found out once for a session and a storage."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING, Literal, TypeAlias
from weakref import WeakKeyDictionary

import pyarrow as pa

from lakebed import _native
from lakebed._text import printable
from lakebed.errors import CorruptError, LimitError
from lakebed.spark.binary_files import at_once
from lakebed.spark.session import task_numbers
from lakebed.storage.adapter import Adapter
from lakebed.storage.paths import URI, absolute, split
from lakebed.storage.secrets import without_secrets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakebed.limits import Limits
    from lakebed.storage import Storage
    from lakebed.view import Manifest

Read: TypeAlias = Literal["executors", "spark"]
"""Who reads manifests: the executors' Python through the table's storage, or Spark's source `binaryFile`."""

# Executors that are asked, at most. A few that do not reach a storage show it when they read.
_TASKS = 32
# Seconds that an executor waits for a storage: one behind a firewall may never answer.
_PATIENCE = 20.0
_SHOWN = 300

_found: MutableMapping[SparkSession, dict[tuple[str, ...], str | None]] = WeakKeyDictionary()


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
    if storage is None and _is_local(spark):
        return None
    try:
        probe = probe_of(storage, manifests, limits)
    except TypeError as error:
        return _shown(str(error))
    if storage is not None and not (isinstance(storage, Adapter) and storage.of_uri):
        return None
    known, key = _found.setdefault(spark, {}), _key(storage, probe.path)
    if key not in known:
        answers = _asked(spark, probe)
        found = sorted(problem for problem, _ in answers if problem is not None)
        problem = found[0] if found else None
        if any(missing for _, missing in answers):
            # Of a file that is not there nobody knows whether others are.
            return problem
        known[key] = problem
    return known[key]


def forget(spark: SparkSession) -> None:
    """Has the next frame of a session find out again."""
    _found.pop(spark, None)


def check_pickled(given: object, name: str = "storage=") -> None:
    """Raises: TypeError, with the name, for what cannot be pickled, as a `MemoryStore`: Spark fails later."""
    _pickled(given, name)


def probe_of(storage: Storage | None, manifests: Sequence[Manifest], limits: Limits) -> Probe:
    """What reads a range of the smallest of some manifests. Raises: TypeError as `check_pickled`."""
    first = min(manifests, key=lambda manifest: manifest["size"])
    path = absolute(first["path"]) if storage is None else first["path"]
    return Probe(_pickled(storage), path, first["size"], limits)


@dataclass(frozen=True)
class Probe:
    """Reads a range of a manifest; made for `mapInArrow` over any rows, and for others that run in a task."""

    storage: bytes = field(repr=False)
    path: str = field(repr=False)
    length: int
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

    def pickled(self) -> bytes:
        """The probe, for a function that is sent by value."""
        return pickle.dumps(self)

    def _read(self) -> tuple[str | None, bool]:
        try:
            # Here and not with the function: the library that it needs may be missing.
            storage = pickle.loads(self.storage)
            _native.divisible(storage, [(self.path, self.length)], self.limits)
        except Exception as error:  # noqa: BLE001 - whatever a storage raises is the answer
            missing = isinstance(error, FileNotFoundError)
            # What can be said to be damaged was read.
            was_read = isinstance(error, CorruptError | LimitError) and not missing
            words = str(error).replace(self.path, _native.without_credentials(self.path))
            problem = f"{type(error).__name__}: {without_secrets(words)}"
            return (None if was_read else _shown(problem)), missing
        return None, False


def _asked(spark: SparkSession, probe: Probe) -> list[tuple[str | None, bool]]:
    tasks = min(at_once(spark), _TASKS)
    rows = task_numbers(spark, tasks).mapInArrow(probe, "problem string, missing boolean")
    return [(row.problem, row.missing) for row in rows.collect()]


def _is_local(spark: SparkSession) -> bool:
    """Whether workers run where the driver does, as children of its process."""
    from pyspark.errors import PySparkException

    try:
        master = spark.sparkContext.master or ""
    except PySparkException:
        # Spark Connect does not tell.
        return False
    return master == "local" or master.startswith("local[")


def _key(storage: Storage | None, path: str) -> tuple[str, ...]:
    """The same for all tables of one bucket, or server, that are read with the same settings."""
    place = "/".join((path.partition(":")[0], split(path)[0])) if URI.match(path) else ""
    settings = _pickled(getattr(storage, "_filesystem", storage))
    return type(storage).__name__, place, hashlib.sha256(settings).hexdigest()


def _pickled(given: object, name: str = "storage=") -> bytes:
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
