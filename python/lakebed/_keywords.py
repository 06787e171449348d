"""The keywords that views share, and what help and pages say of them.

The pages' build runs this file alone, so it imports nothing of lakebed.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed.predicates import Predicate


class Keywords(TypedDict, total=False):
    """What every view takes."""

    columns: Sequence[str] | None
    filter: str | Predicate | None
    limit: int | None
    threads: int | None


class TableKeywords(Keywords, total=False):
    """What views take whose rows are manifests or files, or sums of them."""

    where: str | Predicate | None


class FileKeywords(TableKeywords, total=False):
    """What views take whose rows are files or entries, which have statistics."""

    stats: Sequence[str] | None


TEXTS = {
    "columns": "names of the columns to give, in this order; None for all.",
    "where": "a condition on the table's columns, SQL text or made with `lakebed.col`: nested columns by "
    "dotted paths, of Paimon also `bucket`, of Iceberg also transforms (`bucket(16, id) = 3`) and partition "
    "fields whose names no column has. Files are left out in which, by partition and statistics, no row can "
    "match.",
    "filter": "a condition on the view's own columns, SQL text or made with `lakebed.col`: only rows that "
    "match are given.",
    "stats": "names of the table's columns whose statistics a last column `stats` is to have.",
    "limit": "at most so many rows.",
    "threads": "how many decode; None for one per core.",
}
"""Of each keyword, in the order of signatures."""

# Wrapped once: each view has most of them, and lakebed is imported by every worker.
_LINES = {
    name: textwrap.fill(f"    {name}: {words}", 110, subsequent_indent=" " * 8) + "\n"
    for name, words in TEXTS.items()
}


def described(docstring: str, keywords: Sequence[str]) -> str:
    """A view's docstring, with those of its keywords among `Args:` that it says nothing of itself."""
    parts = re.fullmatch(
        r"(.*?)(?:^Args:\n(.*?))?^((?:Returns|Raises): .*)",
        inspect.cleandoc(docstring),
        re.MULTILINE | re.DOTALL,
    )
    assert parts, docstring
    text, own, sections = parts.groups(default="")
    said = re.findall(r"^    (\w+):", own, re.MULTILINE)
    shared = [lines for name, lines in _LINES.items() if name in keywords and name not in said]
    return f"{text}Args:\n{own}{''.join(shared)}{sections}"
