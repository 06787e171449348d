"""Tables of many small files, behind storages that answer late: what is timed of them is mostly waiting.

Of each format one table: 400 manifests of ten entries by PyIceberg, 100 snapshots of ten entries by pypaimon,
a manifest each. They are inputs four times over, one for each delay of a request, and once more in the bucket
of a real S3 server, behind proxies that answer late. A million entries by the formats' Java, in few
manifests, are late by one delay: there is as much to decode as to wait for.
"""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import fastavro
import iceberg_tables
import late_s3
import paimon_tables
from corpus import Corpus, Make, Table
from delayed import DelayedFileSystem, delay_methods, pyiceberg_properties
from iceberg_readers import polars_iceberg, pyiceberg
from paimon_readers import pypaimon, pypaimon_rust, warehouse
from readers import Counted, Reader, Run, duckdb_extensions, reader, rows_of

DELAYS = (0, 10, 30, 100)
"""Milliseconds a request; 30 are those of an object store in the same region."""
ENTRIES_EACH = 10
TASKS = ("open", "snapshots", "files", "plan", "partitions")
S3_TASKS = ("open", "files", "plan", "partitions")
LARGE_DELAY = 30
LARGE = [
    table
    for table in (*iceberg_tables.TABLES, *paimon_tables.TABLES)
    if table.name in ("iceberg-1m", "paimon-1m")
]


