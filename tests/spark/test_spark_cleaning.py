"""What `lakebed.spark.apply` does with reviewed rows: what `lakebed.apply` does with them on one machine."""

from __future__ import annotations

import json
import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import small_tables
from command_line import output
from small_tables import OLD
from test_cleaning import Made, aged, forged, made, whole

import lakebed
import lakebed.spark as ls
from lakebed.cleaning.shared_log import LogFolder
from lakebed.errors import CommitConflictError, CorruptError, LocationError, SchemaError, UnsupportedError
from lakebed.spark import cleaning
from lakebed.spark.types import spark_schema

pytest.importorskip("pyspark")
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

__all__ = ["made"]

pytestmark = pytest.mark.spark

of_one_format = pytest.mark.parametrize("made", ["iceberg"], indirect=True)


def read(spark: Any, rows: pa.Table, path: Path) -> Any:
    """Rows as somebody has them who wrote them to a file and looked at them."""
    pq.write_table(rows, path)
    return spark.read.parquet(str(path))


def told(frame: Any) -> dict[str, tuple[str, str | None]]:
    """What became of each file, and why, by its name."""
    return {Path(row.file_path).name: (row.outcome, row.reason) for row in frame.collect()}


def lines(log: Path) -> list[dict[str, Any]]:
    """The lines of all parts of a log, in the order of turns."""
    return [
        json.loads(line) for part in sorted(log.glob("*.jsonl")) for line in part.read_text().splitlines()
    ]


