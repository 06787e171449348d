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
    if list_thresholds:
        _list(open_tables, thresholds, output, output_file)
        return
    is_shown = output == "table" and output_file is None
    is_upright = is_shown and sys.stdout.isatty()
    has_findings = is_shown or output in ("json", _OPENMETRICS)
    # Problems and conditions read all columns, whichever are printed.
    read_all = has_findings or fail_if is not None
    rows, failed = list[openmetrics.Measured](), False
    for number, (name, open_table) in enumerate(open_tables):
        table = None
        try:
            with one_line():
                table = open_table()
                limits = thresholds(table)
                wanted = None if read_all else columns
                scan = table.health(columns=wanted, small_bytes=limits.small_bytes, **selection)
                if explain:
                    _explain(scan, output, output_file)
                    continue
                with render.progress("reading"):
                    row = scan.to_arrow()
                failed |= _fails(row, name, fail_if)
                called, shown = TableName.of(table, options.as_opened(name)), row if has_findings else row[:0]
                found = [one for values in to_records(shown) for one in findings(values, limits, called)]
                row = row.select(columns) if read_all and columns else row
        except Failure as failure:
            # A catalog that cannot be asked is no wrong usage for whoever watches its tables.
            is_watched = output == _OPENMETRICS and (failure.exit_code != 2 or table is None)
            if not is_watched and (failure.exit_code == 2 or len(open_tables) == 1):
                raise
            Failure(f"{name}: {failure.message}").show()
            failed = True
            rows.append(openmetrics.Measured(*options.named(name), error=kind_of(failure)))
            continue
        if output == "json" and columns is None:
            row = row.append_column("findings", _as_column(found, row.num_rows))
        rows.append(openmetrics.Measured(*options.named(name), row, {one.column for one in found}))
        if is_shown:
            _show(name, row, found, engine, limits, number if is_upright else None)
    if not is_upright:
        _write(rows, output, output_file)
    if failed:
        sys.stdout.flush()
        sys.exit(1)


def _list(
    open_tables: Sequence[tuple[str, Callable[[], Table]]],
    thresholds: Callable[[Table], Thresholds],
    output: str,
    output_file: str | None,
) -> None:
    """Writes a row for each threshold of each table."""
    if output == _OPENMETRICS:
        raise click.UsageError(f"-o {_OPENMETRICS} is of the rows, not of --thresholds")
    with one_line():
        tables = [open_table() for _, open_table in open_tables]
        rows = [row for table in tables for row in _listed(table, thresholds(table))]
    write(Read(pa.Table.from_pylist(rows)), output, output_file, all_rows=True)


def _show(
    name: str,
    row: pa.Table,
    found: list[Finding],
    engine: str,
    limits: Thresholds,
    number: int | None,
) -> None:
    """A table upright on a terminal as its `number`, else its problems on standard error."""
    if number is None:
        for finding in found:
            click.echo(f"{name}: {finding.column}: {finding.what}; {finding.step(engine)}", err=True)
        return
    if number:
        click.echo()
    _print(row, found, engine)
    render.note("thresholds: " + ", ".join(_in_words(*one) for one in limits.in_force()))


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
