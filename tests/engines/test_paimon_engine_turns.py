"""Random operations by lakebed and Paimon in turns: each plans what the other has left, after each."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from java_engine import JavaEngine
from model.written import NothingToDoError
from paimon_real import SCHEMA, MadeTable, marked_elsewhere
from trust import long_or

import lakebed

pytestmark = pytest.mark.jvm

Files = dict[str, frozenset[int]]
"""Live files, and the ids of their rows that are not deleted."""
REGIONS = ("emea", "us")


@dataclass
class Branch:
    """What a branch has."""

    files: dict[int, Files] = field(default_factory=dict)
    """By snapshot, those that are there and those that tags hold."""
    tags: dict[str, int] = field(default_factory=dict)
    columns: int = len(SCHEMA)

    @property
    def latest(self) -> int:
        return max(self.files)

    def live(self) -> Files:
        return dict(self.files[self.latest])


@dataclass
class Turns:
    """A table that lakebed and Paimon change, and what it must have."""

    made: MadeTable
    first: lakebed.Table
    """At the schema that it began with."""
    java: JavaEngine
    chance: random.Random
    number: int = 0
    main: Branch = field(default_factory=Branch)
    branches: dict[str, Branch] = field(default_factory=dict)

    def ask(self, operation: str, **request: Any) -> Any:
        return self.java.ask(operation, table=self.made.root, **request)

    def either(self, by_java: bool, operation: str, name: str) -> None:
        """What both call by the same word."""
        if by_java:
            self.ask(operation, name=name)
        else:
            getattr(self.made.now(), operation)(name)

    def turn(self) -> str:
        """One operation; gives what it was."""
        self.number += 1
        by_java = self.chance.random() < 0.5
        operations = [getattr(self, name) for name in dir(self) if name.startswith("do_")]
        possible = [one for one in operations if self.number > 1 or one == self.do_append]
        operation: Callable[[bool], None] = self.chance.choice(possible)
        try:
            operation(by_java)
        except NothingToDoError:
            # What there is nothing for is another append.
            operation = self.do_append
            operation(by_java)
        return f"{self.number}: {operation.__name__} by {'Java' if by_java else 'lakebed'}"

    def check(self, rows: bool) -> None:
        """The same plan in both, of the table and of each branch; rows where they are asked for."""
        for name, branch in [("main", self.main), *self.branches.items()]:
            there = {} if name == "main" else {"branch": name}
            expected = branch.live() if branch.files else {}
            table = self.made.now().at(branch=name)
            ours = table.files(columns=["file_name"]).to_arrow()["file_name"].to_pylist()
            assert sorted(ours) == sorted(expected), name
            if branch.files:
                plan = self.ask("plan", **there)
                # A file all of whose rows are deleted is planned all the same.
                assert sorted(plan["files"]) == sorted(expected), name
                planned = table.plan(columns=["file_name", "delete_files"]).to_arrow().to_pylist()
                marked = {row["file_name"] for row in planned if row["delete_files"]}
                assert marked == set(plan["deletion_files"]), name
            if rows:
                found = [int(row["id"]) for row in self.ask("rows", **there)] if branch.files else []
                assert sorted(found) == sorted(one for ids in expected.values() for one in ids), name
        assert self.made.now().verify(filter="severity = 'error'").to_arrow().to_pylist() == []

    # What they do, where there is something to do it with.

    def one_of(self, names: Iterable[str]) -> str:
        if not (known := sorted(names)):
            raise NothingToDoError
        return self.chance.choice(known)

    def do_append(self, by_java: bool) -> None:
        self.appended(self.main, by_java, None)

    def do_append_to_branch(self, by_java: bool) -> None:
        name = self.one_of(self.branches)
        self.appended(self.branches[name], by_java, name)

    def appended(self, branch: Branch, by_java: bool, name: str | None) -> None:
        ids = [self.number * 10, self.number * 10 + 1]
        region = self.chance.choice(REGIONS)
        at = {} if name is None else {"branch": name}
        files = branch.live() if branch.files else {}
        if by_java:
            self.ask("append", rows=[self.row(branch, one, region) for one in ids], **at)
        else:
            table = self.made.now().at(branch=name or "main")
            # By the schema that the table began with, whatever became of it.
            table.append_files(self.written(region, *ids))
        self.grown(branch, {**files, self.new(name, files): frozenset(ids)}, name)

    def do_delete(self, by_java: bool) -> None:
        live = self.main.live()
        # The entry alone is not enough where a file has a vector: Paimon's own jobs take that away beside it.
        gone = self.one_of(live.keys() - self.marked() if by_java else live)
        if by_java:
            self.ask("delete", files=[gone])
        else:
            self.made.now().delete_files([self.path(gone)])
        del live[gone]
        self.grown(self.main, live)

    def do_overwrite(self, by_java: bool) -> None:
        region, one = self.chance.choice(REGIONS), self.number * 10
        kept = {name: ids for name, ids in self.main.live().items() if self.region(name) != region}
        before = self.main.live()
        if by_java:
            self.ask("overwrite", rows=[self.row(self.main, one, region)], partition={"region": region})
        else:
            now, new = self.made.now(), self.written(region, one)
            match self.chance.choice(["values", "those of files", "condition", "paths"]):
                case "values":
                    now.overwrite_partitions(new, {"region": region})
                case "those of files":
                    now.overwrite_partitions(new, None)
                case "condition":
                    now.overwrite_files(new, where=f"region = '{region}'")
                case _:
                    gone = [self.path(name) for name in before if name not in kept]
                    now.overwrite_files(new, removed=gone)
        self.grown(self.main, {**kept, self.new(None, before): frozenset([one])})

    def do_compact(self, by_java: bool) -> None:
        """Of tables without buckets it is an engine's job: lakebed's turn it is."""
        live = self.main.live()
        region = self.chance.choice(REGIONS)
        gone = [name for name in live if self.region(name) == region][: self.chance.randint(2, 3)]
        ids = sorted(one for name in gone for one in live[name])
        if by_java or len(gone) < 2:
            raise NothingToDoError
        table = self.made.now()
        table.replace_files([self.path(name) for name in gone], self.written(region, *ids))
        left = {name: rows for name, rows in live.items() if name not in gone}
        self.grown(self.main, {**left, self.new(None, live): frozenset(ids)})

    def do_compact_manifests(self, by_java: bool) -> None:
        if by_java:
            self.ask("compact_manifests")
        else:
            self.made.now().rewrite_manifests(sort=self.chance.random() < 0.5)
        self.grown(self.main, self.main.live())

    def do_mark(self, by_java: bool) -> None:
        """Rows are marked as deleted; Paimon writes the vectors, and either commits them."""
        live = self.main.live()
        name = self.one_of(name for name in live if len(live[name]) == 2 and self.path(name))
        keep, _ = sorted(live[name])
        if by_java:
            self.ask("prepare_mark", files={name: [1]})
            self.ask("commit_prepared")
        else:
            files, removed = marked_elsewhere(self.java, self.made, {name: [1]}, self.region(name))
            self.made.now().add_deletes(files, removed_deletes=removed)
        self.grown(self.main, {**live, name: frozenset([keep])})

    def do_alter(self, by_java: bool) -> None:
        changes = [lakebed.SchemaChange.add_column(f"c{self.number}", pa.string())]
        key, value = "snapshot.num-retained.max", str(100 + self.number)
        if self.chance.random() < 0.5:
            changes.append(lakebed.SchemaChange.update_comment(f"changed {self.number} times"))
        if by_java:
            texts = [text for change in changes for text in change.json("paimon")]
            option = {"action": "setOption", "key": key, "value": value}
            self.ask("alter", changes=[*map(json.loads, texts), option])
        else:
            with self.made.now().transaction() as tx:
                tx.update_schema(changes)
                tx.update_properties({key: value})
        self.main.columns += 1

    def do_tag(self, by_java: bool) -> None:
        name = f"t{self.number}"
        self.either(by_java, "create_tag", name)
        self.main.tags[name] = self.main.latest

    def do_delete_tag(self, by_java: bool) -> None:
        # Paimon's main branch deletes what only other branches reach, unless a tag holds it.
        held = {tag for branch in self.branches.values() for tag in branch.tags}
        name = self.one_of(self.main.tags.keys() - held)
        self.either(by_java, "delete_tag", name)
        del self.main.tags[name]

    def do_branch(self, by_java: bool) -> None:
        # Of a snapshot that has expired Java makes no branch: it looks for its file, and leaves half of one.
        tags = sorted(tag for tag, number in self.main.tags.items() if not by_java or self.is_there(number))
        if not tags or len(self.branches) > 2:
            raise NothingToDoError
        tag, name = self.chance.choice(tags), f"b{self.number}"
        if by_java:
            self.ask("create_branch", name=name, tag=tag)
        else:
            self.made.now().create_branch(name, at=tag)
        snapshot = self.main.tags[tag]
        columns = len(self.made.now().at(branch=name).schema)
        self.branches[name] = Branch({snapshot: self.main.files[snapshot]}, {tag: snapshot}, columns)

    def do_delete_branch(self, by_java: bool) -> None:
        name = self.one_of(self.branches)
        self.either(by_java, "delete_branch", name)
        del self.branches[name]

    def do_fast_forward(self, by_java: bool) -> None:
        if not self.branches:
            raise NothingToDoError
        name = max(self.branches, key=lambda name: min(self.branches[name].files))
        if by_java:
            self.ask("fast_forward", name=name)
        else:
            self.made.now().fast_forward("main", to=name)
        # What both would have then either of them could take away.
        self.ask("delete_branch", name=name)
        branch = self.branches.pop(name)
        first = min(branch.files)
        past = {number: files for number, files in self.main.files.items() if number < first}
        tags = {tag: number for tag, number in self.main.tags.items() if number < first}
        self.main = Branch({**past, **branch.files}, {**tags, **branch.tags}, branch.columns)

    def do_roll_back(self, by_java: bool) -> None:
        held = max((min(branch.files) for branch in self.branches.values()), default=0)
        tag = self.one_of(tag for tag, number in self.main.tags.items() if number >= held)
        self.either(by_java, "rollback_to", tag)
        to = self.main.tags[tag]
        files = {number: files for number, files in self.main.files.items() if number <= to}
        tags = {name: number for name, number in self.main.tags.items() if number <= to}
        self.main = replace(self.main, files=files, tags=tags)

    def do_expire(self, by_java: bool) -> None:
        kept = self.chance.randint(1, 5)
        if by_java:
            options = {"snapshot.num-retained.min": str(kept), "snapshot.time-retained": "0 ms"}
            self.ask("expire", options=options)
        else:
            self.made.now().expire_snapshots(timedelta(0), kept)

    # Parts of them.

    def is_there(self, number: int) -> bool:
        """Whether the snapshot has not expired."""
        return (self.made.root / "snapshot" / f"snapshot-{number}").exists()

    def marked(self) -> set[str]:
        """The files of which rows are deleted."""
        rows = self.made.now().plan(columns=["file_name", "delete_files"]).to_arrow().to_pylist()
        return {row["file_name"] for row in rows if row["delete_files"]}

    def grown(self, branch: Branch, files: Files, name: str | None = None) -> None:
        """The branch is at another snapshot, or still at the same where there was nothing to do."""
        newest = self.made.now().at(branch=name or "main").snapshot_id
        assert newest is not None
        branch.files[newest] = files

    def new(self, name: str | None, before: Files) -> str:
        """The name of the one file that came."""
        rows = self.made.now().at(branch=name or "main").files(columns=["file_name"]).to_arrow().to_pylist()
        (new,) = {row["file_name"] for row in rows} - before.keys()
        return str(new)

    def written(self, region: str, *ids: int) -> pa.Table:
        return self.made.written(region, f"s{self.number}", *ids, schema_id=0, by=self.first)

    def row(self, branch: Branch, one: int, region: str) -> list[Any]:
        return [one, region, "1.50", "2026-01-02", *[None] * (branch.columns - len(SCHEMA))]

    def region(self, name: str) -> str:
        (path,) = self.made.root.glob(f"region=*/bucket-0/{name}")
        return path.parts[-3].partition("=")[2]

    def path(self, name: str) -> str:
        return f"region={self.region(name)}/bucket-0/{name}"


@pytest.mark.parametrize(
    ("seed", "manifests"),
    [
        *((seed, "avro") for seed in range(long_or(2, 20))),
        *((seed, name) for name in ("orc", "parquet") for seed in range(long_or(1, 10))),
    ],
)
def test_random_operations_in_turns(seed: int, manifests: str, tmp_path: Path, paimon_java: JavaEngine):
    made = MadeTable(tmp_path / "own")
    options = {"bucket": "-1", "deletion-vectors.enabled": "true", "manifest.format": manifests}
    first = made.create(options)
    turns, told = Turns(made, first, paimon_java, random.Random(seed)), []
    count = long_or(12, 50)
    try:
        for number in range(count):
            told.append(turns.turn())
            turns.check(rows=number % 10 == 9 or number == count - 1)
    except Exception as error:
        raise AssertionError("; ".join(told)) from error
    assert lakebed.open_table(made.root).snapshot_id == turns.main.latest
