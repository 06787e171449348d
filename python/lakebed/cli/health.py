"""`lakebed health`: how tables are, and what to do about it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from lakebed import _display, _native
from lakebed._pyarrow import pa
from lakebed._values import to_records, to_text
from lakebed.advice import TableName, findings
from lakebed.advice.calls import ENGINES
from lakebed.cli import openmetrics, options, render
from lakebed.cli.failures import Failure, kind_of, one_line
from lakebed.cli.output import write, write_explain, write_lines
from lakebed.cli.rows import Read, is_named

if TYPE_CHECKING:
    from lakebed.advice import Finding, Thresholds
    from lakebed.table import Table

_OPENMETRICS = "openmetrics"
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
    open_tables: Sequence[tuple[str, Callable[[], Table]]],
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

    On a terminal one table after the other, with problems marked and the next step below. In a pipe one row a
    table, and problems on standard error; in JSON each row has them too. -o openmetrics is what Prometheus
    reads.

    \b
    lakebed health TABLE --fail-if 'small_file_count > 1000 or deleted_record_ratio > 0.2'
    lakebed health TABLE OTHER -o openmetrics --output-file lakebed.prom
    """  # noqa: D301 - click's mark of lines that stay as they are
    is_shown = output == "table" and output_file is None
    is_upright = is_shown and sys.stdout.isatty()
    has_findings = is_shown or output in ("json", _OPENMETRICS)
    # Problems and conditions read all columns, whichever are printed.
    read_all = has_findings or fail_if is not None
    rows, failed, in_force = list[openmetrics.Measured](), False, list[dict[str, Any]]()
    for number, (name, open_table) in enumerate(open_tables):
        table = None
        try:
            with one_line():
                table = open_table()
                limits, called = thresholds(table), TableName.of(table, options.as_opened(name))
                if list_thresholds:
                    in_force += _listed(table, limits)
                    continue
                wanted = None if read_all else columns
                scan = table.health(columns=wanted, small_bytes=limits.small_bytes, **selection)
                if explain:
                    _explain(scan, output, output_file)
                    continue
                with render.progress("reading"):
                    row = scan.to_arrow()
                failed |= _fails(row, name, fail_if)
                shown = to_records(row) if has_findings else []
                found = [finding for values in shown for finding in findings(values, limits, called)]
                row = row.select(columns) if read_all and columns else row
                if output == "json" and columns is None:
                    row = row.append_column("findings", _as_column(found, row.num_rows))
        except Failure as failure:
            # A catalog that cannot be asked is no wrong usage for whoever watches its tables.
            if output != _OPENMETRICS and (failure.exit_code == 2 or len(open_tables) == 1):
                raise
            if failure.exit_code == 2 and table is not None:
                raise
            Failure(f"{name}: {failure.message}").show()
            failed = True
            called, given = options.named(name)
            rows.append(openmetrics.Measured(called, given, error=kind_of(failure)))
            continue
        _, given = options.named(name)
        rows.append(openmetrics.Measured(called, given, row, {finding.column for finding in found}))
        if is_upright:
            if number:
                click.echo()
            _print(row, found, engine)
            render.note("thresholds: " + ", ".join(_in_words(*one) for one in limits.in_force()))
        for finding in found if is_shown and not is_upright else ():
            click.echo(f"{name}: {finding.column}: {finding.what}; {finding.step(engine)}", err=True)
    if list_thresholds and in_force:
        write(Read(pa.Table.from_pylist(in_force)), output, output_file, all_rows=True)
    elif not is_upright:
        _write(rows, output, output_file)
    if failed:
        sys.stdout.flush()
        sys.exit(1)


def _listed(table: Table, limits: Thresholds) -> list[dict[str, Any]]:
    """A row for each threshold of a table."""
    return [
        {"location": table.location, "threshold": name, "value": to_text(value), "origin": origin}
        for name, value, origin in limits.in_force()
    ]


def _in_words(name: str, value: float, origin: str) -> str:
    shown = _display.threshold(int(value)) if name == "small_bytes" else f"{value:g}"
    return f"{name} {shown}" + ("" if origin == "default" else f" ({origin})")


def _as_column(found: list[Finding], rows: int) -> pa.Array:
    """The problems of a row."""
    calls = pa.struct([(engine, pa.list_(pa.string())) for engine in ENGINES])
    texts = [(name, pa.string()) for name in ("column", "what", "next_step")]
    of_row = pa.list_(pa.struct([*texts, ("calls", calls)]))
    return pa.array([[finding.to_dict() for finding in found]] * rows, of_row)


def _explain(scan: Any, output: str, output_file: str | None) -> None:
    if output == _OPENMETRICS:
        raise click.UsageError(f"-o {_OPENMETRICS} is of the rows, not of --explain")
    write_explain(scan.explain(), output, output_file)


def _fails(row: pa.Table, name: str, fail_if: str | None) -> bool:
    if fail_if is None:
        return False
    condition = _native.Filter(row.schema, fail_if)
    fails = any(pa.record_batch(condition.matching(batch)).num_rows for batch in row.to_batches())
    if fails:
        values = to_records(row)[0].items()
        shown = ", ".join(f"{key} is {to_text(value)}" for key, value in values if is_named(key, fail_if))
        Failure(f"{name}: {fail_if} ({shown})").show()
    return fails


def _write(tables: list[openmetrics.Measured], output: str, output_file: str | None) -> None:
    rows = [table.row for table in tables if table.row is not None]
    if output == _OPENMETRICS:
        if tables:
            write_lines(openmetrics.lines(tables), output_file)
    elif rows:
        write(Read(pa.concat_tables(rows)), output, output_file, all_rows=True, view="health")


def _print(row: pa.Table, found: list[Finding], engine: str) -> None:
    for values, cells in zip(to_records(row), _display.cells(row, "health"), strict=True):
        titles, sections = dict(_SECTIONS), list[tuple[str, list[tuple[str, str]]]]()
        for name, cell in zip(row.schema.names, cells, strict=True):
            if name in titles or not sections:
                sections.append((titles.get(name, "health"), []))
            if values[name] is not None:
                sections[-1][1].append((name, cell))
        shown = [section for section in sections if section[1]]
        marks = {finding.column for finding in found}
        render.sections(shown, marks)
        click.echo()
        render.problems(found, engine)
