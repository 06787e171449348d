"""Writes tests/data/paimon_sidecar: a small Paimon table of short blocks of entries, with pypaimon's sidecar.

`python tests/sidecar_table.py` writes it again. The fuzzers change the sidecar, and so do tests of damage.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fastavro
import pyarrow as pa
from paimon_files import Record, container, records, rewrite

import lakebed

SIDECAR_TABLE = Path(__file__).resolve().parent / "data" / "paimon_sidecar"
COLUMNS = pa.schema([("id", pa.int64()), ("city", pa.string()), ("day", pa.int32())])
PARTITION = pa.struct([("city", pa.string()), ("day", pa.int32())])
OPTIONS = {"bucket": "2", "bucket-key": "id", "manifest.sidecar.enabled": "true"}
# One too long for the fixed part of a row.
CITIES = ("emea", "a city of a long name")
# How many entries the blocks have: of one bucket, of one partition, of one city, of all.
BLOCKS = (1, 1, 2, 2, 6)


def peer_entries(manifest: Path) -> list[Any]:
    """The entries of a manifest in as much of pypaimon's form as its builder of sidecars reads."""
    from pypaimon.schema.data_types import AtomicType, DataField
    from pypaimon.table.row.generic_row import GenericRowDeserializer

    fields = [DataField(0, "city", AtomicType("STRING")), DataField(1, "day", AtomicType("INT"))]
    return [
        SimpleNamespace(
            partition=GenericRowDeserializer.from_bytes(row["_PARTITION"], fields),
            bucket=row["_BUCKET"],
            total_buckets=row["_TOTAL_BUCKETS"],
            file=SimpleNamespace(
                first_row_id=row["_FILE"]["_FIRST_ROW_ID"], row_count=row["_FILE"]["_ROW_COUNT"]
            ),
        )
        for row in records(manifest)
    ]


def write() -> None:
    """Writes the folder anew."""
    shutil.rmtree(SIDECAR_TABLE, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "t"
        _committed(root)
        shutil.copytree(root, SIDECAR_TABLE)


def _committed(root: Path) -> None:
    table = lakebed.create_table(root, COLUMNS, "paimon", partition_by=["city", "day"], properties=OPTIONS)
    places = [(city, day, bucket) for city in CITIES for day in (1, 2, 3) for bucket in (0, 1)]
    rows = [
        {
            "file_path": f"city={city}/day={day}/bucket-{bucket}/{number}.orc",
            "record_count": 10,
            "file_size_in_bytes": 100,
            "partition": {"city": city, "day": day},
            "bucket": bucket,
        }
        for number, (city, day, bucket) in enumerate(places)
    ]
    kinds = [("file_path", pa.string()), ("record_count", pa.int64()), ("file_size_in_bytes", pa.int64())]
    schema = pa.schema([*kinds, ("partition", PARTITION), ("bucket", pa.int32())])
    table.append_files(pa.Table.from_pylist(rows, schema))
    _shorten(root / "manifest")


def _shorten(folder: Path) -> None:
    """Puts the manifest into short blocks, without compression, and gives it and its lists fixed names."""
    from pypaimon.manifest import manifest_sidecar

    (old,) = (path for path in folder.iterdir() if path.name.endswith("-0"))
    with old.open("rb") as content:
        schema: Any = fastavro.reader(content).writer_schema
    rows, blocks = records(old), []
    for count in BLOCKS:
        blocks.append(rows[:count])
        rows = rows[count:]
    manifest = folder / "manifest-0"
    manifest.write_bytes(container(schema, blocks))
    settings = manifest_sidecar.Settings(enabled=True, row_id_enabled=False, bucket_enabled=True)
    sidecar = folder / f"{manifest.name}.avro.sidecar"
    sidecar.write_bytes(
        manifest_sidecar.build_from_entries(manifest.read_bytes(), peer_entries(manifest), settings)
    )
    changed: Record = {"_FILE_NAME": manifest.name, "_EXTRA_FILES": [sidecar.name]}
    changed |= {"_FILE_SIZE": manifest.stat().st_size}
    snapshot = folder.parent / "snapshot" / "snapshot-1"
    text = snapshot.read_text("utf-8")
    for path in [path for path in folder.iterdir() if "list" in path.name]:
        name, size = f"manifest-list-{path.name[-1]}", path.stat().st_size
        rewrite(path, lambda record: {**record, **changed})
        text = text.replace(f'"{path.name}"', f'"{name}"')
        text = text.replace(f'ListSize" : {size}', f'ListSize" : {path.stat().st_size}')
        path.rename(folder / name)
    snapshot.write_text(text, "utf-8")
    for path in (old, folder / f"{old.name}.avro.sidecar"):
        path.unlink()


if __name__ == "__main__":
    write()
