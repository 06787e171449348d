"""Reports: the numbers of the page against the views, its text, and what a browser makes of it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from datetime import datetime, timedelta, timezone
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from command_line import output, run
from file_rows import file_rows

import lakebed
from lakebed import Table
from lakebed.advice.thresholds import size_of
from lakebed.errors import TableNotFoundError
from lakebed.reporting import numbers as gathering
from lakebed.reporting.numbers import SIZES, ReportOptions, Target, gather
from shared_data import SAMPLE_TABLE

pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

MIB = 1 << 20
NOW = datetime(2026, 11, 27, 22, 40, tzinfo=timezone.utc)
VOID = {"meta", "line", "rect", "path", "circle", "br"}


class Page(HTMLParser):
    """A page's words, elements and what it asks for from elsewhere. What is not closed is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.elements: list[str] = []
        self.links: list[str] = []
        self.open: list[str] = []
        # Where a name may be broken is no word's end.
        self.feed(text.replace("<wbr>", ""))
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not (tag in VOID and (self.get_starttag_text() or "").endswith(("/>", "br>"))) and tag != "meta":
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        asked = [value for name, value in attrs if name in ("src", "href", "xlink:href") and value]
        self.links += [value for value in asked if not value.startswith("#")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())

    @property
    def text(self) -> str:
        return " ".join(word for word in self.words if word)


def page_of(tables: Any, **asked: Any) -> Page:
    return Page(lakebed.report(tables, now=NOW, **asked))


def pictures_of(text: str) -> list[ElementTree.Element]:
    """The pictures of a page, each a whole document."""
    found = []
    for begin in re.finditer('<svg role="img"', text):
        depth = 0
        for tag in re.finditer(r"<(/?)svg\b", text[begin.start() :]):
            depth += -1 if tag[1] else 1
            if depth == 0:
                found.append(text[begin.start() : begin.start() + tag.end() + 1])
                break
    return [ElementTree.fromstring(one) for one in found]


def made(
    folder: Path, regions: list[str], size: int = 40 * MIB, commits: int = 3, options: Any = None
) -> Table:
    """A table with a data file for each region in each commit; of every second one a small file."""
    schema = pa.schema([("id", pa.int64()), ("region", pa.utf8())])
    table = lakebed.create_table(folder, schema, "iceberg", partition_by=["region"], properties=options or {})
    for commit in range(commits):
        paths = [f"data/{commit}-{number}.parquet" for number in range(len(regions))]
        sizes = pa.array([size if number % 2 else 1000 for number in range(len(regions))])
        partitions = pa.array([{"region": region} for region in regions])
        files = file_rows(*paths, record_count=10, file_size_in_bytes=sizes, partition=partitions)
        table = table.append_files(files)
    return table


def test_its_numbers_are_those_of_the_views(sample: Table) -> None:
    numbers = gather(sample, ReportOptions())
    files = sample.files(columns=["content", "file_size_in_bytes"]).to_arrow().to_pylist()
    sizes = [file["file_size_in_bytes"] for file in files if file["content"] == 0]
    classes = [sum(size < bound for size in sizes) for bound in SIZES]
    assert numbers.sizes == [
        upper - lower for lower, upper in zip([0, *classes], [*classes, len(sizes)], strict=True)
    ]
    assert numbers.health == sample.health().to_arrow().to_pylist()[0]
    partitions = sample.partitions().to_arrow().to_pylist()
    assert len(numbers.partitions) == len(partitions)
    for name in ("file_count", "small_file_count", "record_count", "file_size_in_bytes"):
        assert sum(row[name] for row in numbers.partitions) == sum(row[name] for row in partitions)
    assert numbers.storage.kinds == sample.totals().to_arrow().to_pylist()
    assert [one.snapshot_id for one in numbers.snapshots] == sample.snapshots().to_arrow()[
        "snapshot_id"
    ].to_pylist()
    text = page_of(sample).text
    for column in ("file_count", "record_count", "snapshot_count", "manifest_count"):
        assert f"{numbers.health[column]:,}" in text


def test_a_page_needs_nothing_from_elsewhere(sample: Table) -> None:
    text = lakebed.report(sample, now=NOW)
    page = Page(text)
    assert not page.links
    assert not {"script", "link", "img", "iframe", "object"} & set(page.elements)
    assert "default-src 'none'; style-src 'unsafe-inline'" in text
    assert "url(" not in text
    assert "@import" not in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert text == lakebed.report(sample, now=NOW), "the same numbers, the same page"


