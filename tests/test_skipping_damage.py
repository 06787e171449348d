"""Damage of what lets manifests be skipped: sidecars of Paimon's manifests, partition statistics of Iceberg.

The short form takes some hundred files of each, the long form thousands.
"""

from __future__ import annotations

import io
import json
import random
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from columnar_damage import OrcFile, ParquetFile, damages
from local_storage import SomeFiles
from malformed_forms import avro_of, payload
from pyarrow import orc, parquet
from sidecar_table import SIDECAR_TABLE
from trust import Figure, long_or

import lakebed
from lakebed.errors import LakebedError, LakebedWarning
from shared_data import OWN_DATA

Rows = tuple[list[Any], list[str]]
"""Rows and warnings."""

EDGES = (0, 1, 2, 127, 128, (1 << 31) - 1, 1 << 31, (1 << 63) - 1)


def warned(read: Callable[[], Any]) -> Rows:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LakebedWarning)
        found = read().to_arrow()
    found.validate(full=True)
    # Forged times are beyond those of Python.
    if (at := found.schema.get_field_index("last_updated_at")) >= 0:
        found = found.set_column(at, "last_updated_at", found[at].cast(pa.int64()))
    return found.to_pylist(), [str(warning.message) for warning in caught]


def damaged(content: bytes, chance: random.Random) -> bytes:
    """A byte is another, the end is cut off, or a number is another."""
    place = chance.randrange(len(content))
    kind = chance.randrange(3)
    if kind == 0:
        return content[:place]
    if kind == 1:
        return content[:place] + bytes([chance.randrange(256)]) + content[place + 1 :]
    number, out = chance.choice(EDGES), bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return content[:place] + bytes([*out, number]) + content[place + chance.randrange(2) :]


@pytest.mark.trust
def test_a_damaged_sidecar_loses_no_file(figure: Figure):
    """Below a right checksum what a sidecar says of a block is believed, and nothing else."""
    path = SIDECAR_TABLE / "manifest" / "manifest-0.avro.sidecar"
    body = path.read_bytes()[:-4]
    # The manifest's header ends with the marker of its blocks.
    behind = body.index((SIDECAR_TABLE / "manifest" / "manifest-0").read_bytes()[-16:]) + 16
    storage = SomeFiles()
    table = lakebed.open_table(SIDECAR_TABLE, storage=storage)

    def planned(sidecar: bytes) -> Rows:
        storage.contents = {path.name: sidecar}
        return warned(lambda: table.plan(where="day = 2", columns=["file_name"]))

    whole = planned(path.read_bytes())
    assert whole == ([{"file_name": f"{number}.orc"} for number in (2, 3, 8, 9)], [])
    chance, found, count = random.Random(20261128), Counter[str](), long_or(300, 10_000)
    for number in range(count):
        if number % 2:
            changed = damaged(path.read_bytes(), chance)
            if changed == path.read_bytes():
                continue
        else:
            changed = body[:behind] + damaged(body[behind:], chance)
            changed += zlib.crc32(changed).to_bytes(4, "big")
        rows, said = planned(changed)
        assert [one for one in whole[0] if one in rows] == rows
        assert not said or path.name in said[0]
        assert rows == whole[0] or not (said or number % 2), "a file is lost"
        found[
            "whole manifests" if said else "some blocks" if rows == whole[0] else "fewer than have rows"
        ] += 1
    assert found["whole manifests"] > found.total() / 2
    kinds = ", ".join(f"{name} {times:,}" for name, times in found.most_common())
    figure("damaged sidecars", f"{found.total():,} read by them: {kinds}, 0 errors")


class AvroFile:
    """A file of one block, whose number of rows is forged."""

    def __init__(self, content: bytes) -> None:
        reader: Any = fastavro.reader(io.BytesIO(content))
        self.schema: Any = reader.writer_schema
        self.rows = [payload(self.schema, row) for row in reader]

    def damaged(self, chance: random.Random) -> bytes:
        rows = b"".join(self.rows)
        return avro_of(self.schema, (chance.choice(EDGES), damaged(rows, chance)))


FOLDER = OWN_DATA / "iceberg_partition_stats" / "stats_parquet_v3"
STORED, COMPUTED = "partition_stats", "computed_partition_stats"


def as_orc(stats: pa.Table) -> bytes:
    sink = io.BytesIO()
    orc.write_table(stats, sink)
    return sink.getvalue()


def as_parquet(stats: pa.Table) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(stats, sink, compression="none")
    return sink.getvalue()


def stats_of(folder: Path) -> bytes:
    """The newer of the table's two files."""
    metadata = json.loads((folder / "metadata" / "v7.metadata.json").read_text("utf-8"))
    last = metadata["partition-statistics"][-1]
    return (folder / "metadata" / Path(last["statistics-path"]).name).read_bytes()


def files(kind: str) -> tuple[list[bytes], Callable[[bytes], Any]]:
    """Files of a container, the first without compression, and what takes that apart."""
    if kind == "Avro":
        return [stats_of(FOLDER.with_name("stats_avro_v3"))], AvroFile
    java = stats_of(FOLDER)
    stats = parquet.read_table(pa.BufferReader(java))
    return ([as_orc(stats)], OrcFile) if kind == "ORC" else ([as_parquet(stats), java], ParquetFile)


@pytest.mark.trust
@pytest.mark.parametrize("kind", ["Avro", "ORC", "Parquet"])
def test_damaged_partition_statistics_are_rows_or_typed_errors(kind: str, figure: Figure):
    metadata = json.loads((FOLDER / "metadata" / "v7.metadata.json").read_text("utf-8"))
    record = metadata["partition-statistics"][-1] | {"statistics-path": f"{metadata['location']}/stats"}
    data_files = int(metadata["snapshots"][-1]["summary"]["total-data-files"])

    def read(name: str, content: bytes | None) -> Rows:
        some = [] if content is None else [record | {"file-size-in-bytes": len(content)}]
        document = json.dumps(metadata | {"partition-statistics": some}).encode()
        storage = SomeFiles(**{".metadata.json": document, "/stats": content or b""})
        path = FOLDER / "metadata" / "v7.metadata.json"
        table = lakebed.open_table(path, storage=storage, relocate={metadata["location"]: FOLDER})
        at = table.at(snapshot=record["snapshot-id"]) if name == STORED else table
        return warned(lambda: at.metadata_table(name))

    whole = read(COMPUTED, None)
    contents, parts = files(kind)
    engine = json.loads((FOLDER / "expected" / "partition_stats.json").read_text("utf-8"))
    assert len(read(STORED, contents[0])[0]) == len(engine["stored"][str(record["snapshot-id"])])
    found, used, count = Counter[str](), 0, long_or(120, 4_000)
    for content in damages(contents, parts, count, 3):
        try:
            read(STORED, content)
        except LakebedError as error:
            assert error.kind not in (None, "internal", "io")  # noqa: PT017 - rows are as right
            assert Path(error.path or "").name == "stats"  # noqa: PT017
            found[error.kind] += 1
        else:
            found["rows"] += 1
        rows, said = read(COMPUTED, content)
        used += not said
        if said:
            assert rows == whole[0]
            assert said[0].startswith("all manifests are read")
        assert sum(row["data_file_count"] for row in rows) == data_files
    assert found.total() == count
    refused = ", ".join(f"{name} {times}" for name, times in found.most_common() if name != "rows")
    figure(
        f"damaged partition statistics in {kind}",
        f"{count:,} files: {found['rows']:,} rows, others refused ({refused}); computed from {used:,}",
    )
