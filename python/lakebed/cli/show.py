"""`lakebed show`: one screen about what a table is and how it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from lakebed._display import count, moment, partition, readable, size
from lakebed._values import to_text
from lakebed.cli import options, render, thresholds
from lakebed.cli.about import describe
from lakebed.cli.watching import watched

if TYPE_CHECKING:
    from lakebed.table import Table


@watched
@click.command("show")
@options.table
@options.engine
@options.page_or_json("Form of the page. json: one object.")
def command(open_table: Callable[[], Table], engine: str, output: str) -> None:
    """One screen: format, columns, snapshot, size and problems of a table.

    Reads the manifests of the snapshot to count live files, rows and bytes, and names problems;
    `lakebed health` has all that they are found by. Of a folder of tables, their names.
    """
    import json

    limits, opened = (
        thresholds.thresholds_of({}),
        options.as_opened(click.get_current_context().params["table"]),
    )
    with render.progress("reading"):
        table = open_table()
        about = describe(table, limits(table), opened)
    if output == "json":
        about["findings"] = [finding.to_dict() for finding in about["findings"]]
        click.echo(json.dumps(about, ensure_ascii=False))
    else:
        _print(about, engine)


def _print(about: dict[str, Any], engine: str) -> None:
    version = "" if about["format_version"] is None else f", format version {about['format_version']}"
    sections = [(f"{about['format']} table{version}", _state(about)), ("columns", _columns(about))]
    if about["options"]:
        title = "properties" if about["format"] == "iceberg" else "options"
        sections.append((title, sorted(about["options"].items())))
    if about["largest_partitions"]:
        sections.append(("largest partitions", [_partition(group) for group in about["largest_partitions"]]))
    render.sections(sections)
    click.echo()
    render.problems(about["findings"], engine)


def _state(about: dict[str, Any]) -> list[tuple[str, str]]:
    snapshot, manifests, files = about["snapshot"] or {}, about["manifests"], about["files"]
    refs, deletes = about["refs"], about["deletes"]
    branches = f"{refs['branches']:,} {'branch' if refs['branches'] == 1 else 'branches'}"
    state = [
        ("location", about["location"]),
        ("comment", (about["schema"] or {}).get("comment")),
        ("snapshot", to_text(snapshot.get("snapshot_id", "none"))),
        ("committed", snapshot.get("committed_at") and moment(snapshot["committed_at"])),
        *((key, to_text(snapshot[name])) for key, name in _COMMIT if snapshot.get(name) is not None),
        ("partitioned by", _joined(about, "partition_spec", "{transform}({source})")),
        ("sorted by", _joined(about, "sort_order", "{transform}({source}) {direction} {null_order}")),
        ("refs", f"{branches}, {count(refs['tags'], 'tag')}"),
        ("manifests", f"{manifests['count']:,} ({size(manifests['bytes'])})"),
        ("live files", f"{files['count']:,} ({size(files['bytes'])}, {count(files['rows'], 'row')})"),
    ]
    for kind, rows in _DELETES.items():
        if deletes[kind]["count"]:
            text = f"{deletes[kind]['count']:,} ({count(deletes[kind]['rows'], 'row')}{rows})"
            state.append((kind.replace("_", " "), text))
    return [(name, value) for name, value in state if value]


_COMMIT = (("operation", "operation"), ("schema", "schema_id"))
# What their rows are.
_DELETES = {
    "deletion_vectors": " deleted",
    "position_delete_files": " deleted",
    "equality_delete_files": " to compare with",
}


def _joined(about: dict[str, Any], key: str, form: str) -> str:
    """The fields of Iceberg's partition spec or sort order in words; nothing where there are none."""
    names = {field["id"]: field["name"] for field in (about["schema"] or {}).get("fields", ())}
    fields = [field for field in (about.get(key) or {}).get("fields", ()) if field["transform"] != "void"]
    words = []
    for field in fields:
        # A source below a struct is not among the columns, nor is one that was dropped.
        unnamed = field.get("name", "a nested field")
        source = ", ".join(names.get(number, unnamed) for number in field["source_ids"])
        text = form.format(**{**field, "source": source})
        words.append(text.replace(f"identity({source})", source))
    return ", ".join(words)


def _columns(about: dict[str, Any]) -> list[tuple[str, str]]:
    schema = about["schema"] or {"fields": []}
    partition_spec = about.get("partition_spec") or {"fields": []}
    sources = [
        i for field in partition_spec["fields"] if field["transform"] != "void" for i in field["source_ids"]
    ]
    marked = {
        "partition": schema.get("partition_keys"),
        "primary key": schema.get("primary_keys"),
        "identifier": schema.get("identifier_fields"),
    }
    rows = []
    for field in schema["fields"]:
        marks = [mark for mark, names in marked.items() if field["name"] in (names or ())]
        if field["id"] in sources:
            marks.insert(0, "partition")
        if about["format"] == "iceberg" and field["required"]:
            marks.append("required")
        rows.append((field["name"], readable(field["type"]) + (f"  [{', '.join(marks)}]" if marks else "")))
    return rows


def _partition(group: dict[str, Any]) -> tuple[str, str]:
    files, rows = count(group["files"], "file"), count(group["rows"], "row")
    return partition(group["partition"]), f"{size(group['bytes'])}, {files}, {rows}"
