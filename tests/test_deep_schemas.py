"""Columns that nest as deep as engines' do, and the bound beyond which they are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import iceberg_made
import paimon_made
import pytest
from interpreters import printed
from java_engine import JavaEngine

import lakebed
from lakebed import iceberg, paimon
from lakebed.errors import CorruptError, UnsupportedError

# Just over 128 levels of JSON, about what Arrow's C interface takes, and as many as are read.
DEPTHS = [41, 42, 64, 65, 100, 150]


def nested(kind: Any, depth: int, around: Callable[[int, Any], Any]) -> Any:
    """A type within so many others, of which each is told the id of what is within."""
    for number in range(depth, 0, -1):
        kind = around(number + 1, kind)
    return kind


def iceberg_struct(depth: int) -> Any:
    def around(number: int, kind: Any) -> Any:
        return {"type": "struct", "fields": [{"id": number, "name": "f", "required": False, "type": kind}]}

    return nested("long", depth, around)


def iceberg_list(depth: int) -> Any:
    of_list = {"type": "list", "element-required": False}
    return nested("long", depth, lambda number, kind: {**of_list, "element-id": number, "element": kind})


def paimon_row(depth: int) -> Any:
    def around(number: int, kind: Any) -> Any:
        return {"type": "ROW", "fields": [{"id": number, "name": "f", "type": kind}]}

    return nested("BIGINT", depth, around)


def paimon_array(depth: int) -> Any:
    return nested("BIGINT", depth, lambda _, kind: {"type": "ARRAY", "element": kind})


def made(root: Path, make: Any, depth: int) -> str:
    """A table with a file, one plain column and one that nests."""
    if "iceberg" in make.__name__:
        table = iceberg_made.MadeTable(root, (1000, "id", "long"), (1, "deep", make(depth)))
        table.set(last_column_id=2000)
        table.commit(table.manifest(iceberg_made.entry(snapshot_id=1)))
    else:
        rows = paimon_made.MadeTable(root, ("id", "BIGINT"), ("deep", make(depth)), highestFieldId=2000)
        rows.commit(paimon_made.entry(paimon_made.ADD, "a.parquet"))
    return str(root)


MAKERS = [iceberg_struct, iceberg_list, paimon_row, paimon_array]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_deep_columns_are_read(tmp_path: Path, make: Any, depth: int):
    table = lakebed.open_table(made(tmp_path / "t", make, depth))
    assert table.files(where="id = 1").to_arrow().num_rows == 1
    assert table.plan(where="id IS NOT NULL", stats=["id"]).to_arrow().num_rows == 1
    assert table.schemas().to_arrow().num_rows == 1
    assert [row for row in table.verify().to_arrow().to_pylist() if row["kind"] != "missing"] == []
    assert len(lakebed.find_tables(tmp_path).to_arrow()) == 1
    if "iceberg" in make.__name__:
        assert iceberg.read_metadata(tmp_path / "t" / "metadata" / "v1.metadata.json")["schemas"]
    else:
        assert paimon.read_schema(tmp_path / "t" / "schema" / "schema-0")["fields"][1]["name"] == "deep"


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("depth", DEPTHS)
def test_what_arrow_has_no_room_for_is_said_where_it_is_asked_for(tmp_path: Path, make: Any, depth: int):
    """Each level is one of Arrow's, and the column itself one more."""
    table = lakebed.open_table(made(tmp_path / "t", make, depth))
    if depth < 63:
        assert table.schema.names == ["id", "deep"]
        return
    asks: list[Callable[[], Any]] = [lambda: table.schema]
    if make is iceberg_struct:
        asks.append(lambda: table.metadata_table("position_deletes").to_arrow())
    for ask in asks:
        with pytest.raises(UnsupportedError, match="63 levels") as refused:
            ask()
        assert refused.value.field is not None
    # What prints itself says so instead.
    assert "63 levels" in table._repr_html_()
    assert "lakebed" in repr(table) + table.files()._repr_html_()


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("depth", [151, 180, 299, 3_000, 100_000])
def test_deeper_ones_are_refused_by_name(tmp_path: Path, make: Any, depth: int):
    if depth > 300:
        # Python's own writer does not nest so deep.
        location = made(tmp_path / "t", make, 1)
        file = next(Path(location).rglob("schema-0"), None) or Path(location) / "metadata/v1.metadata.json"
        kind = (
            '{"type":"list","element-id":1,"element":'
            if "iceberg" in make.__name__
            else '{"type":"ARRAY","element":'
        )
        leaf = '"long"' if "iceberg" in make.__name__ else '"BIGINT"'
        text = file.read_text()
        file.write_text(text.replace(leaf, kind * depth + leaf + "}" * depth))
    else:
        location = made(tmp_path / "t", make, depth)
    with pytest.raises(CorruptError, match="deep") as refused:
        lakebed.open_table(location).files().to_arrow()
    assert refused.value.path


PROGRAM = """
import sys, threading
import pyarrow as pa
import lakebed

def read():
    for location in sys.argv[2:]:
        table = lakebed.open_table(location)
        file = "bucket-0/b.parquet" if table.format == "paimon" else table.location + "/data/b.parquet"
        rows = {"file_path": [file], "record_count": [1], "file_size_in_bytes": [1]}
        table = table.append_files(pa.table(rows))
        for view in (table.files, table.entries, table.schemas, table.verify, table.partitions):
            view().to_arrow()
        assert table.plan(where="id = 1").to_arrow().num_rows == 2
        list(table.metadata_tables)
    done.append(True)

done = []
threading.stack_size(int(sys.argv[1]))
thread = threading.Thread(target=read)
thread.start()
thread.join()
print("read" if done else "failed")
"""


def test_threads_with_small_stacks_read_and_write_them(tmp_path: Path):
    locations = [made(tmp_path / make.__name__, make, 150) for make in MAKERS]
    assert printed("-c", PROGRAM, 512 << 10, *locations) == "read\n"


@pytest.mark.jvm
@pytest.mark.parametrize("depth", [42, 100, 150])
def test_icebergs_engine_reads_as_deep(tmp_path: Path, depth: int, iceberg_java: JavaEngine):
    for make in MAKERS[:2]:
        root = tmp_path / make.__name__
        table = iceberg_made.MadeTable(root, (1000, "id", "long"), (1, "deep", make(depth)))
        table.set(last_column_id=2000)
        assert iceberg_java.ask("rows", table=str(root), column="id") == []
