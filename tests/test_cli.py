"""The command line prints what the views hold, in the form asked for, and errors in one line."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command_line import MOVED, as_printed, complaint, output, printed, run
from pyarrow import parquet

import lakebed
from lakebed.cli import views
from lakebed.errors import LakebedWarning
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_TABLE, sample_of

# Of the others rows depend on more than the table, or are text.
OTHERS = (
    "diff",
    "appends",
    "compaction_plan",
    "file_history",
    "metadata_table",
    "orphans",
    "expire_plan",
    "dangling_deletes",
    "repair_plan",
    "verify",
    "reachable",
)
VIEWS = (*(view for view in views.VIEWS if view not in OTHERS), "health")
PAIMON_VIEWS = tuple(view for view in VIEWS if view != "plan")
TABLE = str(SAMPLE_TABLE)
ICEBERG = str(SAMPLE_ICEBERG_TABLE)
ICEBERG_VIEWS = tuple(view for view in VIEWS if view not in ("changelogs", "indexes"))
MANIFEST = str(min((SAMPLE_TABLE / "manifest").glob("manifest-[!l]*")))


def rows(view: str, **keywords: Any) -> list[dict[str, Any]]:
    return as_printed(getattr(lakebed.open_table(SAMPLE_TABLE), view)(**keywords).to_arrow())


@pytest.mark.parametrize("view", PAIMON_VIEWS)
def test_json_is_one_object_a_line(view):
    assert without_findings(printed(view, TABLE)) == rows(view)


def without_findings(shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of any view: those of `health` have findings in JSON alone."""
    return [{name: value for name, value in row.items() if name != "findings"} for row in shown]


@pytest.mark.parametrize("view", PAIMON_VIEWS)
def test_text_has_every_column_and_row(view):
    lines = output(view, TABLE).splitlines()
    assert lines[0].split() == getattr(lakebed.open_table(SAMPLE_TABLE), view)().schema.names
    assert len(lines) == 1 + len(rows(view))


@pytest.mark.parametrize("view", ICEBERG_VIEWS)
def test_the_views_of_an_iceberg_table(view):
    table = getattr(sample_of("iceberg"), view)().to_arrow()
    expected = as_printed(table)
    assert expected
    assert without_findings(printed(view, ICEBERG, *MOVED)) == expected
    lines = output(view, ICEBERG, *MOVED).splitlines()
    assert (lines[0].split(), len(lines)) == (table.schema.names, 1 + len(expected))


@pytest.mark.parametrize("view", sorted(set(VIEWS) - set(ICEBERG_VIEWS)))
def test_a_view_that_iceberg_tables_do_not_have(view):
    assert complaint(view, ICEBERG, *MOVED, code=2)


def test_a_plan_of_a_paimon_table():
    shown = printed("plan", TABLE, "--where", "region = 'emea'", "--columns", "file_path,residual")
    files = lakebed.open_table(TABLE).files(where="region = 'emea'", columns=["file_path"]).to_arrow()
    assert shown == [{"file_path": path, "residual": None} for path in files["file_path"].to_pylist()]


@pytest.mark.parametrize("view", ["files", "plan"])
def test_what_a_scan_leaves_out_is_explained(view, tmp_path):
    where = ("--where", "region = 'emea'", "--explain")
    steps = getattr(sample_of("iceberg"), view)(where="region = 'emea'").explain()
    assert output(view, ICEBERG, *MOVED, *where) == f"{steps}\n"
    assert printed(view, ICEBERG, *MOVED, *where) == steps.to_dict()["steps"]
    file = tmp_path / "steps.csv"
    output(view, ICEBERG, *MOVED, *where, "-o", "csv", "--output-file", str(file))
    assert len(file.read_text().splitlines()) == 1 + len(steps.steps)


def test_deletes_of_a_plan_by_their_numbers():
    shown = printed("plan", ICEBERG, *MOVED, "--deletes", "ids", "--columns", "file_path,delete_ids")
    expected = (
        sample_of("iceberg").plan(deletes="ids", columns=["file_path", "delete_ids"]).to_arrow().to_pylist()
    )
    assert shown == expected
    assert any(row["delete_ids"] for row in expected)


def test_a_metadata_file_is_a_table():
    file = str(SAMPLE_ICEBERG_TABLE / "metadata" / "v3.metadata.json")
    assert len(printed("snapshots", file)) == 2
    assert json.loads(output("show", file, *MOVED, "-o", "json"))["files"]["count"] == 6


