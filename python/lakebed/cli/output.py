"""Rows in the form that was asked for, to standard output or into a file, which never has half of them."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from lakebed._display import numbers as numeric
from lakebed._pyarrow import pa
from lakebed._text import inert
from lakebed._values import to_rows, to_text
from lakebed.cli import render
from lakebed.cli.rows import Read
from lakebed.explain import as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lakebed.cli.rows import Rows
    from lakebed.explain import Explain

BINARY = frozenset({"arrow", "parquet"})
"""Forms that have Arrow's values."""


def write(
    rows: Rows,
    form: str,
    path: str | None,
    *,
    all_rows: bool,
    first: Sequence[str] = (),
    view: str | None = None,
) -> None:
    """Writes rows.

    Args: rows; form, one of `options.OUTPUTS`, or "spreadsheet"; path, a file or None for standard output;
        all_rows, whether a terminal gets them all rather than the first; first, the columns that a terminal's
        table begins with; view, the view that they are of, if any.
    Raises: the errors of reading, before anything is written; click.UsageError for binary forms on a
        terminal.
    Cost: into a file batch by batch, and after an error it is not there. What is in a pipe stays there:
        all rows are read first, since whoever reads it takes part of them for all.
    """
    if path is not None:
        with render.progress("reading"), _replaced(path) as sink:
            _WRITERS[form](rows.to_arrow_batch_reader(), sink)
        return
    terminal = sys.stdout.isatty()
    if terminal and form in BINARY:
        raise click.UsageError(f"-o {form} is not for a terminal: use --output-file, or a pipe")
    if terminal and form == "table":
        whole = all_rows or view in render.READ_WHOLE
        with render.progress("reading"):
            shown = rows.to_arrow() if whole else rows.head(render.TERMINAL_ROWS + 1)
        render.terminal_table(shown, None if all_rows else render.TERMINAL_ROWS, first, view)
        return
    with render.progress("reading"):
        read = rows.to_arrow()
    writer = _write_stream if form == "arrow" else _WRITERS[form]
    writer(read.to_reader(), sys.stdout.buffer)


def write_file(rows: pa.Table, form: str, path: str) -> None:
    """Writes rows that are there into a file, which appears only when it is complete. Raises: OSError."""
    with _replaced(path) as sink:
        _WRITERS[form](rows.to_reader(), sink)


def write_lines(lines: Iterable[str], path: str | None) -> None:
    """Writes lines of text. Raises: OSError."""
    with _replaced(path) if path is not None else contextlib.nullcontext(sys.stdout.buffer) as sink:
        for line in lines:
            sink.write(line.encode() + b"\n")


def write_explain(explain: Explain, form: str, path: str | None) -> None:
    """Writes the funnel of a scan: as it prints itself, or its steps as rows.

    Args, Raises: as `write`.
    """
    if form == "table" and path is None and sys.stdout.isatty():
        click.echo(as_text(explain, render.width()))
    elif form == "table":
        write_lines([str(explain)], path)
    else:
        write(Read(pa.Table.from_pylist(explain.to_dict()["steps"])), form, path, all_rows=True)


def _write_json(reader: pa.RecordBatchReader, sink: BinaryIO) -> None:
    names = reader.schema.names
    for batch in reader:
        for row in to_rows(batch):
            line = json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False, allow_nan=False)
            sink.write(line.encode() + b"\n")


def _write_csv(reader: pa.RecordBatchReader, sink: BinaryIO) -> None:
    with _text(sink) as text:
        text.write(_line(reader.schema.names))
        for batch in reader:
            for row in to_rows(batch):
                text.write(_line(["" if v is None else to_text(v) for v in row]))


def _line(cells: Sequence[str]) -> str:
    """A line of CSV, in which a lone carriage return is in quotes: readers take it for the end of a line, and
    Python's writer does not quote it before 3.13.
    """
    quoted = [
        '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\r\n') else cell
        for cell in cells
    ]
    # A line without anything would be no row.
    return ('""' if quoted == [""] else ",".join(quoted)) + "\n"


def _write_spreadsheet(reader: pa.RecordBatchReader, sink: BinaryIO) -> None:
    with _text(sink) as text:
        # What separates cells differs from place to place: texts are in quotes.
        writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(map(inert, reader.schema.names))
        numbers = set(numeric(reader.schema))
        for batch in reader:
            for row in to_rows(batch):
                writer.writerow(_cell(value, i in numbers) for i, value in enumerate(row))


def _cell(value: Any, is_number: bool) -> Any:
    """A cell of a spreadsheet. Numbers are data, whatever they begin with; texts may be formulas."""
    if value is None:
        return ""
    return value if is_number else inert(to_text(value))


def _write_table(reader: pa.RecordBatchReader, sink: BinaryIO) -> None:
    with _text(sink) as text:
        for line in render.plain_lines(reader):
            text.write(line + "\n")


def _write_stream(reader: pa.RecordBatchReader, sink: BinaryIO) -> None:
    with pa.ipc.new_stream(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _write_arrow(reader: pa.RecordBatchReader, sink: BinaryIO) -> None:
    with pa.ipc.new_file(sink, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _write_parquet(reader: pa.RecordBatchReader, sink: BinaryIO) -> None:
    from pyarrow import parquet

    # Parquet has no struct without fields, which is what the partition of an unpartitioned table is.
    names = [f.name for f in reader.schema if not (pa.types.is_struct(f.type) and f.type.num_fields == 0)]
    schema = pa.schema([reader.schema.field(name) for name in names], reader.schema.metadata)
    with parquet.ParquetWriter(sink, schema) as writer:
        for batch in reader:
            writer.write_batch(batch.select(names))


_WRITERS: dict[str, Callable[[Any, BinaryIO], None]] = {
    "table": _write_table,
    "json": _write_json,
    "csv": _write_csv,
    "spreadsheet": _write_spreadsheet,
    "arrow": _write_arrow,
    "parquet": _write_parquet,
}


@contextlib.contextmanager
def _text(sink: BinaryIO) -> Iterator[io.TextIOWrapper]:
    text = io.TextIOWrapper(sink, encoding="utf-8", newline="")
    try:
        yield text
    finally:
        text.detach()


@contextlib.contextmanager
def _replaced(path: str) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when everything is written, and leaves it alone on an error."""
    target = Path(path)
    if target.exists() and not target.is_file():
        # A device or a named pipe is written to, not replaced.
        with target.open("wb") as sink:
            yield sink
        return
    draft = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        sink = draft.open("xb")
    except OSError as error:
        # Nobody knows of the draft.
        raise OSError(error.errno, error.strerror, path) from None
    try:
        with sink:
            yield sink
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
