"""Few golden tables that together have what all of them have, for doors that take long per table.

What a table has is read off its own metadata, and off the engine's answers where these are of single entries:
types of columns, keys and partitions, layouts of files, and features. The tables are chosen greedily, so that
a new golden table with something new is chosen by itself. The long form takes every table.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pytest
from paimon_plans import Place, places
from trust import QUICK, THOROUGH

from iceberg_answers import leaves
from iceberg_golden import GoldenTable as GoldenIcebergTable
from iceberg_golden import golden_iceberg_tables
from shared_data import GoldenTable, each, golden_paimon_tables

Node = dict[str, Any]
_T = TypeVar("_T")
EitherGolden: TypeAlias = "GoldenTable | GoldenIcebergTable"
_Golden = TypeVar("_Golden", GoldenTable, GoldenIcebergTable)

# Of Avro's header: the name of the codec after its length.
_CODEC = re.compile(rb"avro\.codec[\x00-\x7f]([a-z0-9]+)")
_HEADER_BYTES = 1 << 15
# Options that say how metadata is laid out or what it means; others are of the writing engine alone.
_LAYOUT = ("deletion-vectors.enabled", "data-evolution.", "row-tracking.", "metadata.stats-dense-store")
# Eight bits of a row's head are its kind, so the nulls of more columns take a second word.
_COLUMNS_OF_ONE_WORD = 56


def covering(tables: Sequence[_T], features: Callable[[_T], frozenset[str]]) -> Iterator[_T]:
    """The table with most features, then whichever adds most, until no feature is left."""
    left = {table: features(table) for table in tables}
    while table := max((one for one in tables if left[one]), key=lambda one: len(left[one]), default=None):
        yield table
        found = left[table]
        left = {other: rest - found for other, rest in left.items()}


def each_covering_paimon_table(*kinds: str, names: Sequence[str] = ("*",)) -> pytest.MarkDecorator:
    """Parametrises `table` over few golden tables with the features of all; in the long form over all.

    Args: kinds, the features that count: those that begin with one of these words, all without any; names,
        patterns of the tables' names, of which one must match.
    """
    tables = covering_paimon_tables(*kinds, names=names)
    return each("table", tables, [table.name for table in tables], "golden Paimon tables")


def each_layout_of_golden_paimon_tables() -> pytest.MarkDecorator:
    """As `each_covering_paimon_table`, of keys, buckets, snapshots and folders alone."""
    return each_covering_paimon_table("folder", "no ", "one ", "several ", "two ", "bucket", "snapshot")


def each_covering_iceberg_table(
    *kinds: str, names: Sequence[str] = ("*",), folders: Sequence[str] = ("iceberg",)
) -> pytest.MarkDecorator:
    """As `each_covering_paimon_table`, of Iceberg, for the golden tables of each folder."""
    tables = [
        one for folder in folders for one in covering_iceberg_tables(*kinds, names=names, folder=folder)
    ]
    return each("table", tables, [table.name for table in tables], "golden Iceberg tables")


def each_covering_table() -> pytest.MarkDecorator:
    """Parametrises `table` over the tables of `each_covering_paimon_table` and of Iceberg's."""
    return _each_of_both(covering_paimon_tables(), covering_iceberg_tables())


def each_golden_table() -> pytest.MarkDecorator:
    """Parametrises `table` over the golden tables of both formats."""
    return _each_of_both(paimon_tables(), (*iceberg_tables(), *iceberg_tables("iceberg_next")))


def _each_of_both(
    paimon: Sequence[GoldenTable], iceberg: Sequence[GoldenIcebergTable]
) -> pytest.MarkDecorator:
    ids = [f"{name}-{one.name}" for name, of in (("paimon", paimon), ("iceberg", iceberg)) for one in of]
    return each("table", [*paimon, *iceberg], ids, "golden tables")


def each_golden_place() -> pytest.MarkDecorator:
    """Parametrises `place` over every place where the engine planned."""
    if QUICK:
        return each_covering_place()
    return each("place", places(), [place.id for place in places()], "plans of golden Paimon tables")


def each_covering_place(*kinds: str) -> pytest.MarkDecorator:
    """Parametrises `place` over where the engine planned in the tables of `each_covering_paimon_table`."""
    names = {table.name for table in covering_paimon_tables(*kinds)}
    found: list[Place] = [place for place in places() if place.table.name in names]
    return each("place", found, [place.id for place in found], "plans of golden Paimon tables")


