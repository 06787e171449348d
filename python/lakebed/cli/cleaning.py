"""`lakebed apply` and `lakebed restore`: files go by rows that were reviewed, and come back."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import lakebed
from lakebed import _texts
from lakebed._display import count, size
from lakebed._pyarrow import pa, pc
from lakebed._text import printable
from lakebed.cli import options, render
from lakebed.cli.keywords import OF_KEYWORDS
from lakebed.cli.output import write, write_file
from lakebed.cli.rows import Read
from lakebed.storage.paths import absolute

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakebed import Cleanup, Table
    from lakebed.cleaning.rows import ReviewedPlan

_OPENED = b"lakebed.opened"
"""In the schema of a plan file: how its command opened the table."""

_FORMS = {".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".parquet": "parquet"}
_NAMED_SNAPSHOTS = 10
_SUMS = [("file_path", "count"), ("file_size_in_bytes", "sum")]


def _ending(_context: click.Context, _parameter: click.Parameter, path: str | None) -> str | None:
    if path is not None and Path(path).suffix.lower() not in _FORMS:
        raise click.BadParameter(f"{path!r} does not end in {', '.join(_FORMS)}")
    return path


plan_file = click.option(
    "--plan-file",
    type=click.Path(dir_okay=False),
    callback=_ending,
    metavar="F",
    help="Keep the rows, with all their columns, in this Arrow or Parquet file, for `lakebed apply F`.",
)


def keep(path: str, rows: pa.Table, table: Table) -> None:
    """Writes the rows of a plan, with how this command opened the table. Raises: OSError."""
    from lakebed.cleaning.places import is_local

    given = click.get_current_context().params
    is_path = given.get("catalog") is None
    opened = {name: given.get(name) for name in ("catalog", "format", "branch")}
    opened["table"] = absolute(given["table"]) if is_path else given["table"]
    opened["relocate"] = {old: absolute(new) for old, new in (given.get("relocate") or {}).items()}
    if is_local(table):
        # Wherever it is applied, these are the same files.
        paths = pa.array(
            (None if one is None else absolute(one) for one in rows["file_path"].to_pylist()), pa.string()
        )
        rows = rows.set_column(rows.schema.get_field_index("file_path"), "file_path", paths)
    metadata = {**(rows.schema.metadata or {}), _OPENED: json.dumps(opened)}
    write_file(rows.replace_schema_metadata(metadata), _FORMS[Path(path).suffix.lower()], path)
    click.echo(
        f"{count(rows.num_rows, 'row')} in {path}: look at them, then `lakebed apply {path}`", err=True
    )


def _age(text: str) -> timedelta:
    found = _texts.age(text)
    if not isinstance(found, timedelta):
        raise ValueError(f"{text!r} is not an age such as 3d or 12h")
    return found


_yes = click.option("--yes", is_flag=True, help="Do not ask.")


@click.command("apply")
@click.argument("file", type=click.Path(exists=True, dir_okay=False), metavar="F")
@options.optional_table
@click.option("--quarantine", metavar="FOLDER", help="Move the files there in place of deleting them.")
@click.option("--log", metavar="LOG", help="Where each file is written before it goes. [default: F.log]")
@click.option(
    "--younger",
    callback=options.read_by(_age),
    default="3d",
    show_default=True,
    metavar="AGE",
    help="Orphans that were modified less than this ago stay.",
)
@OF_KEYWORDS["listing"]
@OF_KEYWORDS["equal_schemes"]
@OF_KEYWORDS["equal_authorities"]
@click.option(
    "--files-per-second", type=click.IntRange(1), default=2000, show_default=True, help="At most so many go."
)
@_yes
@options.output
def apply(
    file: str,
    open_table: Callable[[], Table] | None,
    log: str | None,
    yes: bool,
    output: str,
    output_file: str | None,
    **given: Any,
) -> None:
    """Act on a plan that was reviewed: delete its files, take deletes out of the table, or repair it.

    F is what `orphans`, `expire-plan`, `dangling-deletes` or `repair-plan` kept by --plan-file. At most its
    rows are acted on, and of these what a fresh look still names. TABLE is the table as F's command was given
    it, unless it is named.

    Exits with 0 where all went that the look left, with 1 where a file did not go, where rows are refused and
    where the answer was no, with 2 for wrong usage.
    """
    from lakebed.cleaning.rows import read_rows, reviewed

    rows = read_rows(file)
    plan = reviewed(rows)
    if plan is None:
        click.echo("no rows, nothing to do")
        return
    table = open_table() if open_table is not None else _opened(rows, file)
    plan.check(table)
    log = f"{file}.log" if log is None else log
    _ask(_summary(plan, table, given["quarantine"], log), yes)
    with render.progress("removing"):
        done = lakebed.apply(rows, table, log=log, **given)
    _report(done, output, output_file)


@click.command("restore")
@click.argument("log", type=click.Path(exists=True))
@options.optional_table
@_yes
@options.output
def restore(
    log: str, open_table: Callable[[], Table] | None, yes: bool, output: str, output_file: str | None
) -> None:
    """Move files back from a quarantine.

    LOG is that of `lakebed apply`. Where a file is by now, that one stays. TABLE is what the log says, unless
    it is named.

    Exits as `lakebed apply`.
    """
    from lakebed.cleaning.shared_log import header_of_log

    header = header_of_log(log)
    if header.get("quarantine") is None:
        raise click.UsageError(f"{log} is of files that were deleted, not moved to a quarantine")
    table = lakebed.open_table(header["location"]) if open_table is None else open_table()
    _ask([f"from {header['quarantine']} back to {table.location}"], yes)
    with render.progress("restoring"):
        done = lakebed.restore(log, table)
    _report(done, output, output_file)


def _opened(rows: pa.Table, file: str) -> Table:
    """The table as the command was given it that wrote a plan file."""
    try:
        opened = json.loads((rows.schema.metadata or {})[_OPENED])
    except (KeyError, ValueError):
        raise click.UsageError(f"{file} does not say how its table was opened: name TABLE") from None
    return options.reopened(opened)


def _summary(plan: ReviewedPlan, table: Table, quarantine: str | None, log: str) -> list[str]:
    """What is about to happen, in lines."""
    what = ", ".join(f"{many} {kind} ({size(bytes_)})" for kind, many, bytes_ in sorted(_by_kind(plan.files)))
    planned = f"planned at {plan.planned_at:%Y-%m-%d %H:%M:%S} UTC"
    lines = [f"{plan.view.replace('_', '-')} of {table.location}, {planned}"]
    removals = plan.removals
    for name, ids in (("snapshots", removals.snapshots), ("changelogs", removals.changelogs)):
        if ids:
            named = ", ".join(map(str, sorted(ids)[:_NAMED_SNAPSHOTS]))
            more = f" and {len(ids) - _NAMED_SNAPSHOTS} more" if len(ids) > _NAMED_SNAPSHOTS else ""
            lines.append(f"commits first: {name} {named}{more} expire")
    if removals.refs:
        lines.append(f"commits first: branches and tags {', '.join(sorted(removals.refs))} expire")
    lines.append(f"files: {what or 'none'}")
    if plan.view == "dangling_deletes":
        lines.append("taken out of the table by a commit; older snapshots keep them until they expire")
    elif plan.view == "repair_plan":
        lost, back = (pc.sum(plan.files[name]).as_py() or 0 for name in ("rows_lost", "rows_back"))
        lines.append(f"repaired: at most {count(lost, 'row')} lost, {count(back, 'row')} returned again")
    else:
        lines.append("deleted for good" if quarantine is None else f"moved to {quarantine}")
    lines.append(f"log: {log}")
    return lines


def _by_kind(files: pa.Table) -> list[tuple[str, int, int]]:
    summed = files.group_by("kind").aggregate(_SUMS)
    columns = (summed[name].to_pylist() for name in ("kind", "file_path_count", "file_size_in_bytes_sum"))
    return [(kind, many, bytes_ or 0) for kind, many, bytes_ in zip(*columns, strict=True)]


def _ask(lines: list[str], yes: bool) -> None:
    """Shows what is about to happen, and goes on where that is wanted.

    Raises: click.UsageError where nobody can be asked; click.exceptions.Exit for a no.
    """
    for line in lines:
        click.echo(printable(line), err=True)
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise click.UsageError("nobody can be asked here: --yes goes on without a question")
    if not click.confirm("Go on?", default=False, err=True):
        raise click.exceptions.Exit(1)


def _report(done: Cleanup, output: str, output_file: str | None) -> None:
    """Prints what became of the files: sums by outcome and reason, or the rows in another form."""
    if output == "table" and output_file is None:
        groups = done.rows.group_by(["outcome", "reason"]).aggregate(_SUMS)
        for row in groups.sort_by([("outcome", "descending")]).to_pylist():
            why = "" if row["reason"] is None else f": {row['reason']}"
            many = count(row["file_path_count"], "file")
            click.echo(printable(f"{row['outcome']} {many}, {size(row['file_size_in_bytes_sum'] or 0)}{why}"))
        if not groups.num_rows:
            click.echo("no files")
    else:
        write(Read(done.rows), output, output_file, all_rows=True)
    if "failed" in done.counts:
        raise click.exceptions.Exit(1)
