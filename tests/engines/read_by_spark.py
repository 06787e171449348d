"""Metadata tables as the formats' own runtimes for Spark read them: one request per line of input, one answer
per line of output, both JSON.

Usage: python read_by_spark.py JARS, with PySpark 3.5; JARS with commas between them.

A request is {"op": "iceberg", "metadata": "/…", "name": "files"} or
{"op": "paimon", "table": "/…", "name": "files"}; {"op": "orphans", "metadata": "/…", "older_than": 0} has
Iceberg delete orphans and say which they were; {"op": "dangling", "table": "/…"} the same of dangling delete
files; {"op": "moved", "metadata": "/…", "source": "/…", "target":
"/…", "staging": "/…", "since": null} has it write metadata for another place and say what is to be copied;
{"op": "sql", "statement": "CALL …"} runs a statement, with a catalog `lake` of Iceberg's and `paimon` of
Paimon's, below the folder that {"op": "warehouse"} gives.
The answer is {"answer": …}, an Arrow IPC stream in base64,
or {"error": …} with whatever the runtime threw.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

_PAIMON = "spark.sql.catalog.paimon"
_LAKE = "spark.sql.catalog.lake"
_EXTENSIONS = (
    "org.apache.paimon.spark.extensions.PaimonSparkSessionExtensions",
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
)


class Reader:
    """A session with both runtimes."""

    def __init__(self, jars: str, warehouse: Path) -> None:
        self._warehouse, self._tables = warehouse, warehouse / "golden.db"
        self._tables.mkdir()
        settings = {
            "spark.jars": jars,
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.adaptive.enabled": "false",
            # Paimon's would take Iceberg's procedures too, were it the last.
            "spark.sql.extensions": ",".join(_EXTENSIONS),
            _LAKE: "org.apache.iceberg.spark.SparkCatalog",
            f"{_LAKE}.type": "hadoop",
            f"{_LAKE}.warehouse": (warehouse / "lake").as_uri(),
            f"{_LAKE}.cache-enabled": "false",
            _PAIMON: "org.apache.paimon.spark.SparkCatalog",
            f"{_PAIMON}.warehouse": warehouse.as_uri(),
        }
        builder = SparkSession.builder.master("local[2]").appName("engines")
        for name, value in settings.items():
            builder = builder.config(name, value)
        self._spark = builder.getOrCreate()

    def iceberg(self, metadata: str, name: str) -> DataFrame:
        """A metadata table of the table of a metadata file, whose files are where it says."""
        return self._spark.read.format("iceberg").load(f"{metadata}#{name}")

    def paimon(self, table: str, name: str) -> DataFrame:
        """A system table of the table in a folder."""
        link = self._tables / Path(table).name
        if not link.exists():
            link.symlink_to(table)
        return self._spark.sql(f"SELECT * FROM paimon.golden.`{link.name}${name}`")

    def orphans(self, metadata: str, older_than: int) -> DataFrame:
        """The files that Iceberg's action deletes of the table of a metadata file."""
        deleted = self._actions().deleteOrphanFiles(self._table(metadata)).olderThan(older_than).execute()
        paths = [(str(path),) for path in deleted.orphanFileLocations()]
        return self._spark.createDataFrame(paths, "file_path string")

    def dangling(self, table: str) -> DataFrame:
        """The delete files that Iceberg's action removes from the table in a folder."""
        jvm = cast("Any", self._spark._jvm)
        tables = jvm.org.apache.iceberg.hadoop.HadoopTables(self._spark._jsc.hadoopConfiguration())
        action = self._actions().removeDanglingDeleteFiles(tables.load(table))
        paths = [(str(file.location()),) for file in action.execute().removedDeleteFiles()]
        return self._spark.createDataFrame(paths, "file_path string")

    def moved(self, metadata: str, source: str, target: str, staging: str, since: str | None) -> DataFrame:
        """What Iceberg's action lists as to be copied for the table of a metadata file to be elsewhere."""
        action = self._actions().rewriteTablePath(self._table(metadata))
        action = action.rewriteLocationPrefix(source, target).stagingLocation(staging)
        if since is not None:
            action = action.startVersion(since)
        return self._spark.read.csv(action.execute().fileListLocation(), "source string, target string")

    def sql(self, statement: str) -> DataFrame:
        """A statement, run."""
        return self._spark.sql(statement)

    def warehouse(self) -> DataFrame:
        """Where the catalogs' tables are."""
        return self._spark.createDataFrame([(str(self._warehouse),)], "path string")

    def _table(self, metadata: str) -> Any:
        jvm = cast("Any", self._spark._jvm)
        files = jvm.org.apache.iceberg.hadoop.HadoopFileIO(self._spark._jsc.hadoopConfiguration())
        operations = jvm.org.apache.iceberg.StaticTableOperations(metadata, files)
        return jvm.org.apache.iceberg.BaseTable(operations, "table")

    def _actions(self) -> Any:
        jvm = cast("Any", self._spark._jvm)
        return jvm.org.apache.iceberg.spark.actions.SparkActions.get(self._spark._jsparkSession)

    def answer(self, request: dict[str, Any]) -> dict[str, str]:
        try:
            frame = getattr(self, request.pop("op"))(**request)
            return {"answer": base64.b64encode(stream(frame)).decode()}
        except Exception:  # noqa: BLE001 - whatever it is, it is the answer
            return {"error": traceback.format_exc()}


def stream(frame: DataFrame) -> bytes:
    batches = cast("Any", frame)._collect_as_arrow()
    rows = pa.Table.from_batches(batches) if batches else to_arrow_schema(frame.schema).empty_table()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def main(jars: str) -> None:
    # What Spark prints is no answer.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers, tempfile.TemporaryDirectory() as warehouse:
        os.dup2(2, 1)
        reader = Reader(jars, Path(warehouse))
        for line in sys.stdin:
            answers.write(json.dumps(reader.answer(json.loads(line))) + "\n")
            answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