def test_pictures_are_whole_and_told_to_those_who_do_not_see_them(sample: Table) -> None:
    text = lakebed.report(sample, now=NOW)
    pictures = pictures_of(text)
    assert len(pictures) == text.count('<svg role="img"') >= 5
    for picture in pictures:
        assert any(char.isdigit() for char in picture.attrib["aria-label"])
        assert picture.attrib["width"] == "100%"
        # Colours are the style sheet's alone: light, dark and print.
        assert not any(
            {"fill", "stroke", "style", "font-family"} & set(part.attrib) for part in picture.iter()
        )
        assert any(part.tag == "title" and part.text for part in picture.iter()), "tooltips"
        classes = [part.attrib.get("class") for part in picture.iter()]
        assert "tick" not in classes or classes.count("unit") == 1, "what the axis shows"
    assert text.count('scope="row"') > 5


def test_the_head_says_what_it_is_and_when(tmp_path: Path) -> None:
    table = made(tmp_path / "shop.db" / "orders", ["x"])
    page = page_of(table)
    assert page.text.count("shop.orders") >= 2, "in the title and above"
    assert f"Made on 27 Nov 2026, 22:40 UTC by lakebed {lakebed.__version__}" in page.text
    assert f"Iceberg table, format version 2, at snapshot {table.snapshot_id}, committed 20" in page.text
    assert str(tmp_path) in page.text
    # The same instant in another zone, and by this machine's clock.
    for now in (NOW.astimezone(timezone(timedelta(hours=5))), NOW.astimezone().replace(tzinfo=None)):
        assert lakebed.report(table, now=now) == lakebed.report(table, now=NOW)


def test_a_table_of_a_catalog_is_called_as_there(tmp_path: Path) -> None:
    pytest.importorskip("pyiceberg.catalog.sql")
    from catalog_tables import orders, sqlite

    page = page_of(lakebed.open_table(orders(sqlite(tmp_path))))
    assert page.text.startswith("db.orders, 27 Nov 2026")
    assert "Iceberg table in the catalog lake, format version 2, at snapshot" in page.text


def storage_of(page: Page) -> dict[str, tuple[str, str]]:
    """Bytes and files of each kind."""
    words = [word for word in page.words if word]
    rows = iter(words[words.index("Storage by kind") + 5 :])
    return {
        kind: (size, files)
        for kind, size, _, files in zip(rows, rows, rows, rows, strict=False)
        if kind.startswith(("live ", "older ", "orphans,"))
    }


def test_storage_is_told_by_kind(tmp_path: Path) -> None:
    table = made(tmp_path / "t", ["a", "b"])
    gone = table.files(columns=["file_path"], limit=1).to_arrow()["file_path"].to_pylist()
    table = table.delete_files(gone)
    orphan = tmp_path / "t" / "data" / "orphan.parquet"
    orphan.parent.mkdir(exist_ok=True)
    orphan.write_bytes(b"x" * 12_345)
    os.utime(orphan, (0, 0))
    live = table.health().to_arrow().to_pylist()[0]
    page = page_of(table)
    told = storage_of(page)
    assert told["live data"][1] == f"{live['file_count']:,}"
    assert "orphans, older than 3 days" not in told
    assert "orphans=True" in page.text
    kinds = table.totals(orphans=True).to_arrow().to_pylist()
    older = sum(kind["older_file_count"] for kind in kinds)
    assert told["older snapshots, tags or branches only"][1] == f"{older:,}"
    assert storage_of(page_of(table, orphans=True))["orphans, older than 3 days"] == ("12.3 kB", "1")


def test_totals_are_left_out_where_they_cost_much(sample: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathering, "MOST_MANIFEST_BYTES", 1000)
    page = page_of(sample)
    assert "Left out, for the manifests of all snapshots have" in page.text
    assert "totals=True or --totals reads them" in page.text
    assert "live data" in storage_of(page_of(sample, totals=True))
    assert "Left out, as was asked for." in page_of(sample, totals=False).text


