"""Spark sessions with settings for a few rows, and programs that have sessions of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interpreters import printed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    # Over a few rows, compiling and re-planning take longer than running.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
}


def begun(master: str, settings: Mapping[str, str], log: str = "OFF") -> SparkSession:
    """A session that logs what is as bad as that."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("lakebed tests")
    for name, value in {**SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel(log)
    return spark


def sent_by_value(before: Callable[[str], object]) -> Any:
    """The local file system, which does something before each read; executors get its class by value."""

    class SentByValue:
        def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
            before(path)
            with open(path, "rb") as file:  # noqa: PTH123 - sent by value, with few names
                file.seek(start or 0)
                return file.read() if end is None else file.read(end - (start or 0))

        def list(self, prefix: str) -> list[str]:
            return os.listdir(prefix) if os.path.isdir(prefix) else []  # noqa: PTH208, PTH112 - likewise

    return SentByValue()


def program_lines(program: Path, *arguments: object, **how: Any) -> list[str]:
    """What a program of `tests/spark` prints, whose workers find what is beside it and beside its folder.

    Args: how, as of `interpreters.ran`.
    """
    here = [str(program.parent), str(program.parent.parent), os.environ.get("PYTHONPATH", "")]
    variables = {"PYTHONPATH": os.pathsep.join(here), "SPARK_LOCAL_IP": "127.0.0.1"}
    return printed(program, *arguments, environment=variables, **{"timeout": 600, **how}).splitlines()
