"""Every function of lakebed.spark once: what the oldest PySpark is held to in the short form.

With PySpark 4 each has tests of its own, and all are asked at once in the long form.
"""

from __future__ import annotations

from inspect import isfunction

import pytest

import lakebed.spark as ls
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE

pytest.importorskip("pyspark")
from pyspark import __version__
from spark_functions import answers

pytestmark = [pytest.mark.spark, pytest.mark.spark_35]
if not __version__.startswith("3."):
    pytestmark.append(pytest.mark.long)


@pytest.mark.by_driver
# It is some hundred small jobs, and a session that a time limit interrupts breaks all tests after it.
@pytest.mark.timeout(1800)
def test_every_function_gives_what_it_gives_without_spark(spark):
    (written,) = SAMPLE_MOVED
    found = answers(spark, str(SAMPLE_TABLE), str(SAMPLE_ICEBERG_TABLE), written)
    assert [what for what, right in found.items() if not right] == []
    asked = {what.rpartition(": ")[2] for what in found}
    # The schema is compared with the frame's of every view; the class is imported by PySpark 4 alone.
    functions = {name for name in ls.__all__ if isfunction(vars(ls).get(name))} - {"schema"}
    assert len(functions) > 15
    assert functions <= asked
