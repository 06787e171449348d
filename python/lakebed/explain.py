"""What a scan left out at each step, and why."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from lakebed import _html
from lakebed._display import size
from lakebed._text import printable, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_COLUMNS = ("step", "kept", "rows kept", "bytes kept", "why")
# What the reasons are given at least, beside the numbers.
_LEAST_WIDTH = 20


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
    """The funnel of a scan: one `Step` after the other. Prints as a small table.

    Attributes:
        steps: the steps, in their order.
        reason: of a plan, what left out most files, or why most of them are left; of other views None.
        advice: what would leave fewer files, with the call to type; None where nothing is known to.
        deletes: of a plan of a table with deletes, the steps by which these are found.
        call: the call that the advice has, if any.
    """

    steps: tuple[Step, ...]
    reason: str | None = None
    advice: str | None = None
    deletes: tuple[Step, ...] = ()
    call: str | None = None

    @classmethod
    def from_json(cls, text: str) -> Explain:
        """The funnel that the compiled core gives as JSON text."""
        return cls(tuple(Step(**step) for step in json.loads(text)["steps"]))

    def to_dict(self) -> dict[str, Any]:
        """`{"steps": [{…}, …], "reason": …, "advice": …, "deletes": [{…}, …]}`; steps have the attributes of
        `Step` as keys.
        """
        return asdict(self) | {"steps": [*map(asdict, self.steps)], "deletes": [*map(asdict, self.deletes)]}

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        note = "; ".join(self._conclusion())
        return _html.table(_COLUMNS, self._rows(), numbers=range(1, len(_COLUMNS) - 1), note=note)

    def _conclusion(self) -> list[str]:
        return [printable(text) for text in (self.reason, self.advice) if text is not None]

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for number, step in enumerate((*self.steps, *self.deletes)):
            if number == len(self.steps):
                yield ("of deletes:", *[""] * (len(_COLUMNS) - 1))
            yield (
                step.step,
                _share(step.kept, step.total, "{:,}".format),
                _share(step.rows_kept, step.rows_total, "{:,}".format),
                _share(step.bytes_kept, step.bytes_total, size),
                printable(step.why or ""),
            )


def as_text(explain: Explain, width: int | None = None) -> str:
    """A funnel as a small table. Args: width, of a terminal, for which reasons are broken into lines."""
    rows = [_COLUMNS, *explain._rows()]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_COLUMNS) - 1)]
    before = sum(widths) + 2 * len(widths)
    lines = []
    for step, *numbers, why in rows:
        shown = [step.ljust(widths[0]), *(n.rjust(w) for n, w in zip(numbers, widths[1:], strict=True))]
        reasons = [why] if width is None else wrapped(why, max(width - before, _LEAST_WIDTH))
        lines.append("  ".join([*shown, reasons[0]]).rstrip())
        lines += (" " * before + reason for reason in reasons[1:])
    call = "" if explain.call is None else printable(f"`{explain.call}`")
    for text in explain._conclusion():
        lines += [text] if width is None else wrapped(text, width, whole=call)
    return "\n".join(lines)


def _share(kept: int | None, total: int | None, form: Callable[[int], str]) -> str:
    """How many of how many, as far as that is known."""
    if total is None:
        return "" if kept is None else form(kept)
    return f"{'?' if kept is None else form(kept)} of {form(total)}"
