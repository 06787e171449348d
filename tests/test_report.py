"""Reports: the numbers of the page against the views, its text, and what a browser makes of it."""

from __future__ import annotations

import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from command_line import output, run
from file_rows import file_rows

import lakebed
from lakebed import Table
from lakebed.reporting.numbers import SIZES, gather
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE

pytest.importorskip("matplotlib", reason="no matplotlib, which draws the pictures")
pytestmark = pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")

MIB = 1 << 20


class Page(HTMLParser):
    """A page's words, elements and what it asks for from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.elements: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        asked = [value for name, value in attrs if name in ("src", "href", "xlink:href") and value]
        self.links += [value for value in asked if not value.startswith("#")]

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())

    @property
    def text(self) -> str:
        return " ".join(word for word in self.words if word)


def made(folder: Path, regions: list[str], size: int = 40 * MIB, commits: int = 3) -> Table:
    """A table with a data file for each region in each commit; of every second one a small file."""
    schema = pa.schema([("id", pa.int64()), ("region", pa.utf8())])
    table = lakebed.create_table(folder, schema, "iceberg", partition_by=["region"])
    for commit in range(commits):
        paths = [f"data/{commit}-{number}.parquet" for number in range(len(regions))]
        sizes = pa.array([size if number % 2 else 1000 for number in range(len(regions))])
        partitions = pa.array([{"region": region} for region in regions])
        files = file_rows(*paths, record_count=10, file_size_in_bytes=sizes, partition=partitions)
        table = table.append_files(files)
    return table


@pytest.fixture(params=["paimon", "iceberg"])
def table(request: pytest.FixtureRequest) -> Table:
    if request.param == "paimon":
        return lakebed.open_table(SAMPLE_TABLE)
    return lakebed.open_table(SAMPLE_ICEBERG_TABLE, relocate=SAMPLE_MOVED)


def test_its_numbers_are_those_of_the_views(table: Table):
    numbers = gather(table, "t", 32 * MIB, None)
    files = table.files(columns=["content", "file_size_in_bytes"]).to_arrow().to_pylist()
    sizes = [file["file_size_in_bytes"] for file in files if file["content"] == 0]
    classes = [sum(size < bound for size in sizes) for bound in SIZES]
    assert numbers.sizes == [
        upper - lower for lower, upper in zip([0, *classes], [*classes, len(sizes)], strict=True)
    ]
    assert numbers.health == table.health().to_arrow().to_pylist()[0]
    partitions = table.partitions().to_arrow().to_pylist()
    assert len(numbers.partitions) == len(partitions)
    for name in ("file_count", "small_file_count", "record_count", "file_size_in_bytes"):
        assert sum(row[name] for row in numbers.partitions) == sum(row[name] for row in partitions)
    text = Page(lakebed.report(table)).text
    for column in ("file_count", "record_count", "snapshot_count", "manifest_count"):
        assert f"{numbers.health[column]:,}" in text


def test_a_page_needs_nothing_from_elsewhere(table: Table):
    text = lakebed.report(table)
    page = Page(text)
    assert not page.links
    assert not {"script", "link", "img", "iframe", "object"} & set(page.elements)
    assert "url(http" not in text
    assert "@import" not in text
    assert "#010203" not in text
    assert "prefers-color-scheme: dark" in text
    assert text == lakebed.report(table), "the same numbers, the same page"


def test_small_files_and_clustering_are_reported_by_partition(tmp_path: Path):
    table = made(tmp_path / "t", ["a", "b", "c", "d"])
    rows = {row["partition"]["region"]: row for row in table.partitions().to_arrow().to_pylist()}
    assert {region: row["small_file_count"] for region, row in rows.items()} == {
        "a": 3,
        "b": 0,
        "c": 3,
        "d": 0,
    }
    text = Page(lakebed.report(table)).text
    assert "Most small files: 2 partitions" in text
    assert "now 3.0 3 3" in text
    assert "after manifests are rewritten (estimate)" in text
    assert "6 of 12 data files are small, below 32 MiB" in text


def test_names_from_tables_are_escaped(tmp_path: Path):
    regions = ["<script>alert(1)</script>", "a & b", '"quoted"', "$x^2$", "tür\u202e"]
    page = Page(lakebed.report(made(tmp_path / "<b>t</b>", regions)))
    assert "script" not in page.elements
    assert (
        "b" not in [element for element in page.elements if element == "b"] or page.elements.count("b") == 0
    )
    assert "<script>alert(1)</script>" in page.text
    assert "a & b" in page.text
    assert "\u202e" not in page.text


def test_a_thousand_partitions_are_a_curve(tmp_path: Path):
    table = made(tmp_path / "t", [f"r{number:04}" for number in range(1000)], commits=2)
    text = lakebed.report(table)
    assert "Partitions: 1,000" in text
    assert "partitions, the largest first" in text
    assert len(text) < 3_000_000


def test_several_tables_begin_with_a_list_of_all(tmp_path: Path):
    tables = [made(tmp_path / name, ["x"]) for name in ("one", "two")]
    text = lakebed.report(
        [*tables, lakebed.create_table(tmp_path / "empty", pa.schema([("a", pa.int64())]), "iceberg")]
    )
    for number in range(3):
        assert text.count(f'href="#table-{number}"') == text.count(f'id="table-{number}"') == 1
    assert "no snapshot" in text


def test_the_command_writes_the_page(tmp_path: Path):
    file = tmp_path / "report.html"
    output("report", SAMPLE_TABLE, "-o", file)
    assert file.read_text("utf-8") == lakebed.report(lakebed.open_table(SAMPLE_TABLE))
    assert run("report", SAMPLE_TABLE).exit_code == 2
    with pytest.raises(OSError, match="nowhere"):
        lakebed.report([], tmp_path / "nowhere" / "x.html")


def test_a_browser_opens_it(tmp_path: Path):
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        pytest.skip("no chromium to open the page with")
    file = tmp_path / "report.html"
    lakebed.report(made(tmp_path / "t", ["a", "b", "c"]), file)
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]
    shot = tmp_path / "page.png"
    looked: Any = {"capture_output": True, "timeout": 120, "check": False}
    done = subprocess.run(
        [*command, f"--screenshot={shot}", "--window-size=390,2000", file.as_uri()], **looked
    )
    if not shot.is_file():
        pytest.skip(f"chromium does not run here: {done.stderr.decode(errors='replace')[-200:]}")
    assert shot.stat().st_size > 20_000
    dom = subprocess.run([*command, "--dump-dom", file.as_uri()], **looked).stdout.decode()
    assert dom.count("<svg") == 4
    assert "data files are small" in dom