def test_orphans_that_cannot_be_told_are_a_note(tmp_path: Path) -> None:
    page = page_of(made(tmp_path / "t", ["a"], options={"gc.enabled": "false"}), orphans=True)
    assert "Orphans are not known: unsupported:" in page.text
    assert storage_of(page)["live data"][1] == "3"


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({}, 512 * MIB),
        ({"write.target-file-size-bytes": "1000000"}, 10**6),
        ({"write.target-file-size-bytes": "1 mb"}, None),
    ],
)
def test_the_target_of_sizes_is_the_tables_own(
    tmp_path: Path, options: dict[str, str], size: int | None
) -> None:
    table = made(tmp_path / "t", ["a", "b"], options=options)
    assert gather(table, ReportOptions()).target.size == size
    text = page_of(table).text
    assert ("target 512 MiB" in text) == (not options)
    assert ("The target is none, for write.target-file-size-bytes is no size." in text) == (size is None)


def test_the_target_of_paimon_depends_on_keys(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])

    def target(name: str, **more: Any) -> Target:
        return gather(lakebed.create_table(tmp_path / name, schema, "paimon", **more), ReportOptions()).target

    assert target("append", properties={"bucket": "-1"}).size == 256 * MIB
    assert target("keys", primary_key=["id"], properties={"bucket": "1"}).size == 128 * MIB
    assert target("own", properties={"bucket": "-1", "target-file-size": "64 mb"}).size == 64 * MIB


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("128 mb", 128 * MIB),
        ("1024", 1024),
        ("2KB", 2048),
        ("3 gibibytes", 3 << 30),
        (" 1 b ", 1),
        ("0", None),
    ]
    + [(text, None) for text in ("", "mb", "1.5 mb", "8 parsecs", "9" * 30, "\u0661 mb")],
)
def test_sizes_of_options_have_units_of_1024(text: str, size: int | None) -> None:
    assert size_of(text) == size


def test_small_files_and_clustering_are_reported_by_partition(tmp_path: Path) -> None:
    table = made(tmp_path / "t", [f"r{number:02}" for number in range(12)])
    rows = {row["partition"]["region"]: row for row in table.partitions().to_arrow().to_pylist()}
    assert {rows[f"r{number:02}"]["small_file_count"] for number in (0, 2, 10)} == {3}
    text = page_of(table).text
    assert "Most small files: 6 partitions" in text
    assert "now 3.0 3 3" in text
    assert "after manifests are rewritten (estimate)" in text
    assert "18 of 36 data files are small, below 32 MiB" in text


def test_names_from_tables_are_escaped(tmp_path: Path) -> None:
    regions = ["<script>alert(1)</script>", "a & b", '"quoted"', "$x^2$", "tür\u202e", *map(str, range(9))]
    text = lakebed.report(made(tmp_path / "<i>t</i>", regions), now=NOW)
    page = Page(text)
    assert not {"script", "em"} & set(page.elements)
    assert "<i>t</i>" in page.text
    assert "<script>alert(1)</script>" in page.text
    assert "a & b" in page.text
    assert "\u202e" not in page.text
    assert pictures_of(text)


def test_names_are_broken_between_their_parts(tmp_path: Path) -> None:
    tables = [made(tmp_path / "shop.db" / name, ["emea_north"]) for name in ("eq_deletes_v2", "orders")]
    page = lakebed.report(tables, now=NOW)
    for text in ('">shop.<wbr>eq_<wbr>deletes_<wbr>v2</a>', "<h2>shop.<wbr>orders</h2>"):
        assert text in page
    assert '<th scope="row">region=<wbr>emea_<wbr>north</th>' in lakebed.report(
        made(tmp_path / "t", ["emea_north", "apac"])
    )


def test_a_thousand_partitions_are_a_picture(tmp_path: Path) -> None:
    table = made(tmp_path / "t", [f"r{number:04}" for number in range(1000)], commits=2)
    text = lakebed.report(table, now=NOW)
    assert "Partitions: 1,000" in text
    assert "partitions, the one with most bytes first" in text
    assert len(text) < 300_000


def test_several_tables_begin_with_a_list_of_all(tmp_path: Path) -> None:
    tables = [made(tmp_path / name, ["x"]) for name in ("one", "two")]
    empty = lakebed.create_table(tmp_path / "empty", pa.schema([("a", pa.int64())]), "iceberg")
    text = lakebed.report([*tables, empty], now=NOW)
    for number in range(3):
        assert text.count(f'href="#table-{number}"') == text.count(f'id="table-{number}"') == 1
    assert "Report of 3 tables" in text
    assert "without a snapshot" in text
    assert "Report of 0 tables" in page_of([]).text


