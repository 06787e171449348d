"""`lakebed health`: how tables are, and what to do about it."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from lakebed import _display, _native, fleet
from lakebed._pyarrow import pa
from lakebed._values import to_records, to_text
from lakebed._verdict import findings
from lakebed.cli import openmetrics, options, render
from lakebed.cli.failures import Failure, one_line
from lakebed.cli.output import write, write_explain, write_lines
from lakebed.cli.rows import Read, is_named

if TYPE_CHECKING:
    from lakebed._verdict import Finding
    from lakebed.fleet import NamedTable
    from lakebed.table import Table

_OPENMETRICS = "openmetrics"
# What rows of several tables have besides.
_OF_FLEETS = ("name", "error")
# The counts of a line on a terminal.
_COUNTS = ("file_count", "small_file_count", "delete_file_count", "snapshot_count")
_HEADINGS = (
    "table",
    "format",
    "size",
    "files",
    "small",
    "deletes",
    "snapshots",
    "committed",
    "worst problem",
)
# The first column of each section.
_SECTIONS = (
    ("location", "table"),
    ("partition_count", "data files"),
    ("delete_file_count", "deletes"),
    ("manifest_count", "manifests"),
)


@click.command("health")
@options.tables
@options.where
@options.filter
@options.columns
@options.small_bytes
@click.option(
    "--fail-if",
    metavar="SQL",
    help="Exit with 1 where this holds of a table's health, such as 'small_file_count > 1000'.",
)
@options.explain
@options.limit
@options.output_or(_OPENMETRICS)
def command(
    tables: Sequence[NamedTable],
    is_fleet: bool,
    columns: list[str] | None,
    fail_if: str | None,
    explain: bool,
    output: str,
    output_file: str | None,
    **selection: Any,
) -> None:
    """Problems of one table or several, with file sizes, deletes, snapshots and manifests, and what to do.

    TABLE may also be a folder of tables, with --catalog a namespace too, or nothing for all that the catalog
    has. On a terminal one table with its problems marked and the next step below; of several a line each,
    the worst first. In a pipe one row a table, and problems on standard error. -o openmetrics is what
    Prometheus reads. Exits with 1 where a table cannot be read or --fail-if holds.

    \b
    lakebed health TABLE --fail-if 'small_file_count > 1000 or deleted_record_ratio > 0.2'
    lakebed health s3://lake/warehouse
    lakebed health --catalog prod sales marketing -o json
    lakebed health TABLE OTHER -o openmetrics --output-file lakebed.prom
    """  # noqa: D301 - click's mark of lines that stay as they are
    if explain and output == _OPENMETRICS:
        raise click.UsageError(f"-o {_OPENMETRICS} is of the rows, not of --explain")
    is_shown = output == "table" and output_file is None and not explain
    of_health = None if columns is None else [name for name in columns if name not in _OF_FLEETS]
    _native.health_schema(of_health)
    # Problems and conditions read all columns, whichever are printed.
    needed = None if is_shown or fail_if is not None else of_health

    def read(table: Table) -> Any:
        scan = table.health(columns=needed, threads=1 if is_fleet else None, **selection)
        return scan.explain() if explain else scan.to_arrow()

    found, failed = list[_Health](), list[tuple[str, str]]()
    with render.progress("reading"):
        answers = list(fleet.each(tables, read))
    for named, answer in answers:
        if isinstance(answer, Exception):
            failed.append((named.name, _message(answer, is_fleet)))
        elif explain:
            write_explain(answer, output, output_file)
        else:
            found.append(_Health.of(named, answer, selection["small_bytes"]))
    fails = [one.fails(fail_if) for one in found] if fail_if is not None else []
    is_upright = is_shown and sys.stdout.isatty()
    if is_upright and not is_fleet:
        for one in found:
            _print(one, columns)
    elif is_upright and columns is None:
        _print_lines(found, failed)
    else:
        for name, message in failed:
            Failure(f"{name}: {message}").show()
        for one in found if is_shown and not is_upright else ():
            one.say()
        if found or (failed and is_fleet and not explain):
            rows = [one.line(columns, is_fleet) for one in found]
            _write([*rows, *_errors(failed, columns)], output, output_file)
    if failed or any(fails):
        sys.stdout.flush()
        sys.exit(1)


def _message(error: Exception, is_fleet: bool) -> str:
    """What is wrong with one table of several. Raises: it for one alone, and what is wrong with all."""
    try:
        with one_line():
            raise error
    except Failure as failure:
        if not is_fleet or failure.exit_code == 2:
            raise
        return failure.message


@dataclass(frozen=True)
class _Health:
    """A table's health, with all columns, and its problems."""

    named: NamedTable
    row: pa.Table
    found: list[Finding]

    @staticmethod
    def of(named: NamedTable, row: pa.Table, small_bytes: int) -> _Health:
        """The health of a table; without rows where `--filter` or `--limit` left it out."""
        opened = options.as_opened(named.given)
        return _Health(
            named, row, [one for values in to_records(row) for one in findings(values, small_bytes, opened)]
        )

    def fails(self, fail_if: str) -> bool:
        """Whether a condition holds, and says so."""
        condition = _native.Filter(self.row.schema, fail_if)
        fails = any(pa.record_batch(condition.matching(batch)).num_rows for batch in self.row.to_batches())
        if fails:
            values = to_records(self.row)[0].items()
            shown = ", ".join(f"{key} is {to_text(value)}" for key, value in values if is_named(key, fail_if))
            Failure(f"{self.named.name}: {fail_if} ({shown})").show()
        return fails

    def cells(self) -> tuple[str, ...]:
        """The cells of its line on a terminal."""
        (values,) = to_records(self.row)
        # Python's calendar ends with the year 9999.
        committed = self.row["committed_at"].cast(pa.int64())[0].as_py()
        worst = min(self.found, key=lambda one: fleet.rank([one]), default=None)
        more = f" (+{len(self.found) - 1})" if len(self.found) > 1 else ""
        return (
            self.named.name,
            values["format"],
            _display.size(values["file_size_in_bytes"]),
            *(f"{values[name]:,}" for name in _COUNTS),
            "" if committed is None else _display.age(time.time() - committed / 1e6),
            "" if worst is None else worst.what + more,
        )

    def say(self) -> None:
        """The problems, a line each on standard error."""
        for one in self.found:
            click.echo(f"{self.named.name}: {one.column}: {one.what}; {one.next_step}", err=True)

    def line(self, columns: list[str] | None, is_fleet: bool) -> pa.Table:
        """What is written of it."""
        if not is_fleet:
            return self.row if columns is None else self.row.select(columns)
        row = fleet.with_name(self.row, self.named.name, None)
        return row if columns is None else row.select(columns)


