"""What readers of Iceberg must do, a test a rule: which metadata file is current, and what it says.

Other rules are in `test_iceberg_discovery`, and in `test_iceberg_checklist_values`, `…_manifests`,
`…_planning` and `…_deletes`.
"""

from __future__ import annotations

import gzip
import json
import shutil
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from iceberg_made import MadeTable, entry
from iceberg_shared import at_each_snapshot, shared_table
from raising import raises

import lakebed
from lakebed.errors import CorruptError, LakebedError, SnapshotNotFoundError, UnsupportedError
from shared_data import SHARED_DATA

# Some writers record lengths that their manifests do not have.
pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
COLUMNS = [(1, "id", "long"), (2, "city", "string")]


@pytest.fixture
def table(tmp_path: Path) -> MadeTable:
    return MadeTable(tmp_path / "t", *COLUMNS)


def metadata_file(name: str) -> Path:
    """A metadata file of the shared data; skips the test where it is not there."""
    file = SHARED_DATA / "iceberg" / "json" / name
    if not file.is_file():
        pytest.skip(f"no {name}: {SHARED_DATA} is absent or lacks it (LAKEBED_SHARED)")
    return file


def current(opened: lakebed.Table) -> str:
    """The name of the metadata file that a table was opened by."""
    log = opened.metadata_table("metadata_log_entries").to_arrow()
    return str(log["file"].to_pylist()[-1]).rpartition("/")[2]


def column_types(opened: lakebed.Table) -> dict[str, str]:
    """The columns of a table's current schema with their types as texts."""
    fields = opened.schemas().to_arrow().to_pylist()[-1]["fields"]
    return {field["name"]: field["type"] for field in fields}


def versions(table: MadeTable, *numbers: int, hint: str | None = None) -> None:
    """Writes metadata files of some versions, which tell themselves apart by a property."""
    for number in numbers:
        table.metadata["properties"] = {"version": str(number)}
        table.write(f"v{number}.metadata.json", json.dumps(table.metadata).encode())
    if 1 not in numbers:
        (table.root / "metadata" / "v1.metadata.json").unlink()
    if hint is not None:
        table.write("version-hint.text", hint.encode())


def opened_version(table: MadeTable) -> str:
    return str(table.open().properties["version"])


@pytest.mark.parametrize(
    ("hint", "found"),
    [("1", "3"), ("2", "3"), ("2\n", "3"), ("3", "3"), ("5", "5"), ("v2", "2"), (None, "5")],
)
def test_a_numeric_hint_is_probed_forward(table: MadeTable, hint: str | None, found: str):
    versions(table, 1, 2, 3, 5, hint=hint)
    assert opened_version(table) == found


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("bigquery_v2_no_header_props", "v1749025517.metadata.json"),
        ("hint_with_file_stem", "00000-acdf842e-3a9d-4b9b-ad87-daf785831925.metadata.json"),
        ("v1_identity_all_types_no_hint", "v2.metadata.json"),
        # The hint is empty.
        ("spark_v3_deletion_vectors", "v3.metadata.json"),
        ("java_v1_gzip_metadata", "v2.gz.metadata.json"),
    ],
)
def test_current_files_of_other_writers(name: str, file: str):
    assert current(shared_table(name).open()) == file


def test_a_hint_that_names_a_file(table: MadeTable):
    versions(table, 1, 2)
    (table.root / "metadata" / "v1.metadata.json").rename(table.root / "metadata" / "00001-x.metadata.json")
    table.write("version-hint.text", b"00001-x.metadata.json")
    assert opened_version(table) == "1"
    assert current(table.open()) == "00001-x.metadata.json"


def test_hints_of_another_name_are_not_looked_at(table: MadeTable):
    versions(table, 1, 2, 3)
    table.write("version-hint.txt", b"1")
    assert opened_version(table) == "3"
    assert current(shared_table("v2_key_metadata").open()) == "v2.metadata.json"


@pytest.mark.parametrize(
    "name", ["v2.gz.metadata.json", "v2.metadata.json.gz", "v2.metadata.json", "00002-x.gz.metadata.json"]
)
def test_gzip_is_known_by_its_bytes(table: MadeTable, name: str):
    table.metadata["properties"] = {"version": "2"}
    table.write(name, gzip.compress(json.dumps(table.metadata).encode()))
    assert opened_version(table) == "2"


