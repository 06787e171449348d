"""Writes the tables of `tests/data/iceberg_partition_stats`, with what the engine says of them.

Run: PYTHONPATH=tests:python python tests/engines/write_partition_stats.py FOLDER, with Java and Maven. The
tables are of entries alone: no file of data or deletes is there.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from iceberg_table_pairs import Deletes, File, PairedTable, lakebeds
from java_engine import JavaEngine


def write(folder: Path, java: JavaEngine, version: int, container: str) -> None:
    """A table with the statistics of two snapshots, and a third for which the engine computed them."""
    root = folder / f"stats_{container}_v{version}"
    table = PairedTable.made(root, java, version, **{"write.format.default": container})

    def stats(*steps: str) -> Any:
        java.ask("manage", table=root, steps=[[step] for step in steps])
        return java.ask("partition_stats", table=root)

    answers: dict[str, Any] = {"location": str(root), "stored": {}}
    lakebeds(table, "append", files=[File("a"), File("c", "us", 5, 20), File("d", "apac")])
    answers["stored"][str(table.now().snapshot_id)] = stats("compute_partition_stats")
    lakebeds(table, "append", files=[File("b", low=5)])
    deletes = [Deletes("p", target="a", offset=4 if version == 3 else None), Deletes("q", ids=[1])]
    lakebeds(table, "row_delta", deletes=deletes)
    answers["stored"][str(table.now().snapshot_id)] = stats("compute_partition_stats")
    lakebeds(table, "overwrite", removed=["a", "c"], files=[File("e", "emea")])
    answers["metadata"] = newest(root)
    answers["computed"] = stats("compute_partition_stats")
    (root / "expected").mkdir()
    (root / "expected" / "partition_stats.json").write_text(json.dumps(answers, indent=1) + "\n")
    # What this last commit wrote is what lakebed computes; nobody asks for older metadata.
    others = set((root / "metadata").glob("v*.metadata.json")) - {root / answers["metadata"]}
    written = (root / "metadata").glob(f"partition-stats-{table.now().snapshot_id}-*")
    for file in [*others, *written, *(root / "metadata").glob("*.text"), *root.rglob(".*.crc")]:
        file.unlink()


def newest(root: Path) -> str:
    """The metadata file of the highest version, below the table's folder."""
    files = (root / "metadata").glob("v*.metadata.json")
    found = max(files, key=lambda file: int(file.name.split(".")[0][1:]))
    return str(found.relative_to(root))


def main(folder: Path) -> None:
    java = JavaEngine("IcebergEngine")
    shutil.rmtree(folder, ignore_errors=True)
    for version, container in ((2, "parquet"), (2, "avro"), (3, "parquet"), (3, "avro")):
        write(folder, java, version, container)
    java.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