def test_places_in_the_history_of_an_iceberg_table():
    tagged = sample_of("iceberg").at(tag="first-load")
    committed = tagged.snapshots(filter=f"snapshot_id = {tagged.snapshot_id}").to_arrow()["committed_at"][0]
    milliseconds = committed.value // 1000
    for words in (
        ("--tag", "first-load"),
        ("--snapshot", str(tagged.snapshot_id)),
        ("--as-of", str(milliseconds)),
    ):
        assert count(ICEBERG, *MOVED, *words) == 12
    assert count(ICEBERG, *MOVED, "--branch", "audit") == 17
    assert count(ICEBERG, *MOVED) == 20


def test_the_format_can_be_said():
    told = output("show", ICEBERG, *MOVED, "--format", "iceberg", "-o", "json")
    assert json.loads(told)["format"] == "iceberg"
    assert run("show", ICEBERG, *MOVED, "--format", "paimon").exit_code == 1
    assert run("show", TABLE, "--format", "hudi").exit_code == 2


def test_a_moved_table_without_saying_so_is_one_line():
    assert complaint("files", ICEBERG)


def test_metadata_tables_of_an_iceberg_table():
    opened = sample_of("iceberg")
    assert output("metadata", ICEBERG).splitlines() == opened.metadata_tables
    # The sample's delete files are not among its metadata.
    for name in set(opened.metadata_tables) - {"position_deletes"}:
        rows = opened.metadata_table(name).to_arrow().num_rows
        assert len(printed("metadata", ICEBERG, *MOVED, name)) == rows


def test_show_tells_layout_and_deletes_of_an_iceberg_table():
    about = json.loads(output("show", ICEBERG, *MOVED, "-o", "json"))
    assert about["snapshot"]["snapshot_id"] == sample_of("iceberg").snapshot_id
    assert [field["name"] for field in about["partition_spec"]["fields"]] == ["dt", "region"]
    assert about["deletes"] == {
        "deletion_vectors": {"count": 2, "rows": 20},
        "position_delete_files": {"count": 0, "rows": 0},
        "equality_delete_files": {"count": 1, "rows": 1},
    }
    assert (about["files"]["count"], about["files"]["rows"]) == (17, 1565)
    assert about["refs"] == {"branches": 2, "tags": 1}
    text = output("show", ICEBERG, *MOVED)
    for words in (
        "partitioned by",
        "dt, region",
        "deletion vectors",
        "20 rows deleted",
        "[partition, required]",
    ):
        assert words in text
    at_tag = json.loads(output("show", ICEBERG, *MOVED, "--tag", "first-load", "-o", "json"))
    assert (at_tag["files"]["rows"], at_tag["deletes"]["deletion_vectors"]["count"]) == (1440, 0)


def test_a_warning_is_one_line_and_said_once(monkeypatch):
    def read(*_args: Any, **_keywords: Any) -> lakebed.Table:
        for text in ("one thing\nis odd", "one thing\nis odd", "another is"):
            warnings.warn(text, LakebedWarning, stacklevel=1)
        return opened

    opened = lakebed.open_table(SAMPLE_TABLE)
    monkeypatch.setattr(lakebed, "open_table", read)
    result = run("snapshots", TABLE)
    assert (result.exit_code, result.stderr) == (0, "warning: one thing is odd\nwarning: another is\n")


def test_csv_has_a_header_and_every_row():
    read = list(csv.DictReader(io.StringIO(output("files", TABLE, "-o", "csv"))))
    assert [row["file_path"] for row in read] == [row["file_path"] for row in rows("files")]
    assert [json.loads(row["partition"]) for row in read] == [row["partition"] for row in rows("files")]


@pytest.mark.parametrize("view", PAIMON_VIEWS)
def test_arrow_goes_to_a_file_or_as_a_stream(view, tmp_path: Path):
    expected = getattr(lakebed.open_table(SAMPLE_TABLE), view)().to_arrow()
    output(view, TABLE, "-o", "arrow", "--output-file", str(tmp_path / "rows.arrow"))
    assert pa.ipc.open_file(tmp_path / "rows.arrow").read_all().equals(expected)
    stream = run(view, TABLE, "-o", "arrow").stdout_bytes
    assert pa.ipc.open_stream(stream).read_all().equals(expected)


@pytest.mark.parametrize("view", PAIMON_VIEWS)
def test_parquet_has_the_rows(view, tmp_path: Path):
    output(view, TABLE, "-o", "parquet", "--output-file", str(tmp_path / "rows.parquet"))
    assert parquet.read_table(tmp_path / "rows.parquet").num_rows == len(rows(view))


def test_the_selection_is_that_of_the_view():
    words = ("--columns", "file_path, stats", "--stats", "amount", "--where", "bucket = 0", "--limit", "3")
    keywords = {"columns": ["file_path", "stats"], "stats": ["amount"], "where": "bucket = 0", "limit": 3}
    assert printed("files", TABLE, *words) == rows("files", **keywords)


