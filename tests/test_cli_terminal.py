"""What a terminal gets: columns that matter within 80 characters, in order, with totals; health upright."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import documents
import pyarrow as pa
import pytest
from command_line import MOVED, complaint, printed, run
from interpreters import ran
from pyarrow import parquet

import lakebed
from lakebed._text import wrapped
from lakebed.advice import TableName
from lakebed.cli import cli, openmetrics, render, views
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_TABLE

if TYPE_CHECKING:
    from click.testing import Result

TABLE, ICEBERG = str(SAMPLE_TABLE), str(SAMPLE_ICEBERG_TABLE)


@pytest.fixture
def terminal() -> Iterator[Any]:
    """Runs a command on a terminal of 80 columns, without colours: its standard output."""

    def shown(*words: str) -> Result:
        result = run(*words)
        # Commands to copy are not folded.
        assert max(len(line) for line in result.stdout.splitlines() if "`" not in line) <= 80
        return result

    with documents.terminal(80):
        yield shown


def test_files_show_their_size_and_the_end_of_their_path(terminal: Any) -> None:
    head, _, *rows = terminal("files", ICEBERG, *MOVED).stdout.splitlines()
    assert head.split() == ["partition", "record_count", "file_size_in_bytes", "file_path"]
    assert rows[0].split()[:4] == ["dt=2026-01-04/region=apac", "40", "2.5", "kB"]
    assert rows[0].rstrip().endswith("-00019.parquet")


@pytest.mark.parametrize(
    ("whole", "widths", "fitted"),
    [(set(), [100], [12]), ({0}, [30, 50], [12]), ({0}, [8, 50], [8]), (set(), [5, 3], [5, 3])],
)
def test_columns_are_no_wider_than_the_terminal(
    whole: set[int], widths: list[int], fitted: list[int]
) -> None:
    assert render._fitted(["a", "b"][: len(widths)], whole, widths, 12) == fitted


def test_schemas_show_their_fields(terminal: Any) -> None:
    shown = terminal("schemas", TABLE).stdout
    assert "id BIGINT, customer STRING" in shown


@pytest.mark.parametrize("view", ["partitions", "buckets"])
def test_sums_are_ordered_and_have_a_total(terminal: Any, view: str) -> None:
    *rows, total = terminal(view, TABLE).stdout.splitlines()[2:]
    sums = getattr(lakebed.open_table(TABLE), view)().to_arrow()
    sizes = sorted(sums["file_size_in_bytes"].to_pylist(), reverse=True)
    shown = [size for row in rows for size in re.findall(r"([\d.]+) kB", row)]
    assert shown == [f"{size / 1000:.1f}" for size in sizes]
    assert total.split()[0] == "total"
    assert f"{sum(sizes) / 1000:.1f} kB" in total
    # Of some rows alone nobody knows it.
    assert "total" not in terminal(view, TABLE, "--limit", "3").stdout


def test_partitions_show_their_small_files(terminal: Any) -> None:
    head, *_ = terminal("partitions", TABLE).stdout.splitlines()
    assert head.split()[:3] == ["partition", "file_count", "small_file_count"]


def test_the_column_that_sorts_is_the_first(terminal: Any) -> None:
    head, _, *_, total = terminal("partitions", TABLE, "--sort", "-delete_record_count").stdout.splitlines()
    assert head.split()[:3] == ["delete_record_count", "partition", "file_count"]
    assert total.split()[:3] == ["0", "total", "34"]
    head, *_ = terminal("files", TABLE, "--sort", "level,-bucket").stdout.splitlines()
    assert head.split()[:3] == ["level", "bucket", "partition"]
    # What was chosen is what is shown.
    head, *_ = terminal("files", TABLE, "--sort", "level", "--columns", "bucket").stdout.splitlines()
    assert head.split() == ["bucket"]


def test_nothing_is_broken_within_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    few_snapshots(monkeypatch)
    # As a pipe has them.
    piped = run("health", TABLE).stderr
    commands = re.findall("`[^`]*`", piped)
    with documents.terminal(80):
        shown = run("health", TABLE).stdout.partition("1 problem\n")[2]
    assert len(commands) == 2
    assert all(any(command in line for line in shown.splitlines()) for command in commands)
    assert re.sub("`[^`]*`", " ", f"{TABLE}: {shown}").split() == re.sub("`[^`]*`|;", " ", piped).split()
    # A word that is longer than the terminal is for the terminal to break.
    with documents.terminal(40):
        line = next(line for line in run("show", TABLE).stdout.splitlines() if TABLE in line)
    assert line.split() == ["location", TABLE]


@pytest.mark.parametrize("view", ["plan", "files"])
def test_steps_fit_the_terminal(view: str) -> None:
    words = (view, ICEBERG, *MOVED, "--where", "region = 'emea'", "--explain")
    whole = run(*words).stdout
    with documents.terminal(80):
        shown = run(*words).stdout
    head, first, *_ = shown.splitlines()
    assert re.split(r" {2,}", head) == ["step", "kept", "rows kept", "bytes kept", "why"]
    assert re.match(r"manifests +\d+ of \d+  1,5\d\d of 1,5\d\d  \d\d\.\d kB of \d\d\.\d kB  [a-z]", first)
    assert max(map(len, shown.splitlines())) <= 80 < max(map(len, whole.splitlines()))
    assert sorted(shown.split()) == sorted(whole.split())


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("one two three", ["one two", "three"]),
        ("extraordinary", ["extraordinary"]),
        ("a  b extraordinary c", ["a  b", "extraordinary", "c"]),
        ("run `lakebed show a b` now", ["run", "`lakebed show a b`", "now"]),
        ("an odd ` mark", ["an odd `", "mark"]),
        ("", [""]),
    ],
)
def test_lines_are_broken_between_words(text: str, lines: list[str]) -> None:
    assert wrapped(text, 8) == lines


def test_a_part_that_is_one_word_is_not_broken() -> None:
    assert wrapped("run `a `b c` d` now, `e f g`", 8, whole="`a `b c` d`") == [
        "run",
        "`a `b c` d`",
        "now,",
        "`e f g`",
    ]


@pytest.mark.parametrize("view", ["files", "reachable"])
def test_rows_of_files_have_a_total(terminal: Any, view: str) -> None:
    rows = getattr(lakebed.open_table(TABLE), view)().to_arrow()
    size = sum(size or 0 for size in rows["file_size_in_bytes"].to_pylist())
    assert terminal(view, TABLE).stderr.splitlines()[-1] == f"in all {len(rows)} rows, {size / 1000:.1f} kB"
    assert "in all" not in terminal(view, TABLE, "--limit", "3").stderr


def test_views_without_rows_say_so(terminal: Any) -> None:
    assert terminal("verify", TABLE).stderr.startswith("nothing is wrong\n")
    for view in ("files", "reachable"):
        assert terminal(view, TABLE, "--filter", "file_path = 'nowhere'").stderr.splitlines()[0] == "no rows"
        assert "in all" not in terminal(view, TABLE, "--filter", "file_path = 'nowhere'").stderr


def test_a_difference_says_what_it_comes_to(terminal: Any) -> None:
    changes = lakebed.open_table(TABLE).diff(4, 10).to_arrow().to_pylist()
    added = [row for row in changes if row["change"] == "added"]
    size, rows = (sum(row[name] for row in added) for name in ("file_size_in_bytes", "record_count"))
    said = " ".join(terminal("diff", TABLE, "4", "10").stderr.split())
    assert f"{len(added)} files added ({size / 1000:.1f} kB, {rows:,} rows)" in said


def test_health_stands_upright(terminal: Any) -> None:
    shown = terminal("health", ICEBERG, *MOVED).stdout.splitlines()
    shown += terminal("health", TABLE).stdout.splitlines()
    found = [line for line in shown if line in ("table", "data files", "deletes", "manifests")]
    assert found == ["table", "data files", "deletes", "manifests"] * 2
    words = [line.split() for line in shown]
    assert ["small_file_count", "34"] in words
    assert ["average_file_size_in_bytes", "2.3", "kB"] in words
    assert ["deleted_record_ratio", "1.3%"] in words


def few_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has more than nine of them count as a problem."""
    monkeypatch.setattr("lakebed.cli.thresholds.configured", lambda: [("lakebed.toml", {"snapshots": 9})])


