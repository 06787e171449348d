"""Every malformed file of tests/data/malformed ends as its name says, in a second and a little memory."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from local_storage import SomeFiles
from malformed_files import MALFORMED, files
from malformed_forms import MAGIC
from process_memory import forget_peak, held
from sidecar_table import SIDECAR_TABLE
from trust import Figure

import lakebed
from lakebed import errors, iceberg, paimon
from shared_data import OWN_DATA

LIMITS = lakebed.Limits(max_block_bytes=16 << 20, max_file_bytes=32 << 20, max_rows=1_000_000)
SECONDS = 1
BYTES = 64 << 20
NAMES = sorted(str(path.relative_to(MALFORMED)) for path in MALFORMED.rglob("*.*"))


def vector(content: bytes) -> Any:
    """The vector that begins after its file's version, of the length that would be recorded for it."""
    wide = content[5:9] == MAGIC
    length = len(content) - 1 if wide else max(0, len(content) - 9)
    return paimon.read_deletion_vector(content, 1, length, limits=LIMITS)


def rows(read: Callable[..., Any]) -> Callable[[bytes], Any]:
    return lambda content: read(content, limits=LIMITS).to_arrow()


READERS: dict[str, Callable[[bytes], Any]] = {
    "iceberg_metadata": lambda content: opened(content),
    "iceberg_manifest": rows(iceberg.read_manifest),
    "iceberg_manifest_list": rows(iceberg.read_manifest_list),
    "iceberg_vector": lambda content: iceberg.read_deletion_vector(content, 0, len(content), limits=LIMITS),
    "iceberg_partition_stats": lambda content: partition_stats(content),
    "paimon_sidecar": lambda content: sidecar(content),
    "paimon_snapshot": paimon.read_snapshot,
    "paimon_schema": paimon.read_schema,
    "paimon_manifest_list": rows(paimon.read_manifest_list),
    "paimon_manifest": rows(paimon.read_manifest),
    "paimon_index_manifest": rows(paimon.read_index_manifest),
    "paimon_vector": vector,
}


def opened(content: bytes, **others: bytes) -> lakebed.Table:
    storage = SomeFiles(**{".metadata.json": content}, **others)
    return lakebed.open_table("/t/metadata/v1.metadata.json", storage=storage, limits=LIMITS)


def partition_stats(content: bytes) -> Any:
    """The rows of the file, in the place of the first snapshot's of a table."""
    (path,) = (OWN_DATA / "iceberg_partition_stats" / "stats_avro_v2" / "metadata").glob("*.json")
    metadata = json.loads(path.read_text("utf-8"))
    snapshot = metadata["snapshots"][0]["snapshot-id"]
    record = {"snapshot-id": snapshot, "statistics-path": "/t/stats", "file-size-in-bytes": len(content)}
    table = opened(json.dumps(metadata | {"partition-statistics": [record]}).encode(), **{"/stats": content})
    return table.at(snapshot=snapshot).metadata_table("partition_stats").to_arrow()


def sidecar(content: bytes) -> None:
    """The plan is that of the whole manifest, in silence or with the warning that this is read."""
    table = lakebed.open_table(SIDECAR_TABLE, storage=SomeFiles(**{".sidecar": content}), limits=LIMITS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = table.plan(where="city = 'emea' AND day = 1", columns=["file_name"]).to_arrow()
    assert found["file_name"].to_pylist() == ["0.orc", "1.orc"]
    for warning in caught:
        assert "manifest-0.avro.sidecar" in str(warning.message)
        assert isinstance(warning.message, errors.LakebedWarning)
        raise warning.message


def test_the_files_are_those_that_the_script_writes():
    stored = {name: (MALFORMED / name).read_bytes() for name in NAMES}
    assert stored == files(), "python tests/malformed_files.py writes them again"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
def test_a_malformed_file_ends_as_its_name_says(name: str):
    kind, _, file = name.partition("/")
    content = (MALFORMED / name).read_bytes()
    forget_peak()
    before, start, refused = held("VmHWM"), time.process_time(), False
    try:
        READERS[kind](content)
    except (errors.LakebedError, errors.LakebedWarning) as error:
        refused = True
        assert getattr(error, "kind", "warning") not in (None, "internal")  # noqa: PT017 - either may be right
        assert len(str(error).encode()) <= 2048  # noqa: PT017
    assert time.process_time() - start < SECONDS
    assert held("VmHWM") - before < BYTES
    assert {"y": not refused, "n": refused, "i": True}[file[0]], f"refused: {refused}"


@pytest.mark.trust
def test_there_are_malformed_files_of_every_kind(figure: Figure):
    kinds = {name.partition("/")[0] for name in NAMES}
    assert kinds == set(READERS)
    figure(
        "malformed files",
        f"{len(NAMES)} of {len(kinds)} kinds, each within {SECONDS} s and {BYTES >> 20} MiB",
    )
