"""The formats' own engines as judges: each one process for a whole run, asked by lines of JSON."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

ENGINES = Path(__file__).resolve().with_name("engines")
_BUILT = ENGINES.parents[1] / "build" / "engines"
ICEBERG_BEFORE = "1.11.0"
"""Iceberg's release before that of `engines/iceberg.xml`: tests ask it too what both may answer otherwise."""
_JVM = ("-Xmx1g", "-Duser.timezone=UTC")
# Over a few rows, what the last compiler and the parallel collector would win is less than what they cost.
_FRUGAL = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def frugal_jvms() -> None:
    """Has JVMs that are started from here on take little: those of Maven, Spark, examples, benches too."""
    options = os.environ.get("JDK_JAVA_OPTIONS", "")
    # A worker of a run has them already.
    if _FRUGAL not in options:
        os.environ["JDK_JAVA_OPTIONS"] = f"{options} {_FRUGAL}".strip()


class EngineError(Exception):
    """What an engine threw, as it printed it."""


class Engine:
    """A running program. Its log is shown where it ends unasked."""

    def __init__(self, name: str, command: Sequence[str]) -> None:
        _BUILT.mkdir(parents=True, exist_ok=True)
        # Each worker of a run has its own.
        worker = os.environ.get("PYTEST_XDIST_WORKER", "")
        self._log = _BUILT / f"{name}{worker and '-'}{worker}.log"
        with ExitStack() as stack:
            log = stack.enter_context(self._log.open("wb"))
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log}
            self._process = subprocess.Popen(command, text=True, encoding="utf-8", **pipes)

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    def ask(self, operation: str, **request: Any) -> Any:
        """What the engine answers. Raises: EngineError: it threw."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"op": operation, **request}, default=str) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the engine ended: {self._log.read_text('utf-8', 'replace')}"
        # Floats stay as the engine spelled them.
        answer = json.loads(line, parse_float=str)
        if "error" in answer:
            raise EngineError(answer["error"])
        return answer["answer"]

    def close(self) -> None:
        """Ends it: its input ends, and so does its loop."""
        self._process.communicate()


class JavaEngine(Engine):
    """A running `tests/engines/<name>.java`."""

    def __init__(self, name: str, version: str | None = None) -> None:
        """Starts it, in a version other than its project's where one is given. Skips the test where Java or
        Maven is absent.
        """
        java = java_and_maven()
        jars = class_path(ENGINES / f"{name.removesuffix('Engine').lower()}.xml", version)
        called = name if version is None else f"{name}-{version}"
        super().__init__(called, [java, *_JVM, "-cp", jars, str(ENGINES / f"{name}.java")])


class IcebergEngines:
    """Iceberg's Java engine in two releases, each started when it is first asked for."""

    def __init__(self) -> None:
        self._running: dict[str | None, JavaEngine] = {}

    def at(self, version: str | None = None) -> JavaEngine:
        """The engine of a version, or the newest. Skips the test where it cannot be had."""
        if version not in self._running:
            self._running[version] = JavaEngine("IcebergEngine", version)
        return self._running[version]

    def close(self) -> None:
        """Ends both."""
        for engine in self._running.values():
            engine.close()


# Of tests that take `iceberg_java`: asks both releases.
each_iceberg_release = pytest.mark.parametrize(
    "iceberg_java", [None, ICEBERG_BEFORE], ids=["1.12", "1.11"], indirect=True
)


def java_and_maven() -> str:
    """Where Java is. Skips the test where it or Maven is absent."""
    found = {tool: _tool(tool) for tool in ("java", "mvn")}
    if absent := [tool for tool, path in found.items() if path is None]:
        pytest.skip(f"no {' and no '.join(absent)}: the engine cannot be started")
    return str(found["java"])


def class_path(pom: Path, version: str | None = None) -> str:
    """The jars that a project's dependencies are, as Maven has them in its repository; `version` is what the
    project's property `<name>.version` is set to.

    It is kept for as long as the project is the same and the jars are there; else Maven looks for them in its
    repository, and downloads what is not there.
    """
    _BUILT.mkdir(parents=True, exist_ok=True)
    with locked(_BUILT / "maven.lock"):
        return _class_path(pom, () if version is None else (f"-D{pom.stem}.version={version}",))


def _class_path(pom: Path, set_to: tuple[str, ...]) -> str:
    asked = sha256(pom.read_bytes() + "".join(set_to).encode()).hexdigest()
    kept = _BUILT / f"{pom.stem}-{asked[:16]}.classpath"
    if kept.is_file() and all(Path(jar).is_file() for jar in kept.read_text().split(os.pathsep)):
        return kept.read_text()
    # Of fixed versions, so that no network is needed where all are in the repository.
    command = ("mvn", "-q", "-B", "-f", str(pom), "dependency:build-classpath", f"-Dmdep.outputFile={kept}")
    found = subprocess.run([*command, *set_to], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        pytest.skip(f"Maven has no {pom.stem} engine: {(found.stdout or found.stderr).strip()[:200]}")
    return kept.read_text()


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Waits until no other process has this file locked, and has it."""
    with file.open("a") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield


def _tool(name: str) -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which(name, path=f"{home}/bin") if home and name == "java" else shutil.which(name)


def fetch(project: Path, version: str | None = None) -> None:
    """Has Maven fetch an engine, or says why it cannot be had: minutes where none is there yet."""
    try:
        java_and_maven()
        class_path(project, version)
    except pytest.skip.Exception as skipped:
        sys.stderr.write(f"{project.stem}: {skipped.msg}\n")


if __name__ == "__main__":
    frugal_jvms()
    for pom in sorted(ENGINES.glob("*.xml")):
        fetch(pom)
    fetch(ENGINES / "iceberg.xml", ICEBERG_BEFORE)
