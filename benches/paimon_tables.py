"""The Paimon tables of the benches: 50,000 entries by Paimon Java and by pypaimon, wide and larger ones.

Every table lies in one warehouse (`<cache>/warehouse/bench.db/<name>`), so that peers which know only
catalogs can open it. Its manifests are those of the latest snapshot's two manifest lists.
"""

from __future__ import annotations

import functools
import json
import subprocess
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pypaimon_table
from corpus import GENERATORS, Corpus, Table, generator, once, records

DATABASE = "bench"


@dataclass(frozen=True)
class Shape:
    """How large a table is; files fall on partitions at random, and the writer may merge manifests.

    Of the entries, `churn` percent are additions and deletions that cancel each other; `stats` are what they
    have, `truncate` or `none`.
    """

    entries: int
    partitions: int
    commits: int
    columns: int = 12
    churn: int = 0
    stats: str = "truncate"

    def name(self, writer: str) -> str:
        """The table's name, and so its key in the cache."""
        churn = f"_churn{self.churn}" if self.churn else ""
        stats = "" if self.stats == "truncate" else f"_{self.stats}"
        return f"{writer}_{self.entries}x{self.columns}_p{self.partitions}_c{self.commits}{churn}{stats}"


def by_pypaimon(cache: Path, entries: int, given: Path | None, commits: int = 5) -> Corpus:
    """The given or cached table, or a new one: about 0.6 ms an entry."""
    writer = f"pypaimon {version('pypaimon')}"
    if given is not None:
        return _describe(_link(cache, given), writer)
    shape = Shape(entries, max(1, entries // 100), commits)
    table = _path(cache, shape.name("pypaimon"))
    sizes = (shape.entries, shape.columns, shape.partitions, shape.commits)
    return _describe(once(table, lambda folder: pypaimon_table.write(folder, *sizes)), writer)


def _java(cache: Path, entries: int, given: Path | None, commits: int = 5, **more: Any) -> Corpus:
    """The given or cached table, or a new one: partitions of 100 entries, five commits."""
    return _java_table(cache, Shape(entries, max(1, entries // 100), commits, **more), given)


def java_large(cache: Path, entries: int, given: Path | None, **more: Any) -> Corpus:
    """The same in partitions of 1,000 entries and ten commits."""
    return _java_table(cache, Shape(entries, max(1, entries // 1000), commits=10, **more), given)


READ = ("entries", "projected", "stats")
PLAN = ("plan", "plan-stream", "plan-partition", "plan-range")
_MANY, STREAM = (*READ, "guard", "files"), ("stream",)
TABLES = [
    Table("paimon-java", (*_MANY, *PLAN, "encode"), 50_000, _java, quick=(*_MANY, "plan", "encode")),
    Table("pypaimon", (*_MANY, "encode"), 50_000, by_pypaimon, quick=READ[:1]),
    # In one manifest.
    Table("paimon-wide", READ, 5_000, _java, {"commits": 1, "columns": 200}, quick=READ, quick_entries=1_000),
    Table("paimon-no-stats", READ[:2], 50_000, _java, {"stats": "none"}),
    Table("paimon-100k", STREAM, 100_000, java_large, most_rounds=1),
    Table("paimon-1m", (*STREAM, *PLAN), 1_000_000, java_large, alone=STREAM, most_rounds=5),
    Table("paimon-churn", ("churn",), 300_000, java_large, {"churn": 50}, most_rounds=5),
]


def _path(cache: Path, name: str) -> Path:
    return cache / "warehouse" / f"{DATABASE}.db" / name


def _link(cache: Path, given: Path) -> Path:
    link = _path(cache, f"given_{given.name}")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(given.resolve(strict=True), target_is_directory=True)
    return link


def _describe(root: Path, writer: str) -> Corpus:
    """The latest snapshot's manifests, base list first, and what their headers and blocks say."""
    newest = max((root / "snapshot").glob("snapshot-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    snapshot = json.loads(newest.read_text())
    schema = json.loads((root / "schema" / f"schema-{snapshot['schemaId']}").read_text())
    listed = [
        record
        for manifest_list in (snapshot["baseManifestList"], snapshot["deltaManifestList"])
        for record in records(root / "manifest" / manifest_list)
    ]
    manifests = [root / "manifest" / record["_FILE_NAME"] for record in listed]
    live = sum(record["_NUM_ADDED_FILES"] - record["_NUM_DELETED_FILES"] for record in listed)
    return Corpus.of_files("paimon", writer, root, root.name, manifests, len(schema["fields"]), live)


def _java_table(cache: Path, shape: Shape, given: Path | None) -> Corpus:
    """A table committed by Paimon Java: `given`, else the cached one, else generated.

    Raises: MissingInputError: nothing is cached and Maven or a JDK is not there.
    """
    if given is None:
        table = once(_path(cache, shape.name("java")), lambda folder: _generate(cache, folder, shape))
    else:
        table = _link(cache, given)
    return _describe(table, f"Paimon Java {java_version()}")


def java_version() -> str:
    """That of the generator's Paimon."""
    found = ElementTree.parse(GENERATORS / "paimon" / "pom.xml").findtext(".//{*}paimon.version")
    return found or ""


@functools.cache
def java_classpath(folder: Path) -> str:
    """Builds the generator into that folder of the cache: its classes, and the jars of Paimon Java.

    Raises: MissingInputError: Maven or a JDK is not there.
    """
    project, build = generator("paimon") / "pom.xml", folder / "generator-paimon"
    goals = ["compile", "dependency:copy-dependencies", f"-DoutputDirectory={build / 'lib'}"]
    subprocess.run(["mvn", "-q", "-B", "-f", str(project), f"-Dbuild.dir={build}", *goals], check=True)
    return f"{build / java_version() / 'classes'}:{build / 'lib' / '*'}"


def _generate(folder: Path, out: Path, shape: Shape) -> None:
    sizes = {
        "entries": shape.entries,
        "columns": shape.columns,
        "partitions": shape.partitions,
        "per-commit": -(-shape.entries // shape.commits),
        "churn": shape.churn,
        "stats": shape.stats,
    }
    options = [word for key, value in sizes.items() for word in (f"--{key}", str(value))]
    classes = java_classpath(folder)
    command = ["java", "-Xmx3g", "-cp", classes, "BenchTable", "--out", str(out), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
