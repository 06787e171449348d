"""What is read of tables for `lakebed health`, and how it is shown."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from lakebed import _display, _native, fleet
from lakebed._pyarrow import pa
from lakebed._text import packed
from lakebed._values import to_records, to_text
from lakebed.advice import TableName, findings
from lakebed.advice.calls import ENGINES
from lakebed.cli import openmetrics, options, render
from lakebed.cli.failures import Failure, kind_of, one_line
from lakebed.cli.output import write
from lakebed.cli.rows import Read, is_named, matching

if TYPE_CHECKING:
    from lakebed.advice import Finding, Thresholds
    from lakebed.fleet import NamedTable
    from lakebed.table import Table

# What rows of several tables have besides.
OF_FLEETS = ("name", "error")
# The counts of a line on a terminal.
_COUNTS = ("file_count", "small_file_count", "delete_file_count", "snapshot_count")
_HEADINGS = (
    "table",
    "format",
    "size",
    "files",
    "small",
    "deletes",
    "snapshots",
    "oldest",
    "committed",
    "worst problem",
)
# The first column of each section.
_SECTIONS = (
    ("location", "table"),
    ("partition_count", "data files"),
    ("delete_file_count", "deletes"),
    ("manifest_count", "manifests"),
)


@dataclass(frozen=True)
class HealthAnswer:
    """What was read of a table: its health, what explains that, or what is wrong with what was asked for."""

    table: Table
    limits: Thresholds
    found: Any


@dataclass(frozen=True)
class UnreadableTable:
    """A table that cannot be read."""

    named: NamedTable
    message: str
    kind: str

    @staticmethod
    def of(named: NamedTable, error: Exception, is_fleet: bool, *, is_watched: bool) -> UnreadableTable:
        """What is wrong with one table of several. Raises: it for one alone, and what is wrong with all, but
        for who watches them: there a catalog that does not answer is no wrong usage.
        """
        try:
            with one_line():
                raise error
        except Failure as failure:
            if not is_watched and (not is_fleet or failure.exit_code == 2):
                raise
            return UnreadableTable(named, failure.message, kind_of(failure))

    def show(self) -> None:
        """Says what is wrong, in a line on standard error."""
        Failure(f"{self.named.name}: {self.message}").show()

    def measured(self) -> openmetrics.Measured:
        """For Prometheus."""
        return openmetrics.Measured(*options.named(self.named.given), error=self.kind)


@dataclass(frozen=True)
class TableHealth:
    """A table's health, with all columns where its problems are wanted, and these."""

    named: NamedTable
    answer: HealthAnswer
    called: TableName
    found: list[Finding]

    @staticmethod
    def of(named: NamedTable, answer: HealthAnswer) -> TableHealth:
        """The health of a table; without rows where `--filter` or `--limit` left it out."""
        called = TableName.of(answer.table, options.as_opened(named.given))
        rows = [] if answer.found is None else to_records(answer.found)
        found = [one for values in rows for one in findings(values, answer.limits, called)]
        return TableHealth(named, answer, called, found)

    @property
    def row(self) -> pa.Table:
        """The row of `health`."""
        return self.answer.found

    def listed(self) -> list[dict[str, Any]]:
        """A row for each threshold."""
        location = self.answer.table.location
        return [
            {"location": location, "threshold": name, "value": to_text(value), "origin": origin}
            for name, value, origin in self.answer.limits.in_force()
        ]

    def measured(self, columns: list[str] | None) -> openmetrics.Measured:
        """For Prometheus."""
        row = self.row if columns is None else self.row.select(columns)
        problems = {finding.column for finding in self.found}
        return openmetrics.Measured(*options.named(self.named.given), row, problems)

    def fails(self, fail_if: str) -> bool:
        """Whether a condition holds, and says so."""
        fails = bool(matching(self.row, fail_if).num_rows)
        if fails:
            values = to_records(self.row)[0].items()
            shown = ", ".join(f"{key} is {to_text(value)}" for key, value in values if is_named(key, fail_if))
            Failure(f"{self.named.name}: {fail_if} ({shown})").show()
        return fails

    def say(self, engine: str) -> None:
        """The problems, a line each on standard error."""
        for one in self.found:
            click.echo(f"{self.named.name}: {one.column}: {one.what}; {one.step(engine)}", err=True)

    def rank(self) -> tuple[int, float, int]:
        """By what its line is sorted among those of other tables."""
        return fleet.rank(self.found, to_records(self.row)[0])

    def cells(self) -> tuple[str, ...]:
        """The cells of its line on a terminal."""
        (values,) = to_records(self.row)
        worst = fleet.worst_of(self.found)
        more = f" (+{len(self.found) - 1})" if len(self.found) > 1 else ""
        return (
            self.named.name,
            values["format"],
            _display.size(values["file_size_in_bytes"]),
            *(f"{values[name]:,}" for name in _COUNTS),
            *map(self._age, ("oldest_snapshot_at", "committed_at")),
            "" if worst is None else worst.what + more,
        )

    def _age(self, column: str) -> str:
        """How long ago a time of the row was; nothing where it is not known."""
        # Python's calendar ends with the year 9999.
        then = self.row[column].cast(pa.int64())[0].as_py()
        return "" if then is None else _display.age(time.time() - then / 1e6)

    def print(self, columns: list[str] | None, engine: str) -> None:
        """The table upright."""
        row = self.line(columns, is_fleet=False, with_findings=False)
        for values, cells in zip(to_records(row), _display.cells(row, "health"), strict=True):
            titles, sections = dict(_SECTIONS), list[tuple[str, list[tuple[str, str]]]]()
            for name, cell in zip(row.schema.names, cells, strict=True):
                if name in titles or not sections:
                    sections.append((titles.get(name, "health"), []))
                if values[name] is not None:
                    sections[-1][1].append((name, cell))
            shown = [section for section in sections if section[1]]
            render.sections(shown, {finding.column for finding in self.found})
            click.echo()
            render.problems(self.found, engine)
        *before, last = (_in_words(*one) for one in self.answer.limits.in_force())
        words = ["thresholds:", *(f" {one}," for one in before), f" {last}"]
        render.note("\n".join(packed(words, render.width())))

    def line(self, columns: list[str] | None, is_fleet: bool, with_findings: bool) -> pa.Table:
        """What is written of it."""
        is_named = is_fleet or not set(OF_FLEETS).isdisjoint(columns or ())
        row = fleet.with_name(self.row, self.named.name, None) if is_named else self.row
        if with_findings:
            row = row.append_column("findings", _as_column(self.found, row.num_rows))
        return row if columns is None else row.select(columns)


