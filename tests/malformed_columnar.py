"""Malformed manifests and manifest lists in ORC and Parquet, for malformed_files.py."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from columnar_damage import Message, OrcFile, ParquetFile
from malformed_forms import Named

GOLDEN = Path(__file__).resolve().parent / "data" / "golden" / "paimon"


def _golden(folder: str, what: str) -> bytes:
    """The first file of a kind that has rows."""
    files = sorted((GOLDEN / folder / "manifest").iterdir())
    kept = [file for file in files if ("-list-" in file.name) == (what == "list")]
    return max((file.read_bytes() for file in kept), key=len)


def columnar(what: str) -> Named:
    """Of `manifest` or `list`."""
    yield from _orc(OrcFile(_golden("manifest_fmt_orc", what)))
    yield from _parquet(ParquetFile(_golden("manifest_fmt_parquet", what)))


def _put(message: Message, path: list[int], number: int, value: Any) -> None:
    """Sets a field of the first message at a path."""
    for step in path:
        message = message.get(step)
    message.put(number, value)


def _orc(file: OrcFile) -> Named:
    def rows(count: int, footer: Message) -> None:
        footer.put(6, count)
        _put(footer, [3], 5, count)

    def ring(footer: Message) -> None:
        footer.get(4).put(2, b"\0" * len(footer.get(4).get(2)))

    def deep(footer: Message) -> None:
        kept = [one for one in footer.fields if one[0] != 4]
        levels = [Message([[1, 0, 12], [2, 0, number + 1], [3, 2, b"x"]]) for number in range(5000)]
        footer.fields = [*kept, *([4, 2, level] for level in levels), [4, 2, Message([[1, 0, 3]])]]

    def dictionaries(stripe_footer: Message) -> None:
        for encoding in stripe_footer.all(2):
            encoding.fields = [[1, 0, 3], [2, 0, (1 << 63) - 1]]

    def lengths(content: bytes) -> bytes:
        """All lengths as one run."""
        of_length = [stream.get(1) == 2 for stream in file.stripe_footer.all(1)]
        streams = [content if is_it else old for is_it, old in zip(of_length, file.streams, strict=True)]
        return file.build(streams=streams)

    yield "y_good.orc", file.build()
    yield "n_rows_beyond_64_bits.orc", file.build(footer=partial(rows, 1 << 62))
    yield "n_rows_more_than_there_are.orc", file.build(footer=partial(rows, 900_000))
    yield "n_rows_of_footer_differ.orc", file.build(footer=lambda footer: footer.put(6, 7))
    yield "n_stripe_beyond_the_file.orc", file.build(footer=lambda footer: _put(footer, [3], 1, 1 << 63))
    yield (
        "n_stripe_data_of_64_bits.orc",
        file.build(footer=lambda footer: _put(footer, [3], 3, (1 << 64) - 1)),
    )
    yield "n_stripe_without_footer.orc", file.build(footer=lambda footer: _put(footer, [3], 4, 0))
    yield "n_types_are_a_ring.orc", file.build(footer=ring)
    yield "n_types_are_deep.orc", file.build(footer=deep)
    yield "n_name_is_no_utf8.orc", file.build(footer=lambda footer: _put(footer, [4], 3, b"\xff\xfe"))
    yield "n_block_size_0.orc", file.build(postscript=lambda last: last.put(3, 0))
    yield "n_block_size_2_63.orc", file.build(postscript=lambda last: last.put(3, 1 << 63))
    yield "n_codec_unknown.orc", file.build(postscript=lambda last: last.put(2, 99))
    yield "n_footer_longer_than_the_file.orc", file.build(postscript=lambda last: last.put(1, 1 << 40))
    yield "n_dictionaries_of_63_bits.orc", file.build(stripe_footer=dictionaries)
    yield "n_stream_beyond_its_stripe.orc", file.build(stripe_footer=lambda end: _put(end, [1], 3, 1 << 40))
    # A run of ten lengths of 2^30, and of 2^64 - 1.
    yield "n_lengths_of_30_bits.orc", lengths(bytes([0x1F, 0x40, 0, 0, 0]))
    yield "n_lengths_of_64_bits.orc", lengths(b"\x3f" + b"\xff" * 8)
    yield "n_empty.orc", b"ORC"
    yield "n_magic_alone.orc", b"ORCORC\x03"


def _parquet(file: ParquetFile) -> Named:
    def rows(count: int, footer: Message) -> None:
        footer.put(3, count << 1)
        footer.get(4)[1].put(3, count << 1)

    def root(number: int, value: Any, footer: Message) -> None:
        footer.get(2)[1].put(number, value)

    def column(number: int, value: Any, footer: Message) -> None:
        footer.get(4)[1].get(1)[1].get(3).put(number, value)

    def deep(footer: Message) -> None:
        level = Message([[3, 5, 0], [4, 8, b"x"], [5, 5, 2]])
        footer.put(2, [12, *[level] * 5000, Message([[1, 5, 2], [3, 5, 0], [4, 8, b"x"]])])

    def values(count: int, header: Message) -> None:
        for number in (5, 7, 8):
            if header.get(number):
                header.get(number).put(1, count << 1)

    most = (1 << 31) - 1
    yield "y_good.parquet", file.build()
    yield "n_rows_beyond_64_bits.parquet", file.build(footer=partial(rows, 1 << 62))
    yield "n_rows_negative.parquet", file.build(footer=lambda footer: footer.put(3, 1))
    yield "n_rows_more_than_there_are.parquet", file.build(footer=partial(rows, 900_000))
    yield "n_rows_fewer_than_there_are.parquet", file.build(footer=partial(rows, 1))
    yield "n_schema_is_deep.parquet", file.build(footer=deep)
    yield "n_children_more_than_there_are.parquet", file.build(footer=partial(root, 5, most << 1))
    yield "n_children_negative.parquet", file.build(footer=partial(root, 5, 1))
    yield "n_name_is_no_utf8.parquet", file.build(footer=lambda footer: footer.get(2)[2].put(4, b"\xff\xfe"))
    yield "n_column_beyond_the_file.parquet", file.build(footer=partial(column, 7, 1 << 40))
    yield "n_column_before_the_file.parquet", file.build(footer=partial(column, 9, (1 << 64) - 1))
    yield "n_column_of_more_values.parquet", file.build(footer=partial(column, 5, 1 << 41))
    yield "n_codec_unknown.parquet", file.build(footer=partial(column, 4, 99 << 1))
    yield (
        "n_columns_fewer_than_the_schema.parquet",
        file.build(footer=lambda footer: footer.get(4)[1].get(1).pop()),
    )
    yield "n_page_of_2_gib.parquet", file.build(header=lambda header: header.put(2, most << 1))
    yield "n_page_beyond_its_column.parquet", file.build(header=lambda header: header.put(3, most << 1))
    yield "n_page_of_a_negative_size.parquet", file.build(header=lambda header: header.put(3, 1))
    yield "n_page_of_more_values.parquet", file.build((0, 1), header=partial(values, most))
    yield "n_page_of_a_kind_unknown.parquet", file.build(header=lambda header: header.put(1, 99 << 1))
    whole = file.build()
    yield "n_footer_longer_than_the_file.parquet", whole[:-8] + b"\xff\xff\xff\x7f" + whole[-4:]
    yield "n_magic_alone.parquet", b"PAR1PAR1"
