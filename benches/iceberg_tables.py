"""The Iceberg tables of the benches: the same files by Iceberg Java, in four codecs, and by PyIceberg.

Metadata files name every path in full, so a table stays where it was made: in `<cache>/iceberg/<name>`.
Its manifests are those of the newest metadata file's current snapshot.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from corpus import Corpus, MissingInputError, Table, generator, in_place, records

COLUMNS, MANIFESTS = 12, 5
JAVA_VERSION = "1.11.0"
NEXT_VERSION = "1.12.0"
"""The first that writes manifests in Parquet."""
_RUNTIMES = {
    JAVA_VERSION: "iceberg-spark-runtime-4.0_2.13",
    NEXT_VERSION: "iceberg-spark-runtime-3.5_2.12",
}
DATA = 0
"""The `content` of a manifest of data files; a table of format version 1 has no other, and no such field."""


def by_pyiceberg(
    cache: Path, entries: int, given: Path | None, columns: int = COLUMNS, manifests: int = MANIFESTS
) -> Corpus:
    """The given or cached table, or a new one."""

    def write(folder: Path) -> None:
        import iceberg_rows

        iceberg_rows.write(folder, entries, columns, manifests)

    table = given or in_place(cache / "iceberg" / f"pyiceberg_{entries}x{columns}_m{manifests}", write)
    return describe(table, f"PyIceberg {version('pyiceberg')}")


def by_java(
    cache: Path,
    entries: int,
    given: Path | None,
    *,
    codec: str = "gzip",
    columns: int = COLUMNS,
    manifests: int = MANIFESTS,
    **more: object,
) -> Corpus:
    """A table committed by Iceberg Java: `given`, else the cached one, else generated.

    Args: more, further options of the generator, with underscores for dashes.
    Raises: MissingInputError: nothing is cached and Maven, a JDK or PySpark is not there.
    """
    per_manifest = -(-entries // manifests)
    sizes = {"entries": entries, "columns": columns, "per-manifest": per_manifest, "codec": codec, "seed": 5}
    sizes |= {key.replace("_", "-"): value for key, value in more.items()}
    marks = "".join(f"_{key}{value}" for key, value in more.items())
    folder = cache / "iceberg" / f"java_{codec}_{entries}x{columns}_m{manifests}{marks}"
    return describe(given or in_place(folder, lambda table: generate(cache, {"location": table, **sizes})))


def with_deletes(cache: Path, entries: int, given: Path | None, **options: object) -> Corpus:
    """A table with delete files, in manifests of about 10,000 entries.

    Plans are of data files, and so is the corpus: manifests of deletes are not in it.
    """
    made = by_java(cache, entries, given, manifests=max(1, entries // 10_000), **options)
    return describe(Path(made.path).parents[1], deletes=False)


def _with_deletes(cache: Path, entries: int, given: Path | None, days: int) -> Corpus:
    """A tenth of the entries as position deletes, a hundredth as equality deletes, in 20 partitions a day."""
    deletes = {"pos_deletes": max(1, entries // 10), "eq_deletes": max(1, entries // 100)}
    return with_deletes(cache, entries, given, days=days, seed=7, **deletes)


READ, STREAM = ("entries", "projected", "stats"), ("stream",)
OBJECTS = ("entries", "objects", "values")
PLAN = ("plan", "plan-stream", "plan-partition", "plan-range")
_MANY = (*READ, "guard", "files")
_WIDE = {"columns": 200, "manifests": 1}


TABLES = [
    Table("pyiceberg", (*_MANY, *PLAN[:2], "encode"), 50_000, by_pyiceberg, quick=READ),
    # As public timings of PyIceberg's decoder have them: https://github.com/apache/iceberg-python/issues/4007.
    Table("pyiceberg-1k", OBJECTS, 1_000, by_pyiceberg, {"manifests": 1}),
    Table("pyiceberg-10k", OBJECTS, 10_000, by_pyiceberg, {"manifests": 1}),
    Table("iceberg-java", (*_MANY, *PLAN, "encode"), 50_000, by_java, quick=(*_MANY, "plan", "encode")),
    Table("iceberg-zstd", (*_MANY, "encode"), 50_000, by_java, {"codec": "zstd"}, quick=READ[:1]),
    Table("iceberg-snappy", READ, 50_000, by_java, {"codec": "snappy"}),
    Table("iceberg-null", READ, 50_000, by_java, {"codec": "uncompressed"}),
    Table("iceberg-wide", READ, 5_000, by_java, _WIDE, quick=READ, quick_entries=1_000),
    Table("iceberg-wide-zstd", READ, 5_000, by_java, {"codec": "zstd", **_WIDE}),
    Table("pyiceberg-wide", READ, 5_000, by_pyiceberg, _WIDE),
    Table("iceberg-no-stats", READ[:2], 50_000, by_java, {"metrics": "none"}),
    Table("iceberg-100k", STREAM, 100_000, by_java, {"manifests": 10}, most_rounds=1),
    Table(
        "iceberg-1m", (*STREAM, *PLAN), 1_000_000, by_java, {"manifests": 100}, alone=STREAM, most_rounds=5
    ),
    Table("iceberg-deletes", PLAN[:3], 200_000, _with_deletes, {"days": 10}),
    # Twice of everything: as many files and deletes a partition, so twice the attachments too.
    Table("iceberg-deletes-2x", PLAN[:2], 400_000, _with_deletes, {"days": 20}),
]


def current_snapshot(metadata: dict[str, Any]) -> dict[str, Any]:
    """The table's snapshot."""
    snapshots = {snapshot["snapshot-id"]: snapshot for snapshot in metadata["snapshots"]}
    found: dict[str, Any] = snapshots[metadata["current-snapshot-id"]]
    return found


