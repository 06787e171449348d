"""Whatever becomes of Python workers and tasks: the right rows, or the right error."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from spark_runtimes import require_python_for_spark
from spark_sessions import program_lines

from shared_data import SAMPLE_TABLE

pytest.importorskip("pyspark")

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

PROGRAM = Path(__file__).with_name("workers.py")


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the program found, in a process whose sessions have settings of their own."""
    require_python_for_spark()
    return json.loads(program_lines(PROGRAM, SAMPLE_TABLE, tmp_path_factory.mktemp("workers"))[-1])


@pytest.mark.parametrize(
    "setting", ["workers are used again", "workers are used once", "a task takes both cores"]
)
def test_the_rows_are_those_without_spark(answer, setting):
    assert answer[setting]
    assert all(answer[setting].values()), answer[setting]


def test_reads_that_fail_are_done_again(answer):
    assert answer["retried"]["right"]
    assert answer["retried"]["failures"] > 1


def test_a_corrupt_manifest_fails_each_attempt_and_no_worker_dies_of_it(answer):
    corrupt = answer["corrupt"]
    # The path, the block and the kind of what is wrong with it.
    assert re.search(rf"CorruptError: sync: .*block \d+.*{corrupt['manifest']}", corrupt["told"])
    assert corrupt["failures"] == 3
    assert corrupt["right"]
    assert corrupt["alive"]
