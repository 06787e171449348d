"""The live files of root manifests and their leaves."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import content_entries
import pyarrow as pa
import pytest
from content_entries import MANIFEST_INFO, SPEC, column, entry, field, manifest, manifest_info
from raising import raises

import lakebed
from lakebed import experimental
from lakebed.errors import (
    CorruptError,
    LakebedError,
    LocationError,
    PredicateError,
    SchemaError,
    UnsupportedError,
)

COLUMNS = [
    column(1, "n", "long"),
    column(2, "city", "string"),
    column(3, "at", {"type": "struct", "fields": [column(4, "x", "double")]}),
]
SPECS = [
    {"spec-id": 0, "fields": []},
    {"spec-id": 1, "fields": [{"name": "city", "transform": "identity", "source-id": 2, "field-id": 1000}]},
]
_METRICS = (
    (1, "lower_bound"),
    (2, "upper_bound"),
    (4, "value_count"),
    (5, "null_value_count"),
    (6, "nan_value_count"),
)


def metrics(column: int, kind: pa.DataType) -> pa.Field:
    base = 10_000 + 200 * column
    members = [field(base + offset, name, kind if offset < 3 else pa.int64()) for offset, name in _METRICS]
    return field(base, f"c{column}", pa.struct(members))


STATS = field(
    146,
    "content_stats",
    pa.struct([metrics(1, pa.int64()), metrics(2, pa.string()), metrics(4, pa.float64())]),
)
PARTITION = field(102, "partition", pa.struct([field(1000, "city", pa.string())]))
FIELDS = (SPEC, PARTITION, STATS, MANIFEST_INFO)


def stats(lower: int, upper: int, **more: int) -> dict[str, Any]:
    return {
        "c1": {"lower_bound": lower, "upper_bound": upper, "value_count": 10, "null_value_count": 0, **more}
    }


class Tree:
    """A table's root and leaves in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.metadata = {
            "location": str(folder),
            "schemas": [{"type": "struct", "schema-id": 0, "fields": COLUMNS}],
            "current-schema-id": 0,
            "partition-specs": SPECS,
        }

    def write(self, name: str, rows: list[dict[str, Any]]) -> Path:
        content = manifest(rows, *FIELDS)
        (self.folder / name).write_bytes(content)
        return self.folder / name

    def leaf(self, name: str, rows: list[dict[str, Any]], **values: Any) -> dict[str, Any]:
        """Writes a leaf; its entry in the root."""
        path = self.write(name, rows)
        known = {
            "content_type": 3,
            "location": f"file:{path}",
            "record_count": len(rows),
            "file_size_in_bytes": path.stat().st_size,
            "manifest_info": manifest_info(values.pop("dv", None)),
        }
        return entry(values.pop("status", 1), **known | values)

    def files(self, root: Path, **options: Any) -> list[dict[str, Any]]:
        told = {"snapshot-id": 77, "sequence-number": 5, "first-row-id": 1000}
        table = experimental.read_live_files(
            root, metadata=self.metadata, snapshot=told, **options
        ).to_arrow()
        table.validate(full=True)
        found: list[dict[str, Any]] = table.to_pylist()
        return found


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def names(rows: list[dict[str, Any]]) -> list[str]:
    return [Path(row["location"]).name for row in rows]


def test_files_of_leaves_come_behind_those_of_the_root(tree: Tree) -> None:
    old = tree.leaf(
        "old.parquet",
        [
            entry(0, location="a", snapshot_id=3, sequence_number=2, file_sequence_number=2),
            entry(2, location="gone"),
            entry(location="b"),
        ],
        status=0,
        snapshot_id=4,
        sequence_number=3,
        file_sequence_number=3,
        first_row_id=500,
    )
    new = tree.leaf(
        "new.parquet",
        [entry(location="c"), entry(location="d"), entry(location="e", content_type=2)],
        dv=experimental.encode_mumbling([1]),
    )
    ended = tree.leaf("ended.parquet", [entry(location="never")], status=2)
    root = tree.write(
        "root.parquet", [old, entry(location="direct"), new, ended, entry(3, location="replaced")]
    )
    rows = tree.files(root)
    assert names(rows) == ["direct", "a", "b", "c", "e"]
    found = [Path(row["manifest"]).name for row in rows]
    assert found == ["root.parquet", *["old.parquet"] * 2, *["new.parquet"] * 2]
    assert [row["pos"] for row in rows] == [1, 0, 2, 0, 2]
    inherited = [(row["snapshot_id"], row["sequence_number"], row["first_row_id"]) for row in rows]
    # The root's own rows are counted in its order: the leaf between them has three.
    assert inherited == [(77, 5, 1000), (3, 2, 500), (4, 3, 510), (77, 5, 1010), (77, 5, 1030)]
    assert all(
        row["location"] == f"{tree.folder}/{name}" for row, name in zip(rows, names(rows), strict=True)
    )
    assert [row["content_type"] for row in rows] == [0, 0, 0, 0, 2]


