"""Rows as text: fitted to a terminal, or whole for a pipe."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import click

from lakebed import _display
from lakebed._display import count
from lakebed._pyarrow import pa, pc
from lakebed._text import printable
from lakebed._values import to_rows, to_text
from lakebed.advice import verdict
from lakebed.advice.calls import ENGINES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Literal

    from rich.console import Console

    from lakebed.advice import Finding

TERMINAL_ROWS = 100
"""Rows of a view that a terminal gets unless `--limit` says how many."""

_CELL_WIDTH = 48
# What is left of the room for a column that has to be cut further.
_LEAST_WIDTH = 16
_PADDING = 2
_SUMMED_UP = ("partitions", "buckets")
READ_WHOLE = frozenset({*_SUMMED_UP, "diff"})
"""Views that have a line of totals on a terminal, for which all rows are read."""


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


def terminal_table(
    table: pa.Table, most: int | None, first: Sequence[str] = (), view: str | None = None
) -> None:
    """The columns that fit and the first `most` rows (None: all), and a line about what is not shown.

    Args: first, names of the columns to begin with; the others follow in their order. view, the view that the
        rows are of: those of groups are summed up below, differences on standard error.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    more = most is not None and table.num_rows > most
    # Of rows that were limited nobody knows the sums of all.
    totals = _totals(table) if most is not None and view in _SUMMED_UP and table.num_rows > 1 else {}
    changes = _changes(table) if most is not None and view == "diff" else None
    table = _display.ordered(table.slice(0, most), first)
    rows, fields = _display.cells(table, view), list(table.schema)
    names = [printable(field.name) for field in fields]
    right = _display.numbers(table.schema, view)
    sums = [totals.get(name, "" if i else "total") for i, name in enumerate(table.schema.names)]
    whole = {*right, *(i for i, field in enumerate(fields) if pa.types.is_timestamp(field.type))}
    widths = _fitted(names, whole, _widths(names, [*rows, sums] if totals else rows), console.width)
    output = Table(
        box=SIMPLE_HEAD,
        header_style="bold",
        padding=(0, 0, 0, 1),
        pad_edge=False,
        show_edge=False,
        show_footer=bool(totals),
    )
    for i, _ in enumerate(widths):
        side: Literal["left", "right"] = "right" if i in right else "left"
        output.add_column(Text(names[i]), footer=Text(sums[i], style="bold"), no_wrap=True, justify=side)
    for row in rows:
        cells = (_cut(cell, width, field) for cell, width, field in zip(row, widths, fields, strict=False))
        output.add_row(*(Text(cell, style="dim" if cell == "null" else "") for cell in cells))
    console.print(output)
    notes = [] if table.num_rows else ["nothing is wrong" if view == "verify" else "no rows"]
    notes += [changes] if changes else []
    notes += [f"first {most} rows: --limit N for more"] if more else []
    if hidden := names[len(widths) :]:
        notes.append(f"{count(len(hidden), 'more column')}, --columns to choose: {', '.join(hidden)}")
    if notes:
        note("\n".join(notes))


def sections(
    about: Sequence[tuple[str, Sequence[tuple[str, str]]]], marked: Collection[str] = frozenset()
) -> None:
    """Small lists of names and values, each under its title; long values are folded on a terminal only.

    Args: marked, names whose values are problems.
    """
    for number, (title, named) in enumerate(about):
        rows = [
            (printable(name), printable(value) + ("  !" if name in marked else "")) for name, value in named
        ]
        if number:
            click.echo()
        if sys.stdout.isatty():
            _folded(title, rows)
            continue
        width = max((len(name) for name, _ in rows), default=0)
        lines = (f"{name.ljust(width)}  {value}".rstrip() for name, value in rows)
        click.echo("\n".join([title, *lines]))


def problems(found: Sequence[Finding], engine: str = ENGINES[0]) -> None:
    """Problems, each with the next step, which is not folded: its commands are to be copied.

    Args: engine, whose calls they are where it has some.
    """
    click.echo(verdict(found))
    for one in found:
        click.echo(f"\n{one.column}: {printable(one.what)}")
        for step in one.step(engine).split("; "):
            click.echo(f"  {printable(step)}")


def _folded(title: str, rows: Sequence[tuple[str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    grid = Table.grid(padding=(0, 2))
    for name, value in rows:
        style = "yellow" if value.endswith("  !") else ""
        grid.add_row(Text(name, style="dim"), Text(value, overflow="fold", style=style))
    console.print(Text(title, style="bold"))
    console.print(grid)


def note(text: str) -> None:
    """A remark about rows, on standard error."""
    stderr().print(text, style="dim", markup=False, highlight=False)


def stderr() -> Console:
    """The console on standard error."""
    from rich.console import Console

    return Console(stderr=True)


@contextlib.contextmanager
def progress(text: str) -> Iterator[None]:
    """A spinner on standard error while the block runs; nothing where that is not a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    with stderr().status(text):
        yield


def _cells(data: pa.RecordBatch | pa.Table) -> list[list[str]]:
    return [[printable(to_text(value)) for value in row] for row in to_rows(data)]


def _widths(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(name), *(len(row[i]) for row in rows), 0) for i, name in enumerate(header)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _totals(table: pa.Table) -> dict[str, str]:
    """The sums of the columns that count things and bytes."""
    summed = [
        field.name
        for field in table.schema
        if pa.types.is_integer(field.type) and field.name.endswith(("_count", "_in_bytes"))
    ]
    sums = {name: pc.sum(table[name]).as_py() for name in summed}
    return {name: _display.measure(name, value) for name, value in sums.items() if value is not None}


def _changes(table: pa.Table) -> str | None:
    """The sums of a difference; None where its columns do not say."""
    if not {"change", "record_count", "file_size_in_bytes"} <= set(table.schema.names):
        return None
    parts = []
    for change in ("removed", "added"):
        files = table.filter(pc.equal(table["change"], change))
        rows, size = (pc.sum(files[name]).as_py() or 0 for name in ("record_count", "file_size_in_bytes"))
        amount = f"{_display.size(size)}, {count(rows, 'row')}"
        parts.append(f"{count(files.num_rows, 'file')} {change} ({amount})")
    return ", ".join(parts)


def _fitted(names: Sequence[str], whole: Collection[int], widths: Sequence[int], room: int) -> list[int]:
    """The widths of the first columns, as many as fit and at least one; the last may be cut to fit.

    Args: whole, the columns that are never cut, since they are numbers or times.
    """
    fitted: list[int] = []
    for i, (name, width) in enumerate(zip(names, widths, strict=True)):
        wanted = width if i in whole else max(min(width, _CELL_WIDTH), len(name))
        if wanted > room:
            least = wanted if i in whole else max(_LEAST_WIDTH, len(name))
            if least <= room or not fitted:
                fitted.append(room)
                room = 0
            break
        fitted.append(wanted)
        room -= wanted + _PADDING
    return _widened(fitted, widths, room)


def _widened(fitted: list[int], widths: Sequence[int], room: int) -> list[int]:
    """The same columns, those that are cut with the room that is left."""
    wider = []
    for width, wanted in zip(fitted, widths, strict=False):
        more = min(max(room, 0), max(wanted - width, 0))
        wider.append(width + more)
        room -= more
    return wider


def _cut(cell: str, width: int, field: pa.Field) -> str:
    if len(cell) <= width:
        return cell
    # The end of a path is more telling than its beginning.
    if pa.types.is_string(field.type):
        return "…" + cell[len(cell) - width + 1 :]
    return cell[: width - 1] + "…"
