"""What data holds does not steer a terminal: control characters are shown as text wherever people read."""

from __future__ import annotations

import io
import re
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from command_line import output, printed
from file_rows import file_rows
from json_files import edited

import lakebed
from lakebed import _notes
from lakebed.errors import CorruptError, LakebedWarning, PredicateError, SchemaError

# Colour, a line end, a mark that turns the direction of what follows, and the eight-bit form of ESC [.
EVIL = "a\x1b[31m\nb\u202ec\x9bd"
SHOWN = r"a\x1b[31m\nb\u202ec\x9bd"
# Of control characters a folder's name may have those that Paimon escapes: less than a terminal needs.
PARTITION = EVIL.replace("\x9b", "")
FOLDER = "a%1B%5B31m%0Ab\u202ecd"
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@pytest.fixture
def table(tmp_path: Path) -> lakebed.Table:
    """Its columns, the partition of its file, its option and comment are all named so."""
    schema = pa.schema([(EVIL, pa.string()), (PARTITION, pa.string()), ("id", pa.int64())])
    made = lakebed.create_table(
        tmp_path / "t", schema, "paimon", partition_by=[PARTITION], properties={"note": EVIL}, comment=EVIL
    )
    partition = pa.array([{PARTITION: PARTITION}], pa.struct([(PARTITION, pa.string())]))
    return made.append_files(file_rows(f"{FOLDER}={FOLDER}/bucket-0/f.parquet", partition=partition))


@pytest.mark.parametrize(
    "command",
    [["show"], ["schemas"], ["files"], ["partitions"], ["snapshots"], ["metadata"], ["metadata", "options"]],
)
def test_a_command_prints_nothing_that_steers(command: list[str], table: lakebed.Table) -> None:
    verb, *rest = command
    text = output(verb, table.location, *rest)
    assert not STEERING.search(text)
    if verb in ("files", "partitions"):
        # A struct is JSON in a cell.
        assert r"a\u001b[31m\nb\u202ec" in text
    if verb in ("show", "schemas") or rest == ["options"]:
        assert SHOWN in text


def test_programs_get_the_data(table: lakebed.Table) -> None:
    assert [row["value"] for row in printed("metadata", table.location, "options")] == [EVIL]
    assert EVIL in output("metadata", table.location, "options", "-o", "csv")


def test_a_table_on_a_terminal_has_its_headings_spelled_out(
    table: lakebed.Table, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from lakebed.cli import render

    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    render.terminal_table(pa.table({EVIL: [EVIL]}), None)
    printed = capsys.readouterr().out
    assert not STEERING.search(printed)
    assert printed.count(SHOWN) == 2


def test_errors_and_warnings_are_spelled_out() -> None:
    error = CorruptError(EVIL, kind="mismatch", path=EVIL)
    assert (str(error), error.path) == (SHOWN, EVIL)
    # The caret of a filter stands below the text.
    assert str(PredicateError("x =\n    ^\x1b", kind="predicate")) == "x =\n    ^\\x1b"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LakebedWarning)
        _notes.warn([EVIL])
    assert [str(one.message) for one in caught] == [SHOWN]


def test_what_the_core_raises_is_spelled_out(tmp_path: Path) -> None:
    with pytest.raises(lakebed.LakebedError) as caught:
        lakebed.open_table(tmp_path / EVIL)
    assert not STEERING.search(str(caught.value))
    with pytest.raises(lakebed.LakebedError) as caught:
        lakebed.avro.read(io.BytesIO(b"Obj\x01" + EVIL.encode())).to_arrow()
    assert not STEERING.search(str(caught.value))


def test_what_prints_itself_is_spelled_out(table: lakebed.Table) -> None:
    for scan in (table.files(), table.schemas(), table.partitions()):
        assert not STEERING.search(repr(scan))
        assert not STEERING.search(scan._repr_html_())
    assert not STEERING.search(repr(table) + table._repr_html_())
    assert not STEERING.search(str(table.files().explain()))


def test_summaries_and_names_of_refs_of_iceberg_are_spelled_out(tmp_path: Path) -> None:
    made = lakebed.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), "iceberg")
    options = lakebed.CommitOptions(properties={EVIL: EVIL})
    made = made.append_files(file_rows("data/f.parquet"), options=options)
    with edited(Path(made.location) / "metadata" / "v2.metadata.json") as metadata:
        head = {"snapshot-id": metadata["current-snapshot-id"]}
        metadata["refs"] |= {EVIL + kind: {**head, "type": kind} for kind in ("tag", "branch")}
    printed_plainly(made.location, [["refs"], ["snapshots", "--columns", "summary"]])
    with pytest.raises(lakebed.LakebedError) as caught:
        lakebed.open_table(made.location).at(tag=EVIL)
    assert not STEERING.search(str(caught.value))


def test_summaries_and_names_of_refs_of_paimon_are_spelled_out(table: lakebed.Table) -> None:
    with pytest.raises(SchemaError, match="not the name of a tag") as refused:
        table.create_tag(EVIL)
    assert not STEERING.search(str(refused.value))
    # Other writers may be less strict, but a file whose name has control characters is no tag.
    folder = Path(table.location)
    (folder / "tag").mkdir()
    (folder / "tag" / "tag-a\u202eb").write_bytes((folder / "snapshot" / "snapshot-1").read_bytes())
    printed_plainly(table.location, [["refs"]])
    with pytest.raises(lakebed.LakebedError) as caught:
        lakebed.open_table(table.location).at(tag="b" + EVIL)
    assert not STEERING.search(str(caught.value))


def printed_plainly(location: str, commands: list[list[str]]) -> None:
    """Every command prints the name or value of data spelled out, where it prints it."""
    for verb, *rest in [*commands, ["show"]]:
        text = output(verb, location, *rest)
        assert not STEERING.search(text), (verb, text)
        if verb != "show":
            assert r"\u202e" in text, (verb, text)


def test_errors_of_a_c_stream_are_spelled_out_in_the_core(tmp_path: Path) -> None:
    """pyarrow raises them, as the stream tells it, without a class of lakebed."""
    file = tmp_path / EVIL
    lakebed.avro.write(pa.table({"id": range(100_000)}), file, block_bytes=1000)
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size - 7)
    scan = lakebed.avro.read(file)
    with pytest.raises(pa.ArrowInvalid, match=r"ends|sync|early") as caught:
        pa.RecordBatchReader.from_stream(scan).read_all()
    assert EVIL not in str(caught.value)
    assert not STEERING.search(str(caught.value)), str(caught.value)
