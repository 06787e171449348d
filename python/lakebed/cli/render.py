"""Rows as text: fitted to a terminal, or whole for a pipe."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import click

from lakebed._text import printable
from lakebed._values import to_rows, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from rich.console import Console

TERMINAL_ROWS = 100
"""Rows of a view that a terminal gets unless `--limit` says how many."""

_CELL_WIDTH = 48
# What is left of the room for a column that has to be cut further.
_LEAST_WIDTH = 20
_PADDING = 3


def plain_lines(reader: pa.RecordBatchReader) -> Iterator[str]:
    """All columns and rows as aligned text, nothing cut; widths are those of the first batch."""
    header = [printable(name) for name in reader.schema.names]
    widths: list[int] | None = None
    for batch in reader:
        rows = _cells(batch)
        if widths is None:
            widths = _widths(header, rows)
            yield _line(header, widths)
        yield from (_line(row, widths) for row in rows)
    if widths is None:
        yield _line(header, [len(name) for name in header])


def terminal_table(table: pa.Table, most: int | None, first: Sequence[str] = ()) -> None:
    """The columns that fit and the first `most` rows (None: all), and a line about what is not shown.

    Args: first, names of the columns to begin with; the others follow as they come.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    more = most is not None and table.num_rows > most
    table = _reordered(table.slice(0, most), first)
    rows, fields = _cells(table), list(table.schema)
    names = [printable(name) for name in table.schema.names]
    widths = _fitted(fields, _widths(names, rows), console.width)
    output = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False)
    for field, _ in zip(fields, widths, strict=False):
        output.add_column(
            Text(printable(field.name)), no_wrap=True, justify="right" if _is_number(field.type) else "left"
        )
    for row in rows:
        cells = (_cut(*cell) for cell in zip(row, widths, fields, strict=False))
        output.add_row(*(Text(cell, style="dim" if cell == "null" else "") for cell in cells))
    console.print(output)
    notes = [f"first {most} rows: --limit N for more"] if more else []
    if hidden := names[len(widths) :]:
        notes.append(f"{count(len(hidden), 'more column')}, --columns to choose: {', '.join(hidden)}")
    if notes:
        stderr().print("\n".join(notes), style="dim", markup=False, highlight=False)


def sections(about: Sequence[tuple[str, Sequence[tuple[str, str]]]]) -> None:
    """Small lists of names and values, each under its title; long values are folded on a terminal only."""
    for number, (title, named) in enumerate(about):
        rows = [(printable(name), printable(value)) for name, value in named]
        if number:
            click.echo()
        if sys.stdout.isatty():
            _folded(title, rows)
            continue
        width = max((len(name) for name, _ in rows), default=0)
        lines = (f"{name.ljust(width)}  {value}".rstrip() for name, value in rows)
        click.echo("\n".join([title, *lines]))


def _folded(title: str, rows: Sequence[tuple[str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    grid = Table.grid(padding=(0, 2))
    for name, value in rows:
        grid.add_row(Text(name, style="dim"), Text(value, overflow="fold"))
    console.print(Text(title, style="bold"))
    console.print(grid)


def stderr() -> Console:
    """The console on standard error."""
    from rich.console import Console

    return Console(stderr=True)


@contextlib.contextmanager
def progress(text: str) -> Iterator[None]:
    """A spinner on standard error while the block runs; nothing where that is no terminal."""
    if not sys.stderr.isatty():
        yield
        return
    with stderr().status(text):
        yield


def count(number: int, thing: str) -> str:
    """A number of things in words: `1 file`, `2,000 files`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def size(number: int) -> str:
    """A number of bytes in words, with decimal units."""
    value, units = float(number), ["B", "kB", "MB", "GB", "TB", "PB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.0f} {units[0]}" if units[0] == "B" else f"{value:.1f} {units[0]}"


def _cells(data: pa.RecordBatch | pa.Table) -> list[list[str]]:
    return [[printable(to_text(value)) for value in row] for row in to_rows(data)]


def _widths(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(name), *(len(row[i]) for row in rows), 0) for i, name in enumerate(header)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _reordered(table: pa.Table, first: Sequence[str]) -> pa.Table:
    """The columns named first, then those that hold something, then those that hold nothing."""
    if not first:
        return table
    names = [name for name in first if name in table.schema.names]
    others = [name for name in table.schema.names if name not in first]
    others.sort(key=lambda name: table[name].null_count == table.num_rows)
    return table.select(names + others)


def _fitted(fields: Sequence[pa.Field], widths: Sequence[int], room: int) -> list[int]:
    """The widths of the first columns, as many as fit and at least one; the last may be cut to fit."""
    fitted: list[int] = []
    for field, width in zip(fields, widths, strict=True):
        wanted = width if _is_number(field.type) else max(min(width, _CELL_WIDTH), len(printable(field.name)))
        if wanted > room:
            least = wanted if _is_number(field.type) else max(_LEAST_WIDTH, len(printable(field.name)))
            return [*fitted, room] if least <= room else fitted or [room]
        fitted.append(wanted)
        room -= wanted + _PADDING
    return fitted


def _cut(cell: str, width: int, field: pa.Field) -> str:
    import pyarrow as pa

    if len(cell) <= width:
        return cell
    # The end of a path tells more than its beginning.
    if pa.types.is_string(field.type):
        return "…" + cell[len(cell) - width + 1 :]
    return cell[: width - 1] + "…"


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
