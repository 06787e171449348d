"""Tables of a catalog that Spark's Iceberg and PyIceberg both have."""

from __future__ import annotations

import uuid
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from advised import advice

import lakebed

catalog_tables = pytest.importorskip("catalog_tables")

if TYPE_CHECKING:
    from pathlib import Path

    from spark_runtimes import SparkRuntimes

NUMBERS = count()
MERGE_ON_READ = "'write.delete.mode'='merge-on-read'"


class Lake:
    """Tables of Spark's catalog `lake`, which PyIceberg's catalog of that name has too."""

    def __init__(self, runtimes: SparkRuntimes, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sql, self.folder = runtimes.sql, runtimes.warehouse() / "lake" / "shop"
        self.sql("CREATE NAMESPACE IF NOT EXISTS lake.shop")
        self._catalog = catalog_tables.sqlite(folder)
        self._catalog.create_namespace("shop")
        monkeypatch.setattr("lakebed.cli.options.load_catalog", lambda _: self._catalog)

    def make(self, *properties: str, partitioned: bool = True) -> str:
        """An empty table, by its name."""
        name = f"orders_{next(NUMBERS)}"
        by = "PARTITIONED BY (p)" if partitioned else ""
        said = f"TBLPROPERTIES ({', '.join(properties)})" if properties else ""
        self.sql(f"CREATE TABLE lake.shop.{name} (id int, p int) USING iceberg {by} {said}")
        return name

    def append(self, name: str, first: int = 0, rows: int = 30, partition: str = "id % 3") -> None:
        self.sql(f"INSERT INTO lake.shop.{name} SELECT id, {partition} FROM range({first}, {first + rows})")

    def at(self, name: str) -> lakebed.Table:
        return lakebed.open_table(self.folder / name)

    def advice(self, name: str, *thresholds: str) -> dict[str, list[str]]:
        """What is printed of it by the name that its catalog has for it."""
        identifier = ("shop", name)
        if self._catalog.table_exists(identifier):
            self._catalog.drop_table(identifier)
        hint = (self.folder / name / "metadata" / "version-hint.text").read_text()
        self._catalog.register_table(
            identifier, str(self.folder / name / "metadata" / f"v{hint}.metadata.json")
        )
        words = [word for one in thresholds for word in ("--threshold", one)]
        return advice(f"shop.{name}", "--catalog", "lake", *words)

    def follow(self, kind: str, name: str, *thresholds: str) -> None:
        """Types what is advised about a problem, which must be there before and not after."""
        for statement in self.advice(name, *thresholds)[kind]:
            assert f"'shop.{name}'" in statement
            self.sql(statement)
        assert kind not in self.advice(name, *thresholds)

    def rows(self, name: str) -> int:
        found: int = self.sql(f"SELECT count(*) AS n FROM lake.shop.{name}")["n"][0].as_py()
        return found


@pytest.fixture
def lake(spark_runtimes: SparkRuntimes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    return Lake(spark_runtimes, tmp_path, monkeypatch)


def add_equality_deletes(table: lakebed.Table, ids: list[int], partition: int | None) -> None:
    path = f"{table.location.removeprefix('file:')}/data/{uuid.uuid4()}.parquet"
    field = pa.field("id", pa.int32(), metadata={"PARQUET:field_id": "1"})
    data = pa.table({"id": pa.array(ids, pa.int32())}, schema=pa.schema([field]))
    pq.write_table(data, path)
    row = {"content": 2, "file_path": path, "file_format": "PARQUET", "record_count": len(ids)}
    row |= {"file_size_in_bytes": pa.OSFile(path).size(), "equality_ids": [1]}
    row |= {} if partition is None else {"partition": {"p": partition}}
    table.add_deletes(pa.Table.from_pylist([row]))