def test_version_1_without_plural_fields_and_with_inline_manifests():
    opened = shared_table("spark_v1_no_plural_fields").open()
    assert len(opened.schemas().to_arrow()) == 1
    (manifest,) = opened.manifests().to_arrow().to_pylist()
    assert (manifest["spec_id"], manifest["content"], manifest["sequence_number"]) == (0, 0, 0)
    assert manifest["length"] > 0
    assert opened.files().to_arrow()["partition"].combine_chunks().type.num_fields == 1
    assert len(opened.files().to_arrow()) > 0


def test_the_list_counts_where_both_are_there(table: MadeTable):
    table.commit(table.manifest(entry(path="listed")), manifests=["/nowhere.avro"])
    assert table.open().files().to_arrow()["file_path"].to_pylist() == ["listed"]


def test_partition_fields_without_ids_are_numbered_per_spec(tmp_path: Path):
    specs = [
        {"spec-id": 0, "fields": [{"name": "a", "transform": "identity", "source-id": 1}]},
        {
            "spec-id": 1,
            "fields": [
                {"name": "b", "transform": "identity", "source-id": 2},
                {"name": "c", "transform": "bucket[4]", "source-id": 1},
            ],
        },
    ]
    opened = MadeTable(tmp_path / "t", *COLUMNS, version=1, partition_specs=specs, default_spec_id=1).open()
    # Both specs begin at 1000; that does not make one field of a and b.
    partition = opened.files().schema.field("partition").type
    assert sorted(field.name for field in partition) == ["a", "b", "c"]


def test_partition_fields_of_which_some_have_ids(tmp_path: Path):
    fields = [
        {"name": "a", "transform": "identity", "source-id": 1, "field-id": 1000},
        {"name": "b", "transform": "identity", "source-id": 2},
    ]
    table = MadeTable(tmp_path / "t", *COLUMNS)
    table.set(partition_specs=[{"spec-id": 0, "fields": fields}])
    with pytest.raises(CorruptError):
        table.open()


def test_keys_of_version_1_are_ignored_in_later_versions(table: MadeTable):
    table.set(schema={"nonsense": 1}, partition_spec="nonsense")
    assert column_types(table.open()) == {"id": "long", "city": "string"}
    opened = shared_table("pyiceberg_v1_to_v3_null_counts").open()
    assert current(opened).startswith("00004")
    assert len(opened.entries().to_arrow()) > 0


@pytest.mark.parametrize("value", [None, -1, "null"])
def test_no_current_snapshot(table: MadeTable, value: Any):
    if value == "null":
        table.metadata["current-snapshot-id"] = None
        table.write("v1.metadata.json", json.dumps(table.metadata).encode())
    else:
        table.set(current_snapshot_id=value)
    opened = table.open()
    assert opened.snapshot_id is None
    assert [len(view.to_arrow()) for view in (opened.files(), opened.entries(), opened.manifests())] == [
        0
    ] * 3


def test_real_tables_without_snapshots():
    opened = shared_table("empty_v3_time_transforms_ns").open()
    assert opened.snapshot_id is None
    kinds = {str(field.type) for field in opened.files().schema.field("partition").type}
    assert kinds == {"int32", "date32[day]"}


@pytest.mark.parametrize("refs", [None, {}])
def test_without_refs_main_is_the_current_snapshot(table: MadeTable, refs: dict[str, Any] | None):
    table.commit()
    table.set(refs=refs)
    opened = table.open()
    rows = opened.refs(columns=["name", "type", "snapshot_id"]).to_arrow().to_pylist()
    assert rows == [{"name": "main", "type": "branch", "snapshot_id": 1}]
    assert opened.at(branch="main").snapshot_id == 1


def test_empty_tables_have_no_refs(table: MadeTable):
    opened = table.open()
    assert [row for row in opened.refs().to_arrow().to_pylist() if row["snapshot_id"] is not None] == []
    with pytest.raises(SnapshotNotFoundError):
        opened.at(tag="v1")


def test_time_travel_goes_by_the_log(table: MadeTable):
    for _ in range(3):
        table.commit()
    # Rolled back to the first snapshot: the log says so, snapshots and their times do not.
    log = [*table.metadata["snapshot-log"], {"timestamp-ms": 5000, "snapshot-id": 1}]
    table.set(snapshot_log=log, current_snapshot_id=1)
    opened = table.open()
    asked = {1000: 1, 1999: 1, 2000: 2, 3000: 3, 4999: 3, 5000: 1, 10**12: 1}
    assert {time: opened.at(timestamp=time).snapshot_id for time in asked} == asked
    with pytest.raises(SnapshotNotFoundError, match="999"):
        opened.at(timestamp=999)


