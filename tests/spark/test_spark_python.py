"""Spark whose workers run another Python than the driver: one sentence where that has no lakebed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from interpreters import printed
from spark_runtimes import require_python_for_spark

from lakebed.spark import access
from shared_data import SAMPLE_TABLE

pytest.importorskip("pyspark")

pytestmark = [pytest.mark.spark, pytest.mark.spark_35, pytest.mark.timeout(600)]

PROGRAM = """
import sys

from pyspark.sql import SparkSession

import lakebed.spark as ls

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
for read in ("executors", "executors", "spark"):
    try:
        print("\\ntold", ls.files(spark, sys.argv[1], read=read).count())
    except Exception as error:
        print("\\ntold", type(error).__name__, error)
"""


def told(python: Path) -> str:
    """What a session says whose workers run this Python: twice the same, and then of what Spark reads."""
    require_python_for_spark()
    variables = {"PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}
    lines = printed("-c", PROGRAM, SAMPLE_TABLE, environment=variables, timeout=600).splitlines()
    first, second, by_spark = (line.removeprefix("told ") for line in lines if line.startswith("told "))
    assert first == second == by_spark
    return first


def python(folder: Path, *options: str) -> Path:
    """Another interpreter, which is this one with options."""
    other = folder / "python"
    other.write_text(f'#!/bin/sh\nexec {" ".join([sys.executable, *options])} "$@"\n')
    other.chmod(0o755)
    return other


def test_a_python_without_pyarrow_is_told_in_one_sentence(tmp_path: Path) -> None:
    # Without the packages of its environment.
    first = told(python(tmp_path, "-S"))
    assert first.startswith("UnsupportedError Spark's workers run ")
    assert "(ModuleNotFoundError: No module named 'pyarrow')" in first
    assert f"set PYSPARK_PYTHON to a Python that has lakebed, such as {sys.executable}" in first


def test_another_python_that_has_lakebed_is_used(tmp_path: Path) -> None:
    assert told(python(tmp_path)).isdecimal()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (
            "Job aborted\n[PYTHON_VERSION_MISMATCH] Python in worker has different version (3, 12) than that "
            "in driver 3.11, PySpark cannot run with different minor versions.",
            "Python in worker has different version (3, 12) than that in driver 3.11",
        ),
        (
            'java.io.IOException: Cannot run program "/no/python": error=2\n at java.lang',
            'Cannot run program "/no/python": error=2',
        ),
        ("Connection refused", None),
    ],
)
def test_what_spark_says_of_a_python_that_runs_nothing(words: str, found: str | None) -> None:
    match = access._UNLIKE.search(words)
    assert (match and match[0]) == found
