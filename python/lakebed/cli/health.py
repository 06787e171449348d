"""`lakebed health`: how tables are, and what to do about it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from lakebed import _display, _native, fleet
from lakebed._pyarrow import pa
from lakebed._values import to_records, to_text
from lakebed.advice import TableName, findings
from lakebed.advice.calls import ENGINES
from lakebed.cli import openmetrics, options, render
from lakebed.cli.failures import Failure, kind_of, one_line
from lakebed.cli.output import write, write_explain, write_lines
from lakebed.cli.rows import Read, is_named
from lakebed.errors import PredicateError, SchemaError

if TYPE_CHECKING:
    from lakebed.advice import Finding, Thresholds
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
@options.thresholds
@click.option(
    "--thresholds", "list_thresholds", is_flag=True, help="List those in force instead of the rows."
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="Whose calls are shown, where it has some for a problem. flink: SQL for Paimon, Java for Iceberg.",
)
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
    thresholds: Callable[[Table], Thresholds],
    columns: list[str] | None,
    list_thresholds: bool,
    engine: str,
    fail_if: str | None,
    explain: bool,
    output: str,
    output_file: str | None,
    **selection: Any,
) -> None:
    """Problems of one table or several, with file sizes, deletes, snapshots and manifests, and what to do.

    TABLE may also be a folder of tables, with --catalog a namespace too, or nothing for all that the catalog
    has. On a terminal one table with its problems marked and the next step below; of several a line each,
    the worst first. In a pipe one row a table, and problems on standard error; in JSON each row has them too.
    -o openmetrics is what Prometheus reads. Exits with 1 where a table cannot be read or --fail-if holds.

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
    read_all = is_shown or output in ("json", _OPENMETRICS) or fail_if is not None
    wanted = None if read_all else of_health

    def read(table: Table) -> _Answer:
        limits = thresholds(table)
        if list_thresholds:
            return _Answer(table, limits, None)
        try:
            scan = table.health(
                columns=wanted, small_bytes=limits.small_bytes, threads=1 if is_fleet else None, **selection
            )
            return _Answer(table, limits, scan.explain() if explain else scan.to_arrow())
        except (PredicateError, SchemaError) as error:
            return _Answer(table, limits, error)

    found, failed = list[_Health](), list[_Failed]()
    with render.progress("reading"):
        answers = list(fleet.each(tables, read))
    for named, answer in answers:
        if isinstance(answer, Exception):
            failed.append(_Failed.of(named, answer, is_fleet, is_watched=output == _OPENMETRICS))
        elif isinstance(answer.found, Exception):
            raise answer.found
        elif explain and not list_thresholds:
            write_explain(answer.found, output, output_file)
        else:
            found.append(_Health.of(named, answer))
    if list_thresholds:
        in_force = [row for one in found for row in one.listed()]
        write(Read(pa.Table.from_pylist(in_force)), output, output_file, all_rows=True)
        return
    fails = [one.fails(fail_if) for one in found] if fail_if is not None else []
    is_upright = is_shown and sys.stdout.isatty()
    if is_upright and not is_fleet:
        for one in found:
            one.print(columns, engine)
    elif is_upright and columns is None:
        _print_lines(found, failed)
    else:
        for failure in failed:
            Failure(f"{failure.named.name}: {failure.message}").show()
        for one in found if is_shown and not is_upright else ():
            one.say(engine)
        if output == _OPENMETRICS:
            measured = [one.measured(columns) for one in found]
            write_lines(openmetrics.lines([*measured, *(one.measured() for one in failed)]), output_file)
        elif not explain:
            _write(found, failed, columns, is_fleet, output, output_file)
    if failed or any(fails):
        sys.stdout.flush()
        sys.exit(1)


@dataclass(frozen=True)
class _Answer:
    """What was read of a table: its health, what explains that, or what is wrong with what was asked for."""

    table: Table
    limits: Thresholds
    found: Any


@dataclass(frozen=True)
class _Failed:
    """A table that cannot be read."""

    named: NamedTable
    message: str
    kind: str

    @staticmethod
    def of(named: NamedTable, error: Exception, is_fleet: bool, *, is_watched: bool) -> _Failed:
        """What is wrong with one table of several. Raises: it for one alone, and what is wrong with all, but
        for who watches them: there a catalog that does not answer is no wrong usage.
        """
        try:
            with one_line():
                raise error
        except Failure as failure:
            if not is_watched and (not is_fleet or failure.exit_code == 2):
                raise
            return _Failed(named, failure.message, kind_of(failure))

    def measured(self) -> openmetrics.Measured:
        """For Prometheus."""
        called, given = options.named(self.named.given)
        return openmetrics.Measured(called, given, error=self.kind)


