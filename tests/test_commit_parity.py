"""Both formats are changed by the same methods; what only one has is listed here: the other refuses it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from file_rows import file_rows

import lakebed
from lakebed.commits import Changes, Freed
from lakebed.errors import UnsupportedError

METHODS = sorted(name for name in vars(Changes) if not name.startswith("_"))

ONLY_ICEBERG: dict[str, tuple[Any, ...]] = {
    "cherry_pick": (1,),
    "remove_statistics": (1,),
    "set_current_snapshot": (1,),
    "set_retention": ("main",),
    "set_statistics": ({},),
    "update_spec": (),
    "upgrade": (3,),
}
"""Methods that Paimon's tables do not have, and arguments with which they may be called."""

ONLY_PAIMON: dict[str, tuple[Any, ...]] = {
    "overwrite_partitions": (pa.table({"file_path": pa.array([], pa.string())}),)
}
"""Methods that Iceberg's tables do not have."""

ARGUMENTS: dict[str, dict[str, dict[str, Any]]] = {
    "append_files": {
        "paimon": {"changelog": pa.table({}), "check_files": False},
        "iceberg": {"merge": False},
    },
    "overwrite_files": {"iceberg": {"isolation": "snapshot", "conflict_where": "id = 1"}},
    "replace_files": {
        "paimon": {"deletes": pa.table({}), "changelog": pa.table({})},
        "iceberg": {"data_sequence_number": 1},
    },
    "add_deletes": {
        "iceberg": {"files": pa.table({}), "removed": ["a"], "isolation": None, "conflict_where": "id = 1"}
    },
    "rewrite_manifests": {
        "iceberg": {"by": ["partition"], "where": "id = 1", "codec": "zstd", "block_bytes": 1}
    },
    "update_schema": {"iceberg": {"allow_incompatible_changes": True}},
    "create_branch": {
        "iceberg": {
            "replace": True,
            "min_snapshots_to_keep": 1,
            "max_snapshot_age": timedelta(1),
            "max_age": timedelta(1),
        }
    },
}
"""Arguments that only one format has, with a value that is not their default."""

REQUIRED: dict[str, tuple[Any, ...]] = {
    "add_deletes": (pa.table({}),),
    "append_files": (pa.table({"file_path": pa.array([], pa.string())}),),
    "create_branch": ("b",),
    "overwrite_files": (),
    "replace_files": ([],),
    "rewrite_manifests": (),
    "update_schema": ([],),
}

SCHEMA = pa.schema([pa.field("id", pa.int64())])
FORMATS = ("iceberg", "paimon")


def made(folder: Path, format: str) -> lakebed.Table:
    return lakebed.create_table(folder / format, SCHEMA, format)  # type: ignore[arg-type]


def file(name: str) -> pa.Table:
    return file_rows(f"bucket-0/{name}.parquet", record_count=3, file_size_in_bytes=812)


def exceptions() -> list[tuple[str, str, str, Any]]:
    return [
        (method, owner, argument, value)
        for method, owners in ARGUMENTS.items()
        for owner, arguments in owners.items()
        for argument, value in arguments.items()
    ]


def other(format: str) -> str:
    return FORMATS[1 - FORMATS.index(format)]


@pytest.mark.parametrize("method", METHODS)
def test_what_only_one_format_has_is_refused_by_name(method: str, tmp_path: Path) -> None:
    for absent, arguments in (("paimon", ONLY_ICEBERG), ("iceberg", ONLY_PAIMON)):
        table = made(tmp_path, absent)
        if method in arguments:
            with pytest.raises(UnsupportedError, match=f"{method} is of {other(absent).title()}'s tables"):
                getattr(table, method)(*arguments[method])


@pytest.mark.parametrize(("method", "owner", "argument", "value"), exceptions())
def test_arguments_of_one_format_are_refused_by_name(
    method: str, owner: str, argument: str, value: Any, tmp_path: Path
) -> None:
    table = made(tmp_path, other(owner))
    with pytest.raises(
        UnsupportedError, match=f"{method} of {other(owner)} tables takes no {argument}"
    ) as error:
        getattr(table, method)(*REQUIRED[method], **{argument: value})
    assert error.value.field == argument