def test_a_table_that_cannot_be_read_is_a_line_with_its_error(tmp_path: Path) -> None:
    good = made(tmp_path / "good", ["x"])
    damaged = made(tmp_path / "damaged", ["x"])
    manifest = damaged.manifests(columns=["path"]).to_arrow()["path"][0].as_py()
    Path(manifest).write_bytes(b"Obj\x01")
    secret = "s3://AKIA:hunter2hunter2@b!/t"
    text = lakebed.report([str(tmp_path / "none"), damaged, good, secret, tmp_path / "good"], now=NOW)
    page = Page(text)
    assert f"{tmp_path / 'none'}: not read table-not-found: there is no folder" in page.text
    assert f"{damaged.location}: not read truncated: " in page.text
    assert text.count("<section ") == text.count('href="#table-') == 2
    assert "hunter2" not in text
    assert "3 not read" in page.text
    with pytest.raises(TableNotFoundError):
        lakebed.report(tmp_path / "none")
    with pytest.raises(TypeError):
        lakebed.report([good, 3])  # type: ignore[list-item]


def undated(text: str) -> str:
    return re.sub(r"(?<=Made on ).*?(?= by)|(?<=, )\d+ \w+ \d+(?=</title>)", "", text)


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    output("report", SAMPLE_TABLE, "-o", file)
    assert undated(file.read_text("utf-8")) == undated(lakebed.report(SAMPLE_TABLE))
    output("report", SAMPLE_TABLE, "--orphans", "--totals", "-o", file)
    assert "orphans, older than 3 days" in file.read_text("utf-8")
    assert run("report", SAMPLE_TABLE).exit_code == 2
    with pytest.raises(OSError, match="nowhere"):
        lakebed.report([], tmp_path / "nowhere" / "x.html")


def test_its_calls_are_those_of_an_engine(tmp_path: Path) -> None:
    table = made(tmp_path / "t", ["a"], commits=6)
    findings = table.health().findings()
    for engine in ("spark", "trino", "flink"):
        text = page_of(table, engine=engine).text
        calls = [call for one in findings for call in one["calls"][engine]]
        assert calls
        assert all(call in text for call in calls), engine
    done = run("report", table.location, "--engine", "trino", "-o", tmp_path / "report.html")
    assert (done.exit_code, done.output) == (0, "")
    assert "EXECUTE optimize" in (tmp_path / "report.html").read_text("utf-8")
    with pytest.raises(ValueError, match="engine is one of 'spark', 'trino', 'flink', 'python', not 'hive'"):
        lakebed.report(table, engine="hive")


def test_the_commands_that_it_advises_open_the_table_as_it_was_opened(tmp_path: Path) -> None:
    table, file = made(tmp_path / "t", ["a"], commits=4), tmp_path / "report.html"
    output("report", table.location, "--branch", "main", "-o", file)
    assert f"lakebed partitions {table.location} --branch main --sort" in file.read_text("utf-8")
    assert f"lakebed partitions {table.location} --sort" in lakebed.report(table)


def test_headings_are_a_list_of_contents(sample: Table) -> None:
    for given in (sample, [sample, sample]):
        levels = [int(level) for level in re.findall(r"<h(\d)>", lakebed.report(given, now=NOW))]
        assert levels[0] == 1
        assert all(level <= before + 1 for before, level in pairwise(levels))


def test_the_command_writes_a_page_though_a_table_cannot_be_read(tmp_path: Path) -> None:
    file, none = tmp_path / "report.html", tmp_path / "none"
    result = run("report", none, SAMPLE_TABLE, "-o", file)
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [f"error: {none}: table-not-found: there is no folder {none}"]
    assert f"{none}: not read" in Page(file.read_text("utf-8")).text
    file.unlink()
    assert run("report", none, "-o", file).exit_code == 1
    assert not file.exists()


def test_a_browser_opens_it(tmp_path: Path) -> None:
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no chromium to open the page with")
    file = tmp_path / "report.html"
    text = lakebed.report(made(tmp_path / "t", [f"r{number}" for number in range(12)]), file)
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", profile]
    shot = tmp_path / "page.png"
    looked: Any = {"capture_output": True, "timeout": 120, "check": False}
    done = subprocess.run(
        [*command, f"--screenshot={shot}", "--window-size=390,2000", file.as_uri()], **looked
    )
    if not shot.is_file():
        pytest.skip(f"chromium does not run here: {done.stderr.decode(errors='replace')[-200:]}")
    assert shot.stat().st_size > 20_000
    dom = subprocess.run([*command, "--dump-dom", file.as_uri()], **looked).stdout.decode()
    assert dom.count('<svg role="img"') == text.count('<svg role="img"') == 7
    assert "data files are small" in dom
