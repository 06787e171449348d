"""The README's Python and commands are run, in the project's folder as a reader would, block after block."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
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


@pytest.mark.parametrize("line", re.findall(r"^(lakebed .*?)(?:  +#.*)?$", README, re.MULTILINE))
def test_the_commands_run(line: str, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(PROJECT / "examples")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout or "--output-file" in line


@pytest.mark.spark
def test_the_spark_block_runs(spark: SparkSession) -> None:
    exec(compile(blocks(spark=True), "README.md", "exec"), {"spark": spark})