def test_health_marks_problems(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    few_snapshots(monkeypatch)
    shown = terminal("health", TABLE).stdout
    assert ["snapshot_count", "10", "!"] in [line.split() for line in shown.splitlines()]
    assert "1 problem" in shown
    assert "sys.expire_snapshots" in " ".join(shown.split())
    about = json.loads(run("show", TABLE, "-o", "json").stdout)
    assert [finding["column"] for finding in about["findings"]] == ["snapshot_count"]
    assert "1 problem" in run("show", TABLE).stdout


def test_problems_are_those_of_the_table_whichever_columns_are_shown(
    terminal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_snapshots(monkeypatch)
    shown = " ".join(terminal("health", TABLE, "--columns", "file_count").stdout.split())
    assert "1 problem" in shown
    assert "sys.expire_snapshots" in shown
    assert f"lakebed expire-plan {TABLE}" in shown
    assert "manifest_count" not in shown


def test_commands_to_copy_open_the_table_in_the_same_way(
    terminal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_snapshots(monkeypatch)
    lines = terminal("health", TABLE, "--relocate", "/a=/b", "--format", "paimon").stdout.splitlines()
    command = f"`lakebed expire-plan {TABLE} --format paimon --relocate /a=/b --older-than "
    assert any(command in line for line in lines)


def test_problems_are_on_standard_error_where_rows_are_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    few_snapshots(monkeypatch)
    result = run("health", TABLE, "--columns", "file_count")
    assert result.stdout.split() == ["file_count", "34"]
    assert result.stderr.startswith(f"{TABLE}: snapshot_count: 10 snapshots")
    assert run("health", TABLE, "-o", "json").stderr == ""


def test_health_of_several_tables_is_a_row_each() -> None:
    rows = printed("health", TABLE, ICEBERG, *MOVED, "--columns", "location,file_count")
    assert rows == [{"location": TABLE, "file_count": 34}, {"location": ICEBERG, "file_count": 17}]


def test_a_table_of_several_that_is_not_there_is_a_line_and_the_exit_code() -> None:
    result = run("health", "/no/such/table", TABLE, "--columns", "file_count", "-o", "json")
    assert (result.exit_code, json.loads(result.stdout)) == (1, {"file_count": 34})
    assert result.stderr.startswith("error: /no/such/table: ")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        ("small_file_count > 33", "small_file_count is 34"),
        ("small_file_count > 34", None),
        ("format = 'paimon' and file_count = 34", "format is paimon, file_count is 34"),
    ],
)
def test_health_fails_if_a_condition_holds(condition: str, values: str | None) -> None:
    result = run("health", TABLE, "--columns", "file_count", "--fail-if", condition)
    assert (result.exit_code, result.stdout) == (1 if values else 0, "file_count\n34\n")
    assert result.stderr == (f"error: {TABLE}: {condition} ({values})\n" if values else "")


def test_a_condition_of_another_column_is_bad_usage() -> None:
    said = complaint("health", TABLE, ICEBERG, *MOVED, "--fail-if", "small_files > 1", code=2)
    assert "no column" in said


def test_health_for_prometheus() -> None:
    result = run("health", TABLE, ICEBERG, *MOVED, "-o", "openmetrics")
    lines = result.stdout.splitlines()
    assert lines[-1] == "# EOF"
    at = lines.index("# TYPE lakebed_table_file_size_in_bytes gauge")
    row = lakebed.open_table(TABLE).health().to_arrow().to_pylist()[0]
    assert lines[at + 1] == "# UNIT lakebed_table_file_size_in_bytes bytes"
    size = row["file_size_in_bytes"]
    named = f'namespace="examples",table="sample_table",location="{TABLE}"'
    assert lines[at + 2] == f'lakebed_table_file_size_in_bytes{{{named},format="paimon"}} {size}'
    assert f'location="{ICEBERG}"' in lines[at + 3]
    seconds = row["committed_at"].timestamp()
    assert f'lakebed_table_committed_at_timestamp_seconds{{{named},format="paimon"}} {seconds}' in lines
    assert f"lakebed_up{{{named}}} 1" in lines
    assert f'lakebed_findings{{{named},kind="snapshot_count"}} 0' in lines
    assert not any(line.startswith("lakebed_error{") for line in lines)


def test_a_table_that_cannot_be_read_stays_among_the_metrics() -> None:
    for tables in (["/no/such"], ["/no/such", TABLE]):
        result = run("health", *tables, "-o", "openmetrics")
        assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
        lines = result.stdout.splitlines()
        named = 'namespace="no",table="such",location="/no/such"'
        assert f"lakebed_up{{{named}}} 0" in lines
        assert f'lakebed_error{{{named},kind="table-not-found"}} 1' in lines
        assert not any(line.startswith(f"lakebed_findings{{{named}") for line in lines)
        assert len([line for line in lines if line.startswith("lakebed_up{")]) == len(tables)
        assert lines[-1] == "# EOF"


def test_findings_are_counted_by_kind_for_prometheus(monkeypatch: pytest.MonkeyPatch) -> None:
    few_snapshots(monkeypatch)
    lines = run("health", TABLE, "-o", "openmetrics").stdout.splitlines()
    found = {line[-1] for line in lines if line.startswith("lakebed_findings{") and "snapshot_count" in line}
    assert found == {"1"}
    assert len([line for line in lines if line.startswith("lakebed_findings{")]) == 11


def test_labels_of_metrics_are_escaped() -> None:
    row = pa.table({"location": ['a"b\\c\nd'], "format": ["paimon"], "file_count": [1]})
    measured = openmetrics.Measured(TableName(None, ("t",)), row=row)
    assert list(openmetrics.lines([measured]))[-2] == (
        'lakebed_table_file_count{table="t",location="a\\"b\\\\c\\nd",format="paimon"} 1'
    )


def test_rows_are_filtered_by_their_own_columns_sorted_and_limited() -> None:
    files = (
        lakebed.open_table(TABLE).files(columns=["file_size_in_bytes", "partition"]).to_arrow().to_pylist()
    )
    words = ("files", TABLE, "--columns", "partition,file_size_in_bytes")
    large = sorted((f["file_size_in_bytes"] for f in files if f["file_size_in_bytes"] > 2500), reverse=True)
    largest = ("--filter", "file_size_in_bytes > 2500", "--sort", "-file_size_in_bytes", "--limit", "5")
    assert [row["file_size_in_bytes"] for row in printed(*words, *largest)] == large[:5]
    assert len(printed(*words, "--filter", "file_size_in_bytes > 2.5kB", "--limit", "3")) == 3
    rows = printed(*words, "--sort", "partition,file_size_in_bytes")
    assert rows == sorted(rows, key=lambda row: (json.dumps(row["partition"]), row["file_size_in_bytes"]))
    assert len(rows) == len(files)


@pytest.mark.parametrize("limit", [(), ("--limit", "3")])
def test_rows_are_filtered_and_sorted_by_columns_that_are_not_printed(
    limit: tuple[str, ...], tmp_path: Path
) -> None:
    files = lakebed.open_table(TABLE).files().to_arrow().to_pylist()
    large = sorted((f for f in files if f["file_size_in_bytes"] > 2500), key=lambda f: f["file_path"])
    words = ("files", TABLE, "--filter", "file_size_in_bytes > 2500", *limit)
    wanted = [{"record_count": f["record_count"]} for f in large]
    shown = printed(*words, "--columns", "record_count", "--sort", "file_path")
    assert shown == (wanted[:3] if limit else wanted)
    run(*words, "--columns", "file_path", "-o", "parquet", "--output-file", str(tmp_path / "files.parquet"))
    written = parquet.read_table(tmp_path / "files.parquet")
    assert written.schema.names == ["file_path"]
    assert len(written) == (3 if limit else len(large))


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("files", TABLE, "--columns", "file_pth"), 'did you mean "file_path"?'),
        (("files", TABLE, "--where", "regio = 'emea'"), 'did you mean "region"?'),
        (("files", TABLE, "--filter", "file_size > 1"), 'did you mean "file_size_in_bytes"?'),
        (("files", TABLE, "--sort", "-file_size_in_byte"), "did you mean 'file_size_in_bytes'?"),
        (("file", TABLE), "did you mean `lakebed files`? See"),
        ((TABLE,), f"did you mean `lakebed show {TABLE}`?"),
        (("files", TABLE, "--columns", "region"), "values of the table's columns are in partition"),
        (
            ("files", TABLE, "--where", "file_size_in_bytes > 1"),
            "the view has such a column: filter tests it",
        ),
        (("files", TABLE, "--filter", "content = 'data'"), "content is 0 (data), 1 (position deletes)"),
        (
            ("files", TABLE, "--columns", "bucket", "--filter", "file_siz > 1"),
            'did you mean "file_size_in_bytes"?',
        ),
        (("files", ICEBERG, *MOVED, "--where", "year(ordered_at) = 2026"), "the year 2026 is 56"),
        (("files", TABLE, "--filter", "dt = '2026-01-02'"), "the table has such a column: where tests it"),
        (("files", TABLE, "--where", "dt = 2026-01-02"), "dates are in quotes"),
        (("partitions", TABLE, "--small-bytes", "1 XB"), "not a size such as"),
        (("snapshots", TABLE, "--where", "snapshot_id = 1"), "--filter tests the columns of this output"),
    ],
)
def test_slips_are_answered_with_what_may_be_meant(words: tuple[str, ...], meant: str) -> None:
    assert meant in complaint(*words, code=2)


