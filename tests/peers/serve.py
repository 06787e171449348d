"""Reads files with one reader, one file after the other; run as a program by `table.py`.

Usage: python serve.py READER. On standard input comes each file after its length (4 bytes, big-endian); for
each goes a line of JSON to standard output: `rows`, or the `error` it was refused with, and the `peak` memory
of the process so far [bytes]. The first line names the reader's version.
"""

from __future__ import annotations

import io
import json
import os
import resource
import struct
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any

# What no file here needs; without it a bomb would take the machine along.
_ADDRESS_SPACE = 8 << 30


def lakebed(content: bytes) -> int:
    from lakebed import avro

    return int(avro.read(content, threads=1).to_arrow().num_rows)


def fastavro(content: bytes) -> int:
    import fastavro

    return len(list(fastavro.reader(io.BytesIO(content))))


def avro_python(content: bytes) -> int:
    from avro.datafile import DataFileReader
    from avro.io import DatumReader

    with DataFileReader(io.BytesIO(content), DatumReader()) as rows:
        return len(list(rows))


def pyiceberg(content: bytes) -> int:
    from pyiceberg.avro.file import AvroFile
    from pyiceberg.io.pyarrow import PyArrowFileIO

    with _file(content) as path:
        file: AvroFile[Any] = AvroFile(PyArrowFileIO().new_input(str(path)))
        with file as rows:
            return len(list(rows))


def polars(content: bytes) -> int:
    import polars

    return polars.read_avro(io.BytesIO(content)).height


def duckdb(content: bytes) -> int:
    with _file(content) as path:
        return len(_duckdb().execute("SELECT * FROM read_avro(?)", [str(path)]).fetchall())


@cache
def _duckdb() -> Any:
    """A connection with the extension, which takes longer to load than a file to be read."""
    import duckdb

    packages = Path(str(distribution("duckdb-extension-avro").locate_file("")))
    [extension] = packages.glob("duckdb_extension_avro/extensions/*/avro.duckdb_extension")
    connection = duckdb.connect()
    connection.load_extension(str(extension))
    return connection


READERS: dict[str, tuple[str, Callable[[bytes], int]]] = {
    "lakebed": ("lakebed", lakebed),
    "fastavro": ("fastavro", fastavro),
    "avro (Python)": ("avro", avro_python),
    "PyIceberg": ("pyiceberg", pyiceberg),
    "Polars": ("polars", polars),
    "DuckDB": ("duckdb", duckdb),
}
"""Name → the package whose version counts, and what makes rows of a file and counts them."""


def lakebed_columnar(content: bytes) -> int:
    from lakebed import paimon

    return int(paimon.read_manifest(content, threads=1).to_arrow().num_rows)


def pyarrow(content: bytes) -> int:
    from pyarrow import BufferReader, orc, parquet

    source = BufferReader(content)
    if content.startswith(b"ORC"):
        return int(orc.ORCFile(source).read().num_rows)
    return int(parquet.ParquetFile(source, page_checksum_verification=True).read(use_threads=False).num_rows)


def polars_parquet(content: bytes) -> int:
    import polars

    return polars.read_parquet(io.BytesIO(content)).height


def duckdb_parquet(content: bytes) -> int:
    import duckdb

    with _file(content) as path:
        return len(duckdb.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall())


COLUMNAR: dict[str, tuple[str, Callable[[bytes], int]]] = {
    "lakebed, columnar": ("lakebed", lakebed_columnar),
    "pyarrow": ("pyarrow", pyarrow),
    "Polars, Parquet": ("polars", polars_parquet),
    "DuckDB, Parquet": ("duckdb", duckdb_parquet),
}
"""Those of ORC and Parquet, or of Parquet alone."""


@contextmanager
def _file(content: bytes) -> Iterator[Path]:
    """A file on disk for as long as it is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.avro")
        path.write_bytes(content)
        yield path


def _requests() -> Iterator[bytes]:
    while header := sys.stdin.buffer.read(4):
        yield sys.stdin.buffer.read(struct.unpack(">I", header)[0])


def main() -> None:
    package, read = (READERS | COLUMNAR)[sys.argv[1]]
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    # What libraries print would be taken for an answer.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    print(json.dumps({"version": version(package)}), file=answers, flush=True)
    for content in _requests():
        answer: dict[str, object]
        try:
            answer = {"rows": read(content)}
        except BaseException as error:  # noqa: BLE001 - a panic of Rust is no Exception; all are results
            answer = {"error": type(error).__name__}
        answer["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