@dataclass(frozen=True)
class _Health:
    """A table's health, with all columns where its problems are wanted, and these."""

    named: NamedTable
    answer: _Answer
    called: TableName
    found: list[Finding]

    @staticmethod
    def of(named: NamedTable, answer: _Answer) -> _Health:
        """The health of a table; without rows where `--filter` or `--limit` left it out."""
        called = TableName.of(answer.table, options.as_opened(named.given))
        rows = [] if answer.found is None else to_records(answer.found)
        found = [one for values in rows for one in findings(values, answer.limits, called)]
        return _Health(named, answer, called, found)

    @property
    def row(self) -> pa.Table:
        """The row of `health`."""
        return self.answer.found

    def listed(self) -> list[dict[str, Any]]:
        """A row for each threshold."""
        location = self.answer.table.location
        return [
            {"location": location, "threshold": name, "value": to_text(value), "origin": origin}
            for name, value, origin in self.answer.limits.in_force()
        ]

    def measured(self, columns: list[str] | None) -> openmetrics.Measured:
        """For Prometheus."""
        _, given = options.named(self.named.given)
        row = self.row if columns is None else self.row.select(columns)
        return openmetrics.Measured(self.called, given, row, {finding.column for finding in self.found})

    def fails(self, fail_if: str) -> bool:
        """Whether a condition holds, and says so."""
        condition = _native.Filter(self.row.schema, fail_if)
        fails = any(pa.record_batch(condition.matching(batch)).num_rows for batch in self.row.to_batches())
        if fails:
            values = to_records(self.row)[0].items()
            shown = ", ".join(f"{key} is {to_text(value)}" for key, value in values if is_named(key, fail_if))
            Failure(f"{self.named.name}: {fail_if} ({shown})").show()
        return fails

    def say(self, engine: str) -> None:
        """The problems, a line each on standard error."""
        for one in self.found:
            click.echo(f"{self.named.name}: {one.column}: {one.what}; {one.step(engine)}", err=True)

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

    def print(self, columns: list[str] | None, engine: str) -> None:
        """The table upright."""
        row = self.row if columns is None else self.row.select(columns)
        for values, cells in zip(to_records(row), _display.cells(row, "health"), strict=True):
            titles, sections = dict(_SECTIONS), list[tuple[str, list[tuple[str, str]]]]()
            for name, cell in zip(row.schema.names, cells, strict=True):
                if name in titles or not sections:
                    sections.append((titles.get(name, "health"), []))
                if values[name] is not None:
                    sections[-1][1].append((name, cell))
            shown = [section for section in sections if section[1]]
            render.sections(shown, {finding.column for finding in self.found})
            click.echo()
            render.problems(self.found, engine)
        render.note("thresholds: " + ", ".join(_in_words(*one) for one in self.answer.limits.in_force()))

    def line(self, columns: list[str] | None, is_fleet: bool, with_findings: bool) -> pa.Table:
        """What is written of it."""
        row = fleet.with_name(self.row, self.named.name, None) if is_fleet else self.row
        if with_findings:
            row = row.append_column("findings", _as_column(self.found, row.num_rows))
        return row if columns is None else row.select(columns)


def _in_words(name: str, value: float, origin: str) -> str:
    shown = _display.threshold(int(value)) if name == "small_bytes" else f"{value:g}"
    return f"{name} {shown}" + ("" if origin == "default" else f" ({origin})")


def _as_column(found: list[Finding], rows: int) -> pa.Array:
    """The problems of a row."""
    calls = pa.struct([(engine, pa.list_(pa.string())) for engine in ENGINES])
    texts = [(name, pa.string()) for name in ("column", "what", "next_step")]
    of_row = pa.list_(pa.struct([*texts, ("calls", calls)]))
    return pa.array([[finding.to_dict() for finding in found]] * rows, of_row)


def _write(
    found: Sequence[_Health],
    failed: Sequence[_Failed],
    columns: list[str] | None,
    is_fleet: bool,
    output: str,
    output_file: str | None,
) -> None:
    """A row for each table; of those that cannot be read where the columns say why."""
    rows = [one.line(columns, is_fleet, output == "json" and columns is None) for one in found]
    if columns is None or "error" in columns:
        row = fleet.row_of(pa.schema(_native.health_schema(None)))
        errors = [fleet.with_name(row, one.named.name, one.message) for one in failed]
        rows += errors if columns is None else [one.select(columns) for one in errors]
    if rows:
        whole = pa.concat_tables(rows, promote_options="default")
        write(Read(whole), output, output_file, all_rows=True, view="health")


def _print_lines(found: Sequence[_Health], failed: Sequence[_Failed]) -> None:
    """A line for each table, those that cannot be read first, then those with the worst problems."""
    ranked = sorted((one for one in found if one.row.num_rows), key=lambda one: fleet.rank(one.found))
    lines = [(one.named.name, *[""] * 7, f"not read: {one.message}") for one in failed]
    lines += [one.cells() for one in ranked]
    render.lines(_HEADINGS, lines)
    poor = sum(1 for one in ranked if one.found)
    notes = [_display.count(len(lines), "table"), f"{poor:,} with problems" if poor else "no problems found"]
    notes += [f"{len(failed):,} not read"] if failed else []
    render.note(", ".join(notes) + ("; `lakebed health TABLE` says what to do" if poor else ""))
