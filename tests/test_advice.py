"""Thresholds come from where they are said first; calls name the table as its catalog does."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from advised import advice
from command_line import complaint, printed, run
from file_rows import file_rows
from local_storage import LocalStorage
from paimon_real import MadeTable

import lakebed
from lakebed.advice import Finding, TableName, Thresholds, findings
from lakebed.advice.calls import ENGINES
from lakebed.advice.configuration import configured, read
from lakebed.advice.findings import KINDS
from lakebed.errors import ConfigurationError, UnsupportedError
from lakebed.table.opening import Opening
from shared_data import SAMPLE_TABLE

MIB = 2**20
SICK = {
    "format": "iceberg",
    "file_count": 1000,
    "small_file_count": 900,
    "partition_count": 20,
    "max_partition_file_count": 900,
    "position_delete_file_count": 1003,
    "equality_delete_file_count": 200,
    "deletion_vector_count": 0,
    "delete_file_count": 1203,
    "dangling_delete_file_count": 101,
    "dangling_delete_size_in_bytes": 5 * MIB,
    "dangling_deletion_vector_count": 0,
    "dangling_equality_delete_file_count": 99,
    "deleted_record_ratio": 0.5,
    "manifest_count": 300,
    "entry_count": 5000,
    "small_manifest_count": 300,
    "deleted_entry_count": 4000,
    "snapshot_count": 900,
    "newest_snapshot_at": "2026-01-02T03:04:05.678000Z",
    "unused_key_count": 1,
}
WAITING = {"format": "paimon", "max_level": 5, "level_0_file_count": 900, "bucket_count": 20}


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, below which of a project, and the user's configuration beside it."""
    work = tmp_path / "project" / "deep"
    work.mkdir(parents=True)
    (tmp_path / "user" / "lakebed").mkdir(parents=True)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "user"))
    monkeypatch.chdir(work)
    return tmp_path


def written(path: Path, text: str) -> Path:
    path.write_text(f"[thresholds]\n{text}\n")
    return path


def in_force(*words: object) -> dict[str, tuple[str, str]]:
    rows = printed("health", SAMPLE_TABLE, "--thresholds", *words)
    return {row["threshold"]: (row["value"], row["origin"]) for row in rows}


def test_thresholds_are_those_that_are_said_first(folders: Path) -> None:
    assert configured() == []
    assert in_force()["snapshots"] == ("500", "default")
    user = written(
        folders / "user" / "lakebed" / "lakebed.toml", "snapshots = 9\nentries = 7000\nuneven = 2.5"
    )
    assert in_force()["snapshots"] == ("9", str(user))
    project = written(folders / "project" / "lakebed.toml", 'snapshots = 8\nsmall_bytes = "2 MiB"')
    found = in_force("--threshold", "entries=5")
    assert found["snapshots"] == ("8", str(project))
    assert found["small_bytes"] == (str(2 * MIB), str(project))
    assert found["uneven"] == ("2.5", str(user))
    assert found["entries"] == ("5", "command line")
    assert "--thresholds" in complaint("health", SAMPLE_TABLE, "--thresholds", "-o", "openmetrics", code=2)
    assert in_force("--small-bytes", "1kB")["small_bytes"] == ("1000", "command line")
    assert [one["column"] for one in printed("health", SAMPLE_TABLE)[0]["findings"]] == ["snapshot_count"]
    near = written(folders / "project" / "deep" / "lakebed.toml", "snapshots = 10")
    assert in_force()["snapshots"] == ("10", str(near))
    assert printed("health", SAMPLE_TABLE)[0]["findings"] == []


