"""The Paimon tables of the benches: 50,000 entries by Paimon Java and by pypaimon, and two larger ones.

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
from xml.etree import ElementTree

import pypaimon_table
from corpus import Corpus, Table, blocks, generator, generator_folder, records

DATABASE = "bench"


@dataclass(frozen=True)
class Shape:
    """How large a table is; files fall on partitions at random, and the writer may merge manifests.

    Of the entries, `churn` percent are additions and deletions that cancel each other.
    """

    entries: int
    partitions: int
    commits: int
    columns: int = 12
    churn: int = 0

    def name(self, writer: str) -> str:
        """The table's name, and so its key in the cache."""
        churn = f"_churn{self.churn}" if self.churn else ""
        return f"{writer}_{self.entries}x{self.columns}_p{self.partitions}_c{self.commits}{churn}"


def _pypaimon(cache: Path, entries: int, given: Path | None) -> Corpus:
    """The given or cached table, or a new one: about 0.6 ms an entry."""
    writer = f"pypaimon {version('pypaimon')}"
    if given is not None:
        return _describe(_link(cache, given), writer)
    shape = Shape(entries, max(1, entries // 100), commits=5)
    table = _path(cache, shape.name("pypaimon"))
    if not table.exists():
        pypaimon_table.write(table, shape.entries, shape.columns, shape.partitions, shape.commits)
    return _describe(table, writer)


def by_java(cache: Path, entries: int, given: Path | None) -> Corpus:
    """The given or cached table, or a new one: partitions of 100 entries, five commits."""
    return _java_table(cache, Shape(entries, max(1, entries // 100), commits=5), given)


def by_java_large(cache: Path, entries: int, given: Path | None) -> Corpus:
    """The same in partitions of 1,000 entries and ten commits."""
    return _java_table(cache, Shape(entries, max(1, entries // 1000), commits=10), given)


def _java_churn(cache: Path, entries: int, given: Path | None) -> Corpus:
    return _java_table(cache, Shape(entries, max(1, entries // 1000), commits=10, churn=50), given)


TABLES = [
    Table("paimon-java", ("entries", "projected", "files"), 50_000, by_java),
    Table("pypaimon", ("entries", "projected", "files"), 50_000, _pypaimon),
    Table("paimon-memory", ("stream",), 300_000, by_java_large, most_rounds=1),
    Table("paimon-churn", ("churn",), 300_000, _java_churn, most_rounds=5),
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
    return Corpus(
        format="paimon",
        writer=writer,
        path=str(root),
        name=root.name,
        manifests=tuple(map(str, manifests)),
        live=sum(record["_NUM_ADDED_FILES"] - record["_NUM_DELETED_FILES"] for record in listed),
        columns=len(schema["fields"]),
        **vars(blocks(manifests)),
    )


def _java_table(cache: Path, shape: Shape, given: Path | None) -> Corpus:
    """A table committed by Paimon Java: `given`, else the cached one, else generated.

    Raises: MissingInputError: nothing is cached and the generator, Maven or Java is not there.
    """
    table = _path(cache, shape.name("java")) if given is None else _link(cache, given)
    if not table.exists():
        _generate(cache, table, shape)
    return _describe(table, f"Paimon Java {java_version()}".rstrip())


def java_version() -> str:
    """That of the generator's Paimon; an empty text where there is no generator."""
    pom = generator_folder("paimon") / "pom.xml"
    found = ElementTree.parse(pom).findtext(".//{*}paimon.version") if pom.is_file() else None
    return found or ""


@functools.cache
def java_classpath(folder: Path) -> str:
    """Builds the generator into that folder of the cache: its classes, and the jars of Paimon Java.

    Raises: MissingInputError: the generator, Maven or a JDK is not there.
    """
    project, build = generator("paimon") / "pom.xml", folder / "bigtables"
    goals = ["compile", "dependency:copy-dependencies", f"-DoutputDirectory={build / 'lib'}"]
    subprocess.run(["mvn", "-q", "-B", "-f", str(project), f"-Dbuild.dir={build}", *goals], check=True)
    return f"{build / java_version() / 'classes'}:{build / 'lib' / '*'}"


def _generate(folder: Path, out: Path, shape: Shape) -> None:
    partial = out.with_name(out.name + ".partial")
    sizes = {
        "entries": shape.entries,
        "columns": shape.columns,
        "partitions": shape.partitions,
        "per-commit": -(-shape.entries // shape.commits),
        "churn": shape.churn,
    }
    options = [word for key, value in sizes.items() for word in (f"--{key}", str(value))]
    classes = java_classpath(folder)
    command = ["java", "-Xmx3g", "-cp", classes, "paimongen.Large", "--out", str(partial), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    partial.rename(out)
