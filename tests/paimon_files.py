"""Manifests and lists written by tests: Avro in every form that its specification allows, ORC and Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from file_rows import with_column
from json_files import changed, edited
from pyarrow import orc, parquet
from varints import zigzag

from lakebed import avro

Schema = dict[str, Any]
Record = dict[str, Any]

SYNC = bytes(range(16))


def records(file: Path) -> list[Record]:
    """The records of a file: of Avro by fastavro, of ORC and Parquet by pyarrow, with times as in Avro."""
    with file.open("rb") as content:
        start = content.read(4)
        content.seek(0)
        if start == b"PAR1":
            return [_with_instants(row) for row in parquet.read_table(content).to_pylist()]
        if start.startswith(b"ORC"):
            return [_with_instants(row) for row in orc.read_table(content).to_pylist()]
        return [record for record in fastavro.reader(content) if isinstance(record, dict)]


def _with_instants(row: Any) -> Any:
    def instant(value: Any) -> Any:
        if not isinstance(value, datetime):
            return value
        # With nanoseconds it is one of pandas.
        return datetime.fromisoformat(value.isoformat()[:26]).replace(tzinfo=timezone.utc)

    return changed(row, scalars=instant)


def avro_file(schema: Any, rows: Sequence[Record], codec: str = "null", sync_interval: int = 16000) -> bytes:
    """An Avro file of some rows, by fastavro."""
    sink = io.BytesIO()
    fastavro.writer(sink, schema, rows, codec=codec, sync_interval=sync_interval)
    return sink.getvalue()


def rewrite(file: Path, change: Callable[[Record], Record]) -> None:
    """Changes the records of an Avro file; its schema, its codec and the keys of its header stay."""
    reader: Any = fastavro.reader(io.BytesIO(file.read_bytes()))
    rows = [change(record) for record in reader]
    own = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
    with file.open("wb") as sink:
        fastavro.writer(sink, reader.writer_schema, rows, codec=reader.codec, metadata=own)


def container(
    schema: Schema,
    blocks: Sequence[Sequence[Record]],
    codec: str = "null",
    compress: Callable[[bytes], bytes] = bytes,
    *,
    negative_counts: bool = False,
) -> bytes:
    """An Avro file put together here, where fastavro has no say: blocks, compression, counts of arrays.

    With `negative_counts`, arrays are blocks of one item each, with the count -1 and their size.
    """
    metadata = {"avro.schema": json.dumps(schema).encode(), "avro.codec": codec.encode()}
    out = b"Obj\x01" + zigzag(len(metadata))
    for key, value in metadata.items():
        out += _bytes(key.encode()) + _bytes(value)
    out += b"\0" + SYNC
    for rows in blocks:
        body = compress(b"".join(_encode(schema, row, negative_counts) for row in rows))
        out += zigzag(len(rows)) + _bytes(body) + SYNC
    return out


def _encode(schema: Any, value: Any, negative: bool) -> bytes:
    if isinstance(schema, list):
        branch = 0 if value is None else 1
        return zigzag(branch) + _encode(schema[branch], value, negative)
    match schema if isinstance(schema, str) else schema["type"]:
        case "null":
            return b""
        case "int" | "long":
            return zigzag(_number(value))
        case "bytes":
            return _bytes(value)
        case "string":
            return _bytes(value.encode())
        case "record":
            parts = (_encode(field["type"], value[field["name"]], negative) for field in schema["fields"])
            return b"".join(parts)
        case "array":
            items = [_encode(schema["items"], item, negative) for item in value]
            if negative:
                return b"".join(zigzag(-1) + _bytes(item) for item in items) + b"\0"
            return (zigzag(len(items)) + b"".join(items) if items else b"") + b"\0"
    raise ValueError(schema)


def _number(value: int | datetime) -> int:
    """A number as stored: of the sample's only logical type, milliseconds."""
    if isinstance(value, datetime):
        return (value - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)
    return value


def _bytes(value: bytes) -> bytes:
    return zigzag(len(value)) + value


def orc_file(table: pa.Table, **options: Any) -> bytes:
    """An ORC file of a table."""
    sink = io.BytesIO()
    orc.write_table(table, sink, **options)
    return sink.getvalue()


def parquet_file(table: pa.Table, **options: Any) -> bytes:
    """A Parquet file of a table."""
    sink = io.BytesIO()
    parquet.write_table(table, sink, **options)
    return sink.getvalue()


COLUMNAR: dict[str, Callable[..., bytes]] = {"ORC": orc_file, "Parquet": parquet_file}


def raw_table(file: Path) -> pa.Table:
    """The records of an Avro file as a table, under the names on disk, kinds as Java types them."""
    table = avro.read(file).to_arrow()
    if "_KIND" in table.column_names:
        kind = table.column_names.index("_KIND")
        table = table.set_column(kind, "_KIND", table["_KIND"].cast(pa.int8()))
    return table


def convert_table(root: Path, write: Callable[[pa.Table], bytes]) -> None:
    """Rewrites every manifest and manifest list of a table, and the sizes that speak of them."""
    folder = root / "manifest"
    lists = sorted(folder.glob("manifest-list-*"))
    sizes = {}
    for file in sorted(set(folder.iterdir()) - set(lists)):
        sizes[file.name] = file.write_bytes(write(raw_table(file)))
    for file in lists:
        table = raw_table(file)
        size = pa.array([sizes[name] for name in table["_FILE_NAME"].to_pylist()], pa.int64())
        table = with_column(table, "_FILE_SIZE", size)
        sizes[file.name] = file.write_bytes(write(table))
    for file in (root / "snapshot").glob("snapshot-*"):
        with edited(file) as snapshot:
            for name in ("baseManifestList", "deltaManifestList", "changelogManifestList"):
                if snapshot.get(name):
                    snapshot[f"{name}Size"] = sizes[snapshot[name]]
