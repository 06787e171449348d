"""Commits to Paimon tables: what they change, as the core takes it, and how they are made."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from operator import index
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from lakebed import _arrow, _display, _native
from lakebed._arguments import duration, encodable, integer, mapping, snapshot_id
from lakebed._pyarrow import pa
from lakebed.commits.change import CommitOptions, unsupported
from lakebed.commits.inputs import pairs_of
from lakebed.errors import SchemaError
from lakebed.scan import Scan
from lakebed.version import Version

if TYPE_CHECKING:
    from lakebed._native import PaimonChange
    from lakebed.table import Table
    from lakebed.version import AnyVersion


def _author(options: CommitOptions) -> SimpleNamespace:
    """What a snapshot keeps of its commit, and what only Python knows: a random number for the names of the
    commit's files, and the local time, in which Paimon writes when a file or tag was made.
    """
    offset = datetime.now(timezone.utc).astimezone().utcoffset() or timedelta(0)
    user = encodable("user", options.user or str(uuid.uuid4()))
    numbers = {"identifier": options.identifier, "watermark": options.watermark}
    for name, number in numbers.items():
        if number is not None:
            integer(name, number)
    return SimpleNamespace(
        user=user,
        properties=dict(pairs_of(options.properties)),
        uuid=uuid.uuid4().int,
        zone_offset_millis=offset // timedelta(milliseconds=1),
        **numbers,
    )


def commit(
    table: Table, changes: Sequence[PaimonChange], options: CommitOptions
) -> tuple[Table, Callable[[], Scan]]:
    """Makes changes in one commit.

    Returns: the table after it, opened as it was; and what gives the files that the commit has freed, which
        were found before anything was removed.
    Raises: UnsupportedError for changes that are not one commit, and where a catalog makes the commits.
    """
    from lakebed.table import table_of

    opening = table.opening
    # Another process has the catalog's entry, and asks for one.
    entry = opening.pointer() if opening.pointer is not None else opening.entry
    if entry is not None and entry.commits:
        message = "the table's catalog makes its commits: a snapshot beside it would be ignored"
        raise unsupported(message, table)
    after, files = _native.paimon_commit(table.core, list(changes), _author(options))
    left = table_of(after, table.opening)
    name = f"files that {left.location!r} no longer reaches"
    return left, lambda: Scan(files, name, "reachable", _display.FIRST["reachable"])


def no_files() -> Any:
    """A stream of no files."""
    fields = [("file_path", pa.string()), ("record_count", pa.int64()), ("file_size_in_bytes", pa.int64())]
    return _arrow.writable(pa.schema(fields).empty_table())


def snapshot_at(table: Table, at: AnyVersion) -> int:
    """The number of a snapshot; a number itself is not looked for. Raises: SnapshotNotFoundError."""
    target = target_of(table, at)
    if isinstance(target, int):
        return target
    number = table.at(tag=target).snapshot_id
    assert number is not None
    return number


def target_of(table: Table, at: AnyVersion) -> int | str:
    """A snapshot of the table's branch by its number, or a tag of it by its name.

    Raises: SnapshotNotFoundError, UnsupportedError (another branch, which has snapshots of its own).
    """
    if isinstance(at, Mapping):
        at = Version(**at)
    if isinstance(at, Version):
        if at.snapshot is not None:
            return snapshot_id(index(at.snapshot))
        if at.tag is not None:
            return encodable("tag", at.tag)
    if isinstance(at, int) and not isinstance(at, bool):
        return snapshot_id(at)
    if isinstance(at, str) and _is_tag(table, encodable("at", at)):
        return at
    there = table.at(at)
    if there.branch != table.branch:
        message = f"branch {there.branch!r} has snapshots of its own: none of them is one of {table.branch!r}"
        raise unsupported(message, table)
    if there.snapshot_id is None:
        raise unsupported("the branch has no snapshot", table)
    return there.snapshot_id


def _is_tag(table: Table, name: str) -> bool:
    refs = table.refs(columns=["name", "type"]).to_arrow().to_pylist()
    return {"name": name, "type": "tag"} in refs


def micros(argument: str, value: timedelta | None) -> int | None:
    """A time in microseconds. Raises: ValueError below zero, SchemaError beyond 64 bits."""
    if value is None:
        return None
    if duration(argument, value) < timedelta(0):
        raise ValueError(f"{argument} is not negative: {value}")
    micros = value // timedelta(microseconds=1)
    if micros >= 1 << 64:
        raise SchemaError(f"{argument} is longer than 2^64 microseconds: {value}", kind="argument")
    return micros


def partition_of(table: Table, partition: Mapping[str, Any]) -> Any:
    """Values of partition columns as an array of one struct. Raises: SchemaError with `.field`."""
    kind = table.files(columns=["partition"]).schema.field("partition").type
    types = {field.name: field.type for field in kind}
    partition = mapping("partition", partition)
    unknown = [name for name in partition if name not in types]
    if unknown:
        raise SchemaError(
            f"the table is not partitioned by {unknown[0]!r}", kind="unknown-column", field=unknown[0]
        )
    columns = [_column(name, value, types[name]) for name, value in partition.items()]
    if not columns:
        return pa.array([{}], pa.struct([]))
    return pa.StructArray.from_arrays(columns, names=list(partition))


def _column(name: str, value: Any, kind: Any) -> Any:
    """A partition column's value as an array. Raises: SchemaError where it is none of its type."""
    # Nanoseconds have no room for all that Python's datetime has.
    wide = isinstance(value, datetime) and pa.types.is_timestamp(kind) and kind.unit == "ns"
    try:
        return pa.array([value], pa.timestamp("us", kind.tz) if wide else kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        message = f"partition column {name!r} of type {kind} has no value {value!r}: {error}"
        raise SchemaError(message, kind="type", field=name) from error
