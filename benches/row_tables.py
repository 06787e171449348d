"""Paimon's BinaryRows of 12 columns, as pypaimon's serializer writes them: lower bounds of data files."""

from __future__ import annotations

import random
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pypaimon_table
from corpus import Corpus, Table

COLUMNS = 12
DISTINCT = 5_000
"""Rows that are made one by one; the others repeat them."""


def schema() -> pa.Schema:
    """Names and types of a row's fields."""
    return pa.schema(pypaimon_table.fields(COLUMNS))


def read(path: str) -> pa.Array:
    """The rows, each after its arity."""
    with pa.ipc.open_file(path) as reader:
        return reader.read_all()["row"].combine_chunks()


def _rows(cache: Path, rows: int, given: Path | None) -> Corpus:
    """The cached rows, or new ones: about 40 µs a row of the distinct ones."""
    path = (given or cache / "rows") / f"rows_{rows}x{COLUMNS}.arrow"
    if not path.exists():
        _write(path, rows)
    found = read(str(path))
    size = found.nbytes - 4 * len(found)  # without the offsets
    writer = f"pypaimon {version('pypaimon')}"
    return Corpus.of_bytes(
        "rows", writer, path, "binary-rows", entries=len(found), columns=COLUMNS, size=size
    )


def _write(path: Path, rows: int) -> None:
    from pypaimon.schema.data_types import PyarrowFieldParser
    from pypaimon.table.row.generic_row import GenericRow, GenericRowSerializer

    fields = PyarrowFieldParser.to_paimon_schema(schema())
    random_ = random.Random(pypaimon_table.SEED)
    made = [
        GenericRowSerializer.to_bytes(GenericRow(pypaimon_table.bounds(schema().types, random_), fields))
        for _ in range(min(rows, DISTINCT))
    ]
    repeated = [made[number % len(made)] for number in range(rows)]
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".partial")
    with pa.ipc.new_file(unfinished, pa.schema([("row", pa.binary())])) as writer:
        writer.write_table(pa.table({"row": pa.array(repeated, pa.binary())}))
    unfinished.rename(path)


TABLES = [Table("binary-rows", ("decode", "encode"), 200_000, _rows, quick=("decode", "encode"))]
