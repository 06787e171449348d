"""What a table reaches and what nothing does, brought together elsewhere, is what one process finds.

What executors run is run here, in several parts; how Spark moves rows between them is tested in `spark/`.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from covering import EitherGolden, each_covering_table
from exchanging import exchanged
from trust import long_or, not_in_check

import lakebed
from lakebed import errors
from lakebed.view import Bounds
from spark_rows import expected

pytestmark = [
    not_in_check,
    pytest.mark.filterwarnings("ignore:.*is not looked into:lakebed.errors.LakebedWarning"),
]

OLD = datetime(2020, 1, 1, tzinfo=timezone.utc)
LATER = datetime.now(timezone.utc) + timedelta(days=365)


def check(table: lakebed.Table, parts: int) -> None:
    some: dict[str, Any] = {
        "filter": "kind IN ('data', 'manifest')",
        "columns": ["kind", "file_path", "first_reached_by"],
    }
    scans = (table.expire_plan(LATER, 1), table.totals(), table.reachable(**some), table.reachable())
    for scan in scans[: long_or(3, 4)]:
        assert exchanged(scan, parts, table=table) == expected(scan)
    lists = table.reachable(filter="kind = 'manifest list'").job(Bounds())
    assert lists is not None
    assert not lists.manifests


def check_orphans(table: lakebed.Table, parts: int) -> None:
    folder = Path(table.location)
    lost = [folder / name for name in ("manifest/lost-1", "data/lost-2", "metadata/lost-3", "_hidden/lost-4")]
    files = [str(path) for path in [*lost, *(path for path in folder.rglob("*") if path.is_file())]]
    times = pa.array([OLD] * len(files), pa.timestamp("us", "UTC"))
    listing = pa.table({"path": files, "size": pa.array(range(len(files))), "modified": times})
    for given in long_or([listing], [listing, None]):
        scan = table.orphans(None if given is None else timedelta(3), given)
        try:
            rows = expected(scan)
        except errors.UnsupportedError:
            # Its external paths are on a storage that is not here.
            with pytest.raises(errors.UnsupportedError):
                exchanged(scan, parts, table=table, listed=True)
            continue
        found = exchanged(scan, parts, table=table, listed=True)
        assert found == rows
        assert found or given is None


@each_covering_table()
def test_of_every_table(table: EitherGolden):
    opened = table.open()
    is_paimon = opened.format == "paimon"
    check(opened, 3 if is_paimon else 5)
    check_orphans(opened, 4 if is_paimon else 2)