def _iceberg(cache: Path, entries: int, given: Path | None) -> Corpus:
    """The Iceberg table of small manifests."""
    return iceberg_tables.by_pyiceberg(cache, entries, given, manifests=max(1, entries // ENTRIES_EACH))


def _paimon(cache: Path, entries: int, given: Path | None) -> Corpus:
    """The Paimon table of small manifests."""
    return paimon_tables.by_pypaimon(cache, entries, given, commits=max(1, entries // ENTRIES_EACH))


@functools.cache
def _iceberg_in_bucket(server: str, metadata_file: str, manifests: tuple[str, ...]) -> str:
    """Copies the current snapshot; its metadata and list, which name paths in full, name the bucket's."""
    text = Path(metadata_file).read_text()
    metadata = json.loads(text)
    here, there = metadata["location"], f"s3://{late_s3.BUCKET}/{Path(metadata['location']).name}"
    listed = iceberg_tables.current_snapshot(metadata)["manifest-list"]
    contents = {
        metadata_file: text.replace(here, there).encode(),
        listed: _moved(Path(listed.removeprefix("file://")), here, there),
        **{manifest: Path(manifest).read_bytes() for manifest in manifests},
    }
    late_s3.put(
        server, {f"{there}/metadata/{Path(path).name}": content for path, content in contents.items()}
    )
    return f"{there}/metadata/{Path(metadata_file).name}"


def _moved(manifest_list: Path, here: str, there: str) -> bytes:
    """The list with paths that begin with `there` in place of `here`, else as its writer wrote it."""
    with manifest_list.open("rb") as file:
        found = fastavro.reader(file)
        records = [record for record in found if isinstance(record, dict)]
        schema = json.loads(found.metadata["avro.schema"])
        more = {key: value for key, value in found.metadata.items() if not key.startswith("avro.")}
        codec = str(found.metadata.get("avro.codec", "null"))
    for record in records:
        record["manifest_path"] = record["manifest_path"].replace(here, there)
    written = io.BytesIO()
    fastavro.writer(written, schema, records, codec=codec, metadata=more)
    return written.getvalue()


@functools.cache
def _paimon_in_bucket(server: str, root: str) -> str:
    """Copies the whole table, whose paths are relative."""
    there = f"s3://{late_s3.BUCKET}/{paimon_tables.DATABASE}.db/{Path(root).name}"
    folders = ("schema", "snapshot", "manifest", "index")
    paths = [path for folder in folders for path in Path(root, folder).glob("*") if path.is_file()]
    late_s3.put(server, {f"{there}/{path.relative_to(root)}": path.read_bytes() for path in paths})
    return there


def _delayed(cache: Path, entries: int, given: Path | None, make: Make, delay: int) -> Corpus:
    made = make(cache, entries, given)
    return replace(made, format=f"{made.format}-delayed", delay=delay)


def _on_s3(cache: Path, entries: int, given: Path | None, make: Make, delay: int) -> Corpus:
    """Raises: MissingInputError: there is no server."""
    server, made = late_s3.server(cache), make(cache, entries, given)
    if made.format == "iceberg":
        copied = _iceberg_in_bucket(server, made.path, made.manifests)
    else:
        copied = _paimon_in_bucket(server, made.path)
    endpoint = late_s3.proxy(server, delay)
    return replace(made, format=f"{made.format}-s3", path=copied, delay=delay, endpoint=endpoint)


def _small(prefix: str, tasks: tuple[str, ...], late: Make) -> list[Table]:
    """The small tables at every delay; `late` puts what `make` made behind it."""
    return [
        Table(
            f"{prefix}-{name}-{delay}ms", tasks, entries, late, {"make": make, "delay": delay}, most_rounds=5
        )
        for name, entries, make in (("iceberg", 4_000, _iceberg), ("paimon", 1_000, _paimon))
        for delay in DELAYS
    ]


TABLES = [
    *_small("latency", TASKS, _delayed),
    *(
        Table(
            f"latency-{large.name}-{LARGE_DELAY}ms",
            TASKS[2:],
            large.entries,
            _delayed,
            {"make": functools.partial(large.make, **large.options), "delay": LARGE_DELAY},
            most_rounds=3,
        )
        for large in LARGE
    ),
    *_small("latency-s3", S3_TASKS, _on_s3),
]


def _checked(corpus: Corpus, prepare: Callable[..., Run], view: str, **options: Any) -> Run:
    """A run that tells live files as they are, and all entries where the snapshots are right."""
    run = prepare(corpus, view=view, **options)

    def checked() -> Counted:
        result = run()
        rows = rows_of(result) if view in ("files", "plan", "snapshots") else None
        if view == "snapshots":
            rows = corpus.entries if rows == len(corpus.manifests) else 0
        return Counted(rows, result)

    return checked


def _lakebed(corpus: Corpus, view: str, threads: int | None, storage_of: Callable[[Corpus], Any]) -> Run:
    import lakebed

    storage = storage_of(corpus)
    # What is small has no threads to choose.
    options = {} if view == "snapshots" else {"threads": threads}

    def run() -> Any:
        table = lakebed.open_table(corpus.path, storage=storage)
        return Counted(None, table) if view == "open" else [getattr(table, view)(**options).to_arrow()]

    return run


def _lakebed_readers(
    tasks: tuple[str, ...], storage_of: Callable[[Corpus], Any], label: str = "lakebed"
) -> list[Reader]:
    """lakebed on that storage, with threads as it comes and with 32, where there are threads to choose."""
    both = ((label, "default", None), (f"{label}, 32 threads", "32", 32))
    return [
        reader(name, task, _checked, shown, prepare=_lakebed, view=task, threads=count, storage_of=storage_of)
        for task in tasks
        for name, shown, count in (both[:1] if task in ("open", "snapshots") else both)
    ]


def _peers(tasks: tuple[str, ...], peers: Mapping[str, Callable[..., Run]], **options: Any) -> list[Reader]:
    return [
        reader(label, task, _checked, "as it comes", prepare=prepare, view=task, **options)
        for task in tasks
        for label, prepare in peers.items()
    ]


def _late_file_io(corpus: Corpus) -> dict[str, str]:
    return pyiceberg_properties(corpus.delay)


def _late_warehouse(corpus: Corpus) -> dict[str, str]:
    from pypaimon.filesystem.local_file_io import LocalFileIO

    requests = ("new_input_stream", "get_file_status", "list_status", "exists")
    delay_methods(LocalFileIO, requests, corpus.delay)
    return warehouse(corpus)


def _s3_obstore(corpus: Corpus) -> Any:
    from obstore.fsspec import FsspecStore

    config = {
        "endpoint": f"http://{corpus.endpoint}",
        "access_key_id": late_s3.KEY,
        "secret_access_key": late_s3.SECRET,
        "region": late_s3.REGION,
    }
    return FsspecStore("s3", config=config, client_options={"allow_http": True})


def _s3_file_io(corpus: Corpus) -> dict[str, str]:
    return {
        "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO",
        "s3.endpoint": f"http://{corpus.endpoint}",
        "s3.access-key-id": late_s3.KEY,
        "s3.secret-access-key": late_s3.SECRET,
        "s3.region": late_s3.REGION,
    }


def _s3_warehouse(corpus: Corpus) -> dict[str, str]:
    return {
        "warehouse": f"s3://{late_s3.BUCKET}",
        "s3.endpoint": f"http://{corpus.endpoint}",
        "s3.access-key": late_s3.KEY,
        "s3.secret-key": late_s3.SECRET,
        "s3.region": late_s3.REGION,
        "s3.path-style-access": "true",
    }


def _duckdb(corpus: Corpus) -> Run:
    """The entries of the current snapshot, of which all are live; nothing is kept between runs."""
    connection = duckdb_extensions("avro", "httpfs", "iceberg")
    connection.execute("SET enable_external_file_cache = false")
    connection.execute(
        f"CREATE SECRET (TYPE s3, KEY_ID '{late_s3.KEY}', SECRET '{late_s3.SECRET}', "
        f"REGION '{late_s3.REGION}', ENDPOINT '{corpus.endpoint}', URL_STYLE 'path', USE_SSL false)"
    )
    query = "SELECT * FROM iceberg_metadata(?)"
    return lambda: [connection.sql(query, params=[corpus.path]).to_arrow_table()]


def _pyiceberg_core(_corpus: Corpus) -> Run:
    raise NotImplementedError(
        "it plans over no storage: `read_manifest_entries` takes bytes, and its table provider for "
        "DataFusion plans within a query that reads the data files"
    )


_LOCAL = _lakebed_readers(TASKS, lambda corpus: DelayedFileSystem(corpus.delay))
_S3 = _lakebed_readers(S3_TASKS, lambda corpus: late_s3.filesystem(corpus.endpoint))
if find_spec("obstore") is not None:
    _S3 += _lakebed_readers(S3_TASKS, _s3_obstore, "lakebed, obstore")
_PAIMON = {"pypaimon": pypaimon, "pypaimon-rust": pypaimon_rust}
READERS = {
    "iceberg-delayed": [
        *_LOCAL,
        *_peers(TASKS, {"pyiceberg": pyiceberg}, properties_of=_late_file_io, fresh=True),
    ],
    "paimon-delayed": [*_LOCAL, *_peers(TASKS, {"pypaimon": pypaimon}, options_of=_late_warehouse)],
    "iceberg-s3": [
        *_S3,
        *_peers(S3_TASKS, {"pyiceberg": pyiceberg}, properties_of=_s3_file_io, fresh=True),
        reader("duckdb", "files", _duckdb, "as it comes"),
        reader("polars-iceberg", "plan", polars_iceberg, "as it comes", properties_of=_s3_file_io),
        reader("pyiceberg-core", "plan", _pyiceberg_core, ""),
    ],
    "paimon-s3": [*_S3, *_peers(S3_TASKS, _PAIMON, options_of=_s3_warehouse)],
}
"""All of them by format, in the order in which they are reported."""
