"""Files of older schemas, and those that wait for their bucket: Paimon reads and commits behind them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from java_engine import JavaEngine
from paimon_real import SCHEMA, MadeTable

import lakebed

pytestmark = pytest.mark.jvm

NEWER = [
    lakebed.SchemaChange.rename_column("amount", "price"),
    lakebed.SchemaChange.update_type("price", pa.decimal128(20, 2)),
    lakebed.SchemaChange.drop_column("day"),
    lakebed.SchemaChange.add_column("note", pa.string(), after="id"),
]


@pytest.fixture(params=["append", "primary-key"])
def made(tmp_path: Path, request: pytest.FixtureRequest) -> MadeTable:
    """A table whose schema has changed behind its first file."""
    keys = ("region", "id") if request.param == "primary-key" else ()
    made = MadeTable(tmp_path / "own", keys)
    options = {"bucket": "1"} if keys else {"bucket": "-1"}
    made.create(options)
    made.now().append_files(made.written("emea", "a", 1, 2))
    made.now().update_schema(NEWER)
    return made


def older(made: MadeTable, name: str, *ids: int) -> pa.Table:
    """A file that a writer makes who has not seen the newer schema."""
    rows = [{"id": one, "region": "emea", "amount": Decimal(one) / 4} for one in ids]
    data = pa.Table.from_pylist(rows, SCHEMA)
    path = f"region=emea/bucket-0/data-{name}-0.parquet"
    return made.placed(path, data, by=made.now().at(snapshot=1), bucket=0, schema_id=0)


def newer(made: MadeTable, name: str, *ids: int) -> pa.Table:
    """A file by the latest schema."""
    columns = {"id": pa.int64(), "note": pa.string(), "region": pa.string(), "price": pa.decimal128(20, 2)}
    rows = [{"id": one, "note": name, "region": "emea", "price": Decimal(one)} for one in ids]
    data = pa.Table.from_pylist(rows, pa.schema(list(columns.items())))
    return made.placed(f"region=emea/bucket-0/data-{name}-0.parquet", data, bucket=0)


def read(java: JavaEngine, made: MadeTable, operation: str = "rows") -> dict[int, tuple[Any, ...]]:
    rows = java.ask(operation, table=made.root)
    found = {int(row["id"]): (row.get("note"), row["price"] and float(row["price"])) for row in rows}
    assert len(found) == len(rows)
    return found


def test_java_reads_files_by_the_schema_that_they_name(made: MadeTable, paimon_java: JavaEngine):
    for files in (older(made, "b", 3, 4), newer(made, "c", 5, 6)):
        made.now().append_files(files)
    expected = {one: (None, one / 4) for one in (1, 2, 3, 4)} | {5: ("c", 5.0), 6: ("c", 6.0)}
    assert read(paimon_java, made) == expected
    entries = made.now().files(columns=["file_name", "schema_id"]).to_arrow().to_pylist()
    assert [row["schema_id"] for row in sorted(entries, key=lambda row: row["file_name"])] == [0, 0, 1]
    # A column that files of the older schema lack is null there; by one of another type Paimon prunes less.
    for column, value, wanted in [
        ("note", "c", "c"),
        ("note", "z", None),
        ("price", "1.00", "b"),
        ("price", "6.00", "c"),
    ]:
        theirs = set(paimon_java.ask("plan", table=made.root, equal={column: value})["files"])
        plan = made.now().plan(where=f"{column} = '{value}'", columns=["file_name"]).to_arrow()
        ours = set(plan["file_name"].to_pylist())
        assert ours == theirs or (column == "price" and ours < theirs)
        if not made.primary_keys:
            assert ours == ({f"data-{wanted}-0.parquet"} if wanted else set())
    paimon_java.ask("append", table=made.root, rows=[[7, "d", "emea", "7.00"]])
    made.now().append_files(older(made, "e", 8))
    expected |= {7: ("d", 7.0), 8: (None, 2.0)}
    assert read(paimon_java, made) == expected
    if made.primary_keys:
        paimon_java.ask("prepare_compact", table=made.root)
        paimon_java.ask("commit_prepared", table=made.root)
        (row,) = made.now().files(columns=["schema_id"]).to_arrow().to_pylist()
        assert row["schema_id"] == 1
    else:
        paimon_java.ask("delete", table=made.root, files=["data-b-0.parquet"])
        del expected[3], expected[4]
    made.now().append_files(older(made, "f", 9))
    assert read(paimon_java, made) == expected | {9: (None, 2.25)}
    assert set(paimon_java.ask("plan", table=made.root)["files"]) == made.live()


@pytest.fixture
def waiting(tmp_path: Path) -> MadeTable:
    """A table whose rows wait for their bucket."""
    made = MadeTable(tmp_path / "own", ("region", "id"))
    made.create({"bucket": "-2"})
    return made


def postponed(made: MadeTable, number: int, amount: int, *ids: int) -> pa.Table:
    """A file of one writer, by the names that Paimon's have: the number says in which order they are read."""
    rows = [{"id": one, "region": "emea", "amount": Decimal(amount)} for one in ids]
    name = f"data-u-lakebed-s-0-w-{number}.parquet"
    return made.placed(f"region=emea/bucket-postpone/{name}", pa.Table.from_pylist(rows, SCHEMA))


