"""Many tables at once: how each is, whatever becomes of the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from lakebed import _native
from lakebed._arguments import names, positive
from lakebed._native import ReadLimit
from lakebed._pyarrow import pa
from lakebed._threads import in_order
from lakebed.advice import SMALL_BYTES
from lakebed.catalogs import IcebergTable, PaimonTable, is_of_catalog, list_tables, load_table, name_of
from lakebed.errors import TableNotFoundError
from lakebed.finding import find_tables
from lakebed.opening import open_table
from lakebed.storage.paths import URI
from lakebed.storage.secrets import error_text
from lakebed.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Unpack

    from lakebed._arguments import KeyClient, UnwrapKey
    from lakebed._keywords import TableKeywords
    from lakebed._native import Cache
    from lakebed.advice import Finding
    from lakebed.limits import Limits
    from lakebed.version import AnyVersion

Result = TypeVar("Result")

READS = 64
"""Reads of all tables together that are in flight at most, unless another number is asked for."""

# Columns of `health` that show problems, those first that cost readers most.
_WORST = (
    *("equality_delete_file_count", "deleted_record_ratio", "position_delete_file_count"),
    *("level_0_file_count", "small_file_count", "dangling_delete_file_count", "small_manifest_count"),
    *("deleted_entry_count", "max_partition_file_count", "snapshot_count"),
)

REMOTE_TABLES = 48
"""Remote tables that are read side by side: most of them wait, each for one answer after another."""


@dataclass(frozen=True)
class NamedTable:
    """A table that was asked for.

    Attributes: name, what it is called among the others; given, what a command opens it by; open, what opens
        it, raising what `open_table` and catalogs raise; is_local, whether its files are local ones; storage,
        what it is read through, whose secrets no error may show.
    """

    name: str
    given: str = field(repr=False)
    open: Callable[[], Table] = field(repr=False)
    is_local: bool = False
    storage: object | None = field(default=None, repr=False)

    @staticmethod
    def of_table(table: Table) -> NamedTable:
        """A table that is open already."""
        named = NamedTable.of_path(table.location, lambda: table)
        return replace(named, storage=table.opening.storage)

    @staticmethod
    def of_path(path: str, opener: Callable[[], Table], name: str | None = None) -> NamedTable:
        """A table at a path or URI."""
        return NamedTable(path if name is None else name, path, opener, URI.match(path) is None)


Opener: TypeAlias = Callable[[Any], Callable[[], Table]]
"""Gives what opens a path, or a table that a catalog loaded."""


def of_paths(paths: Sequence[str], first: Opener, within: Opener) -> list[NamedTable]:
    """The tables at paths, and below those that are none themselves. A path where nothing is has a row too,
    whose `open` says so.

    Args: first, for the paths; within, for tables below them.
    Cost: opens the table of each path, which is kept; of a folder of tables what `find_tables` costs.
    """

    def tables(path: str) -> list[NamedTable]:
        try:
            table = first(path)()
        except TableNotFoundError as missing:
            found = [NamedTable.of_path(place, within(place), name) for name, place in _below(path)]
            return found or [NamedTable.of_path(path, raising(missing))]
        return [NamedTable.of_path(path, lambda: table)]

    def attempt(path: str) -> list[NamedTable]:
        try:
            return tables(path)
        except Exception as error:  # noqa: BLE001 - other tables are to answer all the same
            return [NamedTable.of_path(path, raising(error))]

    at_once = _at_once(all(URI.match(path) is None for path in paths))
    return [table for _, found in in_order(paths, attempt, at_once) for table in found]


def of_catalog(catalog: Any, wanted: Sequence[str], single: Opener, within: Opener) -> list[NamedTable]:
    """The tables of a catalog of PyIceberg, as `names_in` has them; each is loaded when it is opened.

    Args: single, opens a table that is the only one; within, one of several.
    """
    found = names_in(catalog, wanted)
    opener = single if len(found) == 1 else within

    def named(name: str) -> NamedTable:
        return NamedTable(name, name, lambda: opener(loaded(catalog, name))())

    return list(map(named, found))


def names_in(catalog: Any, wanted: Sequence[str]) -> list[str]:
    """The names of tables of a catalog of PyIceberg.

    Args: wanted, names of tables and namespaces; none: all that there are.
    Raises: OSError. Names of neither are in the list too: `loaded` says that they are not there.
    Cost: one listing a namespace.
    """
    if not wanted:
        return list(list_tables(catalog))
    found = in_order(wanted, lambda name: _within(catalog, name), REMOTE_TABLES)
    return [inner for _, names in found for inner in names]


def _within(catalog: Any, name: str) -> list[str]:
    try:
        found = list(list_tables(catalog, tuple(name.split("."))))
    except TableNotFoundError:
        return [name]
    # Some catalogs list nothing where a namespace is not there; no table is called by one word.
    return found or ([name] if "." in name else [])


def loaded(catalog: Any, name: str) -> IcebergTable:
    """A table of a catalog by a name of `names_in`. Raises: TableNotFoundError, OSError."""
    try:
        return load_table(catalog, name)
    except TableNotFoundError as missing:
        what = "table or namespace" if "." in name else "namespace"
        missing.message = f"the catalog has no {what} {name}"
        raise


def _below(path: str) -> list[tuple[str, str]]:
    """Names and locations of the tables below a path; none where nothing is."""
    try:
        rows = find_tables(path, columns=["name", "location"]).to_arrow()
    except TableNotFoundError:
        return []
    return [(row["name"], row["location"]) for row in rows.to_pylist()]


def raising(error: Exception) -> Callable[[], Table]:
    """What opens a table that cannot be opened."""

    def fails() -> Table:
        raise error

    return fails


def _at_once(are_local: bool) -> int:
    """How many tables are read side by side."""
    return (os.cpu_count() or 1) if are_local else REMOTE_TABLES


def each(
    tables: Sequence[NamedTable], work: Callable[[NamedTable, Table], Result]
) -> Iterator[tuple[NamedTable, Result | Exception]]:
    """Each table with what work makes of it, or with what it raised, in their order."""

    def attempt(named: NamedTable) -> Result | Exception:
        try:
            return work(named, named.open())
        except Exception as error:  # noqa: BLE001 - other tables are to answer all the same
            return error

    return in_order(tables, attempt, _at_once(all(one.is_local for one in tables)))


def worst_of(found: Sequence[Finding]) -> Finding | None:
    """The problem that costs readers most; None where there is none."""
    return min(found, key=lambda one: _place(one.column), default=None)


def rank(found: Sequence[Finding], row: Mapping[str, Any]) -> tuple[int, float, int]:
    """By what tables are sorted: the one with the worst problem first, of these the one where its number is
    largest, then the one with most problems. Args: row, of `health`.
    """
    worst = worst_of(found)
    if worst is None:
        return _place(""), 0, 0
    return _place(worst.column), -float(row.get(worst.column) or 0), -len(found)


def _place(column: str) -> int:
    return _WORST.index(column) if column in _WORST else len(_WORST) + (not column)


def health(
    tables: Sequence[str | os.PathLike[str] | Table | IcebergTable | PaimonTable],
    *,
    small_bytes: int = SMALL_BYTES,
    at: AnyVersion | None = None,
    storage: object | None = None,
    format: str | None = None,
    relocate: Mapping[str, str | os.PathLike[str]] | None = None,
    allowed_prefixes: Sequence[str | os.PathLike[str]] | None = None,
    limits: Limits | None = None,
    keys: UnwrapKey | KeyClient | None = None,
    cache: Cache | None = None,
    concurrent_reads: int = READS,
    **given: Unpack[TableKeywords],
) -> pa.Table:
    """One row about how each of many tables is, read side by side.

    Args: tables, what `open_table` takes, or tables that it opened; small_bytes, columns, where, filter and
        limit, as `Table.health` has them, for each table; at, which version of each; storage, format,
        relocate, allowed_prefixes, limits, keys and cache, as `open_table` has them, for all that are opened
        here;
        concurrent_reads, reads in flight at most, of all tables that are opened here together.
    Returns: `name` utf8, a path as it was given or the name in the catalog, the columns of `Table.health`,
        and `error` utf8, the kind of what is wrong and its text, without credentials; null where nothing is.
        In the order of `tables`; a table in error has nulls.
    Raises: SchemaError for a column that is not there, TypeError, ValueError; nothing else of a table.
    Cost: that of opening and of `Table.health` for each; local tables one a core at once, others 48.
    """
    columns = names("columns", given.get("columns"))
    schema = pa.schema(_native.health_schema(columns))
    limit = ReadLimit(positive("concurrent_reads", concurrent_reads) or READS)
    how: dict[str, Any] = {"storage": storage, "format": format, "relocate": relocate, "keys": keys}
    how |= {"allowed_prefixes": allowed_prefixes, "concurrent_reads": limit, "cache": cache}
    how |= {} if limits is None else {"limits": limits}
    selection: TableKeywords = {"threads": 1, **given}

    def named(one: Any) -> NamedTable:
        if isinstance(one, Table):
            return NamedTable.of_table(one)
        if is_of_catalog(one):
            return NamedTable(name_of(one), name_of(one), lambda: open_table(one, **how), storage=storage)
        table = NamedTable.of_path(os.fspath(one), lambda: open_table(one, **how))
        return table if storage is None else replace(table, is_local=False, storage=storage)

    def row(_: NamedTable, table: Table) -> pa.Table:
        table = table if at is None else table.at(at)
        return table.health(small_bytes=small_bytes, **selection).to_arrow()

    rows = [with_name(row_of(schema), "", None).slice(0, 0)]
    for one, found in each(list(map(named, tables)), row):
        if isinstance(found, Exception):
            rows.append(with_name(row_of(schema), one.name, error_text(found, one.given, one.storage)))
        else:
            rows.append(with_name(found, one.name, None))
    return pa.concat_tables(rows)


def row_of(schema: pa.Schema) -> pa.Table:
    """A row of nulls, for a table of which nothing is known."""
    return pa.table([pa.nulls(1, kind) for kind in schema.types], schema=schema)


def with_name(row: pa.Table, name: str, error: str | None) -> pa.Table:
    """A row of `Table.health` as one of `health`."""
    first, last = ([value] * row.num_rows for value in (name, error))
    return row.add_column(0, "name", pa.array(first, pa.string())).append_column(
        "error", pa.array(last, pa.string())
    )
