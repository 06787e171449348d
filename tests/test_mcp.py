"""What an assistant is answered by `lakebed mcp`, asked by the SDK's own client over stdio."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import covering
import pytest
from command_line import MOVED, moved, output, printed
from interpreters import ran
from trust import QUICK, not_in_check

import lakebed
from iceberg_golden import golden_iceberg_tables
from lakebed._values import to_records
from lakebed.cli.mcp import command
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_TABLE, golden_paimon_tables

mcp = pytest.importorskip("mcp")

TABLE, ICEBERG = str(SAMPLE_TABLE), str(SAMPLE_ICEBERG_TABLE)
TOOLS = {"find", "show", "health", "files", "plan", "diff", "expire_plan"}
Call = tuple[str, dict[str, Any]]


def asked(words: Sequence[str], calls: Sequence[Call], **environment: str) -> list[Any]:
    """What a server that is started with these words answers to each call, over standard input and output."""
    from mcp.client.stdio import stdio_client

    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "lakebed", "mcp", *words], env={**os.environ, **environment}
    )
    return asyncio.run(_asked(stdio_client(server), calls))


def asked_here(words: Sequence[str], calls: Sequence[Call]) -> list[Any]:
    """The same of a server in this process, which starts sooner."""
    from lakebed.mcp.roots import Roots
    from lakebed.mcp.server import server

    given = command.make_context("mcp", list(words)).params
    roots = Roots.of(given["roots"], given["catalogs"], given["relocate"])
    return asyncio.run(_asked(server(roots, given["rows"]), calls))


async def _asked(server: Any, calls: Sequence[Call]) -> list[Any]:
    async with mcp.Client(server) as client:
        return [await client.call_tool(name, arguments) for name, arguments in calls]


def answers(
    words: Sequence[str], *calls: Call, ask: Any = asked_here, **environment: str
) -> list[dict[str, Any]]:
    """What it answers, none of which is an error."""
    results = ask(words, calls, **environment)
    assert [result.structured_content for result in results if result.is_error] == []
    assert [json.loads(result.content[0].text) for result in results] == [
        result.structured_content for result in results
    ]
    return [result.structured_content for result in results]


def errors(
    words: Sequence[str], *calls: Call, ask: Any = asked_here, **environment: str
) -> list[dict[str, Any]]:
    """The errors that it answers, all of them."""
    results = ask(words, calls, **environment)
    assert all(result.is_error for result in results)
    return [result.structured_content["error"] for result in results]


def call(tool: str, table: object = None, **arguments: Any) -> Call:
    return tool, arguments if table is None else {"table": str(table), **arguments}


def contents(folder: Path) -> dict[str, tuple[int, str]]:
    """Each file below a folder, when it was modified, and a hash of it."""
    return {
        str(path): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_the_tools_say_that_they_only_read() -> None:
    from mcp.client.stdio import stdio_client

    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "lakebed", "mcp", TABLE], env=dict(os.environ)
    )

    async def listed() -> tuple[Any, str]:
        async with mcp.Client(stdio_client(server)) as client:
            return (await client.list_tools()).tools, client.instructions or ""

    tools, instructions = asyncio.run(listed())
    assert {tool.name for tool in tools} == TOOLS
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    described = [
        argument.get("description") for tool in tools for argument in tool.input_schema["properties"].values()
    ]
    assert all(described)
    assert TABLE in instructions


def test_answers_are_what_the_command_line_has() -> None:
    where = "region = 'emea'"
    calls = (
        call("find", prefix=str(SAMPLE_TABLE.parent)),
        call("show", TABLE),
        call("files", ICEBERG, where=where, columns=["file_path", "partition"], stats=["amount"]),
        call("files", TABLE, at="tag=first-load", filter="record_count > 60"),
        call("files", TABLE, at="2026-11-21T11:02:16.700Z", columns=["file_name"]),
        call("plan", ICEBERG, where=where),
        call("plan", TABLE, where=where, explain=True),
        call("diff", TABLE, a=4, b="10"),
        call("expire_plan", TABLE, older_than="0s", retain_last=1),
        call("health", ICEBERG),
    )
    found, about, files, tagged, timed, plan, steps, changes, freed, health = answers(
        [str(SAMPLE_TABLE.parent), *MOVED], *calls, ask=asked
    )
    assert found["rows"] == printed("find", SAMPLE_TABLE.parent)
    assert about == {**json.loads(output("show", TABLE, "-o", "json")), "is_cut": False}
    columns = ("--columns", "file_path,partition", "--stats", "amount")
    assert files["rows"] == printed("files", ICEBERG, *MOVED, "--where", where, *columns)
    tag = ("--tag", "first-load", "--filter", "record_count > 60")
    assert tagged["rows"] == printed("files", TABLE, *tag)
    assert 0 < len(tagged["rows"]) < 24
    assert timed["rows"] == printed("files", TABLE, "--snapshot", 4, "--columns", "file_name")
    assert plan["rows"] == printed("plan", ICEBERG, *MOVED, "--where", where)
    assert steps["steps"] == printed("plan", TABLE, "--where", where, "--explain")
    assert changes["rows"] == printed("diff", TABLE, "4", "10")
    planned = printed("expire-plan", TABLE, "--older-than", "0s", "--retain-last", "1")
    assert timeless(freed["rows"]) == timeless(planned)
    assert freed["rows"]
    (row,) = printed("health", ICEBERG, *MOVED)
    del row["findings"]
    assert health["health"] == row
    assert health["findings"] == iceberg().health().findings()
    assert not any(answer["is_cut"] for answer in (found, files, tagged, plan, changes, freed, health))


def timeless(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without what differs from one plan to the next."""
    return [{name: row[name] for name in row if name not in ("planned_at", "plan")} for row in rows]