def count(*words: str) -> int:
    return len(printed("files", *words))


def test_an_older_snapshot():
    files = lakebed.open_table(SAMPLE_TABLE).at(snapshot=1).files().to_arrow().num_rows
    assert count(TABLE, "--snapshot", "1") == files


def test_a_tag():
    tag = next((SAMPLE_TABLE / "tag").iterdir()).name.removeprefix("tag-")
    files = lakebed.open_table(SAMPLE_TABLE).at(tag=tag).files().to_arrow().num_rows
    assert count(TABLE, "--tag", tag) == files
    assert count(TABLE, "--branch", "main", "--tag", tag) == files


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo"])
def test_a_time_with_a_zone_or_in_local_time_or_in_milliseconds(zone, monkeypatch):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    files = lakebed.open_table(SAMPLE_TABLE).at(snapshot=3).files().to_arrow().num_rows
    committed = rows("snapshots", filter="snapshot_id = 3", columns=["committed_at"])[0]["committed_at"]
    moment = datetime.fromisoformat(committed.replace("Z", "+00:00"))
    local = moment.astimezone().replace(tzinfo=None)
    for text in (committed, moment.isoformat(), local.isoformat(), str(round(moment.timestamp() * 1000))):
        assert count(TABLE, "--as-of", text) == files
    monkeypatch.undo()
    time.tzset()


def test_a_branch_alone_and_at_one_of_its_places(sample_table: Path):
    branch = sample_table / "branch" / "branch-dev"
    shutil.copytree(sample_table / "schema", branch / "schema")
    (branch / "snapshot").mkdir()
    for number in (1, 2, 3):
        shutil.copy(sample_table / "snapshot" / f"snapshot-{number}", branch / "snapshot")
    table = str(sample_table)
    assert count(table, "--branch", "dev") == count(TABLE, "--snapshot", "3") != count(TABLE)
    assert count(table, "--branch", "dev", "--snapshot", "1") == count(TABLE, "--snapshot", "1")
    assert run("files", table, "--branch", "dev", "--snapshot", "4").exit_code == 1
    assert json.loads(output("show", table, "-o", "json"))["refs"] == {"branches": 2, "tags": 1}


def test_metadata_tables_are_listed_and_printed():
    opened = lakebed.open_table(SAMPLE_TABLE)
    assert output("metadata", TABLE).splitlines() == opened.metadata_tables
    table = opened.metadata_table("options", filter="key = 'bucket'").to_arrow()
    for name in ("options", "$options"):
        assert printed("metadata", TABLE, name, "--filter", "key = 'bucket'") == as_printed(table)


def test_show_is_one_screen_about_the_table():
    text = output("show", TABLE)
    for name in ("location", "snapshot", "manifests", "live files", "columns", "options"):
        assert name in text
    about = json.loads(output("show", TABLE, "-o", "json"))
    files = rows("files")
    assert about["files"] == {
        "count": len(files),
        "rows": sum(row["record_count"] for row in files),
        "bytes": sum(row["file_size_in_bytes"] for row in files),
    }
    assert about["manifests"]["count"] == len(rows("manifests"))
    assert about["snapshot"] == rows("snapshots")[-1]
    assert about["refs"] == {"branches": 1, "tags": 1}
    largest = [group["bytes"] for group in about["largest_partitions"]]
    assert largest == sorted(largest, reverse=True)


def test_avro_tells_what_is_in_a_file():
    text = output("avro", MANIFEST)
    for word in ("codec", "blocks", "_KIND"):
        assert word in text
    shown = printed("avro", MANIFEST, "--columns", "_KIND,_BUCKET")
    assert [set(row) for row in shown] == [{"_KIND", "_BUCKET"}] * len(shown)
    assert len(shown) == lakebed.avro.read(MANIFEST).to_arrow().num_rows


def test_the_version():
    assert lakebed.__version__ in output("--version")


