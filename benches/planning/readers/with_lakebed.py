"""lakebed: its views `plan` and `files`, batch by batch."""

from __future__ import annotations

from collections import Counter
from typing import Any

from protocol import serve

WHERE = {"partition": "region = 'region-007'", "bounds": "id < 10000000000"}


def version() -> str:
    """That of lakebed, and what answers need."""
    import pyarrow.compute  # noqa: F401

    import lakebed

    # Modules that are imported with the first use of these.
    _ = (lakebed.Table, lakebed.PlanScan)
    return lakebed.__version__


def answer(path: str, _format: str, task: str) -> dict[str, Any]:
    """Sums over the columns of the batches of a view."""
    import pyarrow.compute as pc

    import lakebed

    table, sums = lakebed.open_table(path), Counter()
    if task == "files":
        scan = table.files(stats=[column.name for column in table.schema], filter="content = 0")
    else:
        scan = table.plan(where=WHERE.get(task), limit=1 if task == "first" else None, deletes="ids")

    def added(name: str, values: Any) -> None:
        # Of a batch without rows it is null.
        sums[name] += pc.sum(values).as_py() or 0

    for batch in scan.to_arrow_batch_reader():
        sums["files"] += batch.num_rows
        added("rows", batch["record_count"])
        added("bytes", batch["file_size_in_bytes"])
        if task == "files":
            for column in batch["stats"].flatten():
                added("nulls", column.field("null_count"))
            added("lowest", batch["stats"].field("id").field("lower_bound"))
        else:
            sums["deletes"] += len(batch["delete_ids"].flatten())
    return dict(sums)


if __name__ == "__main__":
    serve(["iceberg", "paimon"], "pip install lakebed", version, answer)