@cache
def covering_iceberg_tables(
    *kinds: str, names: Sequence[str] = ("*",), folder: str = "iceberg"
) -> tuple[GoldenIcebergTable, ...]:
    """The tables of `each_covering_iceberg_table` in one folder."""
    return _covering(_named(golden_iceberg_tables(folder), names), iceberg_features, kinds)


@cache
def covering_paimon_tables(*kinds: str, names: Sequence[str] = ("*",)) -> tuple[GoldenTable, ...]:
    """The tables of `each_covering_paimon_table`."""
    return _covering(_named(golden_paimon_tables(), names), paimon_features, kinds)


def paimon_tables() -> tuple[GoldenTable, ...]:
    """What tests in process take: every golden table, with `QUICK` the covering ones."""
    return covering_paimon_tables() if QUICK else golden_paimon_tables()


def iceberg_tables(folder: str = "iceberg") -> tuple[GoldenIcebergTable, ...]:
    """As `paimon_tables`, of Iceberg, in one folder."""
    return covering_iceberg_tables(folder=folder) if QUICK else golden_iceberg_tables(folder)


def _named(tables: Sequence[_Golden], names: Sequence[str]) -> list[_Golden]:
    return [table for table in tables if any(fnmatchcase(table.name, name) for name in names)]


def _covering(
    tables: Sequence[_T], features: Callable[[_T], frozenset[str]], kinds: Sequence[str]
) -> tuple[_T, ...]:
    """The chosen tables, in their order."""

    def counted(table: _T) -> frozenset[str]:
        return frozenset(found for found in features(table) if not kinds or found.startswith(tuple(kinds)))

    chosen = set(tables if THOROUGH else covering(tables, counted))
    return tuple(table for table in tables if table in chosen)


def report() -> list[str]:
    """How many tables of each format go through slow doors, and how many features these have."""
    return [
        _reported("Paimon", covering_paimon_tables(), golden_paimon_tables(), paimon_features),
        _reported("Iceberg", covering_iceberg_tables(), golden_iceberg_tables(), iceberg_features),
    ]


def _reported(
    name: str, chosen: Sequence[_T], tables: Sequence[_T], features: Callable[[_T], frozenset[str]]
) -> str:
    known = frozenset[str]().union(*map(features, tables))
    return f"slow doors: {len(chosen)} of {len(tables)} {name} tables, which have all {len(known)} features"


@cache
def paimon_features(table: GoldenTable) -> frozenset[str]:
    """What a Paimon table has."""
    return frozenset(_of_paimon(table))


def _of_paimon(table: GoldenTable) -> Iterator[str]:
    yield from (
        f"folder {path.name}" for path in table.path.iterdir() if path.is_dir() and _is_metadata(path)
    )
    schemas = [json.loads(file.read_bytes()) for file in table.path.glob("**/schema/schema-*")]
    if len(schemas) > 1:
        yield "several schemas"
    for schema in schemas:
        yield from _of_schema(schema)
    for file in table.path.glob("**/snapshot/snapshot-*"):
        snapshot = json.loads(file.read_bytes())
        yield f"snapshot {snapshot['commitKind']}"
        yield from (f"snapshot's {name}" for name, value in snapshot.items() if value is not None)
    for file in table.path.glob("manifest/*"):
        # Executors read these; manifest lists are the driver's.
        if re.match(r"manifest-(?!list)", file.name):
            yield from _container(file)
    yield from _of_entries(table.lines("entries") or (), ("kind",))


def _of_schema(schema: Node) -> Iterator[str]:
    keys = {"partition": schema["partitionKeys"], "primary key": schema["primaryKeys"]}
    types = {field["name"]: field["type"] for field in schema["fields"]}
    yield from (f"column {kind}" for declared in types.values() for kind in _types(declared))
    for role, names in keys.items():
        yield f"{_how_many(names)} {role}"
        yield from (f"{role} {kind}" for name in names for kind in _types(types[name]))
    for key, value in schema["options"].items():
        if key.startswith(_LAYOUT):
            yield f"option {key} {value}"
    # Of a number of buckets only the sign and 1 say how a table is laid out.
    yield f"bucket {min(int(schema['options'].get('bucket', '-1')), 2)}"


def _how_many(names: Sequence[str]) -> str:
    if len(names) > _COLUMNS_OF_ONE_WORD:
        return "two words of"
    return ("no", "one")[len(names)] if len(names) < 2 else "several"