@pytest.mark.parametrize(
    ("words", "exit_code"),
    [
        (("files", "/no/such/table"), 1),
        (("files", TABLE, "--snapshot", "1000000"), 1),
        (("files", TABLE, "--tag", "no_such"), 1),
        (("files", TABLE, "--branch", "no_such"), 1),
        (("files", TABLE, "--as-of", "1970-01-01"), 1),
        (("avro", "/no/such/file"), 1),
        (("files", TABLE, "--output-file", "/no/such/folder/rows"), 1),
        (("files", TABLE, "--columns", "no_such"), 2),
        (("files", TABLE, "--stats", "no_such"), 2),
        (("files", TABLE, "--where", "no_such = 1"), 2),
        (("files", TABLE, "--where", "bucket ="), 2),
        (("metadata", TABLE, "no_such"), 2),
        (("files", ICEBERG, *MOVED, "--where", "no_such = 1"), 2),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(words, exit_code):
    assert complaint(*words, code=exit_code).startswith("error: ")


@pytest.mark.parametrize(
    "words",
    [
        ("files",),
        ("nosuch",),
        ("--nosuch", "files"),
        ("files", TABLE, "--limit", "-1"),
        ("files", TABLE, "-o", "xml"),
        ("files", ICEBERG, "--relocate", "/new"),
        ("files", TABLE, "--as-of", "yesterday"),
        ("show", TABLE, "--tag", "a", "--snapshot", "1"),
    ],
)
def test_bad_usage_is_one_line_that_says_where_help_is(words):
    assert re.fullmatch(r"error: .*; see `lakebed.* --help`", complaint(*words, code=2))


def test_no_command_at_all_gets_the_help():
    result = run()
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: ")


@pytest.mark.parametrize("view", ["show", "avro", *PAIMON_VIEWS])
def test_a_pipe_gets_everything_in_plain_lines(view):
    text = output(view, MANIFEST if view == "avro" else TABLE)
    assert "\x1b" not in text
    assert "…" not in text
    assert [line for line in text.splitlines() if line != line.rstrip()] == []


def test_an_error_leaves_the_output_file_alone(sample_table: Path, tmp_path: Path):
    target = tmp_path / "rows.json"
    target.write_text("before")
    for manifest in (sample_table / "manifest").glob("manifest-[!l]*"):
        manifest.write_bytes(manifest.read_bytes()[:-1])
    assert run("entries", str(sample_table), "-o", "json", "--output-file", str(target)).exit_code == 1
    assert target.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.json", "sample_table"]


def test_a_closed_pipe_is_quiet():
    command = [sys.executable, "-c", "from lakebed.cli import main; main()", "entries", TABLE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141  # as of any tool that SIGPIPE ends


WIDTHS = (40, 80, 132)
# One process for all views and widths, with a form feed after what each of them prints.
ON_TERMINALS = f"""
import os, sys
from lakebed.cli import cli
views, table = sys.argv[1].split(","), sys.argv[2:]
for view in views:
    for width in {WIDTHS}:
        os.environ["COLUMNS"] = str(width)
        try:
            cli.main([view, *table], prog_name="lakebed")
        except SystemExit as end:
            assert not end.code, end
        for stream in (sys.stdout, sys.stderr):
            print(end="\\f", file=stream, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(
    ("views", "table"),
    [((*PAIMON_VIEWS, "show"), (TABLE,)), ((*ICEBERG_VIEWS, "show"), (ICEBERG, *MOVED))],
    ids=["Paimon", "Iceberg"],
)
def test_a_terminal_gets_what_fits_and_the_names_of_the_rest(views, table):
    import pty

    parent, child = pty.openpty()
    command = [sys.executable, "-c", ON_TERMINALS, ",".join(views), *table]
    environment = {**os.environ, "TERM": "xterm"}
    # A terminal holds few kilobytes that nobody has read.
    with ThreadPoolExecutor(1) as reader, os.fdopen(parent, "rb", 0) as terminal:
        read = reader.submit(read_to_end, terminal)
        process = subprocess.run(command, stdout=child, stderr=subprocess.PIPE, env=environment, check=False)
        os.close(child)
        texts = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", read.result().decode()).split("\f")
    assert process.returncode == 0, process.stderr
    # Behind the last form feed is nothing.
    assert len(texts) == len(views) * len(WIDTHS) + 1
    told = process.stderr.decode().split("\f")
    for (view, width), text, said in zip(product(views, WIDTHS), texts, told, strict=False):
        fits(view, table, width, text, said)


def read_to_end(terminal: io.FileIO) -> bytes:
    found = b""
    with suppress(OSError):  # how a terminal ends whose other side is closed
        while part := terminal.read(1 << 16):
            found += part
    return found


def fits(view: str, table: tuple[str, ...], width: int, text: str, said: str) -> None:
    # A word that is longer than the terminal, such as a path, is for the terminal to break.
    too_long = [line for line in text.splitlines() if len(line) > width]
    assert [line for line in too_long if not re.fullmatch(r"(\w+ +)?\s*\S+", line)] == []
    if view not in ("show", "health"):
        behind = r"(\nsmall: |\nin all |$)"
        named = re.search(rf"more columns?, --columns to choose: (.*?){behind}", said, re.DOTALL)
        hidden = named[1].replace("\n", " ").split(", ") if named else []
        shown = text.splitlines()[0].split()
        opened = lakebed.open_table(SAMPLE_TABLE) if table == (TABLE,) else sample_of("iceberg")
        names = getattr(opened, view)().schema.names
        assert sorted(shown + [name.strip() for name in hidden]) == sorted(names)
