"""Writes tests/data/malformed: small odd files of every kind of metadata, and what must become of them.

`<kind>/y_…` must be read, `n_…` must be refused by a typed error, `i_…` may be either: in a second, within
bounded memory, without a crash. `python tests/malformed_files.py` writes them again; ids are their names.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import malformed_iceberg as iceberg
import malformed_paimon as paimon
import malformed_skipping as skipping
from malformed_columnar import columnar

MALFORMED = Path(__file__).resolve().parent / "data" / "malformed"


def files() -> dict[str, bytes]:
    """Path below the folder → content."""
    makers = {
        "iceberg_metadata": iceberg.metadata,
        "iceberg_manifest": iceberg.manifest,
        "iceberg_manifest_list": iceberg.manifest_list,
        "iceberg_vector": iceberg.vector,
        "iceberg_partition_stats": skipping.partition_stats,
        "paimon_snapshot": paimon.snapshot,
        "paimon_schema": paimon.schema,
        "paimon_manifest_list": lambda: [*paimon.manifest_list(), *columnar("list")],
        "paimon_manifest": lambda: [*paimon.manifest(), *columnar("manifest")],
        "paimon_index_manifest": paimon.index_manifest,
        "paimon_vector": paimon.vector,
        "paimon_sidecar": skipping.sidecar,
    }
    return {f"{kind}/{name}": content for kind, make in makers.items() for name, content in make()}


def write() -> None:
    """Writes the folder anew."""
    shutil.rmtree(MALFORMED, ignore_errors=True)
    for name, content in files().items():
        path = MALFORMED / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


if __name__ == "__main__":
    write()
