"""One command per view of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from lakebed.cli import options

if TYPE_CHECKING:
    from lakebed.table import Table

VIEWS = {
    "snapshots": "One row per snapshot of the table.",
    "changelogs": "(Paimon) One row per long-lived changelog, whose snapshot expired.",
    "refs": "One row per branch and tag.",
    "schemas": "One row per version of the schema.",
    "manifests": "One row per manifest of the snapshot.",
    "entries": "One row per manifest entry, as stored.",
    "files": "One row per live file.",
    "partitions": "One row per partition that has files.",
    "buckets": "One row per bucket that has files.",
    "health": "One row about how the table is: file sizes, deletes, layout of the manifests.",
    "deletes": "One row per deletion vector or delete file.",
    "plan": "One row per data file that a query must read, with the deletes that apply to it.",
    "indexes": "(Paimon) One row per index file.",
    "growth": "One row per snapshot: what is live there, what its commit added and removed.",
}
# What a terminal's table begins with, since it has no room for all; a pipe gets the columns as they are.
FIRST = {
    "snapshots": ("snapshot_id", "committed_at", "operation", "total_record_count", "delta_record_count"),
    "changelogs": ("snapshot_id", "committed_at", "operation", "changelog_manifest_list"),
    "refs": ("name", "type", "snapshot_id", "schema_id", "committed_at", "created_at"),
    "schemas": ("schema_id", "updated_at", "partition_keys", "primary_keys", "identifier_fields", "fields"),
    "manifests": (
        *("length", "added_files_count", "deleted_files_count"),
        *("partition_lower", "partition_upper", "path"),
    ),
    "entries": (
        *("kind", "status", "partition", "bucket", "level", "stats"),
        *("row_count", "record_count", "file_size", "file_size_in_bytes", "file_name", "file_path"),
    ),
    "files": (
        *("partition", "bucket", "level", "stats", "record_count", "file_size_in_bytes"),
        *("file_path", "created_at"),
    ),
    "partitions": ("partition", "file_count", "record_count", "file_size_in_bytes", "last_updated_at"),
    "buckets": ("partition", "bucket", "file_count", "record_count", "file_size_in_bytes", "last_updated_at"),
    "health": (
        *("file_count", "average_file_size_in_bytes", "small_file_count", "deleted_record_ratio"),
        *("snapshot_count", "manifest_count", "small_manifest_count"),
    ),
    "deletes": (
        *("partition", "bucket", "record_count", "referenced_file_name", "referenced_data_file"),
        *("content_offset", "content_size_in_bytes", "file_path"),
    ),
    "plan": (
        *("partition", "stats", "record_count", "file_size_in_bytes", "residual"),
        *("file_path", "delete_files", "delete_ids"),
    ),
    "indexes": ("index_type", "partition", "bucket", "row_count", "file_size_in_bytes", "file_name"),
    "growth": (
        *("snapshot_id", "committed_at", "operation", "file_count", "record_count", "file_size_in_bytes"),
        *("delete_file_count", "added_file_count", "removed_file_count"),
    ),
}
_WITH_STATS = frozenset({"entries", "files", "plan"})
_WITH_EXPLAIN = frozenset(
    ("entries", "files", "partitions", "buckets", "health", "deletes", "plan", "growth"),
)


def view_command(view: str) -> click.Command:
    """The command that prints a view."""

    def run(
        open_table: Callable[[], Table],
        limit: int | None,
        output: str,
        output_file: str | None,
        explain: bool = False,
        **selection: Any,
    ) -> None:
        from lakebed.cli.output import write, write_explain

        scan = getattr(open_table(), view)(limit=limit, **selection)
        if explain:
            write_explain(scan.explain(), output, output_file)
            return
        first = () if selection["columns"] else FIRST[view]
        write(scan, output, output_file, all_rows=limit is not None, first=first)

    decorators = [options.table, options.where, options.columns]
    decorators += [options.stats] if view in _WITH_STATS else []
    decorators += [options.deletes, options.row_limit] if view == "plan" else []
    decorators += [options.small_bytes] if view == "health" else []
    decorators += [options.explain] if view in _WITH_EXPLAIN else []
    decorators += [options.limit, options.output]
    for decorate in reversed(decorators):
        run = decorate(run)
    return click.command(name=view, help=VIEWS[view])(run)
