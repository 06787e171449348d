"""Iceberg tables with rows, and deletes of them, that PyIceberg reads."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from iceberg_made import MadeTable, entry

FILE_PATH_ID, POS_ID = 2147483546, 2147483545
COLUMNS = ((1, "id", "long"), (2, "name", "string"))


class RowsTable(MadeTable):
    """A table of numbers and names, with two files of ten rows."""

    def __init__(self, root: Path, version: int = 2) -> None:
        super().__init__(root, *COLUMNS, version=version)
        (root / "data").mkdir()
        self.files = [self.data(first) for first in (0, 10)]

    def data(self, first: int) -> Path:
        """Writes a file of the ten rows from a number on."""
        numbers = range(first, first + 10)
        columns = {"id": pa.array(numbers, pa.int64()), "name": [f"name {number}" for number in numbers]}
        return write(self.root / "data" / f"{first}.parquet", columns, {"id": 1, "name": 2})

    def commit_with(self, *deletes: dict[str, Any]) -> Any:
        """Commits the files and some delete files, which are entries; the table as PyIceberg reads it."""
        from pyiceberg.table import StaticTable

        numbers = {"snapshot_id": 1, "sequence_number": 1, "file_sequence_number": 1}
        data = [self.entry(path, 10, **numbers) for path in self.files]
        lists = [self.manifest(*data, name="data.avro", metadata=self._header("data"))]
        if deletes:
            numbers = dict.fromkeys(numbers, 2) | {"snapshot_id": 1}
            late = [{**one, **numbers} for one in deletes]
            of_deletes = self.manifest(*late, name="deletes.avro", metadata=self._header("deletes"))
            lists.append({**of_deletes, "content": 1, "sequence_number": 2})
        self.commit(*lists)
        return StaticTable.from_metadata(str(self.root / "metadata" / "v1.metadata.json"))

    def _header(self, content: str) -> dict[str, str]:
        schema = json.dumps(self.metadata["schemas"][0])
        return {"schema": schema, "partition-spec": "[]", "partition-spec-id": "0", "content": content}

    def entry(self, path: Path, rows: int, **values: Any) -> dict[str, Any]:
        return entry(path=str(path), record_count=rows, file_size_in_bytes=path.stat().st_size, **values)

    def position_deletes(self, deleted: dict[Path, list[int]]) -> dict[str, Any]:
        """A delete file of some rows of some data files."""
        rows = [(str(path), position) for path, positions in deleted.items() for position in positions]
        columns = {
            "file_path": [path for path, _ in rows],
            "pos": pa.array([at for _, at in rows], pa.int64()),
        }
        ids = {"file_path": FILE_PATH_ID, "pos": POS_ID}
        path = write(self.root / "data" / "deletes.parquet", columns, ids)
        return self.entry(path, len(rows), content=1)

    def equality_deletes(self, *numbers: int) -> dict[str, Any]:
        """A delete file of the rows with some numbers."""
        path = write(
            self.root / "data" / "equality.parquet", {"id": pa.array(numbers, pa.int64())}, {"id": 1}
        )
        return self.entry(path, len(numbers), content=2, equality_ids=[1])

    def deletion_vector(self, file: Path, positions: list[int], name: str | None = None) -> dict[str, Any]:
        """A deletion vector of a data file, in a Puffin file of its own."""
        from pyroaring import BitMap

        bitmap = struct.pack("<QI", 1, 0) + BitMap(positions).serialize()
        body = struct.pack(">I", 0xD1D33964) + bitmap
        blob = struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))
        described = {
            "type": "deletion-vector-v1",
            "fields": [],
            "snapshot-id": -1,
            "sequence-number": -1,
            "offset": 4,
            "length": len(blob),
            "properties": {"referenced-data-file": str(file), "cardinality": str(len(positions))},
        }
        footer = json.dumps({"blobs": [described], "properties": {}}).encode()
        tail = b"PFA1" + footer + struct.pack("<II", len(footer), 0) + b"PFA1"
        path = self.root / "data" / f"{name or file.stem}.puffin"
        path.write_bytes(b"PFA1" + blob + tail)
        where = {"content_offset": 4, "content_size_in_bytes": len(blob), "referenced_data_file": str(file)}
        return self.entry(path, len(positions), content=1, file_format="PUFFIN", **where)


def write(path: Path, columns: dict[str, Any], ids: dict[str, int]) -> Path:
    """Writes a Parquet file whose columns have field ids."""
    table = pa.table(columns)
    fields = [field.with_metadata({"PARQUET:field_id": str(ids[field.name])}) for field in table.schema]
    pq.write_table(table.cast(pa.schema(fields)), path)
    return path
