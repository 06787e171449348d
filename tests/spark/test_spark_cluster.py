"""Executors in processes of their own, with an environment that came packed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest
from java_engine import ENGINES, class_path, java_and_maven
from object_store import BUCKET, server, upload
from spark_sessions import program_lines
from trust import Figure

import lakebed
from shared_data import SAMPLE_TABLE

pyspark = pytest.importorskip("pyspark")

pytestmark = [pytest.mark.spark, pytest.mark.timeout(660)]

LEFT_OUT = {"..", "__pycache__", "include", "tests"}
"""Folders without anything that runs."""
PROGRAM = Path(__file__).with_name("cluster.py")


def with_what_they_need(*names: str) -> Iterator[Distribution]:
    known, waiting = set[str](), list(names)
    while waiting:
        found = installed(waiting.pop())
        if found is not None and found.name not in known:
            known.add(found.name)
            yield found
            waiting += [line for line in found.requires or () if "extra ==" not in line]


def installed(requirement: str) -> Distribution | None:
    """What meets a requirement; some are for other versions of Python only."""
    try:
        return distribution(re.split(r"[^\w.-]", requirement, maxsplit=1)[0])
    except PackageNotFoundError:
        return None


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment as one archive, as `conda-pack` makes it: an interpreter, and packages."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "made"], check=True)
    packages = Path("lib", f"python{sysconfig.get_python_version()}", "site-packages")
    # Spark keeps what may be run so in this kind of archive alone.
    archive = folder / "environment.tar.gz"
    with tarfile.open(archive, "w:gz", compresslevel=0) as packed:
        for name in ("bin", "pyvenv.cfg"):
            packed.add(folder / "made" / name, name)
        # What an executor needs besides lakebed; PySpark comes with Spark.
        for found in with_what_they_need("pyarrow", "pandas"):
            for file in found.files or ():
                path = Path(str(found.locate_file(file)))
                if not LEFT_OUT & {*file.parts} and path.is_file():
                    packed.add(path, str(packages / str(file)))
        packed.add(lakebed.__path__[0], str(packages / "lakebed"))
    return archive


def ask(what: str, argument: Any, table: str = str(SAMPLE_TABLE)) -> Any:
    return json.loads(program_lines(PROGRAM, what, table, argument)[-1])


def test_executors_of_a_packed_environment_give_the_rows_of_one_process(environment):
    answer = ask("packed", environment)
    assert answer["prefixes"]
    assert all(prefix.endswith("/environment") for prefix in answer["prefixes"]), answer["prefixes"]
    assert {row["lakebed"] for row in answer["check"]} == {lakebed.__version__}
    assert all(row["ok"] and row["read"] == "executors" for row in answer["check"]), answer["check"]
    assert all(answer["same"].values()), answer["same"]


@pytest.mark.long
def test_executors_that_are_killed_change_no_row():
    assert ask("killed", 10) == {"killed": 10, "right": 10}


@pytest.mark.long
def test_a_task_begun_once_more_elsewhere_changes_no_row(tmp_path):
    assert ask("speculated", tmp_path) == {"readers": 2, "right": True}


@pytest.mark.long
def test_spark_reads_by_hadoops_file_system_for_s3(figure: Figure):
    if not pyspark.__version__.startswith("3.5."):
        pytest.skip("the file system is that of Hadoop 3.3, as PySpark 3.5 has it")
    for needed in ("moto", "pyarrow.fs"):
        pytest.importorskip(needed)
    java_and_maven()
    jars = class_path(ENGINES / "s3a.xml").replace(os.pathsep, ",")
    with server() as address:
        upload(address, SAMPLE_TABLE, "shop.db/orders")
        answer = ask("s3a", f"{address};{jars}", f"s3a://{BUCKET}/shop.db/orders")
    manifests, deleting = answer.pop("manifests"), answer.pop("deleting")
    asked = {read: answer.pop(f"requests, {read}") for read in ("executors", "spark")}
    assert len(answer) == 8
    assert all(answer.values()), answer
    # Which files are deleted the driver reads before; of what pyarrow opens it asks for the length, which
    # obstore does not.
    assert asked["executors"] == dict.fromkeys(("GET", "HEAD"), manifests + deleting)
    assert sum(asked["spark"].values()) > 2 * manifests
    shown = "; ".join(f"{read}: {dict(sorted(methods.items()))}" for read, methods in asked.items())
    figure("requests of executors and of Spark on S3", f"{manifests} manifests, {shown}")
