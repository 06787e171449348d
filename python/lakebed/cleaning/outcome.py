"""What was done with files, and what was not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakebed._display import count, size
from lakebed._pyarrow import pa, pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.table import Table

OUTCOMES = ("removed", "moved", "dropped", "repaired", "kept", "failed", "restored")


def rows_of(columns: Sequence[Any] = ((), (), (), (), ())) -> pa.Table:
    """Rows of a `Cleanup`, of their columns as lists or arrays."""
    kinds = (pa.large_string(), pa.string(), pa.int64(), pa.string(), pa.string())
    arrays = [
        values if isinstance(values, pa.ChunkedArray) else pa.array(list(values), kind)
        for values, kind in zip(columns, kinds, strict=True)
    ]
    return pa.table(arrays, names=["file_path", "kind", "file_size_in_bytes", "outcome", "reason"])


@dataclass(frozen=True)
class Cleanup:
    """What became of the rows that were applied or restored.

    Attributes:
        table: the table after it: of an expiry, after its commit.
        rows: one row per file: `file_path` large_utf8, `kind` utf8, `file_size_in_bytes` int64, `outcome`
            utf8 ("removed", "moved" to the quarantine, "restored" from it, "dropped" of dangling deletes,
            which the table's snapshot names no more and older ones do, "repaired", "kept" since a fresh look
            or a rule took it out, "failed"), `reason` utf8, why it was kept or failed, else null.
    """

    table: Table
    rows: pa.Table

    @property
    def counts(self) -> dict[str, int]:
        """How many files have each outcome."""
        found = pc.value_counts(self.rows["outcome"]).to_pylist()
        counted = {one["values"]: one["counts"] for one in found}
        return {outcome: counted[outcome] for outcome in OUTCOMES if outcome in counted}

    @property
    def freed_bytes(self) -> int:
        """The size of the files that were removed or moved, as far as it is known [bytes]."""
        is_gone = pc.is_in(self.rows["outcome"], value_set=pa.array(["removed", "moved"]))
        return pc.sum(self.rows.filter(is_gone)["file_size_in_bytes"]).as_py() or 0

    def __repr__(self) -> str:
        done = ", ".join(f"{count(number, 'file')} {outcome}" for outcome, number in self.counts.items())
        return f"<lakebed cleanup: {done or 'no files'}, {size(self.freed_bytes)} freed>"