def _errors(failed: Sequence[tuple[str, str]], columns: list[str] | None) -> list[pa.Table]:
    """Rows of tables that cannot be read, where the columns say why."""
    if columns is not None and "error" not in columns:
        return []
    row = fleet.row_of(pa.schema(_native.health_schema(None)))
    rows = [fleet.with_name(row, name, error) for name, error in failed]
    return rows if columns is None else [row.select(columns) for row in rows]


def _write(rows: list[pa.Table], output: str, output_file: str | None) -> None:
    table = pa.concat_tables(rows)
    if output == _OPENMETRICS:
        write_lines(openmetrics.lines(table), output_file)
    else:
        write(Read(table), output, output_file, all_rows=True, view="health")


def _print(one: _Health, columns: list[str] | None) -> None:
    """A table upright."""
    row = one.line(columns, is_fleet=False)
    for values, cells in zip(to_records(row), _display.cells(row, "health"), strict=True):
        titles, sections = dict(_SECTIONS), list[tuple[str, list[tuple[str, str]]]]()
        for name, cell in zip(row.schema.names, cells, strict=True):
            if name in titles or not sections:
                sections.append((titles.get(name, "health"), []))
            if values[name] is not None:
                sections[-1][1].append((name, cell))
        render.sections(
            [section for section in sections if section[1]], {found.column for found in one.found}
        )
        click.echo()
        render.problems(one.found)


def _print_lines(found: Sequence[_Health], failed: Sequence[tuple[str, str]]) -> None:
    """A line for each table, those that cannot be read first, then those with the worst problems."""
    ranked = sorted((one for one in found if one.row.num_rows), key=lambda one: fleet.rank(one.found))
    lines = [(name, *[""] * 7, f"not read: {error}") for name, error in failed]
    lines += [one.cells() for one in ranked]
    render.lines(_HEADINGS, lines)
    poor = sum(1 for one in ranked if one.found)
    notes = [_display.count(len(lines), "table"), f"{poor:,} with problems" if poor else "no problems found"]
    notes += [f"{len(failed):,} not read"] if failed else []
    render.note(", ".join(notes) + ("; `lakebed health TABLE` says what to do" if poor else ""))
