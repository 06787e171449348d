"""Every operation that changes a Paimon table, and what each leaves: for writers that are killed in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
from file_rows import file_rows, index_row

import lakebed
from lakebed import Table

SCHEMA = pa.schema([("id", pa.int64()), ("writer", pa.string())])


@dataclass(frozen=True)
class State:
    """What a table shows."""

    live: frozenset[str]
    marked: frozenset[str]
    """Files of which rows are deleted."""
    tags: frozenset[str]
    comment: str

    def also(self, **parts: set[str]) -> State:
        return replace(self, **{part: getattr(self, part) | names for part, names in parts.items()})

    def without(self, **parts: set[str]) -> State:
        return replace(self, **{part: getattr(self, part) - names for part, names in parts.items()})


@dataclass(frozen=True)
class Step:
    run: Callable[[Table], object]
    effect: Callable[[list[State]], State]
    """What it leaves, from the states before it."""
    through: int = 0
    """How many of the states before it may be seen meanwhile: those of snapshots that go one by one."""


def created(location: Path, manifests: str = "avro") -> Table:
    """A table with one file, and manifests in a format."""
    options = {"deletion-vectors.enabled": "true", "manifest.format": manifests}
    made = lakebed.create_table(
        location, SCHEMA, "paimon", partition_by=["writer"], properties=options, comment="new"
    )
    return made.append_files(_files("first", "0"))


def observed(location: str) -> State:
    table = lakebed.open_table(location)
    files = table.files(columns=["file_name"]).to_arrow()["file_name"].to_pylist()
    assert len(files) == len(set(files))
    deletes = table.deletes(columns=["referenced_data_file"]).to_arrow()["referenced_data_file"].to_pylist()
    refs = table.refs(columns=["name", "type"]).to_arrow().to_pylist()
    return State(
        live=frozenset(files),
        marked=frozenset(path.rpartition("/")[2] for path in deletes),
        tags=frozenset(row["name"] for row in refs if row["type"] == "tag"),
        comment=table.schemas().to_arrow().sort_by("schema_id")["comment"][-1].as_py(),
    )


def every_operation(location: str, writer: str) -> Iterator[int]:
    """A program for `writers.py`: each operation once."""
    operations = steps(writer)
    yield -1
    for number, step in enumerate(operations):
        step.run(lakebed.open_table(location))
        yield number


def seen(before: State, writer: str, acknowledged: int) -> list[State]:
    """What a table may show whose writer was killed behind so many operations; the next may be made too."""
    states = [before]
    done = steps(writer)
    for step in done[: acknowledged + 1]:
        states.append(step.effect(states))
    if acknowledged == len(done):
        return states[-1:]
    return states[-2 - done[acknowledged].through :]


def steps(writer: str) -> list[Step]:
    """The operations of a writer, in a partition of its own."""
    a, b, c, d, e, x, y = (f"{writer}-{name}" for name in "abcdexy")
    joined = f"{writer}-joined"
    start, keep, branch = f"{writer}-start", f"{writer}-keep", f"{writer}-branch"

    def step(run: Callable[[Table], object], effect: Callable[[State], State], through: int = 0) -> Step:
        """One whose effect is on the latest state."""
        return Step(run, lambda states: effect(states[-1]), through)

    def alter(word: str) -> Step:
        comment = f"{writer} {word}"
        change = lakebed.SchemaChange.update_comment(comment)
        return step(lambda t: t.update_schema(change), lambda state: replace(state, comment=comment))

    def append(*names: str) -> Step:
        files = _files(writer, *names)
        return step(lambda t: t.append_files(files), lambda state: state.also(live=set(names)))

    def tag(name: str) -> Step:
        return step(lambda t: t.create_tag(name), lambda state: state.also(tags={name}))

    def untag(name: str) -> Step:
        return step(lambda t: t.delete_tag(name), lambda state: state.without(tags={name}))

    def same(run: Callable[[Table], object]) -> Step:
        return step(run, lambda state: state)

    return [
        append(a, b),
        alter("one"),
        append(c),
        tag(start),
        step(
            lambda t: t.replace_files(_paths(writer, a, b), _files(writer, joined)),
            lambda state: state.without(live={a, b}).also(live={joined}),
        ),
        step(lambda t: t.add_deletes(_vector(writer, c)), lambda state: state.also(marked={c})),
        step(
            lambda t: t.overwrite_partitions(_files(writer, d), {"writer": writer}),
            lambda state: state.without(live={joined, c}, marked={c}).also(live={d}),
        ),
        alter("two"),
        same(lambda table: table.create_branch(branch, at=start)),
        same(lambda table: table.at(branch=branch).append_files(_files(writer, e))),
        # Back to the snapshot of the tag, and on from there: the schema too.
        Step(
            lambda table: table.fast_forward("main", to=branch),
            lambda states: replace(states[4].also(live={e}), comment=states[4].comment),
            through=6,
        ),
        same(lambda table: table.delete_branch(branch)),
        tag(keep),
        append(x),
        step(lambda t: t.rollback_to(keep), lambda state: state.without(live={x}), through=1),
        step(
            lambda t: t.overwrite_files(_files(writer, y), removed=_paths(writer, e)),
            lambda state: state.without(live={e}).also(live={y}),
        ),
        step(lambda t: t.delete_files(_paths(writer, y)), lambda state: state.without(live={y})),
        same(lambda table: table.rewrite_manifests(sort=True)),
        same(lambda table: table.expire_snapshots(timedelta(0), 2)),
        untag(start),
        untag(keep),
        step(
            lambda t: t.delete_files(where=f"writer = '{writer}'"),
            lambda state: state.without(live={a, b, c}),
        ),
    ]


def one_file(name: str) -> pa.Table:
    """A file that no writer of these operations has."""
    return _files("others", name)


def _paths(writer: str, *names: str) -> list[str]:
    return [f"writer={writer}/bucket-0/{name}" for name in names]


def _files(writer: str, *names: str) -> pa.Table:
    return file_rows(*_paths(writer, *names), partition={"writer": writer})


def _vector(writer: str, name: str) -> pa.Table:
    own = {"index_type": "DELETION_VECTORS", "file_size": 31, "partition": {"writer": writer}}
    return index_row(f"index-{name}", (name, 1, 22, 1), **own)
