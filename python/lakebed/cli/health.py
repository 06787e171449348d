"""`lakebed health`: how tables are, and what to do about it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from lakebed import _display, _native
from lakebed._pyarrow import pa
from lakebed._values import to_records, to_text
from lakebed._verdict import findings
from lakebed.cli import openmetrics, options, render
from lakebed.cli.failures import Failure, one_line
from lakebed.cli.output import write, write_explain, write_lines
from lakebed.cli.rows import Read, is_named

if TYPE_CHECKING:
    from lakebed._verdict import Finding
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
    open_tables: Sequence[tuple[str, Callable[[], Table]]],
    columns: list[str] | None,
    fail_if: str | None,
    explain: bool,
    output: str,
    output_file: str | None,
    **selection: Any,
) -> None:
    """Problems of one table or several, with file sizes, deletes, snapshots and manifests, and what to do.

    On a terminal one table after the other, with problems marked and the next step below. In a pipe one row a
    table, and problems on standard error. -o openmetrics is what Prometheus reads.

    \b
    lakebed health TABLE --fail-if 'small_file_count > 1000 or deleted_record_ratio > 0.2'
    lakebed health TABLE OTHER -o openmetrics --output-file lakebed.prom
    """  # noqa: D301 - click's mark of lines that stay as they are
    is_shown = output == "table" and output_file is None
    is_upright = is_shown and sys.stdout.isatty()
    # Problems and conditions read all columns, whichever are printed.
    read_all = is_shown or fail_if is not None
    rows, failed = [], False
    for number, (name, open_table) in enumerate(open_tables):
        try:
            with one_line():
                scan = open_table().health(columns=None if read_all else columns, **selection)
                if explain:
                    _explain(scan, output, output_file)
                    continue
                with render.progress("reading"):
                    row = scan.to_arrow()
                failed |= _fails(row, name, fail_if)
                opened, small = options.as_opened(name), selection["small_bytes"]
                shown = to_records(row) if is_shown else []
                found = [finding for values in shown for finding in findings(values, small, opened)]
                row = row.select(columns) if read_all and columns else row
        except Failure as failure:
            if len(open_tables) == 1 or failure.exit_code == 2:
                raise
            Failure(f"{name}: {failure.message}").show()
            failed = True
            continue
        rows.append(row)
        if is_upright:
            if number:
                click.echo()
            _print(row, found)
        for finding in () if is_upright else found:
            click.echo(f"{name}: {finding.column}: {finding.what}; {finding.next_step}", err=True)
    if rows and not is_upright:
        _write(rows, output, output_file)
    if failed:
        sys.stdout.flush()
        sys.exit(1)


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


def _write(rows: list[pa.Table], output: str, output_file: str | None) -> None:
    table = pa.concat_tables(rows)
    if output == _OPENMETRICS:
        write_lines(openmetrics.lines(table), output_file)
    else:
        write(Read(table), output, output_file, all_rows=True, view="health")


def _print(row: pa.Table, found: list[Finding]) -> None:
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
        render.problems(found)
