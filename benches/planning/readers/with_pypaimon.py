"""pypaimon: files of the splits of a plan, and `$files`, with lakebed below if `LAKEBED_BELOW` is set."""

from __future__ import annotations

import json
import os
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from protocol import serve, total

FILTERS = {"partition": ("equal", "region", "region-007"), "bounds": ("less_than", "id", 10_000_000_000)}


def version() -> str:
    """That of pypaimon, on what is below it, and what answers need."""
    from pypaimon import CatalogFactory  # noqa: F401

    if "LAKEBED_BELOW" not in os.environ:
        return version_of("pypaimon")
    import lakebed
    import lakebed.pypaimon

    lakebed.pypaimon.install()
    return f"{version_of('pypaimon')} on {lakebed.__version__}"


def answer(path: str, _format: str, task: str) -> dict[str, Any]:
    """Sums over the files of splits, or over the rows of `$files`."""
    from pypaimon import CatalogFactory

    folder = Path(path)
    catalog = CatalogFactory.create({"warehouse": str(folder.parents[1])})
    name = f"{folder.parent.stem}.{folder.name}"
    if task == "files":
        builder = catalog.get_table(f"{name}$files").new_read_builder()
        wanted = ("record_count", "file_size_in_bytes", "null_value_counts", "min_value_stats")
        files = builder.new_read().to_arrow(builder.new_scan().plan().splits()).select(wanted)
        columns = [column.to_pylist() for column in files.columns]
        rows = (
            (count, size, sum(json.loads(nulls).values()), json.loads(lowest)["id"])
            for count, size, nulls, lowest in zip(*columns, strict=True)
        )
        return total(rows, "rows", "bytes", "nulls", "lowest")
    builder = catalog.get_table(name).new_read_builder()
    if task in FILTERS:
        method, *of = FILTERS[task]
        builder = builder.with_filter(getattr(builder.new_predicate_builder(), method)(*of))
    if task == "first":
        builder.with_limit(1).new_scan().plan().splits()[0].files[0]
        return {"files": 1}
    files = (file for split in builder.new_scan().plan().splits() for file in split.files)
    return total(((file.row_count, file.file_size, 0) for file in files), "rows", "bytes", "deletes")


if __name__ == "__main__":
    serve(["paimon"], "pip install pypaimon", version, answer)