def test_among_equal_times_the_last_counts(table: MadeTable):
    for _ in range(2):
        table.commit()
    table.set(snapshot_log=[{"timestamp-ms": 1000, "snapshot-id": number} for number in (1, 2)])
    assert table.open().at(timestamp=1000).snapshot_id == 2


def test_a_real_log():
    file = metadata_file("trino/timetravel_00003.metadata.json")
    opened = lakebed.open_table(file)
    log = [(row["timestamp-ms"], row["snapshot-id"]) for row in json.loads(file.read_text())["snapshot-log"]]
    for time, snapshot in log:
        assert opened.at(timestamp=time).snapshot_id == snapshot
        exact = datetime.fromtimestamp(time // 1000, timezone.utc).replace(microsecond=time % 1000 * 1000)
        assert opened.at(timestamp=exact).snapshot_id == snapshot
    with pytest.raises(SnapshotNotFoundError):
        opened.at(timestamp=log[0][0] - 1)
    assert opened.at(timestamp=log[-1][0] + 1).snapshot_id == log[-1][1]


def test_tags_have_their_snapshots_schema_and_branches_the_current(table: MadeTable):
    table.commit()
    schemas = table.metadata["schemas"]
    newer = {
        "type": "struct",
        "schema-id": 1,
        "fields": [*schemas[0]["fields"], {"id": 3, "name": "new", "required": False, "type": "int"}],
    }
    refs = {"t": {"snapshot-id": 1, "type": "TAG"}, "b": {"snapshot-id": 1, "type": "branch"}}
    table.set(schemas=[*schemas, newer], current_schema_id=1, refs=refs)
    opened = table.open()
    at_branch = opened.at(branch="b")
    assert at_branch.files(stats=["new"]).schema.names[-1] == "stats"
    for at in (opened.at(tag="t"), opened.at(snapshot=1), opened.at(timestamp=1000)):
        with pytest.raises(LakebedError, match="new"):
            at.files(stats=["new"])


def test_ids_beyond_two_to_the_53(table: MadeTable):
    number = 2**53 + 1
    table.commit(table.manifest(entry()), snapshot_id=number)
    opened = table.open()
    assert opened.snapshot_id == number
    assert opened.at(snapshot=number).snapshots().to_arrow()["snapshot_id"].to_pylist() == [number]
    with pytest.raises(SnapshotNotFoundError):
        opened.at(snapshot=number - 1)


def test_rounded_ids_load():
    opened = shared_table("v2_to_v3_spec_evolution_rounded_ids").open()
    assert opened.snapshot_id == 5788798547140820000
    added = opened.manifests(columns=["added_snapshot_id"]).to_arrow()["added_snapshot_id"].to_pylist()
    assert not set(added) & set(opened.snapshots().to_arrow()["snapshot_id"].to_pylist())
    assert len(opened.files().to_arrow()) > 0


@pytest.mark.parametrize("version", [0, 5, 6, 99])
def test_other_format_versions(table: MadeTable, version: int):
    table.set(format_version=version)
    with pytest.raises(UnsupportedError, match=str(version)) as caught:
        table.open()
    assert caught.value.kind == "version"
    assert caught.value.path == str(table.root / "metadata" / "v1.metadata.json")


def test_a_real_unsupported_version():
    with pytest.raises(UnsupportedError):
        lakebed.open_table(metadata_file("java/TableMetadataUnsupportedVersion.json"))


REQUIRED = ["table-uuid", "location", "schemas", "partition-specs", "sort-orders", "current-schema-id"]


@pytest.mark.parametrize("key", REQUIRED)
def test_a_missing_field_is_named(table: MadeTable, key: str):
    table.set(**{key: None})
    with raises(CorruptError, match=key, path=str(table.root / "metadata" / "v1.metadata.json")):
        table.open()


@pytest.mark.parametrize(
    ("name", "word"),
    [("TableMetadataV2MissingSortOrder", "sort-orders"), ("TableMetadataV2CurrentSchemaNotFound", "2")],
)
def test_real_files_with_missing_fields(name: str, word: str):
    with pytest.raises(CorruptError, match=word):
        lakebed.open_table(metadata_file(f"java/{name}.json"))


def test_a_schema_that_is_no_struct(table: MadeTable):
    table.set(schemas=[{key: part for key, part in table.metadata["schemas"][0].items() if key != "type"}])
    with pytest.raises(CorruptError):
        table.open()


def test_encryption_keys_do_not_keep_a_table_from_being_read():
    file = metadata_file("rust/TableMetadataV3ValidEncryption.json")
    assert lakebed.open_table(file).format == "iceberg"
    assert json.loads(json.dumps(lakebed.iceberg.read_metadata(file)))["encryption-keys"]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("java/TableMetadataStatisticsFiles.json", "statistics"),
        ("go/TableMetadataV3WithPartitionStatistics.json", "partition-statistics"),
    ],
)
def test_statistics(name: str, key: str):
    file = metadata_file(name)
    expected = json.loads(file.read_text())[key]
    assert expected
    assert lakebed.iceberg.read_metadata(file)[key] == expected


