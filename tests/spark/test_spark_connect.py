"""Spark Connect, in a process of its own: a process has either it or a session of the older kind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shared_data import PROJECT, SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE

pyspark = pytest.importorskip("pyspark")
pytest.importorskip("grpc_status")

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

PROGRAM = Path(__file__).with_name("connect.py")


@pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="PySpark 3.5 comes without the server")
def test_everything_gives_by_spark_connect_what_it_gives_without_spark():
    variables = {**os.environ, "PYTHONPATH": str(PROGRAM.parent.parent), "SPARK_LOCAL_IP": "127.0.0.1"}
    # Relative paths are those of this process, wherever workers are.
    tables = [str(table.relative_to(PROJECT)) for table in (SAMPLE_TABLE, SAMPLE_ICEBERG_TABLE)]
    command = [sys.executable, str(PROGRAM), *tables, *SAMPLE_MOVED]
    # No variable of a session of the older kind, whose gateway this process may have.
    variables = {name: value for name, value in variables.items() if not name.startswith("PYSPARK_GATEWAY")}
    done = subprocess.run(
        command, cwd=PROJECT, env=variables, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    assert len(answers) > 40
    assert [what for what, right in answers.items() if not right] == [], done.stderr