@pytest.mark.parametrize("command", ["show", "files", "health"])
def test_what_is_there_instead_of_a_table_is_said(command: str, tmp_path: Path) -> None:
    places = {
        f"{TABLE}/manifest": f"a folder of the table {TABLE}",
        str(min(SAMPLE_TABLE.glob("snapshot/snapshot-*"))): "is a file",
        f"{TABLE}/nowhere": f"there is no folder {TABLE}/nowhere\n",
        "db.orders": "there is no folder db.orders; for a table of a catalog: --catalog NAME",
        str(tmp_path): "there is no schema/schema-N below it",
    }
    if command != "health":
        # Which is of all tables there.
        places[str(SAMPLE_TABLE.parent)] = f"tables below it: {SAMPLE_ICEBERG_TABLE}, {SAMPLE_TABLE}"
    for place, said in places.items():
        assert said in f"{complaint(command, place)}\n"


@pytest.mark.parametrize("words", [(), ("--format", "iceberg")])
def test_a_table_whose_metadata_cannot_be_chosen_is_not_called_none(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """There may be tables below it all the same."""
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "first.metadata.json").write_bytes(b"{}")
    (tmp_path / "inner" / "schema").mkdir(parents=True)
    (tmp_path / "inner" / "schema" / "schema-0").write_bytes(b"{}")
    said = complaint("files", str(tmp_path), *words)
    assert "first.metadata.json" in said
    assert "open the file itself" in said


