"""Paimon's BinaryRows of 12 columns, as pypaimon's serializer writes them: lower bounds of data files.

Below them is what is timed in Python.
"""

from __future__ import annotations

import random
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa
import pypaimon_table
from corpus import Corpus, Table, once
from readers import Counted, Run, reader

COLUMNS = 12
DISTINCT = 5_000
"""Rows that are made one by one; the others repeat them."""
SCHEMA = pa.schema(pypaimon_table.fields(COLUMNS))


def _read(path: Path) -> pa.Array:
    """The rows, each after its arity."""
    with pa.ipc.open_file(str(path)) as found:
        return found.read_all()["row"].combine_chunks()


def _rows(cache: Path, rows: int, given: Path | None) -> Corpus:
    """The cached rows, or new ones: about 40 µs a row of the distinct ones."""
    name = f"rows_{rows}x{COLUMNS}.arrow"
    path = once((given or cache / "rows") / name, lambda file: _write(file, rows))
    found = _read(path)
    sizes = {"entries": len(found), "columns": COLUMNS, "size": _size(found)}
    return Corpus.of_bytes("rows", f"pypaimon {version('pypaimon')}", path, "binary-rows", **sizes)


def _size(rows: pa.Array) -> int:
    """Bytes without the offsets."""
    return int(rows.nbytes) - 4 * len(rows)


def _write(path: Path, rows: int) -> None:
    from pypaimon.table.row.generic_row import GenericRow, GenericRowSerializer

    fields, random_ = _fields(), random.Random(pypaimon_table.SEED)
    made = [
        GenericRowSerializer.to_bytes(GenericRow(pypaimon_table.bounds(SCHEMA.types, random_), fields))
        for _ in range(min(rows, DISTINCT))
    ]
    repeated = [made[number % len(made)] for number in range(rows)]
    with pa.ipc.new_file(path, pa.schema([("row", pa.binary())])) as writer:
        writer.write_table(pa.table({"row": pa.array(repeated, pa.binary())}))


TABLES = [Table("binary-rows", ("decode", "encode"), 200_000, _rows, quick=("decode", "encode"))]


def _fields() -> Any:
    from pypaimon.schema.data_types import PyarrowFieldParser

    return PyarrowFieldParser.to_paimon_schema(SCHEMA)


def _lakebed(corpus: Corpus, task: str) -> Run:
    import lakebed

    rows = _read(Path(corpus.path))
    if task == "decode":
        return lambda: [lakebed.paimon.decode_rows(rows, SCHEMA)]
    decoded = lakebed.paimon.decode_rows(rows, SCHEMA)
    if not lakebed.paimon.encode_rows(decoded, SCHEMA).equals(rows):
        raise ValueError("rows that are encoded again differ")

    def run() -> Counted:
        encoded = lakebed.paimon.encode_rows(decoded, SCHEMA)
        return Counted(len(encoded), encoded, _size(encoded))

    return run


def _pypaimon(corpus: Corpus, task: str) -> Run:
    from pypaimon.table.row.generic_row import GenericRowDeserializer, GenericRowSerializer

    rows, fields = _read(Path(corpus.path)).to_pylist(), _fields()
    if task == "decode":
        return lambda: [[GenericRowDeserializer.from_bytes(row, fields) for row in rows]]
    decoded = [GenericRowDeserializer.from_bytes(row, fields) for row in rows]

    def run() -> Counted:
        encoded = [GenericRowSerializer.to_bytes(row) for row in decoded]
        return Counted(len(encoded), encoded, sum(map(len, encoded)))

    return run


READERS = {
    "rows": [
        reader(label, task, prepare, task=task)
        for task in TABLES[0].tasks
        for label, prepare in (("lakebed", _lakebed), ("pypaimon", _pypaimon))
    ]
}
"""All of them by format, in the order in which they are reported."""
