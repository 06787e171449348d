"""What readers of Avro, ORC and Parquet do with files that are not as they should be: tables, in Markdown.

Usage: python tests/peers/table.py --write docs/peers.md. Each reader has a process of its own, which reads
every file of the case table `avro_hostile`, then a manifest of 20 entries cut at every byte and with a bit of
every byte flipped. Readers of ORC and Parquet get damaged manifests in those.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import select
import shutil
import struct
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import fastavro

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from columnar_damage import OrcFile, ParquetFile, damages  # noqa: E402
from java_engine import ENGINES, class_path  # noqa: E402
from paimon_files import COLUMNAR as WRITERS  # noqa: E402
from paimon_files import raw_table  # noqa: E402
from serve import COLUMNAR, READERS  # noqa: E402

from shared_data import SAMPLE_TABLE, Case, cases  # noqa: E402

SECONDS = 12
MEMORY = 1 << 30
JAVA = "Avro Java"
CODECS = ("null", "deflate", "zstandard", "snappy")
ENTRIES, BLOCKS = 20, 6
DAMAGED = 1000
_BEGIN, _END = "<!-- by tests/peers/table.py -->", "<!-- end -->"
_WORSE = ("memory", "hang", "crash")
_CRASHES = ("PanicException", "StackOverflowError")
_OF_MEMORY = ("MemoryError", "OutOfMemoryError")


class Reader:
    """A process that reads files; begun anew where a file was too much for it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.process, self.version, self._idle = self._start()

    def outcome(self, content: bytes) -> str:
        """`rows N`, `refused`, `memory`, `hang` or `crash`."""
        answer = self._ask(content)
        if answer in ("hang", "crash"):
            outcome = str(answer)
        elif answer.get("error") in _OF_MEMORY or answer["peak"] - self._idle > MEMORY:
            outcome = "memory"
        elif answer.get("error") in _CRASHES:
            outcome = "crash"
        else:
            return "refused" if "error" in answer else f"rows {answer['rows']}"
        self.close()
        self.process, _, self._idle = self._start()
        return outcome

    def _start(self) -> tuple[subprocess.Popen[bytes], str, int]:
        """A process, the reader's version, and what memory it takes to be loaded, which is no file's."""
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(self._command(), stderr=subprocess.DEVNULL, **pipes)
        told, warm = self._answer(60), self._ask(columnar("Parquet") if self.name in COLUMNAR else _WARM)
        if warm.get("error") in ("ModuleNotFoundError", "PackageNotFoundError"):
            # DuckDB reads Avro by a package that DuckDB 2 does not have.
            sys.exit(f"{self.name} cannot read: {warm['error']}")
        return self.process, str(told["version"]), warm["peak"]

    def _command(self) -> list[str]:
        if self.name == JAVA:
            jars = class_path(ENGINES / "iceberg.xml")
            return ["java", "-Xmx512m", "-XX:+UseSerialGC", "-cp", jars, str(HERE / "AvroReader.java")]
        return [sys.executable, str(HERE / "serve.py"), self.name]

    def _ask(self, content: bytes) -> Any:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(struct.pack(">I", len(content)) + content)
            self.process.stdin.flush()
        except BrokenPipeError:
            return "crash"
        return self._answer(SECONDS)

    def _answer(self, seconds: float) -> Any:
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            return "hang"
        line = self.process.stdout.readline()
        return json.loads(line) if line else "crash"

    def close(self) -> None:
        """Ends it, whatever it does."""
        self.process.kill()
        self.process.communicate()


def hostile(reader: Reader) -> Counter[str]:
    """Outcomes of the files that must be refused, and how many of the legal ones it reads whole.

    Files that are to be read under limits of lakebed's own are no measure of others, and left out.
    """
    found: Counter[str] = Counter()
    for case in cases("avro_hostile"):
        outcome, expect = reader.outcome(_content(case)), case["expect"]
        if "rows" in expect:
            found["legal"] += 1
            found["read"] += outcome == f"rows {len(expect['rows'])}"
        elif "rows_or_error" not in expect and not case.get("limits"):
            found["files"] += 1
            found[outcome.partition(" ")[0]] += 1
    return found


def damaged(reader: Reader, files: Iterable[bytes]) -> Counter[str]:
    """Outcomes of files of which each has one thing wrong."""
    return Counter(reader.outcome(content).partition(" ")[0] for content in files)