def test_the_user_s_file_is_read_once_where_it_is_the_project_s_too(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(folders / "user" / "lakebed" / "lakebed.toml", "snapshots = 9")
    monkeypatch.chdir(path.parent)
    assert configured() == [(str(path), {"snapshots": 9})]


@pytest.mark.parametrize(
    ("text", "kind", "key", "words"),
    [
        ("snapshots = ", "toml", None, "is not TOML"),
        ('thresholds = "few"', "type", "thresholds", "not a table"),
        ("[thresholds]\nsnapshot = 1", "unknown-key", "thresholds.snapshot", "they are small_bytes, "),
        ("[thresholds]\nsnapshots = 1.5", "type", "thresholds.snapshots", "1.5, not a whole number"),
        ("[thresholds]\nsnapshots = -1", "type", "thresholds.snapshots", "of 0 or more"),
        ("[thresholds]\nsnapshots = true", "type", "thresholds.snapshots", "True, not a whole number"),
        ("[thresholds]\nsmall_bytes = '5 parsecs'", "type", "thresholds.small_bytes", "not a size"),
        ("[thresholds]\ndeleted_ratio = nan", "type", "thresholds.deleted_ratio", "nan, not a number"),
        ("[thresholds]\nuneven = [1]", "type", "thresholds.uneven", "[1], not a number"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_key(
    text: str, kind: str, key: str | None, words: str, folders: Path
) -> None:
    path = folders / "project" / "lakebed.toml"
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read(path)
    assert (caught.value.kind, caught.value.path, caught.value.field) == (kind, str(path), key)
    assert words in str(caught.value)
    for command in (("health", SAMPLE_TABLE), ("show", SAMPLE_TABLE)):
        assert complaint(*command, code=2).startswith(f"error: {path}")


def test_a_file_of_other_bytes_is_no_toml(folders: Path) -> None:
    path = folders / "project" / "lakebed.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match="is not TOML"):
        read(path)


def test_wrong_thresholds_of_the_command_line() -> None:
    for given, words in (
        ("snapshots", "'', not a whole"),
        ("few=1", "no threshold"),
        ("uneven=x", "not a number"),
    ):
        assert words in complaint("health", SAMPLE_TABLE, "--threshold", given, code=2)


@pytest.mark.parametrize(
    ("table_format", "properties", "expected"),
    [
        ("iceberg", {}, {"small_bytes": 32 * MIB, "manifests": 100, "rewrite_bytes": 384 * MIB}),
        ("iceberg", {"write.target-file-size-bytes": str(16 * MIB)}, {"small_bytes": 12 * MIB}),
        ("iceberg", {"write.target-file-size-bytes": "many"}, {"small_bytes": 32 * MIB}),
        ("iceberg", {"commit.manifest.min-count-to-merge": "7"}, {"manifests": 7}),
        ("iceberg", {"history.expire.min-snapshots-to-keep": "900"}, {"snapshots": 900}),
        ("iceberg", {"history.expire.min-snapshots-to-keep": "2"}, {"snapshots": 500}),
        ("paimon", {}, {"small_bytes": 32 * MIB, "manifests": 30, "waiting_files": 5}),
        ("paimon", {"target-file-size": "10 mb"}, {"small_bytes": 7 * MIB, "rewrite_bytes": 7 * MIB}),
        (
            "paimon",
            {"target-file-size": "10MB", "compaction.small-file-ratio": "0.5"},
            {"rewrite_bytes": 5 * MIB},
        ),
        ("paimon", {"target-file-size": "2097152"}, {"rewrite_bytes": 1_468_006}),
        # What the engines refuse says nothing.
        ("paimon", {"target-file-size": "1 kib"}, {"rewrite_bytes": 187_904_819}),
        ("paimon", {"manifest.merge-min-count": "1 k"}, {"manifests": 30}),
        ("iceberg", {"write.target-file-size-bytes": "1 mb"}, {"rewrite_bytes": 384 * MIB}),
        ("paimon", {"num-sorted-run.compaction-trigger": "9"}, {"waiting_files": 9}),
        ("paimon", {"manifest.merge-min-count": "3", "snapshot.num-retained.min": "501"}, {"snapshots": 501}),
    ],
)
def test_properties_say_what_is_a_problem(
    table_format: str, properties: dict[str, str], expected: dict[str, float]
) -> None:
    found = Thresholds.of(table_format, properties)
    assert {name: getattr(found, name) for name in expected} == expected
    assert set(found.origins.values()) <= properties.keys()


def test_health_counts_by_what_the_table_says(tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "shop.db" / "orders")
    made.create({"bucket": "-1", "target-file-size": "1 kb"})
    made.now().append_files(made.written("emea", "a", *range(100)))
    assert made.now().health().to_arrow()["small_file_count"].to_pylist() == [0]
    assert printed("health", made.root)[0]["small_file_count"] == 0
    assert printed("health", made.root, "--small-bytes", "1MB")[0]["small_file_count"] == 1
    assert "small_bytes 716 B (target-file-size)" in " ".join(shown(made.root, folder=tmp_path).split())


def shown(table: object, folder: Path) -> str:
    """The thresholds as a terminal shows them."""
    from lakebed.cli.health_rows import _in_words

    opened = lakebed.open_table(str(table))
    limits = Thresholds.of(opened.format, opened.properties)
    return ", ".join(_in_words(*one) for one in limits.in_force())


def found_of(row: dict[str, Any], name: TableName) -> list[Finding]:
    return findings({**SICK, **row}, Thresholds.of(str({**SICK, **row}["format"]), {}), name)


def test_every_kind_of_problem_is_listed_and_has_calls() -> None:
    name = TableName("lake", ("shop", "orders"), "shop.orders --catalog lake", ("import lakebed",))
    found = found_of({}, name)
    of_paimon = found_of(WAITING, name)
    assert {one.column for one in (*found, *of_paimon)} == set(KINDS)
    for one in (*found, *of_paimon):
        if one.column == "unused_key_count":
            assert one.calls == {}
            continue
        if one.column == "dangling_delete_file_count":
            # Paimon itself has no call that takes a vector without its file.
            assert one.calls.keys() == ({"python"} if one in of_paimon else {"spark", "python"})
            continue
        assert one.calls.keys() <= set(ENGINES)
        assert one.calls.keys() >= {"spark", "flink"} if one in of_paimon else {"spark", "trino"}
        for statement in (*one.calls["spark"], *one.calls.get("trino", ())):
            assert "shop.orders" in statement or "SET SESSION lake." in statement
            assert "lake." in statement
        assert json.loads(json.dumps(one.to_dict()))["next_step"] == one.next_step


def test_calls_are_those_of_each_engine() -> None:
    name = TableName("lake", ("shop", "orders"), "shop.orders --catalog lake", ("import lakebed",))
    calls = {one.column: one.calls for one in found_of({}, name)}
    assert calls["small_file_count"] == {
        "spark": [
            "CALL lake.system.rewrite_data_files(table => 'shop.orders', "
            "options => map('min-input-files', '2'))",
            # Of the files that are written anew.
            "CALL lake.system.rewrite_position_delete_files(table => 'shop.orders', "
            "options => map('rewrite-all', 'true'))",
        ],
        "trino": ["ALTER TABLE lake.shop.orders EXECUTE optimize(file_size_threshold => '100MB')"],
        "flink": [
            "TableMaintenance.forTable(env, tableLoader, lockFactory).add(RewriteDataFiles.builder()"
            ".scheduleOnCommitCount(1).minInputFiles(2)).append()"
        ],
    }
    assert calls["snapshot_count"]["trino"] == [
        "SET SESSION lake.expire_snapshots_min_retention = '0s'",
        "ALTER TABLE lake.shop.orders EXECUTE "
        "expire_snapshots(retention_threshold => '0s', retain_last => 250)",
    ]
    assert calls["small_manifest_count"]["python"] == ["import lakebed", "table.rewrite_manifests()"]


@pytest.mark.parametrize(
    ("vectors", "equality", "files", "spark"),
    [
        (0, 0, 200, ["rewrite_position_delete_files"]),
        (0, 200, 0, ["rewrite_data_files"]),
        (0, 99, 101, ["rewrite_data_files", "rewrite_position_delete_files"]),
        (200, 0, 0, ["rewrite_data_files"]),
        (99, 0, 101, ["rewrite_data_files", "rewrite_position_delete_files"]),
    ],
)
def test_dangling_deletes_go_with_what_is_the_least(
    vectors: int, equality: int, files: int, spark: list[str]
) -> None:
    name = TableName("lake", ("shop", "orders"), "shop.orders --catalog lake", ("import lakebed",))
    row = {
        "dangling_delete_file_count": vectors + equality + files,
        "dangling_deletion_vector_count": vectors,
        "dangling_equality_delete_file_count": equality,
    }
    (found,) = (one for one in found_of(row, name) if one.column == "dangling_delete_file_count")
    assert found.what == "200 of 1,203 delete files and vectors (5.2 MB) apply to no live data file"
    called = [statement.partition("system.")[2].partition("(")[0] for statement in found.calls["spark"]]
    assert called == spark
    assert "python" in found.calls
    assert all("'rewrite-all', 'true'" in statement for statement in found.calls["spark"])
    twice = found_of({**row, "partition_count": 1}, name)
    (of_one,) = (one for one in twice if one.column == "dangling_delete_file_count")
    assert of_one.calls["spark"].count(found.calls["spark"][0]) == (2 if vectors or equality else 1)


def test_what_is_dangling_is_no_other_problem() -> None:
    row = {"position_delete_file_count": 1002, "equality_delete_file_count": 199}
    kinds = {one.column for one in found_of(row, TableName())}
    assert not kinds & {"position_delete_file_count", "equality_delete_file_count"}
    fewer = {"dangling_delete_file_count": 100, "dangling_equality_delete_file_count": 100}
    assert "dangling_delete_file_count" not in {one.column for one in found_of(fewer, TableName())}


def test_names_that_are_no_words_are_quoted() -> None:
    name = TableName("my-lake", ("a.b", "it's"), "x")
    (calls,) = (one.calls for one in found_of({}, name) if one.column == "deleted_entry_count")
    assert calls["spark"] == ["CALL `my-lake`.system.rewrite_manifests(table => '`a.b`.`it\\'s`')"]
    assert calls["trino"] == ['ALTER TABLE "my-lake"."a.b"."it\'s" EXECUTE optimize_manifests']


def test_names_are_those_of_catalogs_else_of_folders() -> None:
    table = lakebed.open_table(SAMPLE_TABLE)
    assert (TableName.of(table).catalog, str(TableName.of(table))) == (None, "examples.sample_table")
    for location, parts in (
        ("s3://bucket/warehouse/shop.db/orders", ("shop", "orders")),
        ("/orders", ("orders",)),
        ("/lake/shop/orders/metadata/v3.metadata.json", ("shop", "orders")),
        ("orders", ("orders",)),
    ):
        given: Any = SimpleNamespace(opening=Opening(None, location), location=location, branch="main")
        assert TableName.of(given).parts == parts


def test_branches_are_not_taken_for_the_table(tmp_path: Path) -> None:
    made = MadeTable(tmp_path / "shop.db" / "orders")
    made.create({"bucket": "-1", "manifest.merge-min-count": "0"})
    made.now().append_files(made.written("emea", "a", 1))
    made.now().create_tag("v1")
    made.now().create_branch("dev", at="v1")
    (finding,) = made.now().at(branch="dev").health().findings()
    assert finding["calls"]["spark"] == ["CALL sys.compact_manifest(table => 'shop.`orders$branch_dev`')"]
    assert '.at(branch="dev")' in finding["calls"]["python"][1]
    of_iceberg = TableName("lake", ("shop", "orders"), "x", ("import lakebed",), on_branch=True)
    assert {engine for one in found_of({}, of_iceberg) for engine in one.calls} == {"python"}


def python_of(opened: lakebed.Table) -> list[str] | None:
    """The call that ends the problem of a table whose manifests are many."""
    limits = Thresholds.of(opened.format, {}, ("test", {"manifests": 1}))
    found = {one["column"]: one["calls"] for one in opened.health().findings(limits)}
    calls: dict[str, list[str]] = found["small_manifest_count"]
    return calls.get("python")


@pytest.mark.parametrize("name", ["orders", 'größer \U0001f600 `a` "b"'])
def test_python_opens_the_table_that_it_changes(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    made = lakebed.create_table(path, pa.schema([("id", pa.int64())]), "iceberg")
    for number in range(3):
        made = made.append_files(file_rows(f"data/{number}.parquet"))
    opened = lakebed.open_table(path, allowed_prefixes=[tmp_path / "other"])
    typed = python_of(opened)
    assert typed is not None
    exec("\n".join(typed), {})
    assert opened.refresh().manifests().to_arrow().num_rows == 1
    assert f'allowed_prefixes=["{tmp_path}/other"]' in typed[1]


def test_no_python_is_typed_that_would_not_open_the_table_or_not_change_it(tmp_path: Path) -> None:
    made = lakebed.create_table(tmp_path / "orders", pa.schema([("id", pa.int64())]), "iceberg")
    for number in range(2):
        made = made.append_files(file_rows(f"data/{number}.parquet"))
    assert python_of(made) is not None
    others: list[dict[str, Any]] = [
        {"storage": LocalStorage()},
        {"keys": lambda wrapped, _key: wrapped},
        {"limits": lakebed.Limits(max_rows=1000)},
    ]
    for how in others:
        assert python_of(lakebed.open_table(made.location, **how)) is None
    (tmp_path / "orders").rename(tmp_path / "moved")
    moved = lakebed.open_table(tmp_path / "moved", relocate={made.location: tmp_path / "moved"})
    assert python_of(moved) is None
    with pytest.raises(UnsupportedError, match="relocate="):
        moved.rewrite_manifests()


def test_the_finding_says_where_it_looks_like_the_command_does(tmp_path: Path) -> None:
    result = run("health", SAMPLE_TABLE, "--threshold", "snapshots=9", "--relocate", "/a=/b")
    assert f"`lakebed expire-plan {SAMPLE_TABLE} --relocate /a=/b --older-than " in result.stderr
    (statement,) = advice(SAMPLE_TABLE, "--threshold", "snapshots=9")["snapshot_count"]
    assert statement.startswith(
        "CALL sys.expire_snapshots(table => 'examples.sample_table', retain_max => 4, "
    )
    # What it prints can be typed.
    (look,) = [part for part in result.stderr.split("`") if part.startswith("lakebed ")]
    words = look.replace(" --relocate /a=/b", "").split()[1:]
    assert run(*words).exit_code == 0
