"""Golden manifests of both formats, cut at every place and with every bit flipped: refused, or valid rows.

The short form takes samples; the long form takes all of files up to 16 KiB.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest
from iceberg_made import MadeTable, entry
from local_storage import LocalStorage
from trust import THOROUGH, Figure, long_or
from varints import zigzag

import lakebed
from lakebed import LakebedError, avro, paimon
from shared_data import data_root

CODECS = ("null", "deflate", "snappy", "zstandard", "bzip2", "xz")
# Their blocks carry a checksum, so that no flip in them goes unseen.
CHECKED = ("snappy", "bzip2", "xz")
SMALL = 16 << 10
SEED = 20260101


@dataclass(frozen=True)
class File:
    """An Avro file, and where its blocks are: (offset of the payload, rows, bytes)."""

    name: str
    codec: str
    content: bytes
    blocks: tuple[tuple[int, int, int], ...]

    def ends(self) -> dict[int, int]:
        """Where a cut leaves a file that is whole → the rows before it."""
        header = self.blocks[0][0] - len(self._counts(0))
        found, rows = {header: 0}, 0
        for offset, count, size in self.blocks:
            rows += count
            found[offset + size + 16] = rows
        return found

    def framing(self) -> Iterator[int]:
        """Bytes that say what is where: magic, markers, counts and lengths."""
        header = self.blocks[0][0] - len(self._counts(0))
        yield from range(4)
        yield from range(header - 16, header)
        for number, (offset, _, size) in enumerate(self.blocks):
            yield from range(offset - len(self._counts(number)), offset)
            yield from range(offset + size, offset + size + 16)

    def payload(self) -> Iterator[int]:
        for offset, _, size in self.blocks:
            yield from range(offset, offset + size)

    def _counts(self, number: int) -> bytes:
        _, count, size = self.blocks[number]
        return zigzag(count) + zigzag(size)


def _file(name: str, content: bytes) -> File:
    blocks = avro.read_blocks(content).to_pylist()
    places = tuple((block["offset"], block["row_count"], block["size_in_bytes"]) for block in blocks)
    codec = avro.read_metadata(content).get("avro.codec", b"null").decode()
    return File(name, codec, content, places)


def _spread(paths: Sequence[Path], count: int) -> list[Path]:
    return [paths[number * len(paths) // count] for number in range(min(count, len(paths)))]


@cache
def golden_files() -> tuple[File, ...]:
    """Manifests and lists of both formats as the engines wrote them, and some of them in every codec."""
    found = []
    for form, pattern in (("paimon", "*/manifest/*"), ("iceberg", "*/metadata/**/*.avro")):
        root = data_root("golden", form)
        assert root is not None
        small = (path for path in sorted(root.glob(pattern)) if path.stat().st_size <= SMALL)
        paths = [path for path in small if path.read_bytes()[:4] == b"Obj\x01" and _rows(path)]
        found += [_file(f"{form}/{path.relative_to(root)}", path.read_bytes()) for path in _spread(paths, 16)]
        for codec in CODECS:
            largest = max(paths, key=_rows)
            rows, schema = avro.read(largest), avro.read_schema(largest)
            content = avro.write(rows, None, schema, codec, block_bytes=400, sync=bytes(range(16)))
            assert content is not None
            found.append(_file(f"{form}/{largest.name} in {codec}", content))
    return tuple(found)


def _rows(path: Path) -> int:
    return int(sum(avro.read_blocks(path)["row_count"].to_pylist()))


def read(content: bytes) -> pa.Table | None:
    """All rows, valid by Arrow's own rules; None for a typed error."""
    try:
        rows = avro.read(content).to_arrow()
    except LakebedError as error:
        return None if len(str(error).encode()) <= 2048 else pytest.fail(f"a long message: {error}")
    rows.validate(full=True)
    return rows


def places(file: File, usual: int) -> Sequence[int]:
    every = range(len(file.content))
    return every if THOROUGH else sorted(random.Random(SEED).sample(every, min(usual, len(every))))


@pytest.mark.trust
def test_the_files_are_many_in_all_codecs_and_both_formats(figure: Figure):
    files = golden_files()
    assert len(files) >= 30
    assert {file.codec for file in files} >= set(CODECS)
    figure(
        "damaged files", f"{len(files)} of both formats, {sum(len(file.content) for file in files):,} bytes"
    )


@pytest.mark.trust
def test_every_prefix_is_refused_or_ends_at_a_block(figure: Figure):
    cuts = at_ends = 0
    for file in golden_files():
        ends = file.ends()
        some = {cut for cut in ends if cut < len(file.content)}
        for cut in sorted({*places(file, 20), *some}):
            rows = read(file.content[:cut])
            cuts, at_ends = cuts + 1, at_ends + (rows is not None)
            expected = ends.get(cut)
            assert (None if rows is None else rows.num_rows) == expected, f"{file.name} cut at {cut}"
    figure(
        "prefixes", f"{cuts:,} cuts: {cuts - at_ends:,} refused, {at_ends} at block ends, 0 lost elsewhere"
    )


