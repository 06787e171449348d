"""A Paimon table of many commits, for appends to be timed on: a manifest and a snapshot for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import lakebed

OPTIONS = {
    # What small manifests cost is what is timed: nobody merges them, nor lets snapshots go.
    "manifest.merge-min-count": "1000000000",
    "write-only": "true",
}


def made(cache: Path, commits: int) -> Path:
    """The folder of the table in the cache, or of a new one: two thirds of a millisecond a commit."""
    root = cache / "warehouse" / "bench.db" / f"commits_{commits}"
    if not root.exists():
        partial = root.with_name(f"{root.name}.partial")
        _write(partial, commits)
        partial.rename(root)
    return root


def one_file(name: str) -> Any:
    """A data file that is nowhere."""
    import pyarrow as pa

    path = pa.array([f"bucket-0/{name}.parquet"], pa.string())
    return pa.table({"file_path": path, "record_count": [10], "file_size_in_bytes": [1000]})


def _write(root: Path, commits: int) -> None:
    """Writes one commit by the front door, and as many others like it as are missing."""
    import pyarrow as pa

    from lakebed import paimon

    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    lakebed.create_table(root, schema, "paimon", properties=OPTIONS).append_files(one_file("data-0"))
    manifests = root / "manifest"
    first = paimon.read_snapshot(root / "snapshot" / "snapshot-1")
    record = paimon.read_manifest_list(manifests / first["deltaManifestList"]).to_arrow()
    entry = paimon.read_manifest(manifests / record["file_name"][0].as_py()).to_arrow()
    names = [f"manifest-{uuid4()}-0" for _ in range(1, commits)]
    sizes = []
    for number, name in enumerate(names, 1):
        column = entry.schema.get_field_index("file_name")
        renamed = entry.set_column(column, "file_name", pa.array([f"data-{number}.parquet"]))
        written = paimon.write_manifest(renamed)
        (manifests / name).write_bytes(written)
        sizes.append(len(written))
    records = pa.concat_tables([record] * (commits - 1))
    for name, values in (("file_name", pa.array(names)), ("file_size", pa.array(sizes, pa.int64()))):
        place = records.schema.get_field_index(name)
        records = records.set_column(place, records.schema.field(place), values)
    lists = {
        "base": pa.concat_tables([record, records.slice(0, commits - 2)]),
        "delta": records.slice(commits - 2),
    }
    said = {}
    for kind, rows in lists.items():
        written = paimon.write_manifest_list(rows)
        (manifests / f"manifest-list-made-{kind}").write_bytes(written)
        said |= {f"{kind}ManifestList": f"manifest-list-made-{kind}", f"{kind}ManifestListSize": len(written)}
    for number in range(2, commits + 1):
        # The lists of all are the last one's: nobody who appends reads those before.
        snapshot = {**first, **said, "id": number, "totalRecordCount": 10 * number}
        # As bytes: to a path each would be synced.
        written = paimon.write_snapshot(snapshot)
        (root / "snapshot" / f"snapshot-{number}").write_bytes(written)
    (root / "snapshot" / "LATEST").write_text(str(commits))
