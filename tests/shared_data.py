"""Where test data is, and what of it there is: golden tables and case tables, discovered, never listed.

The root is `$LAKEBED_SHARED`, or `../shared` beside the project; where the variable is empty there is none.
Of what is there everything is tested; what it lacks comes from the project's own `tests/data`, which has the
same layout.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import compared
import pytest
from trust import QUICK

import lakebed
from lakebed.storage import Storage

PROJECT = Path(__file__).resolve().parent.parent
OWN_DATA = PROJECT / "tests" / "data"
SAMPLE_TABLE = PROJECT / "examples" / "sample_table"
SAMPLE_ICEBERG_TABLE = PROJECT / "examples" / "sample_iceberg_table"
# Where its metadata says that it is, and where it is.
SAMPLE_MOVED = {"/tmp/lakebed/shop/orders": str(SAMPLE_ICEBERG_TABLE)}


def sample_of(format_name: str, storage: Storage | None = None) -> lakebed.Table:
    """The sample table of a format, where it is."""
    if format_name == "paimon":
        return lakebed.open_table(str(SAMPLE_TABLE), storage=storage)
    return lakebed.open_table(str(SAMPLE_ICEBERG_TABLE), storage=storage, relocate=SAMPLE_MOVED)


SHARED = Path(os.environ.get("LAKEBED_SHARED", PROJECT.parent / "shared") or os.devnull)
SHARED_DATA = SHARED / "data"


@dataclass(frozen=True)
class GoldenTable:
    """A table that an engine wrote, and that engine's answers about it."""

    name: str
    path: Path
    expected: Path

    def open(self) -> lakebed.Table:
        """The table, at its latest snapshot."""
        return lakebed.open_table(self.path)

    def lines(self, name: str) -> list[dict[str, Any]] | None:
        """Parsed lines of `expected/<table>/<name>.jsonl`, or of that in gzip; None for neither."""
        for suffix, read in ((".jsonl", open), (".jsonl.gz", gzip.open)):
            if (file := self.expected / f"{name}{suffix}").is_file():
                with read(file, "rt", encoding="utf-8") as lines:
                    return [json.loads(line) for line in lines if line.strip()]
        return None

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The same of "entries", "lists", "live", "sys/files", …

        Skips the test where this set of data comes without that answer.
        """
        rows = self.lines(name)
        if rows is None:
            pytest.skip(f"{self.name} comes without {name}.jsonl")
        compared.count(rows)
        return rows

    def types(self, system_table: str) -> dict[str, str]:
        """Column name → Paimon type of the engine's metadata table `$<system_table>`."""
        types: dict[str, dict[str, str]] = json.loads(
            (self.expected / "sys" / "_types.json").read_text("utf-8")
        )
        return types[system_table]


@dataclass(frozen=True)
class Case:
    """One input of a case table, and the answer wanted."""

    id: str
    body: dict[str, Any]
    suite: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        return self.body[key]

    def get(self, key: str, default: Any = None) -> Any:
        return self.body.get(key, default)

    @property
    def error_kinds(self) -> frozenset[str] | None:
        """The kinds of error of which any is right; None where the input must be read."""
        expect = self.body["expect"]
        if not (isinstance(expect, dict) and "error" in expect):
            return None
        kinds = expect["error"]
        return frozenset([kinds] if isinstance(kinds, str) else kinds)


def data_root(*parts: str) -> Path | None:
    """`<shared root>/data/<parts>` where that exists and is not empty, else the project's own, else None."""
    for root in (SHARED_DATA, OWN_DATA):
        found = root.joinpath(*parts)
        if found.is_file() or (found.is_dir() and any(found.iterdir())):
            return found
    return None


@cache
def golden_paimon_tables() -> tuple[GoldenTable, ...]:
    """Every golden Paimon table there is, by name; empty where there is none."""
    root = data_root("golden", "paimon")
    return () if root is None else tuple(_golden_tables(root))


@cache
def cases(suite: str) -> tuple[Case, ...]:
    """Every case of `cases/<suite>.json`, in file order; empty where the file is absent.

    Raises: AssertionError for a file that is not in the form this was written for.
    """
    file = data_root("cases", f"{suite}.json")
    if file is None:
        return ()
    table = json.loads(file.read_text("utf-8"))
    assert table["format"] == "lakebed-cases/1", f"{file}: unknown form {table['format']!r}"
    shared = {key: value for key, value in table.items() if key != "cases"}
    return tuple(Case(case["id"], case, shared) for case in table["cases"])


def each_golden(format_name: str, golden: Sequence[Any], patterns: Sequence[str]) -> pytest.MarkDecorator:
    """Parametrises `table` over those whose name matches one of `patterns` (all, without any)."""
    if QUICK:
        import covering

        each_covering = getattr(covering, f"each_covering_{format_name.lower()}_table")
        mark: pytest.MarkDecorator = each_covering(names=patterns or ("*",))
        return mark
    tables = [t for t in golden if not patterns or any(fnmatchcase(t.name, p) for p in patterns)]
    what = f"golden {format_name} tables {' '.join(patterns)}".strip()
    return each("table", tables, [t.name for t in tables], what)


def each_golden_paimon_table(*patterns: str) -> pytest.MarkDecorator:
    """As `each_golden` over Paimon's tables."""
    return each_golden("Paimon", golden_paimon_tables(), patterns)


def each_case(suite: str) -> pytest.MarkDecorator:
    """Parametrises `case` over a case table."""
    found = cases(suite)
    return each("case", found, [case.id for case in found], f"cases of {suite}")


def each_shared_file(pattern: str) -> pytest.MarkDecorator:
    """Parametrises `file` over files below `<shared root>/data` that match a glob such as "avro/**/*.avro".

    The project has no copy of these: without the shared root the test is skipped.
    """
    files = sorted(file for file in SHARED_DATA.glob(pattern) if file.is_file())
    return each("file", files, [str(file.relative_to(SHARED_DATA)) for file in files], pattern)


def shared_paimon_table(name: str) -> Path:
    """A table of `<shared root>/data/paimon`; skips the test where it is not there."""
    root = SHARED_DATA / "paimon" / name
    if not root.is_dir():
        pytest.skip(f"no table {name}: {SHARED_DATA} is absent or lacks it (LAKEBED_SHARED)")
    return root


def _golden_tables(root: Path) -> Iterator[GoldenTable]:
    for table in sorted(path for path in root.iterdir() if path.is_dir() and path.name != "expected"):
        expected = root / "expected" / table.name
        assert expected.is_dir(), f"{table} comes without answers in {expected}"
        yield GoldenTable(table.name, table, expected)


def each(argument: str, values: Any, ids: list[str], what: str) -> pytest.MarkDecorator:
    """Parametrises a test over what was found; without any, skips it with `what` is absent as the reason."""
    if values:
        return pytest.mark.parametrize(argument, values, ids=ids)
    absent = pytest.mark.skip(reason=f"no {what}: {SHARED_DATA} is absent or lacks them (LAKEBED_SHARED)")
    return pytest.mark.parametrize(
        argument, [pytest.param(*[None] * len(argument.split(",")), marks=absent)], ids=["absent"]
    )