@pytest.mark.trust
def test_every_flipped_bit_is_refused_or_gives_valid_rows(figure: Figure):
    flips = refused = 0
    for file in golden_files():
        for place in places(file, 15):
            for bit in long_or((random.Random(place).randrange(8),), range(8)):
                flips, refused = flips + 1, refused + (read(flipped(file.content, place, bit)) is None)
    figure("flipped bits", f"{flips:,} flips: {refused:,} refused, the others valid rows, 0 crashes")


def golden_columnar() -> Iterator[tuple[Path, bytes]]:
    """Manifests and lists in ORC and Parquet as Paimon's Java wrote them, some of each."""
    root = data_root("golden", "paimon")
    assert root is not None
    paths = sorted(root.glob("*/manifest/*"))
    for magic in (b"ORC", b"PAR1"):
        found = [path for path in paths if path.read_bytes().startswith(magic)]
        assert found
        yield from ((path, path.read_bytes()) for path in _spread(found, 8))


def read_columnar(path: Path, content: bytes) -> pa.Table | None:
    """All rows of a manifest or list by its name, valid by Arrow's own rules; None for a typed error."""
    read = paimon.read_manifest_list if "-list-" in path.name else paimon.read_manifest
    try:
        rows = read(content).to_arrow()
    except LakebedError as error:
        return (
            None if error.kind not in (None, "internal") else pytest.fail(f"no error of the file's: {error}")
        )
    rows.validate(full=True)
    return rows


@pytest.mark.trust
def test_orc_and_parquet_are_refused_or_give_valid_rows(figure: Figure):
    """They end in their footer: what is cut has none. Bits of what is not read, as statistics, go unseen."""
    cuts = flips = refused = 0
    for path, content in golden_columnar():
        assert read_columnar(path, content) is not None
        every = range(4, len(content))
        for cut in every if THOROUGH else random.Random(SEED).sample(every, 20):
            assert read_columnar(path, content[:cut]) is None, f"{path.name} cut at {cut}"
            cuts += 1
        for place in every if THOROUGH else random.Random(SEED).sample(every, 30):
            changed = flipped(content, place, random.Random(place).randrange(8))
            flips, refused = flips + 1, refused + (read_columnar(path, changed) is None)
    figure("ORC and Parquet", f"{cuts:,} cuts: all refused; {flips:,} flips: {refused:,} refused, 0 crashes")


def some_of(places: Iterator[int], usual: int) -> Sequence[int]:
    every = list(places)
    return every if THOROUGH else random.Random(SEED).sample(every, min(usual, len(every)))


@pytest.mark.trust
def test_flips_of_framing_are_always_refused(figure: Figure):
    flips = 0
    for file in golden_files():
        for place in some_of(file.framing(), 10):
            for bit in range(8):
                assert read(flipped(file.content, place, bit)) is None, f"{file.name} byte {place} bit {bit}"
                flips += 1
    figure("flips of framing, length, marker", f"{flips:,} of {flips:,} refused")


@pytest.mark.trust
def test_flips_under_a_checksum_change_no_row(figure: Figure):
    """A flip may also leave what inflates as it was: a copy from elsewhere of the same bytes."""
    flips = harmless = 0
    for file in golden_files():
        if file.codec in CHECKED:
            rows = read(file.content)
            for place in some_of(file.payload(), 15):
                for bit in range(8):
                    changed = read(flipped(file.content, place, bit))
                    assert changed is None or changed == rows, f"{file.name} byte {place} bit {bit}"
                    flips, harmless = flips + 1, harmless + (changed is not None)
    figure(
        "flips under a checksum",
        f"{flips:,}: {flips - harmless:,} refused, {harmless} change no byte of a row",
    )


def flipped(content: bytes, place: int, bit: int) -> bytes:
    changed = bytearray(content)
    changed[place] ^= 1 << bit
    return bytes(changed)


class Replaced(LocalStorage):
    """Local files, one of which has another content."""

    def __init__(self) -> None:
        self.path, self.content = "", b""

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        return self.content[start:end] if path == self.path else super().read(path, start, end)


@pytest.mark.trust
@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
def test_nothing_is_lost_where_the_list_is_at_hand(sample_table: Path, tmp_path: Path, figure: Figure):
    """Manifests cut at each end of a block and elsewhere, read through their tables."""
    made = MadeTable(tmp_path / "iceberg", (1, "id", "long"))
    many = [entry(path=f"{number}.parquet") for number in range(50)]
    made.commit(made.manifest(*many, sync_interval=100))
    cuts = 0
    for root in (made.root, sample_table):
        storage = Replaced()
        table = lakebed.open_table(str(root), storage=storage)
        assert len(table.entries().to_arrow()) > 0
        for path in table.manifests().to_arrow()["path"].to_pylist():
            whole = Path(path).read_bytes()
            file = _file(path, whole)
            for cut in sorted({*file.ends(), *places(file, 12)} - {len(whole)}):
                storage.path, storage.content = path, whole[:cut]
                with pytest.raises(LakebedError):
                    table.entries().to_arrow()
                cuts += 1
            storage.path = ""
    figure("cuts with the list entry at hand", f"{cuts:,} cuts, 0 silent losses")
