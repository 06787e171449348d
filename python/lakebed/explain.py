"""What a scan left out at each step, and why."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lakebed import _html
from lakebed._text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLUMNS = ("step", "kept", "of", "rows", "of", "bytes", "of", "why")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of the funnel; a number that is not known without reading is None.

    Attributes:
        step: what is counted: `manifests`, `entries`, `files`.
        kept, total: how many passed, of how many.
        rows_kept, rows_total: the rows in them.
        bytes_kept, bytes_total: their size in bytes.
        why: what the step tested, in words.
    """

    step: str
    kept: int | None = None
    total: int | None = None
    rows_kept: int | None = None
    rows_total: int | None = None
    bytes_kept: int | None = None
    bytes_total: int | None = None
    why: str | None = None


@dataclass(frozen=True)
class Explain:
    """The funnel of a scan: one `Step` after the other. Prints as a small table."""

    steps: tuple[Step, ...]

    @classmethod
    def from_json(cls, text: str) -> Explain:
        """The funnel the compiled core hands over as JSON text."""
        return cls(tuple(Step(**step) for step in json.loads(text)["steps"]))

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """`{"steps": [{…}, …]}`, with the attributes of `Step` as keys."""
        return {"steps": [asdict(step) for step in self.steps]}

    def __str__(self) -> str:
        rows = [_COLUMNS, *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS))]
        padded = ([cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in rows)
        return "\n".join("  ".join(cells).rstrip() for cells in padded)

    def _repr_html_(self) -> str:
        return _html.table(_COLUMNS, self._rows(), numbers=range(1, len(_COLUMNS) - 1))

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for step in self.steps:
            rows, size = (step.rows_kept, step.rows_total), (step.bytes_kept, step.bytes_total)
            numbers = (step.kept, step.total, *rows, *size)
            texts = ("" if number is None else f"{number:,}" for number in numbers)
            yield (step.step, *texts, printable(step.why or ""))
