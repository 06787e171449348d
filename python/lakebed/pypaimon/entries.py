"""pypaimon's entries of a manifest, of which its own filters have chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pypaimon.manifest.schema.manifest_entry import ManifestEntry

from lakebed._below import NotTheSameError
from lakebed.pypaimon.columns import PREFIX, ManifestColumns, Rows, check_schema
from lakebed.pypaimon.files import EAGER, data_files, drop_stats

if TYPE_CHECKING:
    from collections.abc import Callable

_OF_ROW_IDS = "_build_early_row_range_filter.<locals>._filter"
_ROW_IDS = {"_FIRST_ROW_ID": "first_row_id", "_ROW_COUNT": "row_count"}
"""The only filter of records that pypaimon has, and what it looks at."""


class Asked(NamedTuple):
    """What `ManifestFileManager.read` is asked for, in the words of all versions of pypaimon."""

    manifest_file_name: str
    manifest_entry_filter: Callable[[Any], bool] | None = None
    drop_stats: bool = True
    early_entry_filter: Callable[[int, int], bool] | None = None
    early_record_filter: Callable[[dict[str, Any]], bool] | None = None
    partition_filter: Any = None
    selected_blocks: Any = None
    file_size: int | None = None


def entries(manager: Any, data: bytes, asked: Asked) -> list[Any]:
    """The entries that pypaimon's `ManifestFileManager.read` gives of a manifest's bytes.

    Raises: NotTheSameError where its own code must read; LakebedError; what its filters raise.
    """
    taken = _early(manager, data, asked)
    if taken == []:
        return []
    columns = ManifestColumns(manager, data, taken)
    rows: list[int] | range = range(len(columns))
    partitions = columns.rows.partitions(manager.partition_keys_fields)
    prefixes = list(
        zip(
            *(columns.rows.list_of(name) for name in ("kind", "bucket", "total_buckets")),
            partitions,
            strict=True,
        )
    )

    def made(rows: list[int] | range, files: list[Any]) -> list[Any]:
        found = []
        for row, file in zip(rows, files, strict=True):
            kind, bucket, total_buckets, partition = prefixes[row]
            found.append(ManifestEntry(kind, partition, bucket, total_buckets, file))
        return found

    is_wanted = asked.manifest_entry_filter
    if is_wanted is None:
        return made(rows, _files(columns, rows, asked.drop_stats))
    whole = made(rows, _files(columns, rows, drop_stats=False))
    rows = [row for row in rows if is_wanted(whole[row])]
    kept = [whole[row] for row in rows]
    if not asked.drop_stats:
        return kept
    if getattr(is_wanted, "__module__", "").startswith("pypaimon."):
        # Its own filters keep no entries: they need no copies without statistics.
        for entry in kept:
            drop_stats(entry.file)
        return kept
    return made(rows, _files(columns, rows, drop_stats=True))


def _files(columns: ManifestColumns, rows: list[int] | range, drop_stats: bool) -> list[Any]:
    values = list(columns.eager_values(drop_stats))
    names = (*EAGER, "value_stats") if drop_stats else EAGER
    return data_files(columns, rows, names, [values[row] for row in rows])


def _early(manager: Any, data: bytes, asked: Asked) -> list[int] | None:
    """The entries that are left by filters which ask for less than all of an entry; None for all."""
    of_entries, of_records, of_partitions = asked[3:6]
    if of_entries is None and of_records is None and of_partitions is None:
        return None
    check_schema(data)
    needed: tuple[str, ...] = PREFIX
    if of_records is not None:
        if getattr(of_records, "__qualname__", "") != _OF_ROW_IDS:
            raise NotTheSameError("a filter of records")
        needed += tuple(_ROW_IDS.values())
    rows = Rows(data, needed)
    left: list[int] = list(range(len(rows)))
    if of_entries is not None:
        buckets = list(zip(rows.list_of("bucket"), rows.list_of("total_buckets"), strict=True))
        wanted = {one: of_entries(*one) for one in dict.fromkeys(buckets)}
        left = [row for row in left if wanted[buckets[row]]]
    if of_records is not None:
        ids = list(zip(*(rows.list_of(name) for name in _ROW_IDS.values()), strict=True))
        left = [row for row in left if of_records({"_FILE": dict(zip(_ROW_IDS, ids[row], strict=True))})]
    if of_partitions is not None:
        partitions = rows.partitions(manager.partition_keys_fields)
        known = {id(one): of_partitions.test(one) for one in {id(one): one for one in partitions}.values()}
        left = [row for row in left if known[id(partitions[row])]]
    return left
