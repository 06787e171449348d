"""Engines as judges of Iceberg tables: golden ones as they are, and written again by lakebed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from covering import each_covering_iceberg_table
from iceberg_peers import by_fastavro, is_map
from iceberg_rewrite import rewritten
from java_engine import EngineError, JavaEngine, each_iceberg_release
from json_files import changed, without

from iceberg_answers import Row, assert_same_multiset, difference
from iceberg_golden import GoldenTable
from lakebed.errors import UnsupportedError

# Java asks a service for the keys of encrypted ones, and refuses those of which deletes are elsewhere.
each_table_that_java_reads = each_covering_iceberg_table(
    names=("[!de]*", "d[!e]*", "e[!n]*"), folders=("iceberg", "iceberg_next")
)

# Some golden tables are odd on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

METADATA_TABLES = (
    "all_entries",
    "all_manifests",
    "entries",
    "files",
    "manifests",
    "partitions",
    "snapshots",
    "history",
    "refs",
)


@pytest.mark.jvm
@each_table_that_java_reads
def test_java_answers_what_it_answered(table: GoldenTable, iceberg_java: JavaEngine):
    read = _read(table, iceberg_java)
    for name in METADATA_TABLES:
        if not (table.path / "expected" / f"{name}.jsonl.gz").is_file():
            continue
        if "error" in read[name]:
            assert _is_inline(read), f"{table.name}, {name}: {read[name]}"
            continue
        rows, expected = (_comparable(name, some) for some in (read[name], table.rows(name)))
        assert_same_multiset(rows, expected, f"{table.name}, {name}")
    if not _is_inline(read) and (table.path / "expected" / "plans.jsonl.gz").is_file():
        _assert_plans(table, read["plans"])


@pytest.mark.jvm
@each_iceberg_release
@each_covering_iceberg_table()
def test_java_reads_what_is_written_again(table: GoldenTable, tmp_path: Path, iceberg_java: JavaEngine):
    if _has_fixed_partitions(table):
        pytest.skip("Iceberg Java misreads fixed partition values that are stored as its own schema says")
    copy = rewritten(table, tmp_path / "table")
    expected, found = (_read(one, iceberg_java) for one in (table, copy))
    for read, one in ((expected, table), (found, copy)):
        for row in _listed(read):
            # Java held the recorded length against the file's already, wherever it opened one.
            assert row.pop("length") == one.file(row["path"]).stat().st_size
    for name in METADATA_TABLES:
        answers = found.pop(name), expected.pop(name)
        if any("error" in answer for answer in answers):
            assert _is_inline(expected), f"{table.name}, {name}: {answers}"
        else:
            rows, wanted = (_comparable(name, answer) for answer in answers)
            assert_same_multiset(rows, wanted, f"{table.name}, {name}")
    assert found == expected, difference(found, expected)


@pytest.mark.jvm
@each_table_that_java_reads
def test_java_takes_what_a_rest_catalog_answers(table: GoldenTable, iceberg_java: JavaEngine):
    now = table.open()
    if now.snapshot_id is None:
        pytest.skip("a table without snapshots has nothing to plan")
    asked = {"metadata": table.path / table.info["metadata_file"], "relocate": table.relocate}
    asked["snapshot"] = now.snapshot_id
    try:
        plan = now.plan().to_rest()
        answer = iceberg_java.ask("answer", answer=plan, **asked)
    except (UnsupportedError, EngineError) as error:
        # JSON has no NaN; of a column that was dropped Java knows no type.
        if "the number NaN" not in str(error) and "Type: unknown" not in str(error):
            raise
        pytest.skip(str(error).splitlines()[0])
    answered, own = (_tasks(answer[name]) for name in ("answered", "own"))
    assert_same_multiset(answered, own, table.name)
    filters = [line["sql"] for line in table.rows("plans") if line["snapshot_id"] == now.snapshot_id]
    for sql in [one for one in filters if ".." not in one and "NaN" not in one and "inf" not in one][:3]:
        left = now.plan(where=sql, limit=2).to_rest()
        tasks = iceberg_java.ask("answer", answer=left, **asked)["answered"]
        assert len(tasks) == len(left["file-scan-tasks"]), sql


@each_covering_iceberg_table()
def test_pyiceberg_reads_what_is_written_again(table: GoldenTable, tmp_path: Path):
    pytest.importorskip("pyiceberg")
    from pyiceberg.manifest import clear_manifest_cache
    from pyiceberg_peer import first_line, peer

    copy = rewritten(table, tmp_path / "table")
    expected, found = (peer(str(one.path / one.info["metadata_file"]), one.file) for one in (table, copy))
    assert found.metadata == expected.metadata
    for snapshot in expected.metadata.snapshots:
        try:
            rows = list(expected.entries(snapshot.snapshot_id))
        except Exception as error:  # noqa: BLE001 - of many classes; the reason is listed
            pytest.skip(f"PyIceberg cannot read snapshot {snapshot.snapshot_id}: {first_line(error)}")
        clear_manifest_cache()  # it goes by paths, which both tables share
        again = list(found.entries(snapshot.snapshot_id))
        clear_manifest_cache()
        assert repr([_plain(row) for row in again]) == repr([_plain(row) for row in rows])  # NaN as NaN


@each_covering_iceberg_table()
def test_fastavro_reads_what_is_written_again(table: GoldenTable, tmp_path: Path):
    if _has_fixed_partitions(table):
        pytest.skip("Iceberg Java's own manifests of fixed partitions are not valid Avro")
    copy = rewritten(table, tmp_path / "table")
    for file in sorted(table.path.rglob("*.avro")):
        (_, expected), (_, found) = (
            by_fastavro(one) for one in (file, copy.path / file.relative_to(table.path))
        )
        lengths = {row["manifest_path"]: row["manifest_length"] for row in found if "manifest_path" in row}
        assert all(copy.file(path).stat().st_size == length for path, length in lengths.items())
        rows, wanted = ([_known(row) for row in some] for some in (found, expected))
        assert repr(rows) == repr(wanted), file.name


def _tasks(tasks: Any) -> list[Row]:
    """Tasks as rows that are compared."""
    return [{name: json.dumps(value) for name, value in task.items()} for task in tasks]


def _plain(row: Row) -> Row:
    return {name: dict(value) if is_map(name, value) else value for name, value in row.items()}


def _read(table: GoldenTable, engine: JavaEngine) -> Any:
    return engine.ask("read", metadata=table.path / table.info["metadata_file"], relocate=table.relocate)


def _is_inline(read: Any) -> bool:
    """Whether some snapshot has no list of its manifests, whose lengths Java then lacks where it needs them;
    which of them that is, threads decide.
    """
    return any("manifests" in snapshot for snapshot in read["metadata"]["snapshots"])


def _listed(read: Any) -> list[Row]:
    """The rows that tell a manifest's length."""
    return [row for name in ("manifests", "all_manifests") if "error" not in read[name] for row in read[name]]