@pytest.mark.parametrize("shares", [1, 3])
def test_the_outcome_is_that_of_one_machine(
    spark, made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shares: int
):
    """On a copy: removed, changed, gone, young, reached since, live, and elsewhere."""
    monkeypatch.setattr(cleaning, "_SHARE", -(-9 // shares))
    table, lost, _ = made
    folder = Path(lost[0]).parent
    more = small_tables.lost(*(folder / f"data-lost-{number}.parquet" for number in range(3, 7)))
    aged(*more)
    aged(more[3], to=datetime.now(timezone.utc) - timedelta(days=2))
    rows = table.orphans(timedelta(0)).to_arrow()
    one = rows.slice(0, 1)
    (live, *_) = small_tables.found(table.files(columns=["file_path"]))
    rows = pa.concat_tables([rows, forged(one, file_path=live), forged(one, file_path=str(tmp_path / "x"))])
    (tmp_path / "x").write_bytes(b"lost")
    Path(more[0]).write_bytes(b"another")
    aged(more[0], to=OLD + timedelta(days=1))
    Path(more[1]).unlink()
    pq.write_table(small_tables.ROWS, more[2])
    aged(more[2])
    columns = {"bucket": 0} if table.format == "paimon" else {}
    table.append_files(lakebed.describe_file(table, more[2], small_tables.ROWS, columns=columns))
    shutil.copytree(tmp_path / "t", tmp_path / "as it was")
    before = set(small_tables.lying(tmp_path / "t"))

    frame = ls.apply(spark, read(spark, rows, tmp_path / "rows"), table, log=tmp_path / "log")
    found, gone = told(frame), before - set(small_tables.lying(tmp_path / "t"))
    assert {Path(path).name for path in gone} == {Path(path).name for path in lost}
    assert {name for name, (outcome, _) in found.items() if outcome == "removed"} == {
        Path(path).name for path in lost
    }
    assert frame.schema == spark_schema(lakebed.restore(tmp_path / "log", table).rows.schema)
    whole(table)
    # It is what was done, and does nothing again.
    Path(lost[0]).write_bytes(b"lost")
    aged(lost[0])
    assert told(frame) == found
    assert Path(lost[0]).exists()
    assert json.loads((tmp_path / "log" / "log.json").read_text())["shares"] == shares

    shutil.rmtree(tmp_path / "t")
    shutil.copytree(tmp_path / "as it was", tmp_path / "t")
    done = lakebed.apply(rows, table, log=tmp_path / "file")
    expected = {Path(row["file_path"]).name: (row["outcome"], row["reason"]) for row in done.rows.to_pylist()}
    assert found == expected
    assert {outcome for outcome, _ in found.values()} == {"removed", "kept"}
    assert len({reason for _, reason in found.values()}) == 4


def parts(log: Path) -> list[str]:
    return [part.name for part in sorted(log.glob("*.jsonl"))]


@of_one_format
def test_each_file_is_in_the_log_before_and_after(spark, made: Made, tmp_path: Path):
    table, lost, rows = made
    ls.apply(spark, read(spark, rows, tmp_path / "rows"), table, log=tmp_path / "log")
    before, after = (
        {line["path"] for line in lines(tmp_path / "log") if line["outcome"] == outcome}
        for outcome in ("removing", "removed")
    )
    assert before == after == set(lost)
    header = json.loads((tmp_path / "log" / "log.json").read_text())
    assert (header["table_id"], header["shares"]) == (rows["table_id"][0].as_py(), 1)


@of_one_format
def test_rows_that_spark_would_make_anew_are_refused(spark, made: Made, tmp_path: Path):
    table, lost, rows = made
    ls.register(spark)
    frame = ls.orphans(spark, table)
    frame.createOrReplaceTempView("found_orphans")
    listed = spark.createDataFrame([], "path string, size long, modified timestamp")
    lazy: Any
    for lazy in (
        frame,
        frame.filter("file_size_in_bytes > 0").cache(),
        spark.table("found_orphans"),
        ls.orphans(spark, table, listing=listed),
        spark.read.format("lakebed").option("view", "orphans").load(table.location),
        rows,
        table.orphans(),
    ):
        with pytest.raises(SchemaError, match=r"apply takes rows that were written|rows are a DataFrame"):
            ls.apply(spark, lazy, table, log=tmp_path / "log")
    frame.unpersist()
    assert all(Path(path).exists() for path in lost)
    assert not (tmp_path / "log").exists()
    # What Spark holds is made once.
    kept = frame.localCheckpoint()
    assert len(told(ls.apply(spark, kept, table.location, log=tmp_path / "log"))) == len(lost)


@of_one_format
def test_other_rows_are_refused(spark, made: Made, tmp_path: Path):
    table, lost, rows = made
    now = datetime.now(timezone.utc)
    day = timedelta(hours=24, seconds=5)
    cases: list[tuple[pa.Table, type[Exception], str]] = [
        (forged(rows, table_id="x"), LocationError, "of another table"),
        (forged(rows, planned_at=now - day), CommitConflictError, "not within the last 24 hours"),
        (forged(rows, planned_at=now + day), CommitConflictError, "not within the last 24 hours"),
        (forged(rows, plan='{"view":"files"}'), UnsupportedError, "'files' are not acted on"),
        (pa.concat_tables([rows, forged(rows, planned_at=now)]), SchemaError, "rows of 2 plans"),
        (rows.drop_columns(["plan"]), SchemaError, "without the column 'plan'"),
        (rows.drop_columns(["modified_at"]), SchemaError, "without the column 'modified_at'"),
        (table.expire_plan(timedelta(0), 1).to_arrow(), UnsupportedError, "give them to lakebed.apply"),
    ]
    for number, (given, error, message) in enumerate(cases):
        if given.num_rows:
            with pytest.raises(error, match=message):
                ls.apply(spark, read(spark, given, tmp_path / f"rows-{number}"), table, log=tmp_path / "log")
    none = ls.apply(spark, read(spark, rows.slice(0, 0), tmp_path / "none"), table, log=tmp_path / "log")
    assert (none.count(), (tmp_path / "log").exists()) == (0, False)
    assert none.schema == spark_schema(lakebed.apply(rows.slice(0, 0), table, log=tmp_path / "n").rows.schema)
    frame = read(spark, rows, tmp_path / "rows")
    for log in (f"{table.location}/log", str(tmp_path)):
        with pytest.raises(LocationError, match="the log is in the table's folder, or the table in it"):
            ls.apply(spark, frame, table, log=log)
    with pytest.raises(LocationError, match="the quarantine is in the table's folder"):
        ls.apply(spark, frame, table, f"{table.location}/q", log=tmp_path / "log")
    with pytest.raises(UnsupportedError, match="does not write a log"):
        ls.apply(spark, frame, table, log="s3://bucket/log")
    with pytest.raises(ValueError, match="younger is an age"):
        ls.apply(spark, frame, table, log=tmp_path / "log", younger=timedelta(-1))
    assert all(Path(path).exists() for path in lost)


@of_one_format
def test_another_zone_of_the_session_is_the_same_time(spark, made: Made, tmp_path: Path):
    table, lost, rows = made
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/Los_Angeles")
    try:
        frame = ls.apply(spark, read(spark, rows, tmp_path / "rows"), table, log=tmp_path / "log")
        assert {outcome for outcome, _ in told(frame).values()} == {"removed"}
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert not any(Path(path).exists() for path in lost)


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
def test_files_of_a_table_within_are_kept(spark, made: Made, tmp_path: Path):
    table, *_ = made
    inner = small_tables.iceberg(Path(table.location, "inner"), "data/data-c.parquet")
    (lost,) = small_tables.lost(Path(inner.location, "data", "data-lost.parquet"))
    aged(lost)
    rows = forged(table.orphans(limit=1).to_arrow(), file_path=lost)
    frame = ls.apply(spark, read(spark, rows, tmp_path / "rows"), table, log=tmp_path / "log")
    assert [outcome for outcome, _ in told(frame).values()] == ["kept"]
    assert Path(lost).exists()


def test_a_table_that_cannot_be_looked_at_loses_nothing(spark, made: Made, tmp_path: Path):
    """The look fails in a task: another table is in the folder, and nobody can read it."""
    table, lost, rows = made
    inner = small_tables.iceberg(Path(table.location, "inner"), "data/data-c.parquet")
    small_tables.newest(inner).write_text("{")
    with pytest.raises((PySparkException, Py4JJavaError), match="LocationError"):
        ls.apply(spark, read(spark, rows, tmp_path / "rows"), table, log=tmp_path / "log")
    assert all(Path(path).exists() for path in lost)
    assert parts(tmp_path / "log") == []


def test_a_listing_is_looked_at(spark, made: Made, tmp_path: Path):
    """What is not in it is kept."""
    table, lost, rows = made
    files = [path for path in small_tables.lying(tmp_path / "t") if path != lost[0]]
    listing = spark.createDataFrame(small_tables.listing(files, OLD).to_pandas())
    frame = ls.apply(
        spark, read(spark, rows, tmp_path / "rows"), table, log=tmp_path / "log", listing=listing
    )
    assert told(frame)[Path(lost[0]).name][0] == "kept"
    assert [Path(path).exists() for path in lost] == [True, False, False]


def test_a_quarantine_is_restored(spark, made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cleaning, "_SHARE", 1)
    table, lost, rows = made
    frame = read(spark, rows, tmp_path / "rows")
    for by_command in (False, True):
        # What came back may be moved again, and its log says so.
        done = ls.apply(spark, frame, table, str(tmp_path / "q"), log=tmp_path / "log")
        assert {outcome for outcome, _ in told(done).values()} == {"moved"}
        assert len(small_tables.lying(tmp_path / "q")) == 3
        assert not any(Path(path).exists() for path in lost)
        if by_command:
            assert output("restore", tmp_path / "log", "--yes") == "restored 3 files, 12 B\n"
        else:
            assert lakebed.restore(tmp_path / "log", table).counts == {"restored": 3}
        assert all(Path(path).read_bytes() == b"lost" for path in lost)
        assert lakebed.restore(tmp_path / "log", table).counts == {}
    with pytest.raises(LocationError, match="whose quarantine is"):
        ls.apply(spark, frame, table, log=tmp_path / "log")
    with pytest.raises(LocationError, match="of another table"):
        lakebed.restore(tmp_path / "log", small_tables.iceberg(tmp_path / "other"))
    (tmp_path / "log" / "log.json").write_text("{}")
    with pytest.raises(CorruptError, match="no log of a clean-up"):
        lakebed.restore(tmp_path / "log", table)


@of_one_format
def test_executors_that_do_not_have_the_log_remove_nothing(
    spark, made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A local folder of the driver's machine is none of theirs."""
    table, lost, rows = made
    begun = LogFolder.begun

    def vanishing(folder: LogFolder, *given: Any) -> Any:
        log = begun(folder, *given)
        shutil.rmtree(folder.path)
        return log

    monkeypatch.setattr(LogFolder, "begun", vanishing)
    with pytest.raises((PySparkException, Py4JJavaError), match="all executors have to have its folder"):
        ls.apply(spark, read(spark, rows, tmp_path / "rows"), table, log=tmp_path / "log")
    assert all(Path(path).exists() for path in lost)