def manifest(codec: str) -> bytes:
    """The sample table's entries, 20 of them, in six blocks."""
    files = sorted(SAMPLE_TABLE.glob("manifest/manifest-[0-9a-f]*-?"))
    readers = [fastavro.reader(io.BytesIO(file.read_bytes())) for file in files]
    entries = [entry for reader in readers for entry in reader]
    entries = (entries * -(-ENTRIES // len(entries)))[:ENTRIES]
    made = io.BytesIO()
    ends = [ENTRIES * block // BLOCKS for block in range(BLOCKS + 1)]
    schema: Any = readers[0].writer_schema
    for start, end in pairwise(ends):
        fastavro.writer(made, schema, entries[start:end], codec=codec, sync_marker=bytes(range(16)))
        # Without a schema it appends.
        schema = None
    return made.getvalue()


def _content(case: Case) -> bytes:
    if (packed := case.get("file_zlib_b64")) is not None:
        return zlib.decompress(base64.b64decode(packed))
    return base64.b64decode(case["file_b64"])


def _cut(content: bytes) -> Iterator[bytes]:
    return (content[:length] for length in range(len(content)))


def _flipped(content: bytes) -> Iterator[bytes]:
    for position in range(len(content)):
        changed = bytearray(content)
        changed[position] ^= 1 << position % 8
        yield bytes(changed)


def _of_hostile(reader: Reader) -> list[str]:
    seen = hostile(reader)
    kinds = (str(seen[kind]) for kind in ("files", "refused", "rows", *_WORSE))
    return [f"{reader.name} {reader.version}", *kinds, f"{seen['read']} of {seen['legal']}"]


def _of_damaged(reader: Reader, codec: str) -> list[str]:
    content = manifest(codec)
    if reader.outcome(content) != f"rows {ENTRIES}":
        return [reader.name, codec, str(len(content)), *["does not read it"] * 4]
    cells = [reader.name, codec, str(len(content))]
    for files in (_cut, _flipped):
        seen = damaged(reader, files(content))
        cells += [str(seen["rows"]), str(sum(seen[kind] for kind in _WORSE))]
    return cells


def columnar(kind: str) -> bytes:
    """The largest manifest of the sample table in ORC or Parquet, in a form that can be taken apart."""
    files = sorted(SAMPLE_TABLE.glob("manifest/manifest-[0-9a-f]*-?"), key=lambda file: file.stat().st_size)
    return WRITERS[kind](raw_table(files[-1]), compression={"ORC": "zlib", "Parquet": "none"}[kind])


def _of_columnar(reader: Reader, kind: str) -> list[str]:
    parts: Any = {"ORC": OrcFile, "Parquet": ParquetFile}[kind]
    seen = damaged(reader, damages([columnar(kind)], parts, DAMAGED, seed=0))
    kinds = (str(seen[outcome]) for outcome in ("refused", "rows", *_WORSE))
    return [f"{reader.name.partition(',')[0]} {reader.version}", kind, str(DAMAGED), *kinds]


def containers() -> list[list[str]]:
    """What each reader does with damaged manifests in ORC and Parquet."""
    rows = [["reader", "container", "files", "refused", "accepted", *_WORSE]]
    for name in COLUMNAR:
        reader = Reader(name)
        kinds = ("Parquet",) if name.endswith("Parquet") else tuple(WRITERS)
        rows += [_of_columnar(reader, kind) for kind in kinds]
        reader.close()
    return rows


def document(names: Iterable[str]) -> str:
    """The tables, with their date."""
    first = [["reader", "files", "refused", "accepted", *_WORSE, "legal files read"]]
    second = [["reader", "codec", "bytes", "cuts accepted", "worse", "flips accepted", "worse"]]
    for name in names:
        reader = Reader(name)
        sys.stderr.write(f"{name} {reader.version}\n")
        first.append(_of_hostile(reader))
        second += [_of_damaged(reader, codec) for codec in CODECS]
        reader.close()
    tables = "\n\n".join(_table(rows) for rows in (first, second, containers()))
    return f"{datetime.now(timezone.utc).date()}.\n\n{tables}\n"


def _table(rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|---" * len(rows[0]) + "|")
    return "\n".join(lines)


def main() -> None:
    """Prints the tables, or puts them where the document has them."""
    made = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    made.add_argument("--readers", default=",".join((*READERS, JAVA)), help="which, comma-separated")
    made.add_argument("--write", type=Path, default=None, help="a document to put them into")
    options = made.parse_args()
    names = [name for name in options.readers.split(",") if name != JAVA or shutil.which("java")]
    text = document(names)
    if options.write is None:
        sys.stdout.write(text)
        return
    before, _, rest = options.write.read_text("utf-8").partition(_BEGIN)
    _, _, after = rest.partition(_END)
    options.write.write_text(f"{before}{_BEGIN}\n{text}{_END}{after}", "utf-8")


_WARM = manifest("null")


if __name__ == "__main__":
    main()
