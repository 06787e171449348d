"""Tables by their names in the catalogs of a Spark session; run as a program by a test.

Usage: python catalogs.py FOLDER JARS REST, with PySpark 3.5; JARS with commas between them, REST the address
of Iceberg's REST catalog, or nothing. Prints one JSON object.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_sessions import begun

import lakebed
import lakebed.spark as ls
from spark_rows import actual, expected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ICEBERG = "org.apache.iceberg.spark.SparkCatalog"


def catalogs(folder: str, rest: str) -> dict[str, dict[str, str]]:
    """Settings of each catalog; the first is its class."""
    made: dict[str, dict[str, str]] = {
        name: {"": _ICEBERG, ".type": name, ".warehouse": f"{folder}/{name}"}
        for name in ("hadoop", "jdbc", "hive")
    }
    made["jdbc"] |= {".uri": f"jdbc:sqlite:{folder}/jdbc.db", ".jdbc.schema-version": "V1"}
    made["paimon"] = {"": "org.apache.paimon.spark.SparkCatalog", ".warehouse": f"file:{folder}/paimon"}
    if rest:
        made["rest"] = {"": _ICEBERG, ".type": "rest", ".uri": rest}
    made["spark_catalog"] = {"": "org.apache.iceberg.spark.SparkSessionCatalog", ".type": "hive"}
    return made


def session(folder: str, jars: str, rest: str) -> SparkSession:
    metastore = f"jdbc:derby:;databaseName={folder}/metastore;create=true"
    settings = {
        "spark.jars": jars,
        # Spark's own loader of classes is to find the database's driver.
        "spark.driver.extraClassPath": jars.replace(",", os.pathsep),
        "spark.sql.warehouse.dir": f"{folder}/hive",
        "spark.sql.catalogImplementation": "hive",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}/derby",
        "spark.hadoop.javax.jdo.option.ConnectionURL": metastore,
        "spark.hadoop.datanucleus.schema.autoCreateAll": "true",
        "spark.hadoop.hive.metastore.schema.verification": "false",
        # This metastore has no locks, for which Iceberg would wait minutes.
        "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
    }
    for name, given in catalogs(folder, rest).items():
        settings |= {f"spark.sql.catalog.{name}{key}": value for key, value in given.items()}
    return begun("local[2]", settings)


def outcome(work: Callable[[], object]) -> str:
    """What work gives, or what it raises."""
    try:
        return str(work())
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the answer
        return f"{type(error).__name__}: {error}"


def current(table: lakebed.Table) -> lakebed.Table:
    """The table of its folder, at the version that its files alone say is the last."""
    if table.format == "paimon":
        return lakebed.open_table(table.location)
    return lakebed.open_table(max(Path(table.location, "metadata").glob("*.metadata.json")))


def tried(spark: SparkSession, catalog: str) -> dict[str, Any]:
    """What comes of a table in a catalog."""
    # The session's own catalog has the same metastore as another.
    namespace = f"{catalog}.{'db' if catalog != 'spark_catalog' else 'own'}"
    name = f"{namespace}.t"
    kind = "" if catalog == "paimon" else "USING iceberg"
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {namespace}")
    spark.sql(f"CREATE TABLE {name} (id INT, s STRING) {kind}")
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a')")
    before = ls.open_table(spark, name).table
    found: dict[str, Any] = {"same": actual(ls.files(spark, name)) == expected(current(before).files())}
    # Another session has another cache of tables: this is another writer.
    spark.newSession().sql(f"INSERT INTO {name} VALUES (2, 'b')")
    newest = current(before)
    found["moved on"] = newest.snapshot_id != before.snapshot_id
    found["newest"] = ls.open_table(spark, name).table.snapshot_id == newest.snapshot_id
    found["health"] = actual(ls.health(spark, name)) == expected(newest.health())
    found["check"] = [row.read for row in ls.check(spark, name).collect()] == ["executors"]
    found["refreshed"] = before.refresh().snapshot_id == newest.snapshot_id
    orphan = Path(before.location, "data" if kind else "bucket-0", "killed.parquet")
    orphan.write_bytes(b"orphan")
    here = before.orphans(None, columns=["file_path"]).to_arrow()["file_path"].to_pylist()
    found["orphans here"] = [path.rpartition("/")[2] for path in here]
    for view in ("orphans", "expire_plan"):
        found[view] = outcome(lambda: getattr(ls, view)(spark, name, older_than=None).count())  # noqa: B023
    other = pickle.loads(pickle.dumps(before))
    found["pickled"] = other.snapshot_id == before.snapshot_id
    found["pickled orphans"] = outcome(lambda: other.orphans(None).to_arrow().num_rows)
    return found


def attempted(spark: SparkSession, catalog: str) -> dict[str, Any]:
    """As `tried`; what it raises is of this catalog alone."""
    try:
        return tried(spark, catalog)
    except Exception:  # noqa: BLE001 - whatever it is, the tests of the catalog show it
        return {"raised": traceback.format_exc()}


def location(spark: SparkSession, name: str) -> str:
    return ls.open_table(spark, name).table.location


def names(spark: SparkSession) -> dict[str, str]:
    """What comes of names, of which some are right."""
    for catalog in ("hadoop", "jdbc"):
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {catalog}.a.b")
        spark.sql(f"CREATE TABLE {catalog}.a.b.`t.``x` (id INT) USING iceberg")
    spark.sql("CREATE TABLE spark_catalog.default.plain (id INT) USING parquet")
    spark.sql("CREATE VIEW spark_catalog.default.v AS SELECT 1 AS a")
    asked = ["hadoop.a.b.`t.``x`", '"jdbc".a."b"."t.`x"', "default.plain", "default.v", "nowhere.db.t"]
    asked += ["hadoop.db.nope", "jdbc.db.nope", "paimon.db.nope", "nope", "paimon.db.`t$snapshots`"]
    asked += ["hadoop.db.t.snapshots", "jdbc.db.t.snapshots", "hadoop.db.t.branch_main", "folder"]
    found = {name: outcome(partial(location, spark, name)) for name in asked}
    spark.sql("USE jdbc.a.b")
    opened = ls.open_table(spark, "`t.``x`").table
    spark.newSession().sql("INSERT INTO jdbc.a.b.`t.``x` VALUES (1)")
    found["written elsewhere"] = str(opened.refresh().snapshot_id == current(opened).snapshot_id)
    spark.sql("USE hadoop.db")
    found["current"] = outcome(partial(location, spark, "t"))
    found["current, db"] = outcome(partial(location, spark, "db.t"))
    found["after another became current"] = outcome(lambda: opened.refresh().location)
    spark.sql("DROP TABLE jdbc.a.b.`t.``x`")
    found["dropped"] = outcome(opened.refresh)
    spark.sql("CREATE TABLE jdbc.a.b.`t.``x` (id INT) USING iceberg")
    found["made anew"] = outcome(opened.refresh)
    return found


def main(folder: str, jars: str, rest: str) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = session(folder, jars, rest)
    # A folder of this name is found before any table.
    os.chdir(folder)
    Path("folder").mkdir()
    answer: dict[str, Any] = {}
    for name in catalogs(folder, rest):
        answer[name] = attempted(spark, name)
    answer["names"] = names(spark)
    sys.stdout.write("\n" + json.dumps(answer) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
