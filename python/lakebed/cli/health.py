"""`lakebed health`: how tables are, and what to do about it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from lakebed import _native, fleet
from lakebed._pyarrow import pa
from lakebed.cli import openmetrics, options, render, thresholds
from lakebed.cli.health_rows import (
    OF_FLEETS,
    HealthAnswer,
    TableHealth,
    UnreadableTable,
    print_lines,
    write_rows,
)
from lakebed.cli.output import write, write_explain, write_lines
from lakebed.cli.rows import Read
from lakebed.cli.watching import watched
from lakebed.errors import PredicateError, SchemaError

if TYPE_CHECKING:
    from lakebed.advice import Thresholds
    from lakebed.fleet import NamedTable
    from lakebed.table import Table

_OPENMETRICS = "openmetrics"


@watched
@click.command("health")
@options.tables
@options.where
@options.filter
@options.columns
@thresholds.thresholds
@click.option(
    "--thresholds", "list_thresholds", is_flag=True, help="List those in force instead of the rows."
)
@options.engine
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
    limits_of: Callable[[Table], Thresholds],
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
    if (explain or list_thresholds) and output == _OPENMETRICS:
        other = "--thresholds" if list_thresholds else "--explain"
        raise click.UsageError(f"-o {_OPENMETRICS} is of the rows, not of {other}")
    is_shown = output == "table" and output_file is None and not explain
    of_health = None if columns is None else [name for name in columns if name not in OF_FLEETS]
    _native.health_schema(of_health)
    # Problems and conditions read all columns, whichever are printed.
    read_all = is_shown or output in ("json", _OPENMETRICS) or fail_if is not None
    wanted = None if read_all else of_health

    def read(_: NamedTable, table: Table) -> HealthAnswer:
        limits = limits_of(table)
        if list_thresholds:
            return HealthAnswer(table, limits, None)
        try:
            scan = table.health(
                columns=wanted, small_bytes=limits.small_bytes, threads=1 if is_fleet else None, **selection
            )
            return HealthAnswer(table, limits, scan.explain() if explain else scan.to_arrow())
        except (PredicateError, SchemaError) as error:
            return HealthAnswer(table, limits, error)

    found, failed = list[TableHealth](), list[UnreadableTable]()
    with render.progress("reading"):
        answers = list(fleet.each(tables, read))
    for named, answer in answers:
        if isinstance(answer, Exception):
            failed.append(UnreadableTable.of(named, answer, is_fleet, is_watched=output == _OPENMETRICS))
        elif isinstance(answer.found, Exception):
            raise answer.found
        elif explain and not list_thresholds:
            write_explain(answer.found, output, output_file)
        else:
            found.append(TableHealth.of(named, answer))
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
        print_lines(found, failed)
    else:
        for failure in failed:
            failure.show()
        for one in found if is_shown and not is_upright else ():
            one.say(engine)
        if output == _OPENMETRICS:
            measured = [one.measured(of_health) for one in found]
            write_lines(openmetrics.lines([*measured, *(one.measured() for one in failed)]), output_file)
        elif not explain:
            write_rows(found, failed, columns, is_fleet, output, output_file)
    if failed or any(fails):
        sys.stdout.flush()
        sys.exit(1)
