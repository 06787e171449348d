"""Rows as text: fitted to a terminal, or whole for a pipe."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from lakebed._values import to_rows, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa
    from rich.console import Console

TERMINAL_ROWS = 100
"""Rows of a view that a terminal gets unless `--limit` says how many."""

_CELL_WIDTH = 48
_PADDING = 3


def plain_lines(reader: pa.RecordBatchReader) -> Iterator[str]:
    """All columns and rows as aligned text, nothing cut; widths are those of the first batch."""
    header = reader.schema.names
    widths: list[int] | None = None
    for batch in reader:
        rows = _cells(batch)
        if widths is None:
            widths = _widths(header, rows)
            yield _line(header, widths)
        yield from (_line(row, widths) for row in rows)
    if widths is None:
        yield _line(header, [len(name) for name in header])


def terminal_table(table: pa.Table, most: int | None) -> None:
    """The columns that fit and the first `most` rows (None: all), and a line about what is not shown."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    more = most is not None and table.num_rows > most
    rows = _cells(table.slice(0, most))
    names = table.schema.names
    shown = _fitting(_widths(names, rows), console.width)
    output = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for field in list(table.schema)[:shown]:
        output.add_column(field.name, no_wrap=True, justify="right" if _is_number(field.type) else "left")
    for row in rows:
        output.add_row(*(Text(_cut(cell), style="dim" if cell == "null" else "") for cell in row[:shown]))
    console.print(output)
    notes = [f"first {most} rows: --limit N for more"] if more else []
    hidden = names[shown:]
    notes += [f"{len(hidden)} more columns, --columns to choose: {', '.join(hidden)}"] if hidden else []
    if notes:
        stderr().print("\n".join(notes), style="dim", markup=False, highlight=False)


def pairs(console: Console, title: str, rows: Sequence[tuple[str, str]]) -> None:
    """A small list of names and values under a title."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    for name, value in rows:
        grid.add_row(Text(name, style="dim"), Text(clean(value), overflow="fold"))
    console.print(Text(title, style="bold"))
    console.print(grid)
    console.print()


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


def clean(text: str) -> str:
    """The text with control characters spelled out, since file names may hold any."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def size(count: int) -> str:
    """A number of bytes in words, with decimal units."""
    value, units = float(count), ["B", "kB", "MB", "GB", "TB", "PB"]
    while value >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.0f} {units[0]}" if units[0] == "B" else f"{value:.1f} {units[0]}"


def _cells(data: pa.RecordBatch | pa.Table) -> list[list[str]]:
    return [[clean(to_text(value)) for value in row] for row in to_rows(data)]


def _widths(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(name), *(len(row[i]) for row in rows), 0) for i, name in enumerate(header)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _fitting(widths: Sequence[int], room: int) -> int:
    """How many of the first columns fit; at least one."""
    for count, width in enumerate(widths):
        room -= min(width, _CELL_WIDTH) + _PADDING
        if room < 0:
            return max(count, 1)
    return len(widths)


def _cut(cell: str) -> str:
    # The end of a path tells more than its beginning.
    return cell if len(cell) <= _CELL_WIDTH else "…" + cell[1 - _CELL_WIDTH :]


def _is_number(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
