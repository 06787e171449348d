"""Spark Connect, in a process of its own: a process has either it or a session of the older kind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from spark_sessions import program_lines

from shared_data import PROJECT, SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE

pyspark = pytest.importorskip("pyspark")
pytest.importorskip("grpc_status")

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

PROGRAM = Path(__file__).with_name("connect.py")


@pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="PySpark 3.5 comes without the server")
def test_everything_gives_by_spark_connect_what_it_gives_without_spark():
    # Relative paths are those of this process, wherever workers are.
    tables = [str(table.relative_to(PROJECT)) for table in (SAMPLE_TABLE, SAMPLE_ICEBERG_TABLE)]
    answers = json.loads(program_lines(PROGRAM, *tables, *SAMPLE_MOVED, cwd=PROJECT)[-1])
    assert len(answers) > 40
    assert [what for what, right in answers.items() if not right] == []