def iceberg() -> lakebed.Table:
    return lakebed.open_table(ICEBERG, relocate={MOVED[1].partition("=")[0]: ICEBERG})


@pytest.mark.filterwarnings("ignore::lakebed.errors.LakebedWarning")
def test_files_of_golden_tables() -> None:
    paimon = covering.covering_paimon_tables() if QUICK else golden_paimon_tables()
    formats = covering.covering_iceberg_tables() if QUICK else golden_iceberg_tables()
    tables: list[tuple[Path, dict[str, str]]] = [(table.path, {}) for table in paimon]
    tables += [(table.path, table.relocate) for table in formats]
    roots = sorted({str(path.parent) for path, _ in tables})
    relocate = {old: new for _, moved_to in tables for old, new in moved_to.items()}
    most = 5
    words = [*roots, *moved(relocate), "--rows", str(most)]
    results = asked(words, [call("files", path) for path, _ in tables])
    compared = 0
    for (path, moved_to), result in zip(tables, results, strict=True):
        answer, rows, kind = result.structured_content, *files_or_kind(path, moved_to)
        assert answer.get("error", {}).get("kind") == kind, (path, answer)
        if rows is not None:
            shown = answer["rows"]
            assert len(shown) == min(len(rows), most)
            assert answer["is_cut"] == (len(rows) > most) or "only their beginning" in answer["note"]
            assert answer["is_cut"] or shown == rows
            compared += not answer["is_cut"]
    assert compared > len(tables) / 3


