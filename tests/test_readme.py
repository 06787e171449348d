"""The README's Python is run, from the project's folder as a reader would, block after block."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from shared_data import PROJECT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

README = (PROJECT / "README.md").read_text("utf-8")


def blocks(*, spark: bool) -> str:
    """The Python blocks that need Spark, or those that do not, as one program on the README's own lines."""
    lines = [""] * len(README.splitlines())
    for block in re.finditer(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL):
        code = block.group(1).splitlines()
        if ("lakebed.spark" in block.group(1)) is spark:
            first = README.count("\n", 0, block.start(1))
            lines[first : first + len(code)] = code
    return "\n".join(lines)


@pytest.fixture(autouse=True)
def project_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


def test_the_python_blocks_run() -> None:
    names: dict[str, Any] = {}
    exec(compile(blocks(spark=False), "README.md", "exec"), names)
    assert names["t"].snapshot_id == 10  # as the first block says


@pytest.mark.spark
def test_the_spark_block_runs(spark: SparkSession) -> None:
    exec(compile(blocks(spark=True), "README.md", "exec"), {"spark": spark})
