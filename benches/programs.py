"""What is timed beside Python: the Rust readers and the floors, and each format's own Java."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import iceberg_tables
import paimon_tables
from corpus import Corpus, MissingInputError
from session import FLOORS, Contestant

_HERE = Path(__file__).resolve().parent
_MANIFEST = _HERE / "peers" / "Cargo.toml"
FLOORED_TASKS = frozenset({"entries", "projected", "stats", "guard", "files", "churn", "plan"})
"""Tasks that read all Avro files of an input, so that they cannot be faster than the floors."""
_JAVA_TASKS = {"plan": "all", "plan-partition": "partition", "plan-range": "range"}
"""What the programs in Java call the tasks that they have: no plan in batches."""


def rust(corpus: Corpus, task: str) -> list[Contestant]:
    """The floors below a task, then its Rust readers. Raises: as `_build`."""
    found = []
    for line in _listed() if corpus.manifests else []:
        name, of_task = str(line["peer"]), str(line["task"])
        if line["format"] in (None, corpus.format) and (
            task in FLOORED_TASKS if name in FLOORS else of_task == task
        ):
            command = (str(_build()), "--serve", name, of_task, *corpus.manifests)
            found.append(Contestant(name, task, line["version"] or "", "1", command))
    return found


def java(corpus: Corpus, task: str, threads: int, folder: Path) -> list[Contestant]:
    """The engine that wrote the table, in a warm JVM, where that and its jars are there."""
    is_of_java = task in _JAVA_TASKS and corpus.format in ("iceberg", "paimon")
    if not is_of_java or shutil.which("java") is None:
        return []
    version, jars = iceberg_tables.JAVA_VERSION, iceberg_tables.java_classpath()
    if corpus.format == "paimon":
        try:
            version, jars = paimon_tables.java_version(), paimon_tables.java_classpath(folder)
        except MissingInputError:
            return []
    if jars is None:
        return []
    program = str(_HERE / "peers_java" / f"{corpus.format.capitalize()}Plan.java")
    of_jvm = ("java", "-Xmx3g", "-Dlog4j2.level=OFF", "-cp", jars, program)
    command = (*of_jvm, corpus.path, _JAVA_TASKS[task], str(threads))
    return [Contestant(f"{corpus.format}-java", task, version, str(threads), command)]


@cache
def _build() -> Path:
    """Builds `manifest-peers` (minutes, the first time). Raises: MissingInputError: there is no cargo."""
    if shutil.which("cargo") is None:
        raise MissingInputError("cargo is needed to build the Rust peers: install Rust, or give --no-rust")
    print("building the Rust peers", file=sys.stderr, flush=True)
    command = ["cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", str(_MANIFEST)]
    subprocess.run(command, check=True)
    return _MANIFEST.parent / "target" / "release" / "manifest-peers"


@cache
def _listed() -> list[dict[str, str | None]]:
    """Its readers: peer, version, task, format."""
    lines = subprocess.run([_build(), "--list"], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in lines.splitlines()]
