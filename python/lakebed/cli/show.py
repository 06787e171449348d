"""`lakebed show`: one screen about what a table is and how it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from lakebed.cli import options

if TYPE_CHECKING:
    import pyarrow as pa

    from lakebed.table import Table

_LARGEST = 5
_SUMS = ("partition", "file_count", "record_count", "file_size_in_bytes")


@click.command("show")
@options.table
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def command(open_table: Callable[[], Table], output: str) -> None:
    """One screen: what this table is and how it is.

    Reads the manifests of the snapshot to count live files, rows and bytes.
    """
    import json

    from lakebed.cli import render

    with render.progress("reading"):
        about = describe(open_table())
    if output == "json":
        click.echo(json.dumps(about, ensure_ascii=False))
    else:
        _print(about)


def describe(table: Table) -> dict[str, Any]:
    """What `show` prints, as JSON has it.

    Raises: the errors of reading the table's metadata.
    Cost: reads the snapshot, its schema, manifest lists and manifests.
    """
    snapshot = _row(table, "snapshots", "snapshot_id", table.snapshot_id)
    if snapshot is None and table.tag is not None:
        # Its snapshot may have expired; the tag says most of it.
        snapshot = _row(table, "refs", "name", table.tag)
    schema = _row(table, "schemas", "schema_id", snapshot["schema_id"] if snapshot else None)
    manifests = table.manifests(columns=["length"]).to_arrow()
    deletes = table.deletes(columns=["record_count"]).to_arrow()
    refs = table.refs(columns=["type"]).to_arrow()["type"].to_pylist()
    partitions = table.partitions(columns=_SUMS).to_arrow()
    return {
        "format": table.format,
        "location": table.location,
        "snapshot": snapshot,
        "schema": schema,
        "options": table.properties,
        "refs": {"branches": refs.count("branch"), "tags": refs.count("tag")},
        "manifests": {"count": manifests.num_rows, "bytes": _sum(manifests, "length")},
        "files": {
            "count": _sum(partitions, "file_count"),
            "rows": _sum(partitions, "record_count"),
            "bytes": _sum(partitions, "file_size_in_bytes"),
        },
        "deletion_vectors": {"count": deletes.num_rows, "rows": _sum(deletes, "record_count")},
        "largest_partitions": _largest(partitions),
    }


def _row(table: Table, view: str, key: str, value: int | str | None) -> dict[str, Any] | None:
    """The row of a small view with this key, or its last row; None where there is no row."""
    from lakebed._values import to_rows
    from lakebed.predicates import col

    rows = getattr(table, view)(where=None if value is None else col(key) == value).to_arrow()
    if not rows.num_rows:
        return None
    return dict(zip(rows.schema.names, to_rows(rows)[-1], strict=True))


def _sum(table: pa.Table, column: str) -> int:
    import pyarrow.compute as pc

    return pc.sum(table[column]).as_py() or 0


def _largest(groups: pa.Table) -> list[dict[str, Any]]:
    """The partitions with most bytes, largest first; none where the table has no partition keys."""
    from lakebed._values import to_rows

    if not groups.schema.field("partition").type.num_fields:
        return []
    largest = groups.sort_by([("file_size_in_bytes", "descending")]).slice(0, _LARGEST)
    return [dict(zip(("partition", "files", "rows", "bytes"), row, strict=True)) for row in to_rows(largest)]


def _print(about: dict[str, Any]) -> None:
    from lakebed.cli import render

    sections = [(f"{about['format']} table", _state(about)), ("columns", _columns(about["schema"]))]
    if about["options"]:
        sections.append(("options", sorted(about["options"].items())))
    if about["largest_partitions"]:
        sections.append(("largest partitions", [_partition(group) for group in about["largest_partitions"]]))
    render.sections(sections)


def _state(about: dict[str, Any]) -> list[tuple[str, str]]:
    from lakebed._values import to_text
    from lakebed.cli.render import count, size

    snapshot, manifests, files = about["snapshot"] or {}, about["manifests"], about["files"]
    refs, vectors = about["refs"], about["deletion_vectors"]
    comment = (about["schema"] or {}).get("comment")
    branches = f"{refs['branches']:,} {'branch' if refs['branches'] == 1 else 'branches'}"
    state = [
        ("location", about["location"]),
        ("comment", comment),
        ("snapshot", to_text(snapshot.get("snapshot_id", "none"))),
        *((name, to_text(snapshot[key])) for name, key in _COMMIT if key in snapshot),
        ("refs", f"{branches}, {count(refs['tags'], 'tag')}"),
        ("manifests", f"{manifests['count']:,} ({size(manifests['bytes'])})"),
        ("live files", f"{files['count']:,} ({size(files['bytes'])}, {count(files['rows'], 'row')})"),
    ]
    if vectors["count"]:
        state.append(("deletion vectors", f"{vectors['count']:,} ({count(vectors['rows'], 'row')} deleted)"))
    return [(name, value) for name, value in state if value]


_COMMIT = (("committed", "committed_at"), ("operation", "operation"), ("schema", "schema_id"))


def _columns(schema: dict[str, Any] | None) -> list[tuple[str, str]]:
    if schema is None:
        return []
    partition_keys, primary_keys = schema["partition_keys"] or [], schema["primary_keys"] or []
    rows = []
    for field in schema["fields"]:
        name = field["name"]
        marks = [
            mark
            for mark, keys in (("partition", partition_keys), ("primary key", primary_keys))
            if name in keys
        ]
        rows.append((name, field["type"] + (f"  [{', '.join(marks)}]" if marks else "")))
    return rows


def _partition(group: dict[str, Any]) -> tuple[str, str]:
    from lakebed._values import to_text
    from lakebed.cli import render

    name = "/".join(f"{key}={to_text(value)}" for key, value in group["partition"].items())
    files, rows = render.count(group["files"], "file"), render.count(group["rows"], "row")
    return name, f"{render.size(group['bytes'])}, {files}, {rows}"