def test_defaults_of_every_type():
    types = column_types(shared_table("spark_v3_defaults_all_types").open())
    assert {"boolean", "int", "long", "float", "double", "date", "string"} <= set(types.values())


EVERY_TYPE = [
    *("boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz"),
    *("timestamp_ns", "timestamptz_ns", "string", "uuid", "binary", "fixed[16]", "decimal(9, 2)"),
]


def test_every_type_and_its_statistics(tmp_path: Path):
    columns = [(number, f"c{number}", kind) for number, kind in enumerate(EVERY_TYPE, 1)]
    opened = MadeTable(tmp_path / "t", *columns, version=3).open()
    assert list(column_types(opened).values()) == EVERY_TYPE
    stats = opened.files(stats=[name for _, name, _ in columns]).schema.field("stats").type
    kinds = [field.type.field("lower_bound").type for field in stats]
    assert kinds == [
        *(pa.bool_(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.date32(), pa.time64("us")),
        *(pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.timestamp("ns", "UTC")),
        *(pa.string(), pa.string(), pa.binary(), pa.binary(), pa.decimal128(9, 2)),
    ]


def test_variants_unknown_and_places(tmp_path: Path):
    kinds = ["variant", "unknown", "geometry", "geometry(srid:3857)", "geography(OGC:CRS84, karney)"]
    columns = [(number, f"c{number}", kind) for number, kind in enumerate(kinds, 1)]
    opened = MadeTable(tmp_path / "t", *columns, version=3).open()
    assert list(column_types(opened).values()) == kinds


@pytest.mark.parametrize(
    ("name", "word"), [("unknown_column_v1", "unknown"), ("geography_snowflake_v3", "geography")]
)
def test_real_files(name: str, word: str):
    types = column_types(lakebed.open_table(metadata_file(f"presto/{name}.metadata.json")))
    assert [kind for kind in types.values() if word in kind]


def test_variants_inside_other_types():
    opened = shared_table("trino_v3_nested_variant").open()
    assert any("variant" in kind for kind in column_types(opened).values())
    assert len(opened.entries().to_arrow()) == 1


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("decimal(9,2)", "decimal(9, 2)"),
        ("decimal( 9 , 2 )", "decimal(9, 2)"),
        ("DECIMAL(38, 0)", "decimal(38, 0)"),
        ("Fixed[ 3 ]", "fixed[3]"),
        ("TimestampTZ", "timestamptz"),
        ("LONG", "long"),
    ],
)
def test_types_in_other_spellings(tmp_path: Path, text: str, printed: str):
    assert column_types(MadeTable(tmp_path / "t", (1, "c", text)).open()) == {"c": printed}


@pytest.mark.parametrize("text", ["decimal(39, 0)", "decimal(9)", "fixed[-1]", "fixed", "varchar(3)", ""])
def test_types_that_are_none(tmp_path: Path, text: str):
    with raises(CorruptError, kind="type"):
        MadeTable(tmp_path / "t", (1, "c", text)).open()


def test_entries_have_deleted_files_and_files_do_not():
    """Those of PyIceberg are compared in `test_iceberg_peers`."""
    found = set()
    for at, _, _ in at_each_snapshot(shared_table("made_pyiceberg012_v2")):
        statuses = at.entries().to_arrow()["status"].to_pylist()
        live = [status for status in statuses if status != 2]
        assert len(at.files().to_arrow()) == len(at.metadata_table("files").to_arrow()) == len(live)
        assert len(at.metadata_table("entries").to_arrow()) == len(statuses)
        found |= set(statuses)
    assert found == {0, 1, 2}


def test_copied_tables_are_read_where_they_are(tmp_path: Path, table: MadeTable):
    table.commit(table.manifest(entry(path=f"{table.root}/data/a.parquet")))
    copy = shutil.copytree(table.root, tmp_path / "copy")
    shutil.rmtree(table.root)
    opened = lakebed.open_table(copy, relocate={str(table.root): str(copy)})
    assert opened.location == str(copy)
    assert opened.files().to_arrow()["file_path"].to_pylist() == [f"{table.root}/data/a.parquet"]
    with pytest.raises(LakebedError):
        lakebed.open_table(copy).files().to_arrow()
