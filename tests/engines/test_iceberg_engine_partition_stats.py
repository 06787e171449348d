"""Partition statistics: files that Iceberg Java writes, and sums computed from them, beside its own."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from covering import each_covering_iceberg_table
from iceberg_table_pairs import Deletes, File, PairedTable, lakebeds
from java_engine import EngineError, JavaEngine
from test_iceberg_partition_stats import rows

import lakebed
from iceberg_answers import assert_same_multiset, canonical_rows, wanted
from iceberg_golden import GoldenTable
from lakebed.errors import LakebedWarning

pytestmark = pytest.mark.jvm

Row = dict[str, Any]


class Judged:
    """A table whose statistics Java computes after each commit, and lakebed before it does."""

    def __init__(self, folder: Path, java: JavaEngine, version: int, **properties: str) -> None:
        self.paired, self.java = PairedTable.made(folder, java, version, **properties), java

    def manage(self, *step: Any) -> None:
        self.java.ask("manage", table=self.paired.root, steps=[list(step)])

    def same(self) -> list[Row]:
        """The rows of the newest snapshot, computed by both, and read of the file by both."""
        computed = rows(self.paired.now(), "computed_partition_stats")
        self.manage("compute_partition_stats")
        theirs: list[Row] = self.java.ask("partition_stats", table=self.paired.root)
        now = self.paired.now()
        assert rows(now) == theirs
        for ours in (computed, rows(now, "computed_partition_stats")):
            assert [row["partition"] for row in ours] == [row["partition"] for row in theirs]
            assert sorted(ours, key=str) == sorted(theirs, key=str)
        self.has_the_sums_of_partitions(theirs)
        return theirs

    def has_the_sums_of_partitions(self, stats: list[Row]) -> None:
        """Partitions with files have the sums of the metadata table `partitions`; others have none."""
        sums = {
            (str(row["partition"]), row["spec_id"]): [row[name] for name in SUMS.values()]
            for row in rows(self.paired.now(), "partitions")
        }
        found = {
            (str(row["partition"]), row["spec_id"]): [row[name] for name in SUMS]
            for row in stats
            if any(row[name] for name in SUMS)
        }
        for row in stats:
            key = (str(row["partition"]), row["spec_id"])
            if key in found:
                found[key][list(SUMS).index("position_delete_file_count")] += row.get("dv_count", 0)
        assert found == sums


# Columns that both tables have, and what `partitions` calls them: it counts vectors among position deletes.
SUMS = {
    "data_record_count": "record_count",
    "data_file_count": "file_count",
    "total_data_file_size_in_bytes": "total_data_file_size_in_bytes",
    **{
        name: name
        for kind in ("position", "equality")
        for name in (f"{kind}_delete_record_count", f"{kind}_delete_file_count")
    },
}
A, B, C = File("a", low=0, high=4), File("b", low=5, high=9), File("c", "us", 5, 20)


@pytest.fixture(params=[(1, "parquet"), (2, "parquet"), (2, "avro"), (3, "parquet"), (3, "avro")], ids=str)
def judged(request: pytest.FixtureRequest, tmp_path: Path, iceberg_java: JavaEngine) -> Judged:
    version, container = request.param
    return Judged(tmp_path / "t", iceberg_java, version, **{"write.format.default": container})


def test_each_commit_adds_to_the_sums(judged: Judged):
    paired = judged.paired
    assert rows(paired.now()) == rows(paired.now(), "computed_partition_stats") == []
    lakebeds(paired, "append", files=[A, C])
    assert [row["data_file_count"] for row in judged.same()] == [1, 1]
    lakebeds(paired, "append", files=[B])
    lakebeds(paired, "append", files=[File("d", "apac")])
    assert [row["partition"]["region"] for row in judged.same()] == ["apac", "emea", "us"]
    version = paired.now().format_version or 0
    if version > 1:
        deletes = [Deletes("p", target="a", offset=4 if version == 3 else None), Deletes("q", ids=[1])]
        lakebeds(paired, "row_delta", deletes=deletes)
        (_, emea, _) = judged.same()
        assert emea["equality_delete_file_count"] == 1
        assert emea["position_delete_record_count"] == 2
        assert emea.get("dv_count", 0) + emea["position_delete_file_count"] == 1
    # Only entries that were there already: nothing is added or deleted.
    paired.now().rewrite_manifests(sort=True)
    judged.same()
    lakebeds(paired, "overwrite", removed=["a", "c"])
    (_, emea, us) = judged.same()
    assert (emea["data_file_count"], us["data_file_count"], us["data_record_count"]) == (1, 0, 0)
    lakebeds(paired, "append", files=[File("e", "us")])
    judged.same()
    # The deleted entries are of manifests that are gone: all that is left is what lives.
    judged.manage("remove_partition_stats")
    assert rows(paired.now()) == []
    judged.same()


def test_specs_that_change(judged: Judged):
    paired = judged.paired
    lakebeds(paired, "append", files=[A, C])
    judged.same()
    judged.manage("spec", {"add": [["bucket[4]", "id", None]]})
    for number in range(3):
        one = {"path": f"{paired.root}/{number}.parquet", "records": 7, "size": 9}
        one["partition"] = f"region=emea/id_bucket_4={number}"
        judged.java.ask("append", table=paired.root, files=[one])
    assert [row["spec_id"] for row in judged.same()] == [0, 1, 1, 1, 0]
    judged.manage("upgrade", min((paired.now().format_version or 0) + 1, 3))
    lakebeds(paired, "overwrite", removed=["a"])
    judged.same()


def test_a_branch_has_no_use_for_the_statistics_of_another(judged: Judged):
    paired = judged.paired
    lakebeds(paired, "append", files=[A])
    first = paired.now().snapshot_id
    judged.manage("create_branch", "other", first)
    lakebeds(paired, "append", files=[B])
    judged.same()
    paired.now("other").append_files(paired.data([C]))
    other = rows(paired.now("other"), "computed_partition_stats")
    assert [(row["partition"]["region"], row["data_file_count"]) for row in other] == [("emea", 1), ("us", 1)]
    assert rows(paired.now("other")) == []


def test_specs_that_lack_the_first_field(judged: Judged):
    """Java loses partitions of such specs where it computes from an earlier file (apache/iceberg#17915)."""
    paired = judged.paired
    if paired.now().format_version == 1:
        pytest.skip("specs of version 1 lack no field")
    lakebeds(paired, "append", files=[A, C])
    judged.manage("spec", {"remove": ["region"], "add": [["bucket[4]", "id", None]]})
    for number in range(3):
        one = {"path": f"{paired.root}/{number}.parquet", "records": 7, "size": 9}
        judged.java.ask("append", table=paired.root, files=[{**one, "partition": f"id_bucket_4={number}"}])
    assert len(judged.same()) == 5
    judged.java.ask("delete", table=paired.root, files=[paired.path("a")])
    ours = rows(paired.now(), "computed_partition_stats")
    judged.has_the_sums_of_partitions(ours)
    judged.manage("compute_partition_stats")
    theirs = rows(paired.now())
    assert len(theirs) < len(ours)
    with pytest.warns(LakebedWarning, match="all manifests are read.*and total-data-files is 4"):
        assert rows(paired.now(), "computed_partition_stats") == ours


# Of a partition field whose source is dropped Java writes a row for each value, which are all one: null.
@pytest.mark.filterwarnings("ignore:.*a partition has two rows:lakebed.errors.LakebedWarning")
@each_covering_iceberg_table()
@pytest.mark.parametrize("container", ["avro", "parquet"])
def test_partitions_of_every_type(
    container: str, table: GoldenTable, tmp_path: Path, iceberg_java: JavaEngine
):
    now, partition = table.open(), table.partition_type()
    if not len(partition) or now.snapshot_id is None:
        pytest.skip("no partitions")
    copy = tmp_path / "t"
    shutil.copytree(table.path / "metadata", copy / "metadata")
    asked = {"metadata": copy / table.info["metadata_file"], "relocate": {table.location: copy}}
    try:
        answer = iceberg_java.ask("add_partition_stats", **asked, format=container)
    except EngineError as error:
        pytest.skip(f"Iceberg's Java writes no statistics: {str(error).splitlines()[0]}")
    written = copy / "metadata" / "with-stats.metadata.json"
    written.write_text(json.dumps(answer["metadata"]), "utf-8")
    theirs = [
        {
            **row,
            "partition": wanted(row["partition"], partition),
            "last_updated_at": row["last_updated_at"] and instant(row["last_updated_at"]),
        }
        for row in answer["rows"]
    ]
    stats = lakebed.open_table(written, relocate=asked["relocate"])
    assert canonical_rows(stats.metadata_table("partition_stats").to_arrow()) == theirs
    for opened in (stats, now):
        computed = canonical_rows(opened.metadata_table("computed_partition_stats").to_arrow())
        assert_same_multiset(computed, merged(theirs), table.name)


def merged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row for each partition: their sums, and the last commit."""
    of_partitions: dict[str, dict[str, Any]] = {}
    for row in rows:
        key = repr((row["spec_id"], row["partition"]))
        if (one := of_partitions.get(key)) is None:
            of_partitions[key] = {**row}
            continue
        newest = max(one, row, key=lambda each: each["last_updated_at"] or "")
        for name, value in row.items():
            is_sum = isinstance(value, int) and name.endswith(("_count", "_bytes"))
            one[name] = one[name] + value if is_sum else newest[name]
    return list(of_partitions.values())


def instant(since_1970: int) -> str:
    return datetime.fromtimestamp(since_1970 / 1000, timezone.utc).isoformat(timespec="microseconds")
