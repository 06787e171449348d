"""What the funnel of a plan ends with: the reason that matters, and what would leave fewer files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command_line import output
from iceberg_made import MadeTable, entry
from paimon_real import MadeTable as MadePaimonTable

from lakebed.advice import TableName
from lakebed.explain import as_text

if TYPE_CHECKING:
    from pathlib import Path

    from lakebed import Explain, Table

Bounds = tuple[int, int] | None


def made(folder: Path, *files: Bounds) -> Table:
    """A table with a column `x` of type long, whose files have these bounds of it."""
    table = MadeTable(folder / "t", (1, "x", "long"))
    rows = [
        entry(1, f"{number}.parquet", snapshot_id=1, record_count=10, value_counts={1: 10}, **metrics(bounds))
        for number, bounds in enumerate(files)
    ]
    table.commit(table.manifest(*rows))
    return table.open()


def metrics(bounds: Bounds) -> dict[str, dict[int, bytes]]:
    if bounds is None:
        return {}
    return {
        name: {1: bound.to_bytes(8, "little")}
        for name, bound in zip(("lower_bounds", "upper_bounds"), bounds, strict=True)
    }


def explained(table: Table, where: str | None) -> Explain:
    return table.plan(where=where).explain()


def test_without_a_condition_all_is_read(tmp_path: Path) -> None:
    explain = explained(made(tmp_path, (0, 9)), None)
    assert explain.reason == "all files are read: no `where` says which rows are wanted"
    assert explain.advice is None


def test_no_file(tmp_path: Path) -> None:
    explain = explained(made(tmp_path, (0, 9), (20, 29)), "x = 15")
    assert (explain.steps[-1].kept, explain.reason) == (0, "no file may have such rows")


def test_the_step_that_leaves_out_most(tmp_path: Path) -> None:
    table = made(tmp_path, *((10 * number, 10 * number + 9) for number in range(8)))
    explain = explained(table, "x = 35")
    assert explain.steps[-1].kept == 1
    assert explain.reason == f"most is left out at the step `files` by {explain.steps[-1].why}"
    assert explain.advice is None


def test_files_that_lie_above_each_other(tmp_path: Path) -> None:
    table = made(tmp_path, (0, 90), (1, 91), (2, 92), (3, 93))
    explain = explained(table, "x = 50")
    assert explain.reason == "a value of `x` is within the bounds of 2.5 of 4 files"
    name = TableName.of(table).quoted("`")
    call = (
        f"CALL system.rewrite_data_files(table => '{name}', strategy => 'sort', sort_order => 'x', "
        "options => map('rewrite-all', 'true'))"
    )
    assert explain.advice == f"sorted by `x`, it would be 1, in Spark: `{call}`"
    assert explain.call == call
    assert as_text(explain, 40).splitlines()[-1] == f"`{call}`"
    assert str(explain).splitlines()[-2:] == [explain.reason, explain.advice]
    assert explain.advice.replace("'", "&#x27;").replace(">", "&gt;") in explain._repr_html_()
    printed = output("plan", tmp_path / "t", "--where", "x = 50", "--explain").splitlines()
    assert printed[-2:] == [explain.reason, explain.advice]


def test_files_that_cannot_be_told_apart_better(tmp_path: Path) -> None:
    explain = explained(made(tmp_path, (5, 5), (5, 5), (5, 5)), "x = 5")
    assert explain.reason == "a value of `x` is within the bounds of 3 of 3 files"
    assert explain.advice is None


def test_files_without_bounds(tmp_path: Path) -> None:
    explain = explained(made(tmp_path, None, None, (0, 9)), "x = 5")
    assert explain.reason == "2 of 3 files have no bounds of `x`"
    assert explain.advice is not None
    assert "write.metadata.metrics.column.x=full" in explain.advice


@pytest.mark.parametrize("keys", [(), ("region", "id")])
def test_paimon(keys: tuple[str, ...], tmp_path: Path) -> None:
    """What has keys is sorted by them. A bucket is no column of the table."""
    table = MadePaimonTable(tmp_path / "shop.db" / "orders", keys)
    table.create({"bucket": "1" if keys else "-1"})
    for number in range(4):
        table.now().append_files(table.written("emea", f"a{number}", number, 90 + number))
    explain = explained(table.now(), "amount = 12 AND bucket = 0 AND region = 'emea'")
    assert explain.reason == "a value of `amount` is within the bounds of 2.5 of 4 files"
    assert explain.advice is not None
    assert explain.advice.startswith("sorted by `amount`, it would be 1")
    typed = "CALL sys.compact(table => 'shop.orders', order_strategy => 'order', order_by => 'amount')"
    assert (typed in explain.advice) == (not keys)