def _in_words(name: str, value: float, origin: str) -> str:
    shown = _display.threshold(int(value)) if name == "small_bytes" else f"{value:g}"
    return f"{name} {shown}" + ("" if origin == "default" else f" ({origin})")


def _as_column(found: list[Finding], rows: int) -> pa.Array:
    """The problems of a row."""
    calls = pa.struct([(engine, pa.list_(pa.string())) for engine in ENGINES])
    texts = [(name, pa.string()) for name in ("column", "what", "next_step")]
    of_row = pa.list_(pa.struct([*texts, ("calls", calls)]))
    return pa.array([[finding.to_dict() for finding in found]] * rows, of_row)


def write_rows(
    found: Sequence[TableHealth],
    failed: Sequence[UnreadableTable],
    columns: list[str] | None,
    is_fleet: bool,
    output: str,
    output_file: str | None,
) -> None:
    """A row for each table; of those that cannot be read where the columns say why."""
    rows = [one.line(columns, is_fleet, output == "json" and columns is None) for one in found]
    if columns is None or "error" in columns:
        row = fleet.row_of(pa.schema(_native.health_schema(None)))
        errors = [fleet.with_name(row, one.named.name, one.message) for one in failed]
        rows += errors if columns is None else [one.select(columns) for one in errors]
    if rows:
        whole = pa.concat_tables(rows, promote_options="default")
        write(Read(whole), output, output_file, all_rows=True, view="health")


def print_lines(found: Sequence[TableHealth], failed: Sequence[UnreadableTable]) -> None:
    """A line for each table, those that cannot be read first, then those with the worst problems; below them
    the whole errors.
    """
    ranked = sorted((one for one in found if one.row.num_rows), key=TableHealth.rank)
    nothing = [""] * (len(_HEADINGS) - 2)
    lines = [(one.named.name, *nothing, f"not read: {one.message}") for one in failed]
    lines += [one.cells() for one in ranked]
    render.lines(_HEADINGS, lines)
    for one in failed:
        one.show()
    poor, notes = sum(1 for one in ranked if one.found), [_display.count(len(lines), "table")]
    notes += [f"{len(failed):,} not read"] if failed else []
    if poor:
        notes.append(f"{poor:,} with problems")
    elif ranked:
        notes.append(f"no problems found in the other {len(ranked):,}" if failed else "no problems found")
    render.note(
        ", ".join(notes)
        + (f"; `lakebed health {options.as_opened('TABLE')}` says what to do" if poor else "")
    )
