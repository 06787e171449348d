"""A Paimon table's metadata decoded by lakebed and written again, every file in its place."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakebed import avro, paimon
from paimon_answers import is_avro

LIST_SIZES = {f"{kind}ManifestList": f"{kind}ManifestListSize" for kind in ("base", "delta", "changelog")}
"""Keys of a snapshot that name a list → those that say its size [bytes], which older writers leave out."""


def rewritten(source: Path, target: Path) -> Path:
    """A copy of a table with every manifest, list, index manifest, snapshot, tag and schema written again.

    Sizes that lists and snapshots record are those of the new files.

    Raises: ValueError: its manifests are not Avro.
    """
    shutil.copytree(source, target)
    files = sorted((target / "manifest").iterdir()) if (target / "manifest").is_dir() else []
    if not all(map(is_avro, files)):
        raise ValueError(f"{source}: manifests that are not Avro")
    for file in files:
        if "manifest-list" not in file.name:
            _write_again(file)
    for file in files:
        if "manifest-list" in file.name:
            _write_list(file)
    for pattern in ("snapshot-*", "changelog-*", "tag-*"):
        for file in target.rglob(pattern):
            paimon.write_snapshot(_with_sizes(file, target / "manifest"), file, overwrite=True)
    for file in target.rglob("schema-*"):
        paimon.write_schema(paimon.read_schema(file), file, overwrite=True)
    return target


def codec(file: Path) -> str:
    """The codec of an Avro file, by its header."""
    return avro.read_metadata(file).get("avro.codec", b"null").decode()


def _write_again(file: Path) -> None:
    index = file.name.startswith("index-")
    read, write = (
        (paimon.read_index_manifest, paimon.write_index_manifest)
        if index
        else (paimon.read_manifest, paimon.write_manifest)
    )
    write(read(file).to_arrow(), file, codec=codec(file), overwrite=True)


def _write_list(file: Path) -> None:
    """With the sizes that its manifests now have; of those that are gone, the one that is recorded."""
    records = paimon.read_manifest_list(file).to_arrow()
    sizes = [
        (file.parent / name).stat().st_size if (file.parent / name).exists() else size
        for name, size in zip(*(records[key].to_pylist() for key in ("file_name", "file_size")), strict=True)
    ]
    position = records.schema.get_field_index("file_size")
    records = records.set_column(position, records.schema.field(position), pa.array(sizes, pa.int64()))
    paimon.write_manifest_list(records, file, codec=codec(file), overwrite=True)


def _with_sizes(file: Path, manifests: Path) -> dict[str, Any]:
    snapshot = paimon.read_snapshot(file)
    for name, size in LIST_SIZES.items():
        if size in snapshot and (manifests / snapshot[name]).exists():
            snapshot[size] = (manifests / snapshot[name]).stat().st_size
    return snapshot
