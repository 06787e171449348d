"""The keywords that functions share, and what help and pages say of them.

The pages' build runs this file alone, so it imports nothing of lakebed.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lakebed.limits import Limits
    from lakebed.predicates import Predicate

Function = TypeVar("Function", bound="Callable[..., Any]")

MetadataTable: TypeAlias = Literal[
    "aggregation_fields",
    "all_data_files",
    "all_delete_files",
    "all_entries",
    "all_files",
    "all_manifests",
    "branches",
    "buckets",
    "computed_partition_stats",
    "consumers",
    "data_files",
    "delete_files",
    "encryption_keys",
    "entries",
    "file_indexes",
    "file_key_ranges",
    "files",
    "history",
    "manifests",
    "metadata_log",
    "metadata_log_entries",
    "name_mapping",
    "options",
    "partition_specs",
    "partition_statistics",
    "partition_stats",
    "partitions",
    "position_deletes",
    "refs",
    "schemas",
    "snapshots",
    "sort_orders",
    "statistics",
    "table_indexes",
    "tags",
]
"""The metadata tables of both formats: for editors, since which a table has depends on its format."""


class Keywords(TypedDict, total=False):
    """What every view takes."""

    columns: Sequence[str] | None
    filter: str | Predicate | None
    limit: int | None
    threads: int | None


class TableKeywords(Keywords, total=False):
    """What views take whose rows are manifests or files, or sums of them."""

    where: str | Predicate | None


class OverlapKeywords(TypedDict, total=False):
    """What `overlap` takes, whose `columns` are those of the table."""

    where: str | Predicate | None
    filter: str | Predicate | None
    limit: int | None
    threads: int | None


class FileKeywords(TableKeywords, total=False):
    """What views take whose rows are files or entries, which have statistics."""

    stats: Sequence[str] | None


class Writing(TypedDict, total=False):
    """What writers of files of records take."""

    codec: str
    level: int | None
    block_bytes: int
    sync: bytes | None
    verify: bool
    threads: int | None
    overwrite: bool
    limits: Limits


def arguments(text: str) -> dict[str, str]:
    """The lines that say something of each argument."""
    return {
        lines[2]: lines[1] for lines in re.finditer(r"^(    (\w+): .*\n(?: {8}.*\n)*)", text, re.MULTILINE)
    }


VIEWS = arguments("""
    columns: names of the columns to give, in this order; None for all.
    where: a condition on the table's columns, SQL text or made with `lakebed.col`: nested columns by dotted
        paths, of Paimon also `bucket`, of Iceberg also transforms (`bucket(16, id) = 3`) and partition fields
        whose names no column has. Files are left out in which, by partition and statistics, no row can match.
    filter: a condition on the view's own columns, SQL text or made with `lakebed.col`: only rows that match
        are given.
    stats: names of the table's columns whose statistics a last column `stats` is to have.
    limit: at most so many rows.
    threads: how many decode; None for one per core.
""")
"""Of each keyword of views, in the order of signatures."""

READING = arguments("""
    source: path or URI, anything with the buffer protocol (never copied), or an open binary file.
    columns: names of the columns wanted; others are skipped, not decoded.
    limits: what the file may cost.
    threads: blocks decoded at once; None for all cores.
    storage: what reads a path or URI: anything that `open_table` takes as such.
""")
"""Of the arguments of readers of one file."""

WRITING = arguments("""
    sink: a local path, an open binary file, or None for the file as bytes.
    codec: "deflate", "null", "snappy", "zstandard", "bzip2" or "xz"; by default that of the format's Java.
    level: of the codec, None for its own, of Paimon's files in zstandard for Java's, 1.
    block_bytes: bytes of records, not compressed, at which a block ends.
    sync: the marker of 16 bytes after each block, None for a random one. The same rows, arguments and marker
        give the same bytes.
    verify: read every block again and compare its rows with those written.
    threads: blocks compressed at once; None for all cores. The bytes are the same.
    overwrite: replace a file that is there.
    limits: what readers agree to: files beyond it are not written.
""")
"""Of the arguments of writers of one file."""

WRITING_DEFAULTS = {"block_bytes": 64_000, "verify": False, "overwrite": False}
"""Of keywords of `Writing` that are not None."""


def described(docstring: str, shared: Mapping[str, str], names: Sequence[str]) -> str:
    """A docstring that says of the arguments of these names, in their order, what it says itself, else what
    is shared.
    """
    parts = re.fullmatch(
        r"(.*?)(?:^Args:\n(.*?))?^((?:Returns|Raises): .*)",
        inspect.cleandoc(docstring),
        re.MULTILINE | re.DOTALL,
    )
    assert parts, docstring
    text, own, sections = parts.groups(default="")
    said = {**shared, **arguments(own)}
    return f"{text}Args:\n{''.join(said.get(name, '') for name in names)}{sections}"


def documented(shared: Mapping[str, str]) -> Callable[[Function], Function]:
    """Gives the docstring of a function what is shared of its arguments."""

    def decorate(function: Function) -> Function:
        names = list(inspect.signature(function).parameters)
        function.__doc__ = function.__doc__ and described(function.__doc__, shared, names)
        return function

    return decorate


def spell_out(
    function: Callable[..., Any], keywords: type, shared: Mapping[str, str], defaults: Mapping[str, Any]
) -> list[str]:
    """Gives a function that takes keywords as `**given` a signature and a docstring that have each of them.

    Args: keywords, a TypedDict; shared, what is said of them, in the order of signatures; defaults, those
        that are not None.
    Returns: their names.
    """
    annotations, kind = keywords.__annotations__, inspect.Parameter.KEYWORD_ONLY
    names = [name for name in shared if name in annotations]
    signature = inspect.signature(function)
    *own, _ = signature.parameters.values()
    shown = [
        inspect.Parameter(
            name, kind, default=defaults.get(name), annotation=annotations[name].__forward_arg__
        )
        for name in names
    ]
    signature = signature.replace(parameters=[*own, *shown])
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__doc__ = function.__doc__ and described(function.__doc__, shared, list(signature.parameters))
    return names