def test_a_wrong_path_above_many_folders_is_answered_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[str] = []
    scandir = os.scandir

    def counted(path: Any) -> Any:
        looked.append(str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", counted)
    monkeypatch.setattr("lakebed._not_found._FOLDERS", 20)
    for number in range(30):
        (tmp_path / f"{number:02}" / "inner" / "innermost").mkdir(parents=True)
    result = run("files", str(tmp_path))
    assert "there is no schema/schema-N below it" in result.stderr
    assert len([path for path in looked if path.startswith(str(tmp_path)) and "schema" not in path]) <= 60


def test_what_is_not_installed_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyiceberg.catalog", None)
    assert "pip install 'lakebed[catalogs]'" in complaint("files", "--catalog", "lake", "db.orders")


def test_a_moved_table_is_an_error_that_says_how() -> None:
    assert f"--relocate /tmp/lakebed/shop/orders={ICEBERG}" in complaint("files", ICEBERG)
    gone = complaint("files", ICEBERG, "--relocate", "/tmp/lakebed/shop/orders=/no/such/folder")
    assert "--relocate" not in gone


def test_every_command_has_a_group_in_the_help() -> None:
    shown = run("--help").stdout
    assert {line.split()[0] for line in shown.splitlines() if line.startswith("  ")} >= set(cli.commands)
    assert all(cli.commands[name].name == name for name in cli.commands)
    assert {views.command_of(view) for view in views.VIEWS} < set(cli.commands)
    assert "_LAKEBED_COMPLETE=bash_source" in shown


def test_the_package_is_the_command() -> None:
    done = ran("-m", "lakebed", "refs", TABLE, "-o", "json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == run("refs", TABLE, "-o", "json").stdout


def test_completion_knows_commands_and_options() -> None:
    asked = {"_LAKEBED_COMPLETE": "bash_complete", "COMP_WORDS": "lakebed fi", "COMP_CWORD": "1"}
    done = ran("-m", "lakebed", environment=asked)
    assert set(done.stdout.split()) == {"plain,find", "plain,file-history", "plain,files"}


def test_an_interrupt_is_no_traceback() -> None:
    code = """
import builtins
from lakebed import __main__
imported = builtins.__import__
def interrupted(name, *rest):
    if name == "click":
        raise KeyboardInterrupt
    return imported(name, *rest)
builtins.__import__ = interrupted
__main__.main()
"""
    done = ran("-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    code = """
import lakebed
from lakebed.__main__ import main
def interrupted(*_arguments, **_keywords):
    raise KeyboardInterrupt
lakebed.open_table = interrupted
main()
"""
    done = ran("-c", code, "files", TABLE)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
