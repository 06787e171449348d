"""PyIceberg: `plan_files()` and `inspect.data_files()`, with lakebed below if `LAKEBED_BELOW` is set."""

from __future__ import annotations

import os
from typing import Any

from protocol import serve, total

WHERE = {"partition": "region = 'region-007'", "bounds": "id < 10000000000"}


def version() -> str:
    """That of PyIceberg, on what is below it, and what answers need."""
    import pyiceberg
    from pyiceberg.avro import decoder_fast  # noqa: F401 - else a decoder in Python would be what is timed
    from pyiceberg.expressions import parser  # noqa: F401
    from pyiceberg.io import pyarrow  # noqa: F401
    from pyiceberg.table import StaticTable, inspect  # noqa: F401

    if "LAKEBED_BELOW" not in os.environ:
        return pyiceberg.__version__
    import lakebed
    import lakebed.pyiceberg

    lakebed.pyiceberg.install()
    return f"{pyiceberg.__version__} on {lakebed.__version__}"


def answer(path: str, _format: str, task: str) -> dict[str, Any]:
    """Sums over the tasks of a plan, or over the columns of a metadata table."""
    from pyiceberg.table import StaticTable

    table = StaticTable.from_metadata(path)
    if task == "files":
        import pyarrow.compute as pc

        files = table.inspect.data_files()
        lowest = pc.struct_field(files["readable_metrics"], ["id", "lower_bound"])
        nulls = pc.sum(files["null_value_counts"].combine_chunks().items)
        found = {"rows": pc.sum(files["record_count"]), "bytes": pc.sum(files["file_size_in_bytes"])}
        found |= {"nulls": nulls, "lowest": pc.sum(lowest)}
        return {"files": len(files), **{name: value.as_py() for name, value in found.items()}}
    scan = table.scan(**({"row_filter": WHERE[task]} if task in WHERE else {}))
    if task == "first":
        next(iter(scan.plan_files()))
        return {"files": 1}
    tasks = ((one.file, len(one.delete_files)) for one in scan.plan_files())
    rows = ((file.record_count, file.file_size_in_bytes, deletes) for file, deletes in tasks)
    return total(rows, "rows", "bytes", "deletes")


if __name__ == "__main__":
    serve(["iceberg"], "pip install 'pyiceberg[pyarrow]'", version, answer)