def _has_fixed_partitions(table: GoldenTable) -> bool:
    return any("fixed" in spec["partition_type"] for spec in table.info["specs"])


def _known(value: Any) -> Any:
    """A record without the length of a manifest, and without what is null: older writers lack some fields."""
    kept = without(value, "manifest_length")
    return changed(kept, lambda parts: {name: part for name, part in parts.items() if part is not None})


def _comparable(name: str, rows: list[Row]) -> list[Row]:
    """Of a manifest that several snapshots list `all_entries` takes whichever some thread finds first: before
    row ids were assigned to it, or after.
    """
    if name != "all_entries":
        return rows
    return [row | {"data_file": row["data_file"] | {"first_row_id": None}} for row in rows]


def _assert_plans(table: GoldenTable, plans: dict[str, Any]) -> None:
    index = {row["i"]: row for row in table.rows("plan_files")}
    for plan in (plan for plan in table.rows("plans") if plan["filter"] is True):
        deletes = {int(file): [index[number] for number in some] for file, some in plan["deletes"].items()}
        expected = {
            index[file]["file_path"]: sorted(map(_delete, deletes.get(file, []))) for file in plan["files"]
        }
        assert plans[str(plan["snapshot_id"])] == expected, f"{table.name}, {plan['snapshot_id']}"


def _delete(row: Row) -> str:
    offset = row["content_offset"]
    return f"{row['file_path']}#{'null' if offset is None else offset}"
