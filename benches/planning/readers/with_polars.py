"""Polars 2 with polars-iceberg: a scan that is planned and not read, whose text tells the number of files."""

from __future__ import annotations

import os
import re
from typing import Any

from protocol import CannotError, serve


def version() -> str:
    """That of Polars, and what answers need."""
    # Else it plans by PyIceberg what it cannot plan itself.
    os.environ["POLARS_ICEBERG_PLANNER"] = "plugin"
    import polars
    import polars_iceberg  # noqa: F401
    import pyiceberg.table  # noqa: F401 - it opens tables by it

    if int(polars.__version__.split(".")[0]) < 2:
        raise ImportError(f"Polars {polars.__version__} plans by PyIceberg")
    return polars.__version__


def answer(path: str, _format: str, task: str) -> dict[str, Any]:
    """What the text of the plan tells."""
    import polars

    if task in ("files", "first"):
        raise CannotError("plans reads, and tells no metrics and no first file")
    scan = polars.scan_iceberg(path, reader_override="native")
    if task == "partition":
        scan = scan.filter(polars.col("region") == "region-007")
    if task == "bounds":
        scan = scan.filter(polars.col("id") < 10_000_000_000)
    try:
        text = scan.explain()
    except NotImplementedError as error:
        raise CannotError(str(error).partition(" (")[0]) from None
    files = re.search(r"\.\.\. (\d+) other sources\]", text)
    if files is None:
        raise ValueError(f"the plan tells no files: {text}")
    return {"files": int(files[1]) + 1}


if __name__ == "__main__":
    serve(["iceberg"], "pip install 'polars>=2' polars-iceberg 'pyiceberg[pyarrow]'", version, answer)