def test_columns_are_those_asked_for(tree: Tree) -> None:
    root = tree.write("root.parquet", [tree.leaf("l.parquet", [entry(location="a")]), entry(location="b")])
    scan = experimental.read_live_files(root, metadata=tree.metadata, columns=["manifest", "record_count"])
    assert scan.schema.names == ["manifest", "record_count"]
    assert scan.to_arrow()["record_count"].to_pylist() == [10, 10]
    every = experimental.read_live_files(root, metadata=tree.metadata).schema.names
    assert every == [*experimental.read_content_entries(root).schema.names, "manifest"]
    with pytest.raises(SchemaError, match='no column "path"'):
        experimental.read_live_files(root, metadata=tree.metadata, columns=["path"]).to_arrow()


def test_leaves_and_files_without_matching_rows_are_left_out(tree: Tree) -> None:
    low = tree.leaf(
        "low.parquet",
        [entry(location="l1", content_stats=stats(0, 4)), entry(location="l2", content_stats=stats(5, 9))],
        content_stats=stats(0, 9),
    )
    high = tree.leaf(
        "high.parquet", [entry(location="h", content_stats=stats(10, 19))], content_stats=stats(10, 19)
    )
    unknown = tree.leaf("unknown.parquet", [entry(location="u")])
    root = tree.write("root.parquet", [low, high, unknown, entry(location="d", content_stats=stats(6, 6))])
    assert names(tree.files(root, where="n < 3")) == ["l1", "u"]
    assert names(tree.files(root, where=lakebed.col("n") == 6)) == ["d", "l2", "u"]
    assert names(tree.files(root, where="n IS NULL")) == ["u"]
    assert names(tree.files(root, where="n > 12", columns=["location"])) == ["h", "u"]
    (tree.folder / "high.parquet").unlink()
    assert names(tree.files(root, where="n < 9")) == ["d", "l1", "l2", "u"]
    with pytest.raises(OSError, match=r"high\.parquet"):
        tree.files(root)


def test_partitions_are_tested_by_the_spec_of_their_file(tree: Tree) -> None:
    rows = [
        entry(location="paris", spec_id=1, partition={"city": "Paris"}),
        entry(location="rome", spec_id=1, partition={"city": "Rome"}),
        entry(location="null", spec_id=1, partition={"city": None}),
        entry(location="flat", spec_id=0, partition=None),
        entry(location="without"),
    ]
    root = tree.write("root.parquet", [tree.leaf("leaf.parquet", rows)])
    assert names(tree.files(root, where="city = 'Rome'")) == ["rome", "flat", "without"]
    assert names(tree.files(root, where="city IS NULL")) == ["null", "flat", "without"]


def test_a_leaf_counts_entries_where_a_file_counts_rows(tree: Tree) -> None:
    # One entry of a thousand rows, of which three have a value: the others may be null.
    known = {
        "c4": {
            "lower_bound": 1.0,
            "upper_bound": 2.0,
            "value_count": 3,
            "null_value_count": 0,
            "nan_value_count": 0,
        }
    }
    leaf = tree.leaf(
        "leaf.parquet", [entry(location="x", record_count=1000, content_stats=known)], content_stats=known
    )
    root = tree.write("root.parquet", [leaf])
    assert names(tree.files(root, where="at.x IS NULL")) == ["x"]
    assert names(tree.files(root, where="at.x > 5")) == []


@pytest.mark.parametrize("name", ["leaf-m0.parquet", "leaf-m0.avro"])
def test_files_that_a_filter_leaves_are_those_that_icebergs_reader_leaves(name: str) -> None:
    cases = [case for case in content_entries.answers("leaf_filters") if case["manifest"] == name]
    assert len(cases) > 5
    leaf = content_entries.file(name)
    for case in cases:
        scan = experimental.read_live_files(
            leaf,
            metadata=content_entries.metadata(),
            where=sql(case["filter"]),
            columns=["location", "record_count"],
        )
        expected = case["locations"]
        if case["filter"]["term"] == "score" and case["filter"]["type"] == "lt":
            # The lower bound of one is -0.0, which Java takes for less than 0.0.
            expected = [location for location in expected if not location.endswith("c%20.parquet")]
            assert len(expected) < len(case["locations"])
        assert scan.to_arrow()["location"].to_pylist() == expected, case["filter"]


def sql(expression: dict[str, Any]) -> str:
    """A filter of the answers; their numbers of floats are texts."""

    def literal(value: Any) -> str:
        is_number = isinstance(value, int) or value.lstrip("-").replace(".", "").isdigit()
        return str(value) if is_number else f"'{value}'"

    column, kind = expression["term"], expression["type"]
    value = literal(expression["value"]) if "value" in expression else ""
    return {
        "eq": f"{column} = {value}",
        "gt": f"{column} > {value}",
        "lt": f"{column} < {value}",
        "is-null": f"{column} IS NULL",
        "is-nan": f"{column} IS NAN",
        "starts-with": f"starts_with({column}, {value})",
        "in": f"{column} IN ({', '.join(map(literal, expression.get('values', ())))})",
    }[kind]


