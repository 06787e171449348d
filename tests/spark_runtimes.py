"""The formats' own runtimes for Spark, asked for metadata tables."""

from __future__ import annotations

import base64
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from java_engine import ENGINES, Engine, class_path, java_and_maven, locked


class SparkRuntimes(Engine):
    """A running `tests/engines/read_by_spark.py`: a process of its own, which what a runtime does to its JVM
    takes nothing else along with.
    """

    def __init__(self) -> None:
        """Starts it. Skips the test where Spark is not 3.5, or Java or Maven is absent."""
        import pyspark

        if not pyspark.__version__.startswith("3.5."):
            pytest.skip(f"the runtimes are for Spark 3.5, this is {pyspark.__version__}")
        require_python_for_spark()
        java_and_maven()
        jars = class_path(ENGINES / "spark.xml").replace(":", ",")
        super().__init__("spark", [sys.executable, str(ENGINES / "read_by_spark.py"), jars])

    def read(self, format_: str, name: str, **request: Any) -> pa.Table:
        """The rows of a metadata table. Raises: EngineError: the runtime threw."""
        return _table(self.ask(format_, name=name, **request))

    def orphans(self, metadata: str, older_than: int) -> list[str]:
        """The files that Iceberg's action deletes, modified before [ms since 1970 UTC]. Raises: as `read`."""
        answer = self.ask("orphans", metadata=metadata, older_than=older_than)
        found: list[str] = _table(answer)[0].to_pylist()
        return found

    def dangling(self, table: Path) -> set[str]:
        """The delete files that Iceberg's action removes from the table in a folder. Raises: as `read`."""
        return {*_table(self.ask("dangling", table=str(table)))[0].to_pylist()}

    def sql(self, statement: str) -> pa.Table:
        """What a statement gives. Raises: as `read`."""
        return _table(self.ask("sql", statement=statement))

    def warehouse(self) -> Path:
        """Where the tables of its catalogs are, `lake` of Iceberg and `paimon` of Paimon."""
        return Path(_table(self.ask("warehouse"))["path"][0].as_py())

    def moved(self, **request: Any) -> set[tuple[str, str]]:
        """What Iceberg's action lists as to be copied, and where to. Raises: as `read`."""
        rows = _table(self.ask("moved", **request)).to_pylist()
        return {(row["source"], row["target"]) for row in rows}


def _table(answer: str) -> pa.Table:
    return pa.ipc.open_stream(base64.b64decode(answer)).read_all()


def require_python_for_spark() -> None:
    """Skips the test where this PySpark does not run on this Python."""
    import pyspark

    if pyspark.__version__.startswith("3.") and sys.version_info >= (3, 12):
        pytest.skip(f"PySpark {pyspark.__version__} runs on Python 3.11 and older")


@contextmanager
def stands_at(location: Path, table: Path) -> Iterator[None]:
    """Puts a table where its metadata says that it is, by a link, for as long as it is asked for.

    Skips the test where something else is there, or nothing can be. Other processes wait meanwhile.
    """
    with locked(Path(tempfile.gettempdir(), "lakebed-tests.lock")):
        yield from _standing_at(location, table)


def _standing_at(location: Path, table: Path) -> Iterator[None]:
    if location.exists():
        if not location.samefile(table):
            pytest.skip(f"{location} is another table")
        yield
        return
    made = [folder for folder in location.parents if not folder.exists()]
    try:
        location.parent.mkdir(parents=True, exist_ok=True)
        location.symlink_to(table, target_is_directory=True)
    except OSError as error:
        pytest.skip(f"{location} cannot be made: {error}")
    try:
        yield
    finally:
        location.unlink()
        for folder in made:
            folder.rmdir()
