"""Plans that PyIceberg takes: its own tasks, and what a REST catalog answers it. It reads the right rows."""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from iceberg_made import MadeTable, entry, entry_schema, field, optional
from raising import raises

import lakebed
import lakebed.pyiceberg
from lakebed.errors import SnapshotNotFoundError, UnsupportedError
from shared_data import SAMPLE_TABLE

catalog_tables = pytest.importorskip("catalog_tables")
planned_tables = pytest.importorskip("planned_tables")
from pyiceberg.catalog.rest import RestCatalog  # noqa: E402
from pyiceberg.catalog.rest.scan_planning import PlanTableScanRequest, ScanTasks  # noqa: E402
from pyiceberg.expressions import AlwaysTrue, parser  # noqa: E402
from pyiceberg.expressions.visitors import rewrite_not  # noqa: E402
from pyiceberg.io.pyarrow import ArrowScan  # noqa: E402
from pyiceberg.table import FileScanTask  # noqa: E402
from pyiceberg.types import StringType  # noqa: E402

FILTERS = (
    "region = 'emea'",
    "region <> 'emea'",
    "id > 4 and region in ('apac', 'amer')",
    "id >= 7 or region = 'emea'",
    "not (id < 3 or region = 'apac')",
    "region like 'a%'",
    "region is null or id in (1, 5)",
    "id > 100",
)


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A partitioned table of a catalog, with a file a partition and commit."""
    table = catalog_tables.orders(catalog_tables.sqlite(tmp_path_factory.mktemp("lake")), commits=0)
    for first in (1, 4, 7):
        ids = pa.array(range(first, first + 3), pa.int64())
        table.append(pa.table({"id": ids, "region": ["emea", "apac", "amer"]}))
    return table


def rows(table: Any, tasks: list[Any], row_filter: str | None = None) -> list[dict[str, Any]]:
    """What PyIceberg reads of its tasks."""
    expression = AlwaysTrue() if row_filter is None else parser.parse(row_filter)
    read = ArrowScan(table.metadata, table.io, table.schema(), expression).to_table(tasks)
    return sorted(read.to_pylist(), key=str)


def own_rows(table: Any, row_filter: str | None = None) -> list[dict[str, Any]]:
    """What PyIceberg reads without lakebed."""
    scan = table.scan() if row_filter is None else table.scan(row_filter=row_filter)
    return sorted(scan.to_arrow().to_pylist(), key=str)


def by_file(tasks: Any) -> dict[str, Any]:
    """What tasks say, by their file."""
    return {
        task.file.file_path: (
            {delete.file_path for delete in task.delete_files},
            task.residual,
            task.file.spec_id,
            list(task.file.partition),
            task.file.record_count,
            task.file.file_size_in_bytes,
            task.file.file_format,
            task.file.content,
        )
        for task in tasks
    }


@pytest.mark.parametrize("row_filter", [None, *FILTERS])
def test_pyiceberg_reads_the_right_rows(orders: Any, row_filter: str | None) -> None:
    tasks = lakebed.pyiceberg.plan(orders, row_filter)
    scan = orders.scan() if row_filter is None else orders.scan(row_filter=row_filter)
    assert by_file(tasks) == by_file(scan.plan_files())
    assert rows(orders, tasks, row_filter) == own_rows(orders, row_filter)


def test_an_expression_is_a_filter_too(orders: Any) -> None:
    text = "region = 'emea'"
    by_text, by_expression = (lakebed.pyiceberg.plan(orders, one) for one in (text, parser.parse(text)))
    assert len(by_text) == 3
    assert by_file(by_text) == by_file(by_expression)


def test_older_snapshots_limits_and_the_case_of_names(orders: Any) -> None:
    first = orders.snapshots()[0].snapshot_id
    assert len(lakebed.pyiceberg.plan(orders)) == 9
    assert len(lakebed.pyiceberg.plan(orders, snapshot_id=first)) == 3
    assert len(lakebed.pyiceberg.plan(orders, limit=2)) == 2
    assert len(lakebed.pyiceberg.plan(orders, "REGION = 'emea'", case_sensitive=False)) == 3
    with pytest.raises(ValueError, match="REGION"):
        lakebed.pyiceberg.plan(orders, "REGION = 'emea'")
    with pytest.raises(SnapshotNotFoundError):
        lakebed.pyiceberg.plan(orders, snapshot_id=5)


def test_a_table_without_snapshots_has_no_tasks(tmp_path: Path) -> None:
    empty = catalog_tables.orders(catalog_tables.sqlite(tmp_path), commits=0)
    assert lakebed.pyiceberg.plan(empty) == []
    found = lakebed.open_table(empty).plan().to_rest()
    assert found == {"status": "completed", "delete-files": [], "file-scan-tasks": []}


def test_a_column_that_an_older_snapshot_lacks_leaves_all_files(tmp_path: Path) -> None:
    table = catalog_tables.orders(catalog_tables.sqlite(tmp_path), commits=1)
    first = table.current_snapshot().snapshot_id
    with table.update_schema() as update:
        update.rename_column("region", "area")
        update.add_column("late", StringType())
    for row_filter in ("late = 'x'", "not (late = 'x' and area = 'emea')", "area = 'emea'"):
        scan = table.scan(row_filter=row_filter, snapshot_id=first)
        planned = lakebed.pyiceberg.plan(table, row_filter, snapshot_id=first)
        assert {task.file.file_path for task in planned} >= {
            task.file.file_path for task in scan.plan_files()
        }
    assert len(planned) == 1


@pytest.mark.parametrize("version", [2, 3])
def test_deleted_rows_are_not_read(tmp_path: Path, version: int) -> None:
    made = planned_tables.RowsTable(tmp_path, version)
    some, other = made.files
    delete = (
        made.deletion_vector(some, [1, 3])
        if version == 3
        else made.position_deletes({some: [1, 3], other: [0]})
    )
    table = made.commit_with(delete)
    tasks = lakebed.pyiceberg.plan(table)
    if version == 2:
        assert by_file(tasks) == by_file(table.scan().plan_files())
    else:
        # PyIceberg gives every file of the partition the vector; it is of one.
        assert [len(task.delete_files) for task in tasks] == [1, 0]
    left = {row["id"] for row in rows(table, tasks)}
    assert left == set(range(20)) - ({1, 3} if version == 3 else {1, 3, 10})
    assert {row["id"] for row in rows(table, lakebed.pyiceberg.plan(table, "id > 15"), "id > 15")} == {
        16, 17, 18, 19
    }  # fmt: skip


def test_equality_deletes_are_in_answers_and_refused_for_pyiceberg(tmp_path: Path) -> None:
    made = planned_tables.RowsTable(tmp_path)
    table = made.commit_with(made.equality_deletes(4))
    answer = lakebed.open_table(tmp_path).plan().to_rest()
    (delete,) = answer["delete-files"]
    assert (delete["content"], delete["equality-ids"]) == ("equality-deletes", [1])
    by_path = {task["data-file"]["file-path"]: task for task in answer["file-scan-tasks"]}
    references = [by_path[str(path)].get("delete-file-references") for path in made.files]
    assert references == [[0], [0]]
    with raises(UnsupportedError, match="equality", path=delete["file-path"]):
        lakebed.pyiceberg.plan(table)


def test_an_answer_is_what_the_specification_says(tmp_path: Path) -> None:
    made = planned_tables.RowsTable(tmp_path, 3)
    made.commit_with(made.deletion_vector(made.files[1], [2]))
    answer = lakebed.open_table(tmp_path).plan(where="id >= 3 and name like 'name%'").to_rest()
    assert json.loads(json.dumps(answer)) == answer
    (delete,) = answer["delete-files"]
    puffin = str(made.files[1].with_suffix(".puffin"))
    assert delete == {
        "content": "position-deletes",
        "file-format": "puffin",
        "partition": [],
        "file-path": puffin,
        "spec-id": 0,
        "record-count": 1,
        "file-size-in-bytes": Path(puffin).stat().st_size,
        "referenced-data-file": str(made.files[1]),
        "content-offset": 4,
        "content-size-in-bytes": delete["content-size-in-bytes"],
    }
    left = {
        "type": "and",
        "left": {"type": "gt-eq", "term": "id", "value": 3},
        "right": {"type": "starts-with", "term": "name", "value": "name"},
    }
    assert [task["residual-filter"] for task in answer["file-scan-tasks"]] == [left, left]
    assert [task.get("delete-file-references") for task in answer["file-scan-tasks"]] == [None, [0]]
    assert ScanTasks.model_validate(answer).file_scan_tasks[0].data_file.record_count == 10


def test_values_of_partitions_are_those_of_the_specification(tmp_path: Path) -> None:
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import DayTransform, IdentityTransform
    from pyiceberg.types import (
        BinaryType,
        BooleanType,
        DateType,
        DecimalType,
        DoubleType,
        LongType,
        NestedField,
        TimestampType,
        TimestamptzType,
        TimeType,
    )

    when = dt.datetime(2026, 1, 2, 3, 4, 5, 678)
    values: dict[str, tuple[Any, Any, Any]] = {
        "a": (LongType(), 5, 5),
        "b": (StringType(), "x", "x"),
        "c": (DateType(), when.date(), "2026-01-02"),
        "d": (DecimalType(9, 2), Decimal("1.50"), "1.50"),
        "e": (BooleanType(), True, True),
        "f": (TimestampType(), when, "2026-01-02T03:04:05.000678"),
        "g": (TimestamptzType(), when.replace(tzinfo=dt.timezone.utc), "2026-01-02T03:04:05.000678+00:00"),
        "h": (TimeType(), when.time(), "03:04:05.000678"),
        "i": (BinaryType(), b"\x01\xff", "01ff"),
        "k": (DoubleType(), 1.5, 1.5),
        "l": (LongType(), None, None),
    }
    kinds = [value[0] for value in values.values()]
    fields = [
        NestedField(at, name, kind) for at, (name, kind) in enumerate(zip(values, kinds, strict=True), 1)
    ]
    parts = [
        PartitionField(one.field_id, 1000 + one.field_id, IdentityTransform(), one.name) for one in fields
    ]
    fields.append(NestedField(21, "day", TimestampType()))
    parts.append(PartitionField(21, 1021, DayTransform(), "day_day"))
    catalog = catalog_tables.sqlite(tmp_path)
    schema = Schema(*fields, NestedField(20, "row", LongType()))
    table = catalog.create_table("db.values", schema, partition_spec=PartitionSpec(*parts))
    row = {name: [value[1]] for name, value in values.items()} | {"day": [when], "row": [1]}
    table.append(pa.table(row, schema=table.schema().as_arrow()))
    (task,) = lakebed.open_table(table).plan().to_rest()["file-scan-tasks"]
    expected = [value[2] for value in values.values()]
    assert task["data-file"]["partition"] == [*expected, "2026-01-02"]
    (own,) = table.scan().plan_files()
    (planned,) = lakebed.pyiceberg.plan(table)
    assert planned.file.partition == own.file.partition


def test_filters_of_each_type_find_the_file(tmp_path: Path) -> None:
    made = planned_tables.RowsTable(tmp_path)
    table = made.commit_with()
    when = "2026-01-02T03:04:05"
    columns = {
        "d": ("date", "2026-01-02"),
        "t": ("timestamp", when),
        "z": ("timestamptz", f"{when}+00:00"),
        "p": ("decimal(9, 2)", "1.50"),
        "u": ("uuid", str(UUID(int=1))),
        "h": ("time", "03:04:05"),
    }
    from pyiceberg import expressions

    made_by: Any = expressions  # its models have two ways to be made, of which types know one
    from pyiceberg.schema import Schema

    fields = [
        {"id": 30 + at, "name": name, "required": False, "type": kind}
        for at, (name, (kind, _)) in enumerate(columns.items())
    ]
    schema = Schema.model_validate({"type": "struct", "schema-id": 0, "fields": fields})
    said = {
        name: lakebed.pyiceberg.predicate(made_by.EqualTo(name, text), schema)
        for name, (_, text) in columns.items()
    }
    assert {name: None if one is None else one.sql for name, one in said.items()} == {
        "d": "\"d\" = '2026-01-02'",
        "t": f"\"t\" = '{when}'",
        "z": f"\"z\" = '{when}+00:00'",
        "p": "\"p\" = '1.50'",
        "u": f"\"u\" = UUID '{UUID(int=1)}'",
        "h": "\"h\" = '03:04:05'",
    }
    ids = table.schema()
    assert lakebed.pyiceberg.predicate(AlwaysTrue(), ids) is None
    assert str(lakebed.pyiceberg.predicate(~made_by.In("id", (1, 2)), ids)) == str(
        ~lakebed.col("id").isin([1, 2])
    )
    either = made_by.NotEqualTo("id", 1) | parser.parse("name is not null")
    found = lakebed.pyiceberg.predicate(either, ids)
    assert found == (lakebed.col("id") != 1) | lakebed.col("name").is_not_null()


def test_other_scans_are_no_answers(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="REST"):
        lakebed.open_table(SAMPLE_TABLE).plan().to_rest()
    planned_tables.RowsTable(tmp_path).commit_with()
    with pytest.raises(UnsupportedError, match="LIKE"):
        lakebed.open_table(tmp_path).plan(where="name LIKE '%a'").to_rest()


def left(tasks: Any) -> dict[str, str]:
    """What is left to test in each file, without `Not`."""
    return {task.file.file_path: str(rewrite_not(task.residual)) for task in tasks}


def test_a_partition_that_json_cannot_hold_is_refused(tmp_path: Path) -> None:
    spec = [{"name": "x", "transform": "identity", "source-id": 1, "field-id": 1000}]
    made = MadeTable(tmp_path, (1, "x", "double"), spec=spec)
    schema = entry_schema(2, [field(1000, "x", optional("double"))])
    numbers: dict[str, Any] = {"snapshot_id": 1, "sequence_number": 1, "file_sequence_number": 1}
    made.commit(made.manifest(entry(partition={"x": float("nan")}, **numbers), schema=schema))
    with raises(UnsupportedError, match="NaN", field="x"):
        made.open().plan().to_rest()


@contextmanager
def served(table: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A REST catalog of one table, whose scans lakebed plans, and the requests for plans."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.startswith("/v1/config"):
                endpoint = "/v1/{prefix}/namespaces/{namespace}/tables/{table}"
                self._send(
                    {
                        "defaults": {},
                        "overrides": {},
                        "endpoints": [f"GET {endpoint}", f"POST {endpoint}/plan"],
                    }
                )
            else:
                metadata = json.loads(table.metadata.model_dump_json())
                self._send({"metadata-location": table.metadata_location, "metadata": metadata, "config": {}})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append(json.loads(body))
            request = PlanTableScanRequest.model_validate_json(body)
            where = lakebed.pyiceberg.predicate(request.filter or AlwaysTrue(), table.schema())
            self._send(lakebed.open_table(table).plan(where=where).to_rest())

        def _send(self, answer: dict[str, Any]) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def test_a_rest_catalog_plans_with_it(orders: Any) -> None:
    with served(orders) as (address, asked):
        catalog = RestCatalog("served", uri=address, **{"scan-planning-mode": "server"})
        table = catalog.load_table("db.orders")
        for row_filter in FILTERS:
            scan = table.scan(row_filter=row_filter)
            assert sorted(scan.to_arrow().to_pylist(), key=str) == own_rows(orders, row_filter)
            own = orders.scan(row_filter=row_filter).plan_files()
            assert left(scan.plan_files()) == left(own)
        assert len(asked) == 2 * len(FILTERS)
        catalog.close()


def test_deletes_of_answers_are_applied(tmp_path: Path) -> None:
    made = planned_tables.RowsTable(tmp_path)
    table = made.commit_with(made.position_deletes({made.files[0]: [0, 9]}))
    answer = ScanTasks.model_validate(lakebed.open_table(tmp_path).plan().to_rest())
    tasks = [FileScanTask.from_rest_response(task, answer.delete_files) for task in answer.file_scan_tasks]
    assert {row["id"] for row in rows(table, tasks)} == set(range(20)) - {0, 9}
