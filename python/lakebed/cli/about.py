"""What `lakebed show` prints of a table, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakebed._overview import total
from lakebed._values import to_records, to_rows
from lakebed.advice import TableName, findings
from lakebed.predicates import col

if TYPE_CHECKING:
    from lakebed._pyarrow import pa
    from lakebed._specs import Specs
    from lakebed.advice import Thresholds
    from lakebed.predicates import Predicate
    from lakebed.table import Table

_LARGEST = 5
_SUMS = ("partition", "file_count", "record_count", "file_size_in_bytes", "spec_id")
# Of the content of deletes.
_EQUALITY = 2


def describe(table: Table, limits: Thresholds, opened: str) -> dict[str, Any]:
    """What a table is, and how it is, with its problems as `Finding`s.

    Args: limits, from which numbers on it has problems; opened, the table as this command was given it.
    Raises: the errors of reading the table's metadata.
    Cost: reads the snapshots, the schema, manifest lists and manifests; `health` reads the latter once more.
    """
    snapshot = None if table.snapshot_id is None else _row(table.snapshots(filter=_is(table.snapshot_id)))
    refs = to_records(table.refs().to_arrow())
    if snapshot is None and table.tag is not None:
        # Its snapshot may have expired; the tag says most of it.
        snapshot = _row(table.refs(filter=col("name") == table.tag))
    is_head = any(
        (ref["type"], ref["name"], ref["snapshot_id"]) == ("branch", table.branch, table.snapshot_id)
        for ref in refs
    )
    manifests = table.manifests(columns=["length"]).to_arrow()
    of_partitions = table.partitions(columns=_SUMS)
    partitions = of_partitions.to_arrow()
    types = [ref["type"] for ref in refs]
    (health,) = to_records(table.health(small_bytes=limits.small_bytes).to_arrow())
    return {
        "format": table.format,
        "format_version": table.format_version,
        "location": table.location,
        "snapshot": snapshot,
        "schema": _schema(table, snapshot, is_head=is_head),
        **_layout(table),
        "options": table.properties,
        "refs": {"branches": types.count("branch"), "tags": types.count("tag")},
        "manifests": {"count": manifests.num_rows, "bytes": total(manifests, "length")},
        "files": {
            "count": total(partitions, "file_count"),
            "rows": total(partitions, "record_count"),
            "bytes": total(partitions, "file_size_in_bytes"),
        },
        "deletes": _deletes(table),
        "largest_partitions": _largest(partitions, of_partitions.specs),
        "findings": findings(health, limits, TableName.of(table, opened)),
    }


def _is(snapshot_id: int) -> Predicate:
    return col("snapshot_id") == snapshot_id


def _schema(table: Table, snapshot: dict[str, Any] | None, *, is_head: bool) -> dict[str, Any] | None:
    """The schema that the rows are read with. Iceberg's branches are read with the table's current one."""
    schema_id = snapshot["schema_id"] if snapshot else None
    if table.format == "iceberg" and (is_head or schema_id is None):
        return _row(table.schemas(filter="is_current = true"))
    return _row(table.schemas(filter=None if schema_id is None else col("schema_id") == schema_id))


def _layout(table: Table) -> dict[str, Any]:
    """(Iceberg) How new files are partitioned and sorted."""
    if table.format != "iceberg":
        return {}
    names = {"partition_spec": "partition_specs", "sort_order": "sort_orders"}
    return {key: _row(table.metadata_table(name, filter="is_default = true")) for key, name in names.items()}


def _deletes(table: Table) -> dict[str, dict[str, int]]:
    """The number of deletes of each kind, and of their rows: of equality deletes the rows to compare with."""
    names = ("content", "content_offset", "record_count")
    deletes = table.deletes(columns=names).to_arrow()
    kinds = ("deletion_vectors", "position_delete_files", "equality_delete_files")
    found = {kind: {"count": 0, "rows": 0} for kind in kinds}
    # Not by functions of pyarrow that take values of Python: those import pandas.
    for content, offset, rows in zip(*(deletes[name].to_pylist() for name in names), strict=True):
        kind = found[kinds[0] if offset is not None else kinds[2] if content == _EQUALITY else kinds[1]]
        kind["count"] += 1
        kind["rows"] += rows or 0
    return found


def _row(scan: Any) -> dict[str, Any] | None:
    """The last row of a small view, as JSON values; None where there is no row."""
    rows = scan.to_arrow()
    if not rows.num_rows:
        return None
    return dict(zip(rows.schema.names, to_rows(rows)[-1], strict=True))


def _largest(groups: pa.Table, specs: Specs) -> list[dict[str, Any]]:
    """The partitions with most bytes, largest first; none where the table has no partition keys."""
    if not groups.schema.field("partition").type.num_fields:
        return []
    largest = groups.sort_by([("file_size_in_bytes", "descending")]).slice(0, _LARGEST)
    rows = to_rows(specs.shown(largest).drop_columns(["spec_id"]))
    return [dict(zip(("partition", "files", "rows", "bytes"), row, strict=True)) for row in rows]
