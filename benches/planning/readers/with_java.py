"""A format's own Java: `with_java.py iceberg|paimon WARM_UPS …` becomes the JVM of `IcebergReader.java` or
`PaimonReader.java`, with the jars that the tests' engines have.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = HERE.parents[1] / ".cache" / "planning-java"
HEAP = "-Xmx4g"


def main() -> None:
    """Ends as the JVM does."""
    format_, warm_ups, *question = sys.argv[1:]
    name = f"{format_.capitalize()}Reader"
    if absent := [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]:
        print(json.dumps({"missing": f"a JDK of 17 or newer and Maven (no {', '.join(absent)})"}))
        return
    command = ["java", HEAP, "-cp", _class_path(format_, name), name, warm_ups, *question]
    os.execvp(command[0], command)


def _class_path(format_: str, name: str) -> str:
    """Classes and jars: compiled and fetched once, for as long as neither sources nor versions change."""
    pom, sources = (
        HERE.parents[2] / "tests" / "engines" / f"{format_}.xml",
        (HERE / f"{name}.java", HERE / "Protocol.java"),
    )
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in (pom, *sources))).hexdigest()
    folder = BUILT / f"{format_}-{digest[:16]}"
    kept = folder / "classpath"
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        jars = folder / "jars"
        goal = ["dependency:build-classpath", f"-Dmdep.outputFile={jars}"]
        subprocess.run(["mvn", "-q", "-B", "-f", str(pom), *goal], check=True, stdout=sys.stderr)
        compiled = ["javac", "-nowarn", "-proc:none", "-d", str(folder), "-cp", jars.read_text()]
        compiled += map(str, sources)
        subprocess.run(compiled, check=True)
        kept.write_text(f"{folder}:{jars.read_text()}")
    return kept.read_text()


if __name__ == "__main__":
    main()
