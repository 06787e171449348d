"""The Iceberg tables of the benches: the same 50,000 files by Iceberg Java (gzip and zstd) and by PyIceberg.

Metadata files name every path in full, so a table stays where it was made: in `<cache>/iceberg/<name>`.
Its manifests are those of the newest metadata file's current snapshot.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from corpus import Corpus, MissingInputError, Table, blocks, generator, records

COLUMNS, MANIFESTS = 12, 5
DATA = 0
"""The `content` of a manifest of data files; a table of format version 1 has no other, and no such field."""


def by_pyiceberg(cache: Path, entries: int, given: Path | None) -> Corpus:
    """The given or cached table, or a new one."""
    table = given or cache / "iceberg" / f"pyiceberg_{entries}x{COLUMNS}_m{MANIFESTS}"
    if not complete(table, given):
        import pyiceberg_table

        pyiceberg_table.write(table, entries, COLUMNS, MANIFESTS)
        (table / "complete").touch()
    return describe(table, f"PyIceberg {version('pyiceberg')}")


def _java_gzip(cache: Path, entries: int, given: Path | None) -> Corpus:
    return _java(cache, entries, MANIFESTS, "gzip", given)


def _java_zstd(cache: Path, entries: int, given: Path | None) -> Corpus:
    return _java(cache, entries, MANIFESTS, "zstd", given)


def _java_large(cache: Path, entries: int, given: Path | None) -> Corpus:
    return _java(cache, entries, 6 * MANIFESTS, "gzip", given)


ALL = ("entries", "projected", "files", "stats")
TABLES = [
    Table("pyiceberg", ALL, 50_000, by_pyiceberg),
    Table("iceberg-java", ALL, 50_000, _java_gzip),
    Table("iceberg-zstd", ALL, 50_000, _java_zstd),
    Table("iceberg-memory", ("stream",), 300_000, _java_large, most_rounds=1),
]


def complete(table: Path, given: Path | None) -> bool:
    """Whether the table is there; one that a broken run has left behind is taken away."""
    if given is not None or (table / "complete").exists():
        return True
    shutil.rmtree(table, ignore_errors=True)
    return False


def current_snapshot(metadata: dict[str, Any]) -> dict[str, Any]:
    """The snapshot that the table stands at."""
    snapshots = {snapshot["snapshot-id"]: snapshot for snapshot in metadata["snapshots"]}
    found: dict[str, Any] = snapshots[metadata["current-snapshot-id"]]
    return found


def listed_manifests(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of its manifest list."""
    return records(_local(current_snapshot(metadata)["manifest-list"]))


def describe(root: Path, writer: str | None = None, *, deletes: bool = True) -> Corpus:
    """The current snapshot's manifests, with or without those of deletes, and what their blocks say."""
    newest = max((root / "metadata").glob("*.metadata.json"), key=_number)
    metadata: dict[str, Any] = json.loads(newest.read_text())
    listed = [one for one in listed_manifests(metadata) if deletes or one.get("content", 0) == DATA]
    manifests = [_local(record["manifest_path"]) for record in listed]
    schemas = {schema["schema-id"]: schema for schema in metadata["schemas"]}
    return Corpus(
        format="iceberg",
        writer=writer or _engine(current_snapshot(metadata)["summary"]),
        path=str(newest),
        name=root.name,
        manifests=tuple(map(str, manifests)),
        live=sum(record["added_files_count"] + record["existing_files_count"] for record in listed),
        columns=len(schemas[metadata["current-schema-id"]]["fields"]),
        **vars(blocks(manifests)),
    )


def _number(metadata_file: Path) -> int:
    """Of `v3.metadata.json`, which Java's table of files writes, or `00003-<uuid>.metadata.json`."""
    found = re.match(r"v?(\d+)", metadata_file.name)
    return int(found[1]) if found else -1


def _local(location: str) -> Path:
    return Path(location.removeprefix("file://").removeprefix("file:"))


def _engine(summary: dict[str, str]) -> str:
    """Iceberg Java's own words, `Apache Iceberg 1.11.0 (commit …)`, made short."""
    found = re.match(r"Apache Iceberg (\S+)", summary.get("iceberg-version", ""))
    return f"Iceberg Java {found[1]}" if found else "Iceberg Java"


def _java(cache: Path, entries: int, manifests: int, codec: str, given: Path | None) -> Corpus:
    """A table committed by Iceberg Java: `given`, else the cached one, else generated.

    Raises: MissingInputError: nothing is cached and the generator, Maven, a JDK or PySpark is not there.
    """
    table = given or cache / "iceberg" / f"java_{codec}_{entries}x{COLUMNS}_m{manifests}"
    if not complete(table, given):
        sizes: dict[str, object] = {
            "location": table,
            "entries": entries,
            "columns": COLUMNS,
            "per-manifest": -(-entries // manifests),
            "codec": codec,
            "seed": 5,
        }
        generate(cache, sizes)
        (table / "complete").touch()
    return describe(table)


def generate(cache: Path, sizes: Mapping[str, object]) -> None:
    """Compiles and runs the generator against Iceberg's Spark runtime and the jars that PySpark brings.

    Args: sizes, its options without their dashes.
    """
    project = generator("iceberg")
    pyspark = find_spec("pyspark")
    if pyspark is None or not pyspark.submodule_search_locations:
        raise MissingInputError("pyspark is needed to make a table by Iceberg Java: its jars hold Hadoop's")
    environment = {
        **os.environ,
        "SPARK_HOME": pyspark.submodule_search_locations[0],
        "OUT": str(cache / "bigtables-iceberg"),
    }
    runtime = "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0"
    subprocess.run(["mvn", "-q", "-B", "dependency:get", f"-Dartifact={runtime}"], check=True)
    subprocess.run([project / "build.sh"], check=True, env=environment)
    options = [str(word) for key, value in sizes.items() for word in (f"--{key}", value)]
    command = [str(project / "run.sh"), "Large", *options]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
