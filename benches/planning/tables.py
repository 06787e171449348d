"""The tables of the benchmark of planning, committed by lakebed: metadata only, the data files exist nowhere.

As a program, `tables.py FOLDER TABLE FILES` makes one unless it is there, and prints what `Made` has.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.append(str(Path(__file__).resolve().parents[1]))

from corpus import in_place

import lakebed
from lakebed.paimon import encode_rows

REGIONS, BUCKETS = 20, 16
REGION, ID_BELOW = 7, 10_000_000_000
"""What the filters of the tasks `partition` and `bounds` are about: a twentieth, and about a hundredth."""
IDS = 1 << 40
DELETED_REGIONS = range(5, 10)
"""The regions that have a position delete file for all their older files."""
EACH_DELETED = 9
"""One older data file of so many has a position delete file of its own."""
_PATH_OF_POSITIONS = 2_147_483_546
"""The field id of the column `file_path` of position delete files."""
_FIRST_MICROS, _FIRST_DAY = 1_600_000_000_000_000, 18_500
_APPENDS_OF_COMMIT = 100


@dataclass(frozen=True)
class Shape:
    """What a table is like. Each append adds a manifest."""

    format: str
    files_of_append: int = 10_000
    """At most: a table has ten appends or more."""
    clustered: bool = False
    """Whether the files of an append are of one region; else they are of all regions."""
    deletes: bool = False
    """Whether it has position deletes, committed before the last quarter of its data files."""
    keys: bool = False
    """Whether it has primary keys, in buckets."""


SHAPES = {
    "iceberg": Shape("iceberg"),
    "iceberg-deletes": Shape("iceberg", deletes=True),
    "iceberg-small-manifests": Shape("iceberg", files_of_append=100, clustered=True),
    "paimon": Shape("paimon"),
    "paimon-keys": Shape("paimon", keys=True),
}
"""All tables by name."""


@dataclass(frozen=True)
class Made:
    """A table that is there: what readers are given, and what they must find."""

    format: str
    path: str
    """An Iceberg table's newest metadata file, a Paimon table's folder."""
    manifests: int
    bytes: int
    """What its manifests are in all."""
    expected: dict[str, dict[str, int]]
    """What the answer to each task must say, summed up from what was written and not from what was read."""


def made(folder: Path, name: str, files: int) -> Made:
    """The table of that name with so many data files, written unless it is there.

    Args: folder, the warehouse of a database `planning` of Paimon's catalogs, which has all tables.
    """
    root = in_place(
        folder.resolve() / "planning.db" / f"{name}_{files}", lambda root: _Writer(root, name, files).write()
    )
    return Made(**json.loads((root / "made.json").read_text()))


class _Writer:
    def __init__(self, root: Path, name: str, files: int) -> None:
        self._root, self._shape, self._files = root, SHAPES[name], files
        self._each = min(self._shape.files_of_append, max(1, files // 10))
        self._appends = -(-files // self._each)
        self._expected = {task: dict.fromkeys(_SUMS, 0) for task in ("plan", "partition", "bounds")}
        self._expected["files"] = dict.fromkeys(("files", "rows", "bytes", "nulls", "lowest"), 0)

    def write(self) -> None:
        """Commits the files, and keeps what was made."""
        shape = self._shape
        iceberg = shape.format == "iceberg"
        buckets = {"bucket": str(BUCKETS if shape.keys else -1), "manifest.merge-min-count": "1000000"}
        table = lakebed.create_table(
            self._root,
            _schema(),
            shape.format,
            partition_by=["region"],
            primary_key=["region", "id"] if shape.keys else (),
            properties={} if iceberg else buckets,
        )
        how = {"merge": False} if iceberg else {"check_files": False}
        # Of Paimon a commit is a manifest; of Iceberg each append of a commit is one.
        each = _APPENDS_OF_COMMIT if iceberg else 1
        older = self._appends * 3 // 4 if shape.deletes else 0
        for first, last in ((0, older), (older, self._appends)):
            for start in range(first, last, each):
                with table.transaction() as commit:
                    for number in range(start, min(start + each, last)):
                        commit.append_files(self._append(number, deleted=number < older), **how)
                table = commit.table
            if last == older > 0:
                table = table.add_deletes(self._deletes(older), isolation=None)
        listed = table.manifests(columns=["length"]).to_arrow()
        path = self._root
        if iceberg:
            path /= f"metadata/v{(path / 'metadata/version-hint.text').read_text().strip()}.metadata.json"
        kept = Made(
            shape.format,
            str(path),
            listed.num_rows,
            sum(listed["length"].to_pylist()),
            self._expected | {"first": {"files": 1}},
        )
        (self._root / "made.json").write_text(json.dumps(asdict(kept)))

    def _numbers(self, append: int) -> tuple[Any, Any, Any]:
        """Of the files of an append: their numbers in the table, regions, and the lowest ids.

        Files have as many ids each, that no other has; those of an append are spread over all ids.
        """
        count = min(self._each, self._files - append * self._each)
        place = np.arange(count, dtype=np.int64)
        regions = np.full(count, append % REGIONS) if self._shape.clustered else place % REGIONS
        ids = (place * self._appends + append) * (IDS // (self._each * self._appends))
        return append * self._each + place, regions, ids

    def _paths(self, numbers: Any, regions: Any, kind: str) -> list[str]:
        """Relative to the table, with names as long as writers give them."""
        pairs = zip(numbers.tolist(), regions.tolist(), strict=True)
        if self._shape.format == "iceberg":
            folder, name = "data/region=region-{:03}", "/{:05}-{:016x}-4b1d-9c3e-{:012x}-{}-00001.parquet"
            return [
                (folder + name).format(
                    region, number % 100_000, number * 0x9E3779B97F4A7C15 % 2**64, number, kind
                )
                for number, region in pairs
            ]
        of = self._bucket(numbers).tolist()
        name = "region=region-{:03}/bucket-{}/data-{:016x}-4b1d-9c3e-{:012x}-0.parquet"
        mixed = [number * 0x9E3779B97F4A7C15 % 2**64 for number in numbers.tolist()]
        return [
            name.format(region, bucket, unique, number)
            for (number, region), bucket, unique in zip(pairs, of, mixed, strict=True)
        ]

    def _bucket(self, numbers: Any) -> Any:
        return numbers // REGIONS % BUCKETS if self._shape.keys else numbers * 0

    def _append(self, append: int, deleted: bool) -> pa.Table:
        """The files of an append in columns of the view `files`, added to what is expected."""
        numbers, regions, ids = self._numbers(append)
        random = np.random.default_rng(append)
        rows, sizes = (random.integers(low, 16 * low, len(numbers)) for low in (10_000, 1 << 20))
        nulls = random.integers(0, 50, (len(numbers), len(_schema())))
        # Columns of keys and partitions have none.
        nulls[:, :2] = 0
        values = random.integers(0, 1 << 30, (len(_schema()), len(numbers)))
        names = pa.array([f"region-{region:03}" for region in range(REGIONS)]).take(pa.array(regions))
        lower = {"id": pa.array(ids), "region": names}
        upper = {"id": pa.array(ids + IDS // (self._each * self._appends) - 1), "region": names}
        for column, field in enumerate(_schema()):
            if column >= 2:
                lower[field.name] = _values(field.type, values[column])
                upper[field.name] = _values(field.type, values[column] + (1 << 20))
        stats = {
            field.name: {
                "value_count": pa.array(rows),
                "null_count": pa.array(nulls[:, column]),
                "column_size": pa.array(rows // (column + 1)),
                "lower_bound": lower[field.name],
                "upper_bound": upper[field.name],
            }
            for column, field in enumerate(_schema())
        }
        if self._shape.format == "paimon":
            kept = ("null_count", "lower_bound", "upper_bound")
            stats = {name: {part: of[part] for part in kept} for name, of in stats.items()}
        files = {
            "file_path": pa.array(self._paths(numbers, regions, "0")),
            "record_count": pa.array(rows),
            "file_size_in_bytes": pa.array(sizes),
            "partition": _struct({"region": names}),
            "stats": _struct({name: _struct(of) for name, of in stats.items()}),
        }
        if self._shape.format == "paimon":
            files["bucket"] = pa.array(self._bucket(numbers), pa.int32())
        if self._shape.keys:
            keys = {"min_key": lower["id"], "max_key": upper["id"]}
            files |= {name: encode_rows(_struct({"id": of})) for name, of in keys.items()}
            files["level"] = pa.repeat(pa.scalar(5, pa.int32()), len(numbers))
            first = pa.array(numbers * 1000)
            files |= {"min_sequence_number": first, "sequence_number": pa.array(numbers * 1000 + 999)}
        deletes = np.zeros_like(numbers)
        if deleted:
            deletes += np.isin(regions, DELETED_REGIONS)
            deletes += numbers % EACH_DELETED == 0
        chosen = {"plan": regions >= 0, "partition": regions == REGION, "bounds": ids < ID_BELOW}
        for task, these in chosen.items():
            sums = (these.sum(), rows[these].sum(), sizes[these].sum(), deletes[these].sum())
            self._add(task, dict(zip(_SUMS, sums, strict=True)))
        sums = {"files": len(numbers), "rows": rows.sum(), "bytes": sizes.sum()}
        self._add("files", sums | {"nulls": nulls.sum(), "lowest": ids.sum()})
        return pa.table(files)

    def _add(self, task: str, sums: dict[str, Any]) -> None:
        for name, value in sums.items():
            self._expected[task][name] += int(value)

    def _deletes(self, appends: int) -> pa.Table:
        """The position deletes of all files of the first appends, in columns of the view `deletes`."""
        numbers, regions, _ = (
            np.concatenate(of) for of in zip(*map(self._numbers, range(appends)), strict=True)
        )
        own = numbers % EACH_DELETED == 0
        paths = [f"{self._root}/{path}" for path in self._paths(numbers[own], regions[own], "0")]
        # Those of a whole region have bounds of paths that differ, as one that names many files has.
        whole = np.array(DELETED_REGIONS)
        ends = [f"{self._root}/data/region=region-{region:03}/" for region in whole]
        lower, upper = paths + [f"{end}0" for end in ends], paths + [f"{end}f" for end in ends]
        regions = np.concatenate([regions[own], whole])
        count = len(regions)

        def bounds(texts: list[str]) -> pa.Array:
            keys = pa.repeat(pa.scalar(_PATH_OF_POSITIONS, pa.int32()), count)
            return pa.MapArray.from_arrays(
                np.arange(count + 1, dtype=np.int32), keys, pa.array([text.encode() for text in texts])
            )

        return pa.table(
            {
                "file_path": pa.array(self._paths(np.arange(count), regions, "deletes")),
                "content": pa.repeat(pa.scalar(1, pa.int32()), count),
                "record_count": pa.repeat(pa.scalar(100, pa.int64()), count),
                "file_size_in_bytes": pa.repeat(pa.scalar(2000, pa.int64()), count),
                "partition": _struct({"region": pa.array([f"region-{region:03}" for region in regions])}),
                "lower_bounds": bounds(lower),
                "upper_bounds": bounds(upper),
            }
        )


_SUMS = ("files", "rows", "bytes", "deletes")
_COLUMNS = {
    "id": pa.int64(),
    "region": pa.string(),
    "sold_at": pa.timestamp("us"),
    "price": pa.decimal128(18, 2),
    "quantity": pa.int32(),
    "discount": pa.float64(),
    "customer": pa.string(),
    "note": pa.string(),
    "shipped_on": pa.date32(),
    "order_id": pa.int64(),
    "amount": pa.float64(),
    "supplier": pa.int64(),
}


def _schema() -> pa.Schema:
    return pa.schema(list(_COLUMNS.items()))


def _struct(columns: dict[str, pa.Array]) -> pa.StructArray:
    return pa.StructArray.from_arrays(list(columns.values()), list(columns))


def _values(kind: pa.DataType, numbers: Any) -> pa.Array:
    """Values of a column; larger numbers make larger values."""
    if pa.types.is_string(kind):
        return pa.array([f"{number:012x}-cus" for number in numbers.tolist()])
    if pa.types.is_timestamp(kind):
        return pa.array(numbers * 1000 + _FIRST_MICROS).cast(kind)
    if pa.types.is_date(kind):
        return pa.array((numbers >> 20) + _FIRST_DAY, pa.int32()).cast(kind)
    if pa.types.is_decimal(kind):
        return pa.array(numbers).cast(pa.decimal128(38, 2)).cast(kind)
    return pa.array(numbers).cast(kind)


if __name__ == "__main__":
    given, name, files = sys.argv[1:]
    print(json.dumps(asdict(made(Path(given), name, int(files)))))
