"""What is timed of writing in Python: entries in memory to manifests in memory, a file as large as it was.

Run as a program this is the process of one writer.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from readers import Reader, Rows, Run, Written, serve

if TYPE_CHECKING:
    from corpus import Corpus

TASK = "encode"


def _written(corpus: Corpus, write: Callable[[], list[int]]) -> Run:
    """A run that tells the sizes of its files; entries are counted in what it was given."""

    def run() -> tuple[Rows, Any]:
        return corpus.entries, Written(sum(write()))

    return run


def _lakebed(corpus: Corpus, threads: int | None) -> Run:
    import lakebed

    if corpus.format == "paimon":
        read, write = lakebed.paimon.read_manifest, lakebed.paimon.write_manifest
    else:
        read, write = lakebed.iceberg.read_manifest, partial(lakebed.iceberg.write_manifest, **_spec(corpus))
    write = partial(write, codec=corpus.codec, threads=threads)
    manifests = [read(path).to_arrow() for path in corpus.manifests]
    return _written(corpus, lambda: [len(write(entries)) for entries in manifests])


def _spec(corpus: Corpus) -> dict[str, Any]:
    """What a manifest's header says besides the entries; the tables have one schema and one spec."""
    metadata = json.loads(Path(corpus.path).read_text())
    (schema,), (spec,) = metadata["schemas"], metadata["partition-specs"]
    return {"schema": schema, "spec": spec, "format_version": metadata["format-version"]}


def _pypaimon(corpus: Corpus) -> Run:
    from pypaimon.manifest.manifest_file_manager import ManifestFileManager
    from pypaimon.table.file_store_table import FileStoreTable

    source = ManifestFileManager(FileStoreTable.from_path(corpus.path))
    entries = [source.read(Path(path).name, drop_stats=False) for path in corpus.manifests]
    # The same table's schema, in a folder that may be written to.
    folder = tempfile.TemporaryDirectory()
    shutil.copytree(Path(corpus.path) / "schema", Path(folder.name) / "schema")
    manager = ManifestFileManager(FileStoreTable.from_path(folder.name))

    def write() -> list[int]:
        names = [f"manifest-{number}" for number in range(len(entries))]
        for name, some in zip(names, entries, strict=True):
            manager.write(name, some)
        return [(Path(folder.name) / "manifest" / name).stat().st_size for name in names]

    return _written(corpus, write)


class _Memory:
    """An output file of PyIceberg's that is kept in memory."""

    location = "memory"

    def __init__(self) -> None:
        self.size = 0

    def create(self, overwrite: bool = False) -> BytesIO:  # noqa: ARG002 - what PyIceberg calls
        memory = self

        class Stream(BytesIO):
            def close(self) -> None:
                memory.size = self.tell()
                super().close()

        return Stream()

    def __len__(self) -> int:
        return self.size


def _pyiceberg(corpus: Corpus) -> Run:
    from pyiceberg.avro import decoder_fast  # noqa: F401 - else a decoder in Python would read them
    from pyiceberg.manifest import write_manifest
    from pyiceberg.table import StaticTable

    table = StaticTable.from_metadata(corpus.path)
    snapshot = table.current_snapshot()
    files = [
        manifest.fetch_manifest_entry(table.io, discard_deleted=False)
        for manifest in snapshot.manifests(table.io)
    ]
    codec = {"deflate": "gzip", "zstandard": "zstd"}.get(corpus.codec, corpus.codec)

    def write() -> list[int]:
        sizes = []
        for entries in files:
            file = _Memory()
            version = table.metadata.format_version
            with write_manifest(
                version, table.spec(), table.schema(), file, snapshot.snapshot_id, codec
            ) as writer:
                for entry in entries:
                    writer.add_entry(entry)
            sizes.append(len(file))
        return sizes

    return _written(corpus, write)


_LAKEBED = [
    Reader("lakebed", TASK, "lakebed", "1", partial(_lakebed, threads=1)),
    Reader("lakebed, all cores", TASK, "lakebed", "all", partial(_lakebed, threads=None)),
]
_PYICEBERG = Reader("pyiceberg", TASK, "pyiceberg", "1", _pyiceberg)
_PYPAIMON = Reader("pypaimon", TASK, "pypaimon", "1", _pypaimon)
READERS = {"iceberg": [*_LAKEBED, _PYICEBERG], "paimon": [*_LAKEBED, _PYPAIMON]}
"""All of them by format, in the order in which they are reported."""

if __name__ == "__main__":
    serve([*_LAKEBED, _PYICEBERG, _PYPAIMON])
