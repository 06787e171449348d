"""Schemas, tags, branches and expiry: Paimon's own operation on a copy leaves the same."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from java_engine import EngineError, JavaEngine
from paimon_real import MadeTable

import lakebed
from lakebed import Scan, SchemaChange
from lakebed.errors import LakebedError

pytestmark = pytest.mark.jvm

# What only engines remove, and where they would look first.
FREED_FROM = ("manifest", "region=", "index", "bucket-")
HINTS = ("LATEST", "EARLIEST")


class TablePair:
    """A table, and a copy that the engine changes by the same operation."""

    def __init__(self, root: Path, java: JavaEngine) -> None:
        self.own, self.java, self._java = root, root.parent / "java", java
        self._freed: set[str] = set()
        shutil.copytree(root, self.java)

    def ask(self, operation: str, **request: Any) -> Any:
        return self._java.ask(operation, table=self.java, **request)

    def check(self, freed: Scan | None = None) -> None:
        """The same metadata and plan in both, and both of them grow; what the engine deleted is named."""
        there, here = (metadata(root) for root in (self.java, self.own))
        assert here == there
        plans = [self._java.ask("plan", table=root) for root in (self.own, self.java)]
        assert plans[0] == plans[1]
        if freed is not None:
            self._freed |= {self._relative(path) for path in freed.to_arrow()["file_path"].to_pylist()}
            files = [
                {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()}
                for root in (self.own, self.java)
            ]
            deleted = {file for file in files[0] - files[1] if file.startswith(FREED_FROM)}
            assert deleted <= self._freed, "the engine deleted what lakebed did not name"
            shown = {
                self._relative(path)
                for path in lakebed.open_table(self.own).reachable().to_arrow()["file_path"].to_pylist()
            }
            assert not self._freed & shown

    def _relative(self, path: str) -> str:
        return str(Path(path).relative_to(self.own))

    def go_on(self) -> None:
        for root in (self.own, self.java):
            self._java.ask("append", table=root, rows=[[99, "emea", "1.50", "2026-01-02"]])
        rows = [
            sorted(row["id"] for row in self._java.ask("rows", table=root)) for root in (self.own, self.java)
        ]
        assert rows[0] == rows[1]
        assert "99" in rows[0]


def metadata(root: Path) -> dict[str, Any]:
    """What holds snapshots, by path: JSON as objects, but for times of schemas."""
    found: dict[str, Any] = {}
    for file in sorted(root.rglob("*")):
        path = str(file.relative_to(root))
        if (
            path.startswith(FREED_FROM)
            or not file.is_file()
            or file.name in HINTS
            or file.name.endswith(".crc")
        ):
            continue
        text = file.read_text("utf-8")
        found[path] = {**json.loads(text), "timeMillis": None} if "schema" in path else json.loads(text)
    return found


@pytest.fixture
def made(tmp_path: Path) -> MadeTable:
    """Five snapshots; tags at two and four; the first has expired for one of them, on a branch of its own."""
    made = MadeTable(tmp_path / "own")
    made.create({"bucket": "-1", "snapshot.num-retained.min": "1"})
    for number, name in enumerate("abcd", 1):
        table = made.now().append_files(made.written("emea", name, number))
        if number in (2, 4):
            table.create_tag(f"v{number}")
    made.now().delete_files(["region=emea/bucket-0/data-a-0.parquet"])
    return made


CHANGES = [
    [SchemaChange.add_column("more", pa.struct([("a", pa.int32()), ("b", pa.struct([("c", pa.string())]))]))],
    [
        SchemaChange.add_column("zero", "INT", "first", first=True),
        SchemaChange.add_column("last", "DATE", before="day"),
    ],
    [SchemaChange.rename_column("amount", "price"), SchemaChange.update_doc("price", "of it")],
    [SchemaChange.drop_column("day"), SchemaChange.update_comment("shorter")],
    [
        SchemaChange.update_type("amount", pa.decimal128(20, 2)),
        SchemaChange.update_required("id", required=False),
    ],
    [SchemaChange.move_column("day", after="id"), SchemaChange.update_default("day", "2026-01-01")],
]


def both_go_on(made: MadeTable, java: JavaEngine) -> None:
    """The engine and lakebed change the schema again, one after the other."""
    theirs = [{"action": "updateComment", "comment": "theirs"}]
    assert java.ask("alter", table=made.root, changes=theirs)["id"] == 2
    made.now().update_schema(SchemaChange.update_comment("ours"))
    assert made.now().schemas().to_arrow().num_rows == 4


@pytest.mark.parametrize("changes", CHANGES, ids=range(len(CHANGES)))
def test_schemas_change_as_paimons_own(changes: list[SchemaChange], made: MadeTable, paimon_java: JavaEngine):
    pair = TablePair(made.root, paimon_java)
    pair.ask("alter", changes=[json.loads(text) for change in changes for text in change.json("paimon")])
    made.now().update_schema(changes)
    pair.check()
    both_go_on(made, paimon_java)


def test_options_change_as_paimons_own(made: MadeTable, paimon_java: JavaEngine):
    pair = TablePair(made.root, paimon_java)
    set_option = {"action": "setOption", "key": "snapshot.time-retained", "value": "2 h"}
    remove_option = {"action": "removeOption", "key": "snapshot.num-retained.min"}
    pair.ask("alter", changes=[set_option, remove_option])
    made.now().update_properties({"snapshot.time-retained": "2 h"}, remove=["snapshot.num-retained.min"])
    pair.check()
    both_go_on(made, paimon_java)


TYPES = [
    "TINYINT",
    "SMALLINT",
    "INT",
    "BIGINT",
    "FLOAT",
    "DOUBLE",
    "DECIMAL(9, 2)",
    "BOOLEAN",
    "DATE",
    "TIME(3)",
]
TYPES += ["TIMESTAMP(3)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "CHAR(4)", "VARCHAR(5)", "STRING", "BINARY(2)"]
TYPES += ["VARBINARY(3)", "BYTES"]


@pytest.mark.parametrize("explicit", [True, False])
def test_columns_become_what_paimon_lets_them(explicit: bool, tmp_path: Path, paimon_java: JavaEngine):
    """Every type to every other; an answer that is no error is a table that both have."""
    fields: list[dict[str, Any]] = [{"name": f"c{number}", "type": kind} for number, kind in enumerate(TYPES)]
    nested = {"type": "ARRAY", "element": "INT"}
    fields += [{"name": "keep", "type": "INT NOT NULL"}, {"name": "nested", "type": nested}]
    options = {"disable-explicit-type-casting": str(not explicit).lower()}
    table = lakebed.create_table(tmp_path / "own", fields, "paimon", properties=options)
    java = shutil.copytree(tmp_path / "own", tmp_path / "java")
    compared = 0
    for number, old in enumerate([*TYPES, "NESTED"]):
        column = "nested" if old == "NESTED" else f"c{number}"
        for new in TYPES:
            change = SchemaChange.update_type(column, new)
            allowed = [True, True]
            (text,) = change.json("paimon")
            try:
                paimon_java.ask("alter", table=java, changes=[json.loads(text)])
            except EngineError:
                allowed[0] = False
            try:
                table.update_schema(change)
            except LakebedError:
                allowed[1] = False
            # Paimon refuses a type that stays the same where there is no cast for it.
            assert allowed[0] == allowed[1] or old == new, (old, new, allowed)
            compared += 1
            for root in (java, tmp_path / "own"):
                for file in (root / "schema").glob("schema-[1-9]*"):
                    file.unlink()
            table = lakebed.open_table(tmp_path / "own")
    assert compared == 19 * 18


def test_a_tag_goes_and_what_it_alone_reached_is_freed(made: MadeTable, paimon_java: JavaEngine):
    paimon_java.ask("expire", table=made.root, options={"snapshot.num-retained.max": "1"})
    pair = TablePair(made.root, paimon_java)
    for name in ("v2", "v4"):
        pair.ask("delete_tag", name=name)
        pair.check(made.now().delete_tag(name).files)
    pair.go_on()


@pytest.mark.parametrize("target", [2, 4, "v2", "v4"])
def test_a_rollback_leaves_what_paimons_leaves(target: int | str, made: MadeTable, paimon_java: JavaEngine):
    pair = TablePair(made.root, paimon_java)
    pair.ask("rollback_to", name=target)
    freed = made.now().rollback_to(target)
    assert freed.table.snapshot_id == int(str(target)[-1])
    pair.check(freed.files)
    pair.go_on()


def test_a_rollback_to_what_expired_finds_it_in_its_tag(made: MadeTable, paimon_java: JavaEngine):
    paimon_java.ask("expire", table=made.root, options={"snapshot.num-retained.max": "1"})
    pair = TablePair(made.root, paimon_java)
    pair.ask("rollback_to", name=2)
    pair.check(made.now().rollback_to(2).files)
    pair.go_on()


@pytest.mark.parametrize("tag", ["v2", None])
def test_branches_come_grow_and_go(tag: str | None, made: MadeTable, paimon_java: JavaEngine):
    late = made.written("emea", "z", 50)
    made.now().update_schema(SchemaChange.add_column("more", "INT"))
    pair = TablePair(made.root, paimon_java)
    pair.ask("create_branch", name="b", **({"tag": tag} if tag else {}))
    branch = made.now().create_branch("b", at=tag)
    pair.check()
    row = [7, "us", "1.50", "2026-01-02"] + ([] if tag else [None])
    for root in (pair.own, pair.java):
        paimon_java.ask("append", table=root, branch="b", rows=[row])
    branch = branch.refresh().append_files(late)
    ids = {int(one["id"]) for one in paimon_java.ask("rows", table=pair.own, branch="b")}
    assert ids == ({1, 2, 7, 50} if tag else {7, 50})
    assert {50, 7}.isdisjoint(int(one["id"]) for one in paimon_java.ask("rows", table=pair.own))
    pair.ask("delete_branch", name="b")
    freed = made.now().delete_branch("b")
    assert "region=emea/bucket-0/data-z-0.parquet" in str(freed.files.to_arrow()["file_path"].to_pylist())
    assert not (made.root / "branch" / "branch-b").exists()
    pair.check()


def test_a_branch_becomes_the_table(made: MadeTable, paimon_java: JavaEngine):
    branch = made.now().create_branch("b", at="v2")
    late = made.written("emea", "z", 50)
    branch = branch.update_schema(SchemaChange.add_column("more", "INT"))
    branch = branch.append_files(late)
    branch.create_tag("onbranch")
    pair = TablePair(made.root, paimon_java)
    pair.ask("fast_forward", name="b")
    freed = made.now().fast_forward("main", to="b")
    pair.check(freed.files)
    assert made.live() == {f"data-{name}-0.parquet" for name in "abz"}
    gone = {Path(path).name for path in freed.files.to_arrow()["file_path"].to_pylist()}
    assert gone >= {"data-c-0.parquet", "data-d-0.parquet"}


@pytest.mark.parametrize(
    "options", [{}, {"changelog.num-retained.min": "2", "changelog.num-retained.max": "3"}]
)
def test_snapshots_expire_as_paimons_own(options: dict[str, str], made: MadeTable, paimon_java: JavaEngine):
    made.now().update_properties(options)
    pair = TablePair(made.root, paimon_java)
    pair.ask("expire", options={"snapshot.num-retained.min": "2", "snapshot.time-retained": "0 ms"})
    freed = made.now().expire_snapshots(timedelta(0), 2)
    pair.check(freed.files)
    assert {file.name for file in (made.root / "snapshot").glob("snapshot-*")} == {"snapshot-4", "snapshot-5"}
    pair.go_on()