def listed_manifests(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of its manifest list."""
    return records(local(current_snapshot(metadata)["manifest-list"]))


def describe(
    root: Path, writer: str | None = None, *, deletes: bool = True, format_: str = "iceberg"
) -> Corpus:
    """The current snapshot's manifests, with or without those of deletes, and what their blocks say."""
    newest = max((root / "metadata").glob("*.metadata.json"), key=_number)
    metadata: dict[str, Any] = json.loads(newest.read_text())
    listed = [one for one in listed_manifests(metadata) if deletes or one.get("content", 0) == DATA]
    manifests = [local(record["manifest_path"]) for record in listed]
    schemas = {schema["schema-id"]: schema for schema in metadata["schemas"]}
    return Corpus.of_files(
        format_,
        writer or _engine(current_snapshot(metadata)["summary"]),
        newest,
        root.name,
        manifests,
        columns=len(schemas[metadata["current-schema-id"]]["fields"]),
        live=sum(record["added_files_count"] + record["existing_files_count"] for record in listed),
    )


def _number(metadata_file: Path) -> int:
    """Of `v3.metadata.json`, which Java's table of files writes, or `00003-<uuid>.metadata.json`."""
    found = re.match(r"v?(\d+)", metadata_file.name)
    return int(found[1]) if found else -1


def local(location: str) -> Path:
    """The file of a location."""
    return Path(location.removeprefix("file://").removeprefix("file:"))


def _engine(summary: dict[str, str]) -> str:
    """Iceberg Java's own words, `Apache Iceberg 1.11.0 (commit …)`, made short."""
    found = re.match(r"Apache Iceberg (\S+)", summary.get("iceberg-version", ""))
    return f"Iceberg Java {found[1]}" if found else "Iceberg Java"


def generate(cache: Path, sizes: Mapping[str, object], release: str = JAVA_VERSION) -> None:
    """Compiles and runs the generator against Iceberg's Spark runtime and the jars that PySpark brings.

    Args: sizes, its options without their dashes; release, that of the runtime.
    """
    source = generator("iceberg") / "BenchTable.java"
    if not _jar(release).is_file():
        artifact = f"org.apache.iceberg:{_RUNTIMES[release]}:{release}"
        subprocess.run(["mvn", "-q", "-B", "dependency:get", f"-Dartifact={artifact}"], check=True)
    jars = java_classpath(release)
    if jars is None:
        raise MissingInputError("pyspark is needed to make a table by Iceberg Java: its jars hold Hadoop's")
    classes = str(cache / f"generator-iceberg-{release}")
    subprocess.run(["javac", "-nowarn", "-proc:none", "-d", classes, "-cp", jars, str(source)], check=True)
    options = [str(word) for key, value in sizes.items() for word in (f"--{key}", value)]
    command = ["java", "-Xmx3g", "-Duser.timezone=UTC", "-Dlog4j2.level=OFF", "-cp", f"{classes}:{jars}"]
    subprocess.run(
        [*command, "org.apache.iceberg.BenchTable", *options], check=True, stdout=subprocess.DEVNULL
    )


def _jar(release: str) -> Path:
    folder = Path.home() / ".m2/repository/org/apache/iceberg" / _RUNTIMES[release] / release
    return folder / f"{_RUNTIMES[release]}-{release}.jar"


def java_classpath(release: str = JAVA_VERSION) -> str | None:
    """Iceberg's Spark runtime in Maven's repository and Hadoop's classes, which PySpark brings, or None."""
    pyspark = find_spec("pyspark")
    if pyspark is None or not pyspark.submodule_search_locations or not _jar(release).is_file():
        return None
    return f"{_jar(release)}:{pyspark.submodule_search_locations[0]}/jars/*"
