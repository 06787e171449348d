"""What is timed on Paimon's BinaryRows. Run as a program this is the process of one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import row_tables
from readers import Reader, Rows, Run, Written, serve

if TYPE_CHECKING:
    from corpus import Corpus


def _lakebed_decode(corpus: Corpus) -> Run:
    import lakebed

    rows, schema = row_tables.read(corpus.path), row_tables.schema()

    def run() -> tuple[Rows, Any]:
        decoded = lakebed.paimon.decode_rows(rows, schema)
        return len(decoded), decoded

    return run


def _lakebed_encode(corpus: Corpus) -> Run:
    import lakebed

    rows, schema = row_tables.read(corpus.path), row_tables.schema()
    decoded = lakebed.paimon.decode_rows(rows, schema)
    if not lakebed.paimon.encode_rows(decoded, schema).equals(rows):
        raise ValueError("rows that are encoded again differ")

    def run() -> tuple[Rows, Any]:
        encoded = lakebed.paimon.encode_rows(decoded, schema)
        return len(encoded), Written(encoded.nbytes - 4 * len(encoded))

    return run


def _fields() -> Any:
    from pypaimon.schema.data_types import PyarrowFieldParser

    return PyarrowFieldParser.to_paimon_schema(row_tables.schema())


def _pypaimon_decode(corpus: Corpus) -> Run:
    from pypaimon.table.row.generic_row import GenericRowDeserializer

    rows, fields = row_tables.read(corpus.path).to_pylist(), _fields()

    def run() -> tuple[Rows, Any]:
        decoded = [GenericRowDeserializer.from_bytes(row, fields) for row in rows]
        return len(decoded), decoded

    return run


def _pypaimon_encode(corpus: Corpus) -> Run:
    from pypaimon.table.row.generic_row import GenericRowDeserializer, GenericRowSerializer

    fields = _fields()
    rows = [
        GenericRowDeserializer.from_bytes(row, fields) for row in row_tables.read(corpus.path).to_pylist()
    ]

    def run() -> tuple[Rows, Any]:
        encoded = [GenericRowSerializer.to_bytes(row) for row in rows]
        return len(encoded), Written(sum(map(len, encoded)))

    return run


READERS = [
    Reader("lakebed", "decode", "lakebed", "1", _lakebed_decode),
    Reader("pypaimon", "decode", "pypaimon", "1", _pypaimon_decode),
    Reader("lakebed", "encode", "lakebed", "1", _lakebed_encode),
    Reader("pypaimon", "encode", "pypaimon", "1", _pypaimon_encode),
]
"""All of them, in the order in which they are reported."""

if __name__ == "__main__":
    serve(READERS)
