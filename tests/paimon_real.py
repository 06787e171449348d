"""A table of real rows that lakebed commits to, files and all."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from java_engine import JavaEngine

import lakebed
from lakebed import paimon

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        pa.field("region", pa.string(), nullable=False),
        pa.field("amount", pa.decimal128(12, 2)),
        pa.field("day", pa.date32()),
    ]
)


@dataclass
class MadeTable:
    """A table of real rows, partitioned by region, that lakebed commits to: files by their names."""

    root: Path
    primary_keys: tuple[str, ...] = ()
    storage: str | None = None
    sequence: int = 0

    def create(self, properties: dict[str, str]) -> lakebed.Table:
        """The table before its first commit."""
        keys: dict[str, Any] = {"partition_by": ["region"], "primary_key": self.primary_keys}
        return lakebed.create_table(
            self.root, SCHEMA, "paimon", **keys, properties=properties, storage=self.storage
        )

    def now(self) -> lakebed.Table:
        return lakebed.open_table(self.root, storage=self.storage)

    def written(self, region: str, name: str, *ids: int, level: int = 0, **columns: Any) -> pa.Table:
        """A data file of rows with these ids, ascending, as a commit takes it; `columns` as in `placed`."""
        values = [(number, region, Decimal(number) / 4, date(2026, 1, 1)) for number in ids]
        data = pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in values], SCHEMA)
        path = f"region={region}/bucket-0/data-{name}-0.parquet"
        return self.placed(path, data, level, **{"bucket": 0, **columns})

    def placed(
        self, file: str, data: pa.Table, level: int = 0, by: lakebed.Table | None = None, **columns: Any
    ) -> pa.Table:
        """A data file of rows that ascend by `id`, somewhere in the table, as a commit takes it.

        Args: by, the table at the schema that the file is written by, None for the latest; columns, more of
            what the commit is told.
        """
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        stored = data
        if self.primary_keys:
            # The key, where the row came in, and what it does come before the values.
            sequence = pa.array(range(self.sequence, self.sequence + len(data)), pa.int64())
            kinds = pa.array([0] * len(data), pa.int8())
            system = pa.table({"_KEY_id": data["id"], "_SEQUENCE_NUMBER": sequence, "_VALUE_KIND": kinds})
            names = [*system.schema.names, *data.schema.names]
            stored = pa.table([*system.columns, *data.columns], names=names)
            first, last = self.sequence, self.sequence + len(data) - 1
            ends = pa.array(
                [{"id": data["id"][row].as_py()} for row in (0, -1)], pa.struct([SCHEMA.field("id")])
            )
            keys = paimon.encode_rows(ends)
            columns |= {"min_key": keys[0].as_py(), "max_key": keys[1].as_py(), "level": level}
            columns |= {"min_sequence_number": first, "sequence_number": last}
            self.sequence += len(data)
        pq.write_table(stored, path)
        return lakebed.describe_file(by or self.now(), path, data, columns=columns)

    def live(self) -> set[str]:
        """The names of the live files as lakebed finds them."""
        found = self.now().files(columns=["file_path"]).to_arrow()["file_path"].to_pylist()
        assert len(set(found)) == len(found)
        return {path.rpartition("/")[2] for path in found}

    def newest(self) -> int:
        found: int = max(self.now().snapshots().to_arrow()["snapshot_id"].to_pylist())
        return found


def marked_elsewhere(
    java: JavaEngine, made: MadeTable, files: dict[str, list[int]], region: str = "emea"
) -> tuple[pa.Table, list[str]]:
    """Index files that Java writes for a copy of a table, and puts here; and those that they replace."""
    copy = shutil.copytree(made.root, made.root.with_name("marked"))
    before = {row["file_name"] for row in index_files(made.root)}
    java.ask("prepare_mark", table=copy, files=files)
    java.ask("commit_prepared", table=copy)
    after = {row["file_name"]: row for row in index_files(copy)}
    new = [row for name, row in after.items() if name not in before]
    for row in new:
        (made.root / "index").mkdir(exist_ok=True)
        shutil.copy(copy / "index" / row["file_name"], made.root / "index" / row["file_name"])
    shutil.rmtree(copy)
    for row in new:
        row["partition"] = {"region": region}
        del row["kind"], row["global_index"]
    return pa.Table.from_pylist(new), sorted(before - after.keys())


def index_files(root: Path) -> list[dict[str, Any]]:
    table = lakebed.open_table(root)
    said = paimon.read_snapshot(root / "snapshot" / f"snapshot-{table.snapshot_id}")
    if "indexManifest" not in said:
        return []
    found: list[dict[str, Any]] = (
        paimon.read_index_manifest(root / "manifest" / said["indexManifest"]).to_arrow().to_pylist()
    )
    return found