def amounts(java: JavaEngine, made: MadeTable, operation: str) -> list[tuple[int, float]]:
    rows = java.ask(operation, table=made.root)
    return sorted((int(row["id"]), float(row["amount"])) for row in rows)


def buckets(made: MadeTable) -> dict[str, tuple[int, int]]:
    rows = made.now().entries(columns=["kind", "file_name", "bucket", "total_buckets"]).to_arrow().to_pylist()
    return {row["file_name"]: (row["bucket"], row["total_buckets"]) for row in rows if row["kind"] == 0}


def test_java_reads_what_waits_for_its_bucket_and_commits_behind_it(
    waiting: MadeTable, paimon_java: JavaEngine
):
    first = [postponed(waiting, 1, 10, 1, 2), postponed(waiting, 2, 20, 2, 3)]
    waiting.now().append_files(pa.concat_tables(first))
    # Readers of the table pass over them until they have a bucket.
    assert (amounts(paimon_java, waiting, "rows"), paimon_java.ask("plan", table=waiting.root)["files"]) == (
        [],
        [],
    )
    assert waiting.now().plan(columns=["file_name"]).to_arrow().num_rows == 0
    assert amounts(paimon_java, waiting, "postponed") == [(1, 10), (2, 10), (2, 20), (3, 20)]
    # Paimon's own writer adds to them, in the same bucket of as many.
    paimon_java.ask("append", table=waiting.root, rows=[[4, "emea", "40.00", None]])
    assert len(waiting.live()) == 3
    assert set(buckets(waiting).values()) == {(-2, -2)}
    waiting.now().append_files(postponed(waiting, 3, 50, 5))
    found = amounts(paimon_java, waiting, "postponed")
    assert found == [(1, 10), (2, 10), (2, 20), (3, 20), (4, 40), (5, 50)]
    # What a job would do: rows that waited go into buckets, which readers see.
    gone = [f"region=emea/bucket-postpone/data-u-lakebed-s-0-w-{number}.parquet" for number in (1, 2)]
    rows = [{"id": one, "region": "emea", "amount": Decimal(20 - 10 * (one == 1))} for one in (1, 2, 3)]
    data = pa.Table.from_pylist(rows, SCHEMA)
    path = "region=emea/bucket-0/data-settled-0.parquet"
    settled = waiting.placed(path, data, level=5, bucket=0, total_buckets=1)
    waiting.now().replace_files(gone, settled)
    assert buckets(waiting)["data-settled-0.parquet"] == (0, 1)
    assert amounts(paimon_java, waiting, "rows") == [(1, 10), (2, 20), (3, 20)]
    assert paimon_java.ask("plan", table=waiting.root)["files"] == ["data-settled-0.parquet"]
    assert amounts(paimon_java, waiting, "postponed") == [(4, 40), (5, 50)]
    # Whoever overwrites the table takes what waits with it, in both.
    paimon_java.ask("overwrite", table=waiting.root, rows=[[6, "emea", "60.00", None]], partition={})
    assert amounts(paimon_java, waiting, "rows") == []
    assert amounts(paimon_java, waiting, "postponed") == [(6, 60)]
    waiting.now().overwrite_partitions(postponed(waiting, 4, 70, 7), {})
    assert amounts(paimon_java, waiting, "postponed") == [(7, 70)]
    assert waiting.live() == {"data-u-lakebed-s-0-w-4.parquet"}
