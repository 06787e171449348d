"""Damaged manifests and manifest lists in ORC and Parquet, of Paimon and of Iceberg's version 4: rows or a
typed error, in this very process.

The short form takes some hundred files of each container, the long form 10,000.
"""

from __future__ import annotations

import time
import zlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from columnar_damage import OrcFile, ParquetFile, damages
from file_rows import with_column
from paimon_files import COLUMNAR, orc_file, parquet_file, raw_table
from process_memory import forget_peak, held
from trust import Figure, long_or

import lakebed
from lakebed import errors, paimon
from shared_data import SAMPLE_TABLE, data_root

FILES = sorted((SAMPLE_TABLE / "manifest").iterdir(), key=lambda file: file.stat().st_size)
MANIFEST = raw_table(next(file for file in reversed(FILES) if "list" not in file.name))
LIST = raw_table(next(file for file in reversed(FILES) if "manifest-list" in file.name))
# What one file may take: far more than any takes, far less than its numbers can ask for.
SECONDS, BYTES = 2, 64 << 20


def orc_files(table: pa.Table) -> list[bytes]:
    options: list[dict[str, Any]] = [
        {"compression": "zlib"},
        {"compression": "uncompressed", "dictionary_key_size_threshold": 1.0},
        {"compression": "zstd"},
        {"compression": "snappy", "file_version": "0.11"},
        {"compression": "lz4"},
    ]
    return [orc_file(table, **some) for some in options]


def parquet_files(table: pa.Table) -> list[bytes]:
    options: list[dict[str, Any]] = [
        {"compression": "none", "data_page_size": 200},
        {"compression": "none", "data_page_version": "2.0", "use_dictionary": False},
        {"compression": "zstd", "row_group_size": 7},
        {"compression": "snappy", "data_page_version": "2.0"},
        {"compression": "gzip", "use_dictionary": False},
    ]
    return [parquet_file(table, **some) for some in options]


CONTAINERS: dict[str, tuple[Callable[[pa.Table], list[bytes]], Callable[[bytes], Any]]] = {
    "ORC": (orc_files, OrcFile),
    "Parquet": (parquet_files, ParquetFile),
}
READERS = {"manifest": (paimon.read_manifest, MANIFEST), "list": (paimon.read_manifest_list, LIST)}


def outcome(read: Callable[[bytes], Any], content: bytes) -> str:
    """What became of one file: `rows`, or the kind of the error."""
    forget_peak()
    before, start = held("VmHWM"), time.process_time()
    try:
        rows = read(content).to_arrow()
    except errors.LakebedError as error:
        # Rows are as right; `internal` and `io` would be a fault of the reader's.
        assert error.kind not in (None, "internal", "io")  # noqa: PT017
        assert len(str(error).encode()) <= 2048  # noqa: PT017
        found = error.kind
    else:
        rows.validate(full=True)
        found = "rows"
    assert time.process_time() - start < SECONDS
    assert held("VmHWM") - before < BYTES
    return found


@pytest.mark.parametrize("kind", CONTAINERS)
@pytest.mark.parametrize("what", READERS)
def test_files_that_are_put_together_again_are_whole(kind: str, what: str) -> None:
    """What is taken apart for damage has the same rows as before, if nothing is damaged."""
    write, parts = CONTAINERS[kind]
    read, table = READERS[what]
    first = write(table)[0]
    apart = parts(first)

    assert read(apart.build()).to_arrow() == read(first).to_arrow() == read(parquet_file(table)).to_arrow()


@pytest.mark.parametrize("what", READERS)
def test_streams_that_inflate_to_far_more_are_refused_in_bounded_memory(what: str) -> None:
    """Ten chunks that each inflate to 8 MiB: in a column of numbers, and in one of texts."""
    read, table = READERS[what]
    apart = OrcFile(orc_file(table, compression="zlib"))
    block = zlib.compressobj(wbits=-15)
    chunk = block.compress(bytes(8 << 20)) + block.flush()
    bomb = ((len(chunk) << 1).to_bytes(3, "little") + chunk) * 10
    limits = lakebed.Limits(max_block_bytes=16 << 20)
    kinds = [stream.get(1) for stream in apart.stripe_footer.all(1)]
    for number in {kinds.index(1), len(kinds) - 1 - kinds[::-1].index(1)}:
        content = apart.build(stored={number: bomb}, postscript=lambda last: last.put(3, 8 << 20))
        assert outcome(lambda content: read(content, limits=limits), content) == "limit"


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_long_text_of_many_rows_is_bounded_as_a_batch(kind: str) -> None:
    """A dictionary of one text, which each of the rows has: a small file of much."""
    rows = 8000
    table = pa.concat_tables([LIST.slice(0, 1)] * rows).combine_chunks()
    long = with_column(table, "_FILE_NAME", pa.array(["x" * 20_000] * rows))
    options = {"dictionary_key_size_threshold": 1.0} if kind == "ORC" else {}
    content = COLUMNAR[kind](long, **options)
    assert len(content) < 1 << 20
    limits = lakebed.Limits(max_block_bytes=16 << 20)
    assert outcome(lambda content: paimon.read_manifest_list(content, limits=limits), content) == "limit"


@pytest.mark.trust
def test_every_damage_of_an_iceberg_manifest_is_rows_or_a_typed_error(figure: Figure) -> None:
    """Those of Java, and the same written again without compression, which are taken apart."""
    folder = data_root("golden", "iceberg_next", "part_names_v4", "metadata")
    if folder is None:
        pytest.skip("no golden table of version 4")
    java = [file.read_bytes() for file in sorted(folder.glob("*.parquet"))]
    files = [*parquet_files(pq.read_table(pa.BufferReader(java[0]))), *java]
    rows = lakebed.iceberg.read_manifest(java[0]).to_arrow()
    assert lakebed.iceberg.read_manifest(ParquetFile(files[0]).build()).to_arrow() == rows
    count = long_or(250, 10_000)
    found = Counter(
        outcome(lakebed.iceberg.read_manifest, content) for content in damages(files, ParquetFile, count, 2)
    )
    assert sum(found.values()) == count
    assert found["rows"] < 2 * count / 3, "most damages are seen"
    assert len(found) > 6, "damage reaches every depth"
    refused = ", ".join(f"{name} {times}" for name, times in found.most_common() if name != "rows")
    figure(
        "damaged Parquet manifests of Iceberg",
        f"{count:,} manifests: {found['rows']:,} rows, others refused ({refused}), 0 crashes",
    )


@pytest.mark.trust
@pytest.mark.parametrize("kind", CONTAINERS)
def test_every_damage_is_rows_or_a_typed_error(kind: str, figure: Figure) -> None:
    write, parts = CONTAINERS[kind]
    count = long_or(250, 5_000)
    found: Counter[str] = Counter()
    for seed, (read, table) in enumerate(READERS.values()):
        for content in damages(write(table), parts, count, seed):
            found[outcome(read, content)] += 1
    assert sum(found.values()) == 2 * count
    assert found["rows"] < count, "most damages are seen"
    assert len(found) > 6, "damage reaches every depth"
    refused = ", ".join(f"{name} {times}" for name, times in found.most_common() if name != "rows")
    figure(
        f"damaged {kind} files",
        f"{2 * count:,} manifests and lists: {found['rows']:,} rows, others refused ({refused}), 0 crashes",
    )
