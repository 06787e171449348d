"""Rows as text: fitted to a terminal, or whole for a pipe."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import click

from lakebed import _display
from lakebed._display import count
from lakebed._pyarrow import pa, pc
from lakebed._text import printable, wrapped
from lakebed._values import to_rows, to_text
from lakebed.advice import verdict
from lakebed.advice.calls import ENGINES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Literal

    from rich.console import Console

    from lakebed.advice import Finding
    from lakebed.cli.rows import Rows

TERMINAL_ROWS = 100
"""Rows of a view that a terminal gets unless `--limit` says how many."""

_CELL_WIDTH = 48
# What is left of the room for a column that has to be cut further.
_LEAST_WIDTH = 16
_PADDING = 2
# What is left of the room for the two texts of a line.
_LEAST_TEXTS = 44
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
    sums = [totals.get(name, "") for name in table.schema.names]
    if totals and "" in sums:
        sums[sums.index("")] = "total"
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


def lines(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A line for each row, whatever the terminal's width: the first cell and the last, a text, are cut to
    fit; where even that is too wide, columns beside the first are left out.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console, last = Console(), len(headings) - 1
    widths = _widths(headings, rows)
    kept = list(range(len(headings)))
    while (room := console.width - sum(widths[i] + _PADDING for i in kept[1:-1]) - _PADDING) < _LEAST_TEXTS:
        if len(kept) == 2:
            break
        # The second cell says least.
        del kept[1 if kept[1] == 1 else -2]
    widths[0] = min(widths[0], max(room - widths[last], room // 2))
    widths[last] = max(room - widths[0], 1)
    output = Table(
        box=SIMPLE_HEAD, header_style="bold", padding=(0, 0, 0, 1), pad_edge=False, show_edge=False
    )
    for i in kept:
        output.add_column(headings[i], no_wrap=True, justify="left" if i in (0, 1, last) else "right")
    for row in rows:
        cells = (printable(row[i]) for i in kept)
        cut = (
            cell if len(cell) <= widths[i] else cell[: widths[i] - 1] + "…"
            for i, cell in zip(kept, cells, strict=True)
        )
        output.add_row(*map(Text, cut))
    console.print(output)


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
    """Problems, each with the next step; on a terminal in lines that fit, in which commands are whole.

    Args: engine, whose calls they are where it has some.
    """
    room = width() if sys.stdout.isatty() else None
    click.echo(verdict(found))
    for one in found:
        click.echo()
        _indented(f"{one.column}: {printable(one.what)}", "", room)
        for step in one.steps(engine):
            _indented(printable(str(step)), "  ", room, printable(step.quoted))


def _indented(text: str, indent: str, room: int | None, whole: str = "") -> None:
    """A text in lines, the first after `indent`, the others after more. Args: whole, what is not broken."""
    first, *others = [text] if room is None else _lines(text, room - len(indent) - 2, whole)
    click.echo("\n".join([indent + first, *(f"{indent}  {line}" for line in others)]))


def _folded(title: str, rows: Sequence[tuple[str, str]]) -> None:
    from rich.cells import cell_len, set_cell_size
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    names = max((cell_len(name) for name, _ in rows), default=0)
    # Names may be long too: their values are below them.
    is_beside = names + _PADDING + _LEAST_WIDTH <= console.width
    indent = names + _PADDING if is_beside else _PADDING
    console.print(Text(title, style="bold"), soft_wrap=True)
    for name, value in rows:
        style = "yellow" if value.endswith("  !") else ""
        lines = _lines(value, console.width - indent)
        begin = set_cell_size(name, indent) if is_beside else f"{name}\n{' ' * indent}"
        line = Text.assemble((begin, "dim"), (f"\n{' ' * indent}".join(lines), style))
        console.print(line, soft_wrap=True)


def _lines(text: str, room: int, whole: str = "") -> list[str]:
    from rich.cells import cell_len

    return wrapped(text, room, cell_len, whole)


def width() -> int:
    """The columns of the terminal."""
    from rich.console import Console

    return Console().width


def note(text: str) -> None:
    """A remark about rows, on standard error; nothing where it is empty."""
    if text:
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


def total_of_files(rows: Rows) -> str:
    """How many rows there are, and how large their files are in all, where the rows say it; nothing where
    there are none.
    """
    many, size, is_known = 0, 0, False
    for batch in rows.to_arrow_batch_reader():
        many += batch.num_rows
        is_known = "file_size_in_bytes" in batch.schema.names
        if is_known:
            size += pc.sum(batch["file_size_in_bytes"]).as_py() or 0
    if not many:
        return ""
    return f"in all {count(many, 'row')}" + (f", {_display.size(size)}" if is_known else "")


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