def _types(declared: Any) -> Iterator[str]:
    """The kinds of a Paimon type, those within it too, as values are stored."""
    if isinstance(declared, dict):
        yield declared["type"].removesuffix(" NOT NULL")
        inner = [declared.get(part) for part in ("element", "key", "value")]
        inner += [field["type"] for field in declared.get("fields", ())]
        yield from (f"nested {kind}" for one in inner if one is not None for kind in _types(one))
        return
    text = declared.removesuffix(" NOT NULL")
    digits = int(found[1]) if (found := re.search(r"\((\d+)", text)) else 0
    match text.partition("(")[0]:
        case "DECIMAL":
            yield f"DECIMAL of {'a long' if digits <= 18 else 'bytes'}"
        case "TIMESTAMP":
            zone = " with zone" if "ZONE" in text else ""
            yield f"TIMESTAMP{zone} in {'ms' if digits <= 3 else 'µs' if digits <= 6 else 'ns'}"
        case word:
            yield word


@cache
def iceberg_features(table: GoldenIcebergTable) -> frozenset[str]:
    """What an Iceberg table has."""
    return frozenset(_of_iceberg(table))


def _of_iceberg(table: GoldenIcebergTable) -> Iterator[str]:
    file = table.path / table.info["metadata_file"]
    content = file.read_bytes()
    metadata = json.loads(gzip.decompress(content) if ".gz." in file.name else content)
    version = metadata["format-version"]
    yield f"format version {version}"
    schemas = metadata.get("schemas") or [metadata["schema"]]
    types = {number: kind for schema in schemas for number, _, kind in leaves(schema["fields"])}
    for schema in schemas:
        yield from (f"column {kind}" for kind in _words(schema["fields"]))
    for name in ("schemas", "partition-specs", "snapshots"):
        yield f"{_how_many(list(metadata.get(name) or ()))} {name}"
    for field in (field for spec in metadata.get("partition-specs", ()) for field in spec["fields"]):
        source = _plain(str(types.get(field["source-id"], "dropped")))
        yield f"partition {field['transform'].partition('[')[0]} of {source}"
    yield from (f"ref {ref['type']}" for ref in metadata.get("refs", {}).values())
    for snapshot in metadata.get("snapshots", ()):
        yield f"snapshot {snapshot.get('summary', {}).get('operation')}"
        yield from (f"snapshot's {name}" for name, value in snapshot.items() if value is not None)
    for path in table.path.glob("metadata/**/*.avro"):
        if not path.name.startswith("snap-"):
            yield from _container(path)
    entries = _lines(table.path / "expected" / "raw_entries.jsonl.gz")
    yield from _of_entries(entries, ("status", "content", "file_format"))


def _words(fields: Any) -> Iterator[str]:
    """The names of types in a schema, those within structs, lists and maps too."""
    match fields:
        case list():
            for field in fields:
                yield from _words(field["type"])
        case {"type": "struct", "fields": inner}:
            yield "struct"
            yield from (f"nested {word}" for word in _words(inner))
        case {"type": kind}:
            yield kind
            parts = [fields[name] for name in ("element", "key", "value") if name in fields]
            yield from (f"nested {word}" for part in parts for word in _words(part))
        case str():
            yield _plain(fields)


def _plain(kind: str) -> str:
    return re.sub(r"[\[(].*", "", kind)


def _of_entries(rows: Iterable[Node], kinds: Sequence[str]) -> Iterator[str]:
    """Which kinds of entries there are, and which of their fields are not empty."""
    for row in rows:
        yield "entry " + " ".join(str(row[name]) for name in kinds if name in row)
        yield from (f"entry's {name}" for name, value in row.items() if value not in (None, "", [], {}))
        if row.get("level") not in (None, "0"):
            yield "entry of a level"
        if str(row.get("bucket", "0")).startswith("-"):
            yield "entry of no bucket"


def _container(file: Path) -> Iterator[str]:
    """The format of a manifest, Avro's codec, and what tells versions of the writer's schema apart."""
    with file.open("rb") as content:
        head = content.read(_HEADER_BYTES)
    if not head.startswith(b"Obj\x01"):
        yield f"manifest in {'ORC' if head.startswith(b'ORC') else head[:4].decode('latin-1')}"
        return
    codec = _CODEC.search(head)
    yield f"manifest of codec {codec[1].decode() if codec else 'null'}"
    # Iceberg's schema has the names of the table's own columns too.
    version = re.search(rb"format-version.(\d)", head)
    yield (
        f"manifest of version {version[1].decode()}"
        if version
        else f"manifest of {head.count(b'name')} names"
    )


def _is_metadata(path: Path) -> bool:
    return "=" not in path.name and not path.name.startswith("bucket-")


def _lines(file: Path) -> Iterator[Node]:
    if not file.is_file():
        return
    content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    yield from (json.loads(line) for line in content.splitlines() if line.strip())
