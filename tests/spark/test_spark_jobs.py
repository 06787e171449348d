"""Views of all that a table is made of, each with the rows that it has without Spark."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from spark_sessions import sent_by_value

import lakebed
import lakebed.spark as ls
from lakebed.spark.frames import newest_again
from lakebed.spark.types import spark_schema
from shared_data import SAMPLE_TABLE, sample_of
from spark_rows import actual, expected

pytest.importorskip("pyspark")
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from spark_functions import orphans_of_a_listing

pytestmark = pytest.mark.spark

JOBS = ("reachable", "orphans", "expire_plan", "verify", "growth", "file_history")


@pytest.mark.parametrize("job", JOBS)
def test_the_rows_are_those_without_spark(spark, job: str):
    for table in (lakebed.open_table(SAMPLE_TABLE), sample_of("iceberg")):
        frame, scan = getattr(ls, job)(spark, table), getattr(table, job)()
        assert frame.schema == ls.schema(job, table) == spark_schema(scan.schema)
        assert actual(frame) == expected(scan)


def test_a_selection_and_another_place_in_history(spark):
    table = lakebed.open_table(SAMPLE_TABLE)
    selection: dict[str, Any] = {"columns": ["kind", "file_path"], "filter": "kind = 'data'"}
    older = table.snapshots().to_arrow()["snapshot_id"][0].as_py()
    rows = actual(ls.reachable(spark, table, **selection))
    assert rows == expected(table.reachable(**selection))
    assert rows
    assert actual(ls.growth(spark, table, at=older)) == expected(table.at(snapshot=older).growth())


def test_orphans_of_a_listing_that_spark_has(spark):
    assert orphans_of_a_listing(spark, lakebed.open_table(SAMPLE_TABLE))


def test_what_is_wrong_with_a_table_and_files_that_are_gone(spark, sample_table: Path):
    """The data files of the sample are nowhere; of the copy a manifest is gone and another is cut."""
    gone, cut, *_ = (sample_table / "manifest" / name for name in manifests(sample_table))
    gone.unlink()
    cut.write_bytes(cut.read_bytes()[:-1])
    table = lakebed.open_table(sample_table)
    frame = ls.verify(spark, table, data_files=True)
    rows = actual(frame)
    assert rows == expected(table.verify(data_files=True))
    assert {json.loads(row)[1] for row in rows} >= {"missing", "truncated"}
    some: dict[str, Any] = {"filter": "kind = 'truncated'", "columns": ["path"]}
    assert actual(ls.verify(spark, table, **some)) == expected(table.verify(**some))


def test_executors_that_do_not_reach_the_table_end_the_job(spark):
    """Else all of the table would be reported missing."""
    table = lakebed.open_table(SAMPLE_TABLE, storage=only_in_this_process())
    for data_files in (False, True):
        with pytest.raises((PySparkException, Py4JJavaError), match="MissingFileError") as caught:
            ls.verify(spark, table, data_files=data_files).collect()
        assert table.location in str(caught.value)


def test_the_error_says_that_it_is_the_catalog_which_cannot_be_pickled(monkeypatch: pytest.MonkeyPatch):
    table = lakebed.open_table(SAMPLE_TABLE)
    # A catalog that is asked through what no other process can have.
    entry: Any = SimpleNamespace(pointer=threading.Lock)
    monkeypatch.setattr(table, "opening", replace(table.opening, entry=entry))
    with pytest.raises(TypeError, match="the table's catalog is pickled for Spark's executors"):
        newest_again(table)


NOW = datetime(2026, 11, 27, tzinfo=timezone.utc)


def test_a_report_of_many_tables(spark, tmp_path: Path, sample_table: Path):
    paths = [str(SAMPLE_TABLE), str(sample_table)]
    paths.append(str(tmp_path / "none"))
    page = ls.report(spark, paths, tmp_path / "report.html", now=NOW)
    assert page == lakebed.report([str(Path(path).absolute()) for path in paths], now=NOW)
    # Names may be broken between their parts.
    assert f"{tmp_path / 'none'}: not read" in page.replace("<wbr>", "")
    assert (tmp_path / "report.html").read_text("utf-8") == page


def only_in_this_process() -> Any:
    """A storage in which other processes find nothing."""
    process = os.getpid()

    def refuse(path: str) -> None:
        if os.getpid() != process:
            raise FileNotFoundError(path)

    return sent_by_value(refuse)


def manifests(root: Path) -> list[str]:
    names = lakebed.open_table(root).manifests(columns=["file_name"]).to_arrow()["file_name"]
    return sorted(names.to_pylist())