def test_manifests_of_iceberg_are_always_sorted(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="takes no sort"):
        made(tmp_path, "iceberg").rewrite_manifests(sort=False)


@pytest.mark.parametrize(("method", "owner", "argument", "value"), exceptions())
def test_arguments_of_one_format_are_known_to_it(
    method: str, owner: str, argument: str, value: Any, tmp_path: Path
) -> None:
    refused = None
    try:
        getattr(made(tmp_path, owner), method)(*REQUIRED[method], **{argument: value})
    except UnsupportedError as error:
        refused = error.field
    except (lakebed.LakebedError, TypeError, ValueError):
        # Whatever else is wrong with a value that is made for the other test.
        pass
    assert refused != argument


@pytest.mark.parametrize("method", METHODS)
def test_docstrings_say_what_is_of_one_format(method: str) -> None:
    text = inspect.getdoc(getattr(Changes, method)) or ""
    assert text.startswith("(Iceberg)") == (method in ONLY_ICEBERG)
    assert text.startswith("(Paimon)") == (method in ONLY_PAIMON)
    for owner, arguments in ARGUMENTS.get(method, {}).items():
        for argument in arguments:
            assert f"{argument}: ({owner.title()})" in text, argument


def same_steps(table: lakebed.Table) -> list[Any]:
    """The same changes of a table of either format, and what each returns."""
    steps: list[Callable[[lakebed.Table], Any]] = [
        lambda t: t.append_files(file("a"), options=lakebed.CommitOptions({"job": "1"})),
        lambda t: t.append_files(file("b")),
        lambda t: t.create_tag("v1", at=t.snapshot_id, max_age=timedelta(days=1)),
        lambda t: t.at(branch="main").create_branch("audit", at="v1"),
        lambda t: t.append_files(file("c")),
        lambda t: t.fast_forward("main", to="audit"),
        lambda t: t.overwrite_files(file("d"), removed=["bucket-0/a.parquet"]),
        lambda t: t.delete_files(["bucket-0/b.parquet"]),
        lambda t: t.rewrite_manifests(),
        lambda t: t.update_schema(lakebed.SchemaChange.add_column("note", pa.string())),
        lambda t: t.update_properties({"owner": "shop"}),
        lambda t: t.delete_branch("audit"),
        lambda t: t.rollback_to("v1"),
        lambda t: t.delete_tag("v1"),
        lambda t: t.expire_snapshots(timedelta(0), 1),
    ]
    answers = []
    for step in steps:
        answer = step(table)
        table = answer.table if isinstance(answer, Freed) else answer
        answers.append(answer)
    return answers


def test_the_same_changes_leave_the_same_tables(tmp_path: Path) -> None:
    pairs = zip(*(same_steps(made(tmp_path, format)) for format in FORMATS), strict=True)
    for step, answers in enumerate(pairs):
        tables = [answer.table if isinstance(answer, Freed) else answer for answer in answers]
        assert type(answers[0]) is type(answers[1]), step
        assert tables[0].branch == tables[1].branch, step
        names = [
            sorted(Path(path).name for path in table.files().to_arrow()["file_path"].to_pylist())
            for table in tables
        ]
        assert names[0] == names[1], step
        assert tables[0].schema.names == tables[1].schema.names, step
        assert [table.properties.get("owner") for table in tables] in ([None, None], ["shop", "shop"]), step


@pytest.mark.parametrize("format", FORMATS)
def test_every_table_that_is_returned_was_opened_as_the_one_before(format: str, tmp_path: Path) -> None:
    made(tmp_path, format)
    limits = lakebed.Limits(max_file_bytes=64 << 20)
    opened = lakebed.open_table(
        tmp_path / format, limits=limits, allowed_prefixes=[str(tmp_path)], concurrent_reads=3
    )
    answers = same_steps(opened)
    with opened.refresh().transaction() as tx:
        tx.append_files(file("e"))
    answers += [tx.table, tx.table.refresh(), tx.table.at(snapshot=tx.table.snapshot_id)]
    for answer in answers:
        table = answer.table if isinstance(answer, Freed) else answer
        kept = table.opening
        assert (kept.limits, kept.allowed, kept.reads) == (limits, opened.opening.allowed, 3)
