"""Why a plan has as many files as it has, and what would leave fewer of them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed._display import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lakebed.advice.calls import Procedures
    from lakebed.explain import Step

OVERLAP = ("column", "file_count", "unbounded_file_count", "average_depth", "sorted_depth")
"""The columns of `overlap` that are needed."""


@dataclass(frozen=True)
class Conclusion:
    """What a funnel comes to.

    Attributes: reason, what left out most files, or why most are left; advice, what would leave fewer, with
        the call to type; None where nothing would; call, that call.
    """

    reason: str
    advice: str | None = None
    call: str | None = None


def conclude(
    steps: Sequence[Step],
    condition: str | None,
    overlap: Callable[[], Iterable[dict[str, Any]]],
    procedures: Callable[[], Procedures],
) -> Conclusion:
    """What the funnel of a plan comes to.

    Args: condition, the plan's `where`; overlap, gives rows of `overlap` with `OVERLAP` of the columns that
        the condition reads, in the files that are left; procedures, gives the calls of the table.
    Cost: that of `overlap`, where more than one file is left.
    """
    if condition is None:
        return Conclusion("all files are read: no `where` says which rows are wanted")
    left = steps[-1].kept if steps else None
    if not left:
        return Conclusion("no file may have such rows")
    depths = [] if left == 1 else _depths(overlap())
    # What is worst is what would help most.
    worst = max(depths, key=lambda depth: depth.gain, default=None)
    main = max(steps, key=_left_out)
    if 2 * _left_out(main) > _total(steps):
        reason = f"most is left out at the step `{main.step}` by {main.why}"
    elif worst is None:
        reason = f"{count(left, 'file')} may have such rows"
    else:
        reason = worst.reason
    return Conclusion(reason, *(worst.advice(procedures) if worst else ()))


def _left_out(step: Step) -> int:
    """Rows that a step left out; files where it does not count rows."""
    if step.rows_total is not None and step.rows_kept is not None:
        return step.rows_total - step.rows_kept
    return 0 if step.total is None or step.kept is None else step.total - step.kept


def _total(steps: Sequence[Step]) -> int:
    """Rows before the first step that counts them; files where none does."""
    rows = [step.rows_total for step in steps if step.rows_total is not None]
    return max(rows or [step.total for step in steps if step.total is not None], default=0)


@dataclass(frozen=True)
class _Depth:
    """How deep the files of a column lie above each other, over all partitions."""

    column: str
    partitions: int
    files: int
    unbounded: int
    average: float
    sorted: float

    @property
    def gain(self) -> float:
        """How many files of a partition less a value would meet, at best."""
        return max(self.average - self.sorted, self.unbounded / self.partitions)

    @property
    def is_unbounded(self) -> bool:
        return 2 * self.unbounded > self.files

    @property
    def reason(self) -> str:
        if self.is_unbounded:
            return f"{self.unbounded:,} of {self.files:,} files have no bounds of `{self.column}`"
        all_files = _number(self.files / self.partitions)
        met = (
            f"a value of `{self.column}` is within the bounds of {_number(self.average)} of {all_files} files"
        )
        if self.partitions == 1:
            return met
        return f"{self.partitions:,} partitions may have such rows; in one, on average, {met}"

    def advice(self, procedures: Callable[[], Procedures]) -> tuple[str, ...]:
        """What would leave fewer files, and the call that does so; as much of both as there is."""
        if self.is_unbounded:
            return (procedures().record_bounds(self.column),)
        if self.average < 2 * self.sorted:
            return ()
        better = f"sorted by `{self.column}`, it would be {_number(self.sorted)}"
        # It is one, of tables that can be sorted.
        calls = procedures().sort(self.column).get("spark", ())
        return next(((f"{better}, in Spark: `{call}`", call) for call in calls), (better,))


def _number(mean: float) -> str:
    """A mean with one decimal, where it has one."""
    return f"{mean:,.1f}".removesuffix(".0")


def _depths(rows: Iterable[dict[str, Any]]) -> list[_Depth]:
    """Of each column that some file has values of."""
    of_columns = defaultdict[str, list[dict[str, Any]]](list)
    for row in rows:
        of_columns[row["column"]].append(row)
    return [_depth(column, found) for column, found in of_columns.items()]


def _depth(column: str, rows: Sequence[dict[str, Any]]) -> _Depth:
    files = sum(row["file_count"] for row in rows)
    unbounded = sum(row["unbounded_file_count"] for row in rows)

    def mean(name: str) -> float:
        bounded = [(row["file_count"] - row["unbounded_file_count"], row[name]) for row in rows]
        weights = sum(weight for weight, depth in bounded if depth is not None)
        return (
            sum(weight * depth for weight, depth in bounded if depth is not None) / weights
            if weights
            else 0.0
        )

    return _Depth(column, len(rows), files, unbounded, mean("average_depth"), mean("sorted_depth"))