def files_or_kind(path: Path, relocate: dict[str, str]) -> tuple[list[dict[str, Any]] | None, str | None]:
    """The files of a table, or the kind of error that there is."""
    try:
        return to_records(lakebed.open_table(path, relocate=relocate).files().to_arrow()), None
    except lakebed.errors.LakebedError as error:
        return None, error.kind


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A table beside the root."""
    return Path(shutil.copytree(SAMPLE_TABLE, tmp_path / "outside"))


@pytest.fixture
def root(tmp_path: Path, outside: Path) -> Path:
    """A folder with a table, and links out of it."""
    folder = tmp_path / "root"
    shutil.copytree(SAMPLE_TABLE, folder / "table")
    (folder / "link").symlink_to(outside)
    (folder / "inner_link").symlink_to(folder / "table")
    # A table of its own whose metadata is that of the other one.
    shutil.copytree(SAMPLE_TABLE, folder / "half", ignore=shutil.ignore_patterns("manifest"))
    (folder / "half" / "manifest").symlink_to(outside / "manifest")
    return folder


def test_nothing_outside_of_the_roots_is_opened(root: Path, outside: Path) -> None:
    elsewhere = [
        str(outside),
        f"{root}/../outside",
        f"{root}/table/../../outside",
        f"file://{outside}",
        f"file:{outside}",
        f"file://{root}/%2e%2e/outside",
        f"{root}/link",
        str(root.parent),
        "/",
        "",
        f"{root}_and_more",
        "s3://bucket/table",
        f"{root}\0",
    ]
    calls = [
        *(call("files", path) for path in elsewhere),
        *(call("find", prefix=path) for path in elsewhere),
        *(call(tool, outside) for tool in TOOLS - {"find", "diff"}),
        call("diff", outside, a=1, b=2),
    ]
    assert {error["kind"] for error in errors([str(root)], *calls)} == {"location"}


def test_links_within_the_roots_are_followed_and_others_are_not(root: Path) -> None:
    fine, found = answers([str(root)], call("files", root / "inner_link"), call("find"))
    assert len(fine["rows"]) == 34
    assert {row["name"] for row in found["rows"]} == {"table", "half"}
    assert any('"link"' in warning for warning in found["warnings"])
    (error,) = errors([str(root)], call("files", root / "half"))
    assert (error["type"], error["kind"]) == ("LocationError", "location")


def test_metadata_that_names_files_elsewhere_is_refused(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(SAMPLE_ICEBERG_TABLE, tmp_path / "root" / "orders"))
    calls = (call("files", folder), call("health", folder), call("plan", folder, explain=True))
    # Its metadata says that it is elsewhere.
    for error in errors([str(tmp_path / "root")], *calls):
        assert (error["type"], error["kind"]) == ("LocationError", "location")
        assert error["path"].startswith("/tmp/lakebed/shop/orders/")
    (fine,) = answers(
        [str(tmp_path / "root"), "--relocate", f"{MOVED[1].partition('=')[0]}={folder}"], calls[0]
    )
    assert len(fine["rows"]) == 20
    done = ran("-m", "lakebed", "mcp", tmp_path / "root", *MOVED)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "not below a root" in done.stderr


def test_nothing_is_written(root: Path, outside: Path) -> None:
    before = contents(root.parent)
    table = root / "table"
    calls = (
        call("find"),
        *(call(tool, table) for tool in ("show", "health", "files", "plan", "expire_plan")),
        call("diff", table, a=1, b=2),
    )
    answers([str(root)], *calls, ask=asked)
    assert contents(root.parent) == before != {}


def test_answers_are_bounded(tmp_path: Path) -> None:
    files, limited, over = answers(
        [TABLE, "--rows", "7"],
        call("files", TABLE),
        call("files", TABLE, limit=3),
        call("files", TABLE, limit=9),
    )
    assert [len(answer["rows"]) for answer in (files, limited, over)] == [7, 3, 7]
    assert files["is_cut"]
    assert files["note"].startswith("the first 7 rows, there are more")
    # Rows that are too large are fewer, or shorter.
    schema = {f"c{i:04}": "x" for i in range(3000)}
    from lakebed.mcp import answers as made

    wide = made.of_records([{"name": "a", "fields": schema}] * 50, 100)
    assert len(made.to_text(wide)) < 300_000
    assert wide["is_cut"]
    long = made.of_object({"text": "x" * 5000, "list": ["y" * 1900] * 900})
    assert (len(long["text"]), len(long["list"]), long["is_cut"]) == (2001, 100, True)


def test_errors_have_their_kind_and_place(tmp_path: Path, sample_table: Path) -> None:
    manifest = min((sample_table / "manifest").glob("manifest-[!l]*"))
    manifest.write_bytes(manifest.read_bytes()[:100])
    calls = (
        call("files", sample_table),
        call("files", sample_table, columns=["nothing"]),
        call("files", sample_table, where="region ="),
        call("files", sample_table, at=99),
        call("files", sample_table, at="yesterday"),
        call("files", tmp_path / "none"),
        call("files", "db.orders", catalog="lake"),
        call("expire_plan", sample_table, older_than="long ago"),
    )
    damaged, column, condition, snapshot, place, nowhere, catalog, age = errors([str(tmp_path)], *calls)
    assert (damaged["type"], damaged["kind"]) == ("TruncatedError", "truncated")
    assert damaged["path"] == str(manifest)
    assert (column["kind"], column["field"]) == ("unknown-column", "nothing")
    assert condition["kind"] == "predicate"
    assert (snapshot["type"], snapshot["retryable"]) == ("SnapshotNotFoundError", False)
    assert (place["kind"], "yesterday" in place["message"]) == ("argument", True)
    assert nowhere["kind"] == "table-not-found"
    assert catalog == {
        "type": "ValueError",
        "kind": "argument",
        "message": "this server was not started with a catalog 'lake'; there are: none",
        "retryable": False,
    }
    assert age["kind"] == "argument"


def test_arguments_that_no_tool_has_are_refused() -> None:
    # A condition that is called otherwise would be passed over, and all files be the answer.
    (result,) = asked_here([TABLE], [call("files", TABLE, condition="region = 'emea'")])
    assert result.is_error
    assert "condition" in result.content[0].text


def test_secrets_are_not_shown(tmp_path: Path, sample_table: Path) -> None:
    schema = sample_table / "schema" / "schema-0"
    text = json.loads(schema.read_text("utf-8"))
    text["options"] |= {"fs.s3a.secret.key": "hunter22", "place": "https://me:hunter22@host/a"}
    schema.write_text(json.dumps(text), "utf-8")
    (about,) = answers([str(tmp_path)], call("show", sample_table))
    assert about["options"]["fs.s3a.secret.key"] == "(not shown)"
    assert "bucket" in about["options"]
    assert "hunter22" not in json.dumps(about)


def environment(catalog: Any) -> dict[str, str]:
    """The configuration of a catalog of PyIceberg's, and the path of the modules of these tests."""
    path = os.pathsep.join(filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH"))))
    names = {key: key.replace("-", "_").upper() for key in catalog.properties}
    variables = {f"PYICEBERG_CATALOG__LAKE__{names[key]}": catalog.properties[key] for key in names}
    return {**variables, "PYTHONPATH": path}


def test_tables_of_catalogs(tmp_path: Path) -> None:
    tables = pytest.importorskip("catalog_tables")
    catalog, there = tables.lake(tmp_path)
    words = [str(tmp_path / "warehouse"), "--catalog", "lake"]
    named = call("files", "db.orders", catalog="lake")
    calls = (call("find", catalog="lake"), named, call("files", "db.nothing", catalog="lake"))
    found, files, missing = (one.structured_content for one in asked(words, calls, **environment(catalog)))
    assert found["rows"] == [{"name": "db.orders", "catalog": "lake"}]
    assert files["rows"] == to_records(lakebed.open_table(there).files().to_arrow())
    assert missing["error"]["kind"] == "table-not-found"
    # What is local must be below a root.
    (error,) = errors(["--catalog", "lake"], named, ask=asked, **environment(catalog))
    assert error["kind"] == "location"


@not_in_check
def test_tables_of_catalogs_whose_files_are_far(tmp_path: Path) -> None:
    tables = pytest.importorskip("catalog_tables")
    catalog = tables.far(tmp_path)
    there = tables.orders(catalog)
    named = call("files", "db.orders", catalog="lake")
    (files,) = answers(["--catalog", "lake"], named, ask=asked, **environment(catalog))
    assert files["rows"] == to_records(lakebed.open_table(there).files().to_arrow())


@not_in_check
@pytest.mark.parametrize("query", ["", "?endpoint_override={address}&scheme=http"])
def test_roots_in_buckets(tmp_path: Path, query: str) -> None:
    for library in ("pyarrow", "moto"):
        pytest.importorskip(library)
    import object_store

    bucket = f"s3://{object_store.BUCKET}"
    with object_store.server() as address:
        for name in ("wh/orders", "other/orders"):
            object_store.upload(address, SAMPLE_TABLE, name)
        told = object_store.variables(address)
        if query:
            told = {name: value for name, value in told.items() if "ENDPOINT" not in name}
        words = [f"{bucket}/wh{query.format(address=address)}"]
        found, files = answers(words, call("find"), call("files", f"{bucket}/wh/orders"), ask=asked, **told)
        assert [row["location"] for row in found["rows"]] == [f"{bucket}/wh/orders"]
        assert [row["partition"] for row in files["rows"]] == [
            row["partition"] for row in printed("files", TABLE)
        ]
        climbing = (f"{bucket}/wh/../other/orders", f"{bucket}/wh/%2e%2e/other/orders")
        elsewhere = (f"{bucket}/other/orders", *climbing, f"{bucket}/wh2", "s3://other/wh/orders", TABLE)
        refused = errors(words, *(call("files", path) for path in elsewhere), ask=asked, **told)
        assert {error["kind"] for error in refused} == {"location"}


def test_what_it_is_started_with_must_be_something() -> None:
    done = ran("-m", "lakebed", "mcp")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_without_the_sdk_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "mcp.py").write_text("raise ModuleNotFoundError(name='mcp')\n")
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    done = ran("-m", "lakebed", "mcp", TABLE, environment={"PYTHONPATH": path})
    assert done.returncode == 1
    assert "pip install 'lakebed[mcp]'" in done.stderr