def test_what_a_leaf_has_wrong_is_named_by_its_path(tree: Tree) -> None:
    short = tree.leaf("short.parquet", [entry()], record_count=2)
    with pytest.raises(CorruptError, match="holds 1 entries, its root lists 2") as refused:
        tree.files(tree.write("root.parquet", [short]))
    assert str(refused.value.path).endswith("short.parquet")
    bitmap = tree.leaf("bitmap.parquet", [entry()], dv=b"\x01")
    with raises(LakebedError, field="manifest_info.dv", path=str(tree.folder / "root.parquet")):
        tree.files(tree.write("root.parquet", [bitmap]))


def test_manifests_that_are_not_read_are_refused_by_name(tree: Tree) -> None:
    for what, values in (("of deletes", {"content_type": 4}), ("of version 3", {"format_version": 3})):
        leaf = tree.leaf("leaf.parquet", [entry()], **values)
        with pytest.raises(UnsupportedError, match=f"a manifest {what}.*leaf.parquet"):
            tree.files(tree.write("root.parquet", [leaf]))
    gone = {**tree.metadata, "schemas": []}
    root = tree.write("root.parquet", [entry()])
    with pytest.raises(SchemaError, match="need the table's schemas and partition specs"):
        experimental.read_live_files(root, metadata=gone).to_arrow()
    with pytest.raises(PredicateError, match="nowhere"):
        tree.files(root, where="nowhere = 1")


def test_a_leaf_elsewhere_is_not_opened(tree: Tree) -> None:
    for elsewhere in ("http://169.254.169.254/leaf", f"{tree.folder}/../other/leaf.parquet"):
        root = tree.write("root.parquet", [tree.leaf("leaf.parquet", [entry()], location=elsewhere)])
        with pytest.raises(LocationError):
            tree.files(root)


def test_a_tree_that_was_moved_is_read_where_it_is(tree: Tree) -> None:
    leaf = tree.leaf(
        "leaf.parquet", [entry(location="s3://old/t/data/a")], location="s3://old/t/leaf.parquet"
    )
    root = tree.write("root.parquet", [leaf])
    rows = tree.files(root, relocate={"s3://old/t": str(tree.folder)})
    assert [row["location"] for row in rows] == ["s3://old/t/data/a"]
    assert rows[0]["manifest"] == "s3://old/t/leaf.parquet"


class Counting:
    """A storage that counts its reads."""

    def __init__(self) -> None:
        self.reads: list[str] = []

    def read(self, path: str) -> bytes:
        self.reads.append(Path(path).name)
        return Path(path.removeprefix("file:")).read_bytes()

    def list(self, _folder: str) -> list[str]:
        return []


def test_a_storage_reads_the_root_and_the_leaves_that_may_match(tree: Tree) -> None:
    leaves = [
        tree.leaf(
            f"{number}.parquet",
            [entry(location=f"f{number}", content_stats=stats(number, number))],
            content_stats=stats(number, number),
        )
        for number in range(20)
    ]
    root = tree.write("root.parquet", leaves)
    storage = Counting()
    rows = tree.files(root, storage=storage, where="n >= 15", threads=4)
    assert names(rows) == [f"f{number}" for number in range(15, 20)]
    assert sorted(set(storage.reads)) == sorted(
        ["root.parquet", *(f"{number}.parquet" for number in range(15, 20))]
    )


def test_random_trees_have_the_files_that_are_live(tree: Tree) -> None:
    chance = random.Random(7)
    for _ in range(15):
        rows, expected, direct = [], [], []
        for leaf in range(chance.randrange(6)):
            entries = [
                entry(chance.randrange(5), location=f"{leaf}-{n}") for n in range(chance.randrange(40))
            ]
            for one in entries:
                one["tracking"] |= {"sequence_number": 1, "file_sequence_number": 1}
            deleted = {n for n in range(len(entries)) if chance.random() < 0.3}
            status = chance.randrange(5)
            dv = experimental.encode_mumbling(deleted) if deleted else None
            rows.append(tree.leaf(f"{leaf}.parquet", entries, status=status, dv=dv))
            if status in (0, 1, 4):
                live = [n for n, one in enumerate(entries) if one["tracking"]["status"] in (0, 1, 4)]
                expected += [f"{leaf}-{n}" for n in live if n not in deleted]
            if chance.random() < 0.5:
                rows.append(entry(location=f"direct-{leaf}"))
                direct.append(f"direct-{leaf}")
        assert names(tree.files(tree.write("root.parquet", rows))) == direct + expected
