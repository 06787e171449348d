"""Advice for Paimon, carried out by its Java engine as the procedures do: the problem is gone.

`tests/spark/test_spark_advice.py` has Spark's procedures themselves, of an older Paimon, whose options of
compactions are others. Flink's are typed as they are printed.
"""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from typing import Any

import pytest
from advised import advice
from command_line import printed
from java_engine import JavaEngine
from paimon_real import MadeTable

pytestmark = pytest.mark.jvm

_OPTIONS = {
    "retain_max": "snapshot.num-retained.max",
    "retain_min": "snapshot.num-retained.min",
    "max_deletes": "snapshot.expire.limit",
}


def carry_out(java: JavaEngine, made: MadeTable, statement: str) -> None:
    """Has the engine do what a procedure does with these arguments."""
    call = re.fullmatch(r"CALL sys\.(\w+)\((.*)\)", statement)
    assert call is not None, statement
    found = re.findall(r"(\w+) => ('[^']*'|\w+)", call[2])
    arguments: dict[str, Any] = {name: value.strip("'") for name, value in found}
    assert arguments.pop("table") == f"{made.root.parent.name.removesuffix('.db')}.{made.root.name}"
    if call[1] == "expire_snapshots":
        java.ask("expire", table=made.root, options={_OPTIONS[name]: arguments[name] for name in arguments})
    elif call[1] == "compact":
        java.ask("compact", table=made.root, options=arguments["options"])
    else:
        assert (call[1], arguments) == ("compact_manifest", {})
        java.ask("compact_manifests", table=made.root)


def appended(folder: Path, keys: tuple[str, ...] = (), files: int = 3, **options: str) -> MadeTable:
    """A table with so many files in one partition, and one in another."""
    made = MadeTable(folder / "shop.db" / "orders", keys)
    made.create({"bucket": "1" if keys else "-1", **options})
    for number in range(files):
        made.now().append_files(made.written("emea", f"a{number}", number))
    made.now().append_files(made.written("apac", "b", 100))
    return made


each_problem = pytest.mark.parametrize(
    ("kind", "keys", "threshold"),
    [
        ("small_file_count", (), "small_files=1"),
        ("max_partition_file_count", (), "uneven=1"),
        ("level_0_file_count", ("region", "id"), "waiting_files=0"),
        ("small_file_count", ("region", "id"), "small_files=1"),
        ("small_manifest_count", (), "manifests=3"),
        ("snapshot_count", (), "snapshots=3"),
    ],
)


def with_a_problem(
    folder: Path, kind: str, keys: tuple[str, ...], threshold: str
) -> tuple[MadeTable, tuple[str, ...]]:
    """A table, and the thresholds by which it has the problem."""
    made = appended(folder, keys, files=4)
    if kind == "level_0_file_count":
        # Files wait where there is another level.
        made.now().append_files(made.written("apac", "c", 101, level=5))
    return made, ("--threshold", threshold, "--threshold", "uneven_files=1")


@each_problem
def test_what_is_advised_ends_the_problem(
    kind: str, keys: tuple[str, ...], threshold: str, tmp_path: Path, paimon_java: JavaEngine
) -> None:
    made, words = with_a_problem(tmp_path, kind, keys, threshold)
    (statement,) = advice(made.root, *words)[kind]
    carry_out(paimon_java, made, statement)
    assert kind not in advice(made.root, *words)


@pytest.mark.long
@each_problem
def test_what_is_typed_in_flink_ends_the_problem(
    kind: str, keys: tuple[str, ...], threshold: str, tmp_path: Path, flink_java: JavaEngine
) -> None:
    made, words = with_a_problem(tmp_path, kind, keys, threshold)
    catalog = f"c_{uuid.uuid4().hex}"
    where = f"'type' = 'paimon', 'warehouse' = 'file:{tmp_path}'"
    flink_java.ask("sql", statement=f"CREATE CATALOG {catalog} WITH ({where})")
    flink_java.ask("sql", statement=f"USE CATALOG {catalog}")
    # Not as it is printed between back quotes, of which its own keyword has some.
    (row,) = printed("health", made.root, *words)
    (statements,) = [found["calls"]["flink"] for found in row["findings"] if found["column"] == kind]
    for statement in statements:
        flink_java.ask("sql", statement=statement)
    assert kind not in advice(made.root, *words)


def test_deleted_rows_are_written_away(tmp_path: Path, paimon_java: JavaEngine) -> None:
    made = MadeTable(tmp_path / "shop.db" / "orders")
    made.create({"bucket": "-1", "deletion-vectors.enabled": "true", "target-file-size": "1 kb"})
    # It is larger than what a compaction takes for its size, and 15 % are deleted, less than its 20 %.
    made.now().append_files(made.written("emea", "a", *range(20)))
    paimon_java.ask("prepare_mark", table=made.root, files={"data-a-0.parquet": [3, 4, 5]})
    paimon_java.ask("commit_prepared", table=made.root)
    (statement,) = advice(made.root)["deleted_record_ratio"]
    carry_out(paimon_java, made, statement)
    assert "deleted_record_ratio" not in advice(made.root)


def test_vectors_of_a_table_with_keys(tmp_path: Path, paimon_java: JavaEngine) -> None:
    made = MadeTable(tmp_path / "shop.db" / "orders", ("region", "id"))
    made.create({"bucket": "1", "deletion-vectors.enabled": "true"})
    for ids in (range(12), range(2)):
        rows = [[number, "emea", "1.00", "2026-01-02"] for number in ids]
        paimon_java.ask("append", table=made.root, rows=rows)
    (statement,) = advice(made.root)["deleted_record_ratio"]
    carry_out(paimon_java, made, statement)
    assert "deleted_record_ratio" not in advice(made.root)


def test_entries_of_files_that_are_gone(tmp_path: Path, paimon_java: JavaEngine) -> None:
    made = appended(tmp_path)
    made.now().delete_files(sorted(f"region=emea/bucket-0/{name}" for name in made.live() if "-a" in name))
    made.now().delete_files(["region=apac/bucket-0/data-b-0.parquet"])
    made.now().append_files(made.written("apac", "c", 1))
    words = (made.root, "--threshold", "entries=3", "--threshold", "manifests=100")
    (statement,) = advice(*words)["deleted_entry_count"]
    carry_out(paimon_java, made, statement)
    assert "deleted_entry_count" not in advice(*words)


def test_what_python_is_advised_ends_the_problem_too(tmp_path: Path) -> None:
    made = appended(tmp_path)
    words = (made.root, "--threshold", "snapshots=2", "--threshold", "manifests=3", "--engine", "python")
    found = advice(*words)
    assert {"small_manifest_count", "snapshot_count"} <= found.keys()
    for kind in ("small_manifest_count", "snapshot_count"):
        exec("\n".join(advice(*words)[kind]), {})
        assert kind not in advice(*words)
