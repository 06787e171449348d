"""Every operation that commits to an Iceberg table, each once, with what a catalog is told of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import pyarrow as pa
from file_rows import file_rows
from iceberg_commits import path, statistics

import lakebed
from lakebed import SchemaChange

SCHEMA = pa.schema([pa.field("id", pa.int64()), pa.field("region", pa.string())])

Make = Callable[[lakebed.Table], object]


@dataclass(frozen=True)
class Operation:
    """A commit: what makes it, the names of its updates, and of what must hold, beside the table's UUID."""

    make: Make
    updates: tuple[str, ...]
    requirements: tuple[str, ...]

    @property
    def is_once(self) -> bool:
        """Whether what it requires is what it changes."""
        once = ("add-snapshot", "add-schema", "set-current-schema", "add-spec", "set-default-spec")
        return self.updates[0] in once


def files(*names: str, **more: object) -> pa.Table:
    return file_rows(*(f"data/{name}.parquet" for name in names), record_count=7, **more)


def begun(table: lakebed.Table) -> lakebed.Table:
    """An empty table with two commits, a tag and a branch."""
    table = table.append_files(files("a")).append_files(files("b", "c"))
    table.create_tag("tag")
    first = table.snapshots().to_arrow()["snapshot_id"][0].as_py()
    table.create_branch("old", at=first)
    staged = table.create_branch("staged", at=first)
    staged.append_files(files("picked"))
    return table.refresh()


def head(table: lakebed.Table, branch: str) -> int:
    found = table.at(branch=branch).snapshot_id
    assert found is not None
    return found


SNAPSHOT, MOVED = ("add-snapshot", "set-snapshot-ref"), ("set-snapshot-ref",)
NEW_SCHEMA, NEW_SPEC = ("add-schema", "set-current-schema"), ("add-spec", "set-default-spec")
OF_REF = ("assert-ref-snapshot-id",)
OF_SCHEMA = ("assert-last-assigned-field-id", "assert-current-schema-id")
OF_SPEC = ("assert-last-assigned-partition-id", "assert-default-spec-id")


def commit(make: Make) -> Operation:
    """One that makes a snapshot."""
    return Operation(make, SNAPSHOT, OF_REF)


def _statistics(table: lakebed.Table) -> lakebed.Table:
    return table.set_statistics(statistics(table, "s3://x"))


def _expiry(table: lakebed.Table) -> object:
    return table.delete_branch("staged").table.expire_snapshots(timedelta(0), 1)


def _transaction(table: lakebed.Table) -> lakebed.Table:
    with table.transaction() as transaction:
        transaction.append_files(files("d"))
        transaction.update_schema(SchemaChange.add_column("note", pa.string()))
        transaction.update_schema(SchemaChange.add_column("more", pa.string()))
        transaction.update_spec(add=["note"])
        transaction.append_files(files("e", "f", partition={"note": "n"}))
        transaction.delete_files(["data/d.parquet"])
        transaction.rewrite_manifests()
        transaction.update_properties({"a": "1"})
        transaction.create_tag("before")
    return transaction.table


def _transaction_of_refs(table: lakebed.Table) -> lakebed.Table:
    with table.transaction() as transaction:
        transaction.append_files(files("d"), merge=False)
        transaction.delete_branch("staged")
        transaction.expire_snapshots(timedelta(0), 1)
        transaction.append_files(files("e"))
    return transaction.table


NOTED = SchemaChange.add_column("note", pa.string())
RENAMED = SchemaChange.rename_column("region", "area")
OPERATIONS: dict[str, Operation] = {
    "append_files": commit(lambda t: t.append_files(files("d"))),
    "fast append": commit(lambda t: t.append_files(files("d"), merge=False)),
    "delete_files": commit(lambda t: t.delete_files([path(t, "a")])),
    "overwrite_files": commit(lambda t: t.overwrite_files(files("d"), removed=[path(t, "a")])),
    "replace_files": commit(lambda t: t.replace_files([path(t, "a")], files("d"))),
    "row_delta": commit(lambda t: t.add_deletes(deletes=files("p", content=1))),
    "rewrite_manifests": commit(lambda t: t.rewrite_manifests()),
    "cherry_pick": commit(lambda t: t.cherry_pick(head(t, "staged"))),
    "commit to a branch": commit(lambda t: t.at(branch="old").append_files(files("d"))),
    "create_branch": Operation(lambda t: t.create_branch("new"), MOVED, OF_REF),
    "create_tag": Operation(lambda t: t.create_tag("new"), MOVED, OF_REF),
    "set_retention": Operation(lambda t: t.set_retention("old", max_age=timedelta(days=1)), MOVED, OF_REF),
    "delete_branch": Operation(lambda t: t.delete_branch("old"), ("remove-snapshot-ref",), OF_REF),
    "delete_tag": Operation(lambda t: t.delete_tag("tag"), ("remove-snapshot-ref",), OF_REF),
    "fast_forward": Operation(lambda t: t.fast_forward("old", "main"), MOVED, OF_REF),
    "rollback_to": Operation(lambda t: t.rollback_to(head(t, "old")), MOVED, OF_REF),
    "set_current_snapshot": Operation(lambda t: t.set_current_snapshot(head(t, "staged")), MOVED, OF_REF),
    "expire_snapshots": Operation(_expiry, ("remove-snapshots",), OF_REF),
    "set_properties": Operation(
        lambda t: t.update_properties({"a": "1"}).update_properties({"b": "2"}, remove=["a"]),
        ("set-properties", "remove-properties"),
        (),
    ),
    "set_statistics": Operation(_statistics, ("set-statistics",), ()),
    "remove_statistics": Operation(
        lambda t: _statistics(t).remove_statistics(t.snapshot_id or 0), ("remove-statistics",), ()
    ),
    "update_schema": Operation(lambda t: t.update_schema([NOTED, RENAMED]), NEW_SCHEMA, OF_SCHEMA),
    "update_schema to one of before": Operation(
        lambda t: t.update_schema(RENAMED).update_schema(SchemaChange.rename_column("area", "region")),
        ("set-current-schema",),
        ("assert-current-schema-id",),
    ),
    "update_spec": Operation(lambda t: t.update_spec(add=["region", "bucket(4, id)"]), NEW_SPEC, OF_SPEC),
    "update_spec to one of before": Operation(
        lambda t: t.update_spec(add=["region"]).update_spec(remove=["region"]),
        ("set-default-spec",),
        ("assert-default-spec-id",),
    ),
    "transaction": Operation(
        _transaction,
        (*SNAPSHOT, *NEW_SCHEMA, *NEW_SCHEMA, *NEW_SPEC, *SNAPSHOT * 3, "set-properties", *MOVED),
        ("assert-ref-snapshot-id", *OF_SCHEMA, *OF_SPEC),
    ),
    "transaction of refs": Operation(
        _transaction_of_refs, (*SNAPSHOT, "remove-snapshot-ref", "remove-snapshots", *SNAPSHOT), OF_REF
    ),
    "upgrade": Operation(lambda t: t.upgrade(3), ("upgrade-format-version",), ()),
}
"""By what they are called. The last commit that each makes is the one that is described."""
