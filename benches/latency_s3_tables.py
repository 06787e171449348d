"""The tables of many small files in the bucket of a real S3 server, behind proxies that answer late."""

from __future__ import annotations

import functools
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import fastavro
import late_s3
from iceberg_tables import current_snapshot
from latency_tables import small
from paimon_tables import DATABASE

if TYPE_CHECKING:
    from corpus import Corpus, Make

TASKS = ("open", "files", "plan", "partitions")


@functools.cache
def _iceberg(server: str, metadata_file: str, manifests: tuple[str, ...]) -> str:
    """Copies the current snapshot; its metadata and list, which name paths in full, name the bucket's."""
    text = Path(metadata_file).read_text()
    metadata = json.loads(text)
    here, there = metadata["location"], f"s3://{late_s3.BUCKET}/{Path(metadata['location']).name}"
    listed = current_snapshot(metadata)["manifest-list"]
    contents = {
        metadata_file: text.replace(here, there).encode(),
        listed: _moved(Path(listed.removeprefix("file://")), here, there),
        **{manifest: Path(manifest).read_bytes() for manifest in manifests},
    }
    keys = {f"{there}/metadata/{Path(path).name}": content for path, content in contents.items()}
    late_s3.put(server, keys)
    return f"{there}/metadata/{Path(metadata_file).name}"


def _moved(manifest_list: Path, here: str, there: str) -> bytes:
    """The list with paths that begin with `there` in place of `here`, else as its writer wrote it."""
    with manifest_list.open("rb") as file:
        reader = fastavro.reader(file)
        records = [record for record in reader if isinstance(record, dict)]
        schema = json.loads(reader.metadata["avro.schema"])
        more = {key: value for key, value in reader.metadata.items() if not key.startswith("avro.")}
        codec = str(reader.metadata.get("avro.codec", "null"))
    for record in records:
        record["manifest_path"] = record["manifest_path"].replace(here, there)
    written = io.BytesIO()
    fastavro.writer(written, schema, records, codec=codec, metadata=more)
    return written.getvalue()


@functools.cache
def _paimon(server: str, root: str) -> str:
    """Copies the whole table, whose paths are relative."""
    there = f"s3://{late_s3.BUCKET}/{DATABASE}.db/{Path(root).name}"
    folders = ("schema", "snapshot", "manifest", "index")
    paths = [path for folder in folders for path in Path(root, folder).glob("*") if path.is_file()]
    late_s3.put(server, {f"{there}/{path.relative_to(root)}": path.read_bytes() for path in paths})
    return there


def _late(cache: Path, entries: int, given: Path | None, make: Make, milliseconds: int) -> Corpus:
    """Raises: MissingInputError: there is no server."""
    server = late_s3.server(cache)
    made = make(cache, entries, given)
    copied = (
        _iceberg(server, made.path, made.manifests)
        if made.format == "iceberg"
        else _paimon(server, made.path)
    )
    endpoint = late_s3.proxy(server, milliseconds)
    return replace(made, format=f"{made.format}-s3", path=copied, delay=milliseconds, endpoint=endpoint)


TABLES = small("latency-s3", TASKS, _late)
