"""`lakebed find`: which tables there are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

import lakebed
from lakebed import _native, fleet
from lakebed._pyarrow import pa
from lakebed._threads import in_order
from lakebed.cli import options, render
from lakebed.cli.failures import Failure
from lakebed.cli.output import write
from lakebed.cli.rows import Read, matching
from lakebed.errors import TableNotFoundError
from lakebed.storage.paths import local_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FIRST = ("name", "format", "location")
_SCHEMA = ("location", "format", "name")


@click.command("find")
@click.argument("prefix", nargs=-1, metavar="[PREFIX]")
@options.catalog
@options.filter
@options.no_where
@options.columns
@options.limit
@options.output
def command(
    prefix: tuple[str, ...],
    catalog: str | None,
    columns: list[str] | None,
    output: str,
    output_file: str | None,
    **selection: Any,
) -> None:
    """The tables of both formats at PREFIX, a folder or URI, and below it; with --catalog those of a catalog,
    or of its namespaces PREFIX.

    One row per table: location, format and name. Folders are listed, no table is opened; of a catalog each
    table is loaded, for its location. Exits with 1 where one cannot be.
    """
    first = () if columns else _FIRST
    if catalog is None:
        if len(prefix) != 1:
            raise click.UsageError("find takes one PREFIX, or --catalog")
        scan = lakebed.find_tables(prefix[0], columns=columns, **selection)
        write(scan, output, output_file, all_rows=True, first=first)
        return
    if unknown := set(columns or ()).difference(_SCHEMA):
        raise click.UsageError(f"--columns: no column {min(unknown)!r}; there are {', '.join(_SCHEMA)}")
    with render.progress("reading"):
        found = list(_locations(options.loaded(catalog), prefix))
    errors = [(name, answer) for name, answer in found if isinstance(answer, Exception)]
    for name, error in errors:
        Failure(f"{name}: {error}").show()
    there = [(name, one) for name, one in found if not isinstance(one, TableNotFoundError)]
    rows = _rows([(name, None if isinstance(one, Exception) else one) for name, one in there], **selection)
    write(Read(rows.select(columns or list(_SCHEMA))), output, output_file, all_rows=True, first=first)
    if errors:
        sys.stdout.flush()
        sys.exit(1)


def _locations(catalog: Any, wanted: Sequence[str]) -> Iterator[tuple[str, str | Exception]]:
    """The names of tables of a catalog, each with its location, or with what is wrong."""

    def location(name: str) -> str | Exception:
        try:
            there = str(fleet.loaded(catalog, name).metadata.location)
            # As the table says it where it is opened.
            return _native.location_of(local_path(there) or there)
        except Exception as error:  # noqa: BLE001 - other tables are to be found all the same
            return error

    return in_order(fleet.names_in(catalog, wanted), location, fleet.REMOTE_TABLES)


def _rows(found: list[tuple[str, str | None]], filter: str | None, limit: int | None) -> pa.Table:
    """Rows as `find_tables` gives them. Raises: SchemaError, PredicateError."""
    names, locations = [name for name, _ in found], [location for _, location in found]
    columns = (locations, ["iceberg"] * len(found), names)
    rows = pa.table(dict(zip(_SCHEMA, (pa.array(one, pa.string()) for one in columns), strict=True)))
    if filter is not None:
        rows = matching(rows, filter)
    return rows.slice(0, limit)
