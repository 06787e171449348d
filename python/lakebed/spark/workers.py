"""Whether Spark's workers run a Python that has lakebed: found out before the first job that needs it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from lakebed._text import printable
from lakebed.errors import UnsupportedError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What Spark says of a Python that does not run functions at all: of another minor version, or none.
_UNLIKE = re.compile(r"(?m)Python in worker has .*?(?=, PySpark|$)|Cannot run program.*")
_fit: MutableMapping[SparkSession, bool] = WeakKeyDictionary()


def check_workers(spark: SparkSession) -> None:
    """Has Spark's workers import what functions of lakebed need; once for a session.

    Raises: UnsupportedError, one sentence with the worker's Python, what that lacks and `PYSPARK_PYTHON`;
        PySparkException where the job fails for another reason.
    Cost: nothing in a session of `local[…]` whose workers run the driver's Python; else one small task.
    """
    python = _python_of(spark)
    if spark in _fit or python == os.path.abspath(sys.executable):  # noqa: PTH100 - of a venv, its link
        return
    from pyspark.sql import functions as F  # noqa: N812 - the name everyone knows

    # A plain UDF, not an Arrow one: it must run where pyarrow is what is missing.
    probe = F.udf(_probe(), "python string, lacks string", useArrow=False)
    try:
        found = spark.range(1, numPartitions=1).select(probe("id")).collect()[0][0]
    except Exception as error:
        why = _UNLIKE.search(str(error))
        if why is None:
            raise
        told = f"Spark's workers run {python or 'a Python'}, which lakebed cannot use ({printable(why[0])})"
    else:
        if found.lacks is None:
            _fit[spark] = True
            return
        told = f"Spark's workers run {found.python}, which lakebed cannot use ({printable(found.lacks)})"
    way = f"set PYSPARK_PYTHON to a Python that has lakebed, such as {sys.executable}"
    raise UnsupportedError(f"{told}: {way}, before the session starts", kind="unsupported")


def _python_of(spark: SparkSession) -> str | None:
    """The Python of workers that run beside this process; None for those of a cluster or of Spark Connect."""
    from pyspark.errors import PySparkException

    try:
        master, python = spark.sparkContext.master or "", spark.sparkContext.pythonExec
    except PySparkException:
        return None
    is_local = master == "local" or master.startswith("local[")
    return os.path.abspath(shutil.which(python) or python) if is_local else None  # noqa: PTH100 - as above


def _probe() -> Callable[[Any], tuple[str, str | None]]:
    # A nested function is sent by value: it runs where lakebed cannot be imported.
    def probe(_: Any) -> tuple[str, str | None]:
        import importlib
        import sys

        try:
            for name in ("pyarrow", "pandas", "lakebed"):
                importlib.import_module(name)
        except Exception as error:  # noqa: BLE001 - whatever importing raises is the answer
            return sys.executable, f"{type(error).__name__}: {error}"
        return sys.executable, None

    return probe
