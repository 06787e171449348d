"""The tables that the benches read: metadata only, committed by real writers, no data files.

Every table lies in one warehouse (`<cache>/warehouse/bench.db/<name>`), so that peers which know only
catalogs can open it. Its manifests are found through the snapshot and its two manifest lists with `json` and
fastavro alone: what is measured never decides what is read.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import fastavro

DATABASE = "bench"


class MissingInputError(Exception):
    """A table can be neither found nor made here; the message says what is needed."""


@dataclass(frozen=True)
class Corpus:
    """One table and the facts about its manifests that a result is read by. Sizes in bytes.

    `live` are the files that some entry adds and no entry deletes: here every deletion meets its addition.
    """

    writer: str
    warehouse: str
    name: str
    manifests: tuple[str, ...]
    entries: int
    live: int
    columns: int
    codec: str
    block_bytes: int
    compressed_bytes: int
    inflated_bytes: int

    @property
    def table(self) -> str:
        """The table's own folder."""
        return str(Path(self.warehouse) / f"{DATABASE}.db" / self.name)

    def describe(self) -> str:
        """One line for a reader of the results."""
        return (
            f"{self.entries:,} entries ({self.live:,} files live) x {self.columns} columns by {self.writer}, "
            f"{self.codec}, {len(self.manifests)} manifests, {self.compressed_bytes / 1e6:.1f} MB "
            f"({self.inflated_bytes / 1e6:.1f} MB inflated, blocks of {self.block_bytes / 1000:.0f} kB)"
        )


def warehouse(cache: Path) -> Path:
    """The folder that holds the database of the benches."""
    return cache / "warehouse"


def table_path(cache: Path, name: str) -> Path:
    """Where the table of that name lies, or will lie."""
    return warehouse(cache) / f"{DATABASE}.db" / name


def describe_table(cache: Path, name: str, writer: str) -> Corpus:
    """The latest snapshot's manifests, base list first, and what their headers and blocks say.

    Cost: every block is inflated once.
    """
    root = table_path(cache, name)
    newest = max((root / "snapshot").glob("snapshot-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    snapshot = json.loads(newest.read_text())
    schema = json.loads((root / "schema" / f"schema-{snapshot['schemaId']}").read_text())
    listed = [
        record
        for manifest_list in (snapshot["baseManifestList"], snapshot["deltaManifestList"])
        for record in _records(root / "manifest" / manifest_list)
    ]
    manifests = [root / "manifest" / record["_FILE_NAME"] for record in listed]
    entries, codecs, blocks = 0, set(), []
    for manifest in manifests:
        with manifest.open("rb") as file:
            reader = fastavro.block_reader(file)
            codecs.add(str(reader.metadata.get("avro.codec", "null")))
            block: Any  # fastavro's stubs know only an older form of it
            for block in reader:
                entries += block.num_records
                blocks.append(block.bytes_.getbuffer().nbytes)
    return Corpus(
        writer=writer,
        warehouse=str(warehouse(cache)),
        name=name,
        manifests=tuple(map(str, manifests)),
        entries=entries,
        live=sum(record["_NUM_ADDED_FILES"] - record["_NUM_DELETED_FILES"] for record in listed),
        columns=len(schema["fields"]),
        codec="+".join(sorted(codecs)),
        block_bytes=int(statistics.median(blocks)),
        compressed_bytes=sum(manifest.stat().st_size for manifest in manifests),
        inflated_bytes=sum(blocks),
    )


def _records(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as file:
        return [record for record in fastavro.reader(file) if isinstance(record, dict)]


# --- Paimon Java ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """How large a table is; files fall on partitions at random, and the writer may merge manifests.

    Of the entries, `churn` percent are additions and deletions that cancel each other.
    """

    entries: int
    columns: int
    partitions: int
    commits: int
    churn: int = 0

    def name(self, writer: str) -> str:
        """The table's name, and so its key in the cache."""
        churn = f"_churn{self.churn}" if self.churn else ""
        return f"{writer}_{self.entries}x{self.columns}_p{self.partitions}_c{self.commits}{churn}"


def java_table(cache: Path, shape: Shape, given: Path | None = None) -> Corpus:
    """A table committed by Paimon Java: `given`, else the cached one, else generated.

    Raises: MissingInputError: nothing is cached and the generator, Maven or Java is not there.
    """
    if given is not None:
        name = f"given_{given.name}"
        link = table_path(cache, name)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(given.resolve(strict=True), target_is_directory=True)
        return describe_table(cache, name, _java_writer())
    name = shape.name("java")
    if not table_path(cache, name).exists():
        _generate_java(cache, table_path(cache, name), shape)
    return describe_table(cache, name, _java_writer())


def _generator() -> Path:
    shared = os.environ.get("LAKEBED_SHARED") or str(Path(__file__).resolve().parents[1].parent / "shared")
    return Path(shared) / "tools" / "bigtables" / "paimon"


def _java_version() -> str:
    pom = _generator() / "pom.xml"
    if not pom.is_file():
        return ""
    found = ElementTree.parse(pom).findtext(".//{*}paimon.version")
    return found or ""


def _java_writer() -> str:
    return f"Paimon Java {_java_version()}".rstrip()


def _generate_java(cache: Path, out: Path, shape: Shape) -> None:
    generator = _generator()
    if not (generator / "pom.xml").is_file():
        raise MissingInputError(
            f"no table generator at {generator}: set LAKEBED_SHARED, or give a table with --java-table"
        )
    for tool in ("mvn", "java"):
        if shutil.which(tool) is None:
            raise MissingInputError(f"{tool} is needed to generate a Paimon Java table and is not on PATH")
    build = cache / "bigtables"
    goals = ["compile", "dependency:copy-dependencies", f"-DoutputDirectory={build / 'lib'}"]
    subprocess.run(
        ["mvn", "-q", "-B", "-f", str(generator / "pom.xml"), f"-Dbuild.dir={build}", *goals], check=True
    )
    partial = out.with_name(out.name + ".partial")
    sizes = {
        "entries": shape.entries,
        "columns": shape.columns,
        "partitions": shape.partitions,
        "per-commit": -(-shape.entries // shape.commits),
        "churn": shape.churn,
    }
    options = [word for key, value in sizes.items() for word in (f"--{key}", str(value))]
    classes = f"{build / _java_version() / 'classes'}:{build / 'lib' / '*'}"
    command = ["java", "-Xmx3g", "-cp", classes, "paimongen.Large", "--out", str(partial), *options]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    partial.rename(out)
