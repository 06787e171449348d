"""Errors are caught the way Python's own are, keep their place, and survive a trip to another process."""

from __future__ import annotations

import copy
import errno
import inspect
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import run

import lakebed
from lakebed import errors
from shared_data import PROJECT, SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED, SAMPLE_TABLE

PLACE = {"kind": "varint", "path": "m0.avro", "offset": 1204, "block": 0, "record": 17, "field": "file.path"}
CLASSES = [
    item
    for _, item in inspect.getmembers(errors, inspect.isclass)
    if issubclass(item, Exception) and not issubclass(item, Warning)
]


@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("trip", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_an_error_survives_with_its_message_and_place(cls, trip):
    error = trip(cls("what is wrong", **PLACE))
    assert type(error) is cls
    assert str(error) == "what is wrong"
    assert {name: getattr(error, name) for name in PLACE} == PLACE
    assert not error.retryable
    assert trip(cls("what is wrong", retryable=True)).retryable


@pytest.mark.parametrize("cls", CLASSES)
def test_what_is_unknown_of_the_place_is_none(cls):
    assert all(getattr(cls("what is wrong"), name) is None for name in PLACE)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_error_is_a_lakebed_error(cls):
    assert issubclass(cls, errors.LakebedError)


@pytest.mark.parametrize(
    ("cls", "builtin"),
    [
        (errors.CorruptError, ValueError),
        (errors.TruncatedError, EOFError),
        (errors.TruncatedError, errors.CorruptError),
        (errors.MissingFileError, FileNotFoundError),
        (errors.MissingFileError, errors.CorruptError),
        (errors.LocationError, ValueError),
        (errors.UnsupportedError, NotImplementedError),
        (errors.LimitError, ValueError),
        (errors.SchemaError, TypeError),
        (errors.PredicateError, ValueError),
        (errors.TableNotFoundError, FileNotFoundError),
        (errors.SnapshotNotFoundError, LookupError),
        (errors.InternalError, RuntimeError),
    ],
)
def test_code_that_knows_nothing_of_lakebed_catches_it(cls, builtin):
    with pytest.raises(builtin, match="what is wrong"):
        raise cls("what is wrong", **PLACE)


@pytest.mark.parametrize(
    ("error", "is_so"),
    [
        (errors.CommitConflictError("lost", kind="conflict", retryable=True), True),
        (errors.CommitConflictError("a file is gone", kind="conflict"), False),
        (errors.CorruptError("what is wrong"), False),
        (TimeoutError(errno.ETIMEDOUT, "no answer"), True),
        (ConnectionResetError(errno.ECONNRESET, "reset"), True),
        (OSError(errno.EIO, "broken"), False),
        (OSError("without a number"), False),
        (FileNotFoundError(errno.ENOENT, "none"), False),
        (PermissionError(errno.EACCES, "denied"), False),
        (errors.MissingFileError("none", kind="missing"), False),
        (KeyError("other"), False),
        (KeyboardInterrupt(), False),
    ],
)
def test_what_may_be_tried_again_is_told_by_one_function(error: BaseException, is_so: bool) -> None:
    assert errors.is_retryable(error) is is_so


def test_a_storage_that_does_not_answer_may_be_asked_again() -> None:
    class Silent:
        def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
            raise TimeoutError(errno.ETIMEDOUT, "no answer", path)

        def list(self, prefix: str) -> Any:
            return []

    with pytest.raises(TimeoutError) as caught:
        lakebed.open_table("s3://b/t/metadata/v1.metadata.json", storage=Silent())
    assert errors.is_retryable(caught.value)
    assert not hasattr(caught.value, "retryable")


def test_the_place_is_named_by_keyword_only():
    with pytest.raises(TypeError):
        errors.LakebedError("what is wrong", "varint")  # type: ignore[call-arg]


def opened(path: Path) -> Any:
    return lakebed.open_table(path, relocate=SAMPLE_MOVED)


@pytest.mark.parametrize("path", [SAMPLE_TABLE, SAMPLE_ICEBERG_TABLE], ids=lambda path: path.name)
@pytest.mark.parametrize(
    ("call", "cls", "kind"),
    [
        (lambda table, name: table.files(where=f'"{name}" = 1'), errors.PredicateError, "unknown-column"),
        (lambda table, name: table.plan(where=f'"{name}" = 1'), errors.PredicateError, "unknown-column"),
        (
            lambda table, name: table.partitions(where=f'"{name}" = 1'),
            errors.PredicateError,
            "unknown-column",
        ),
        (lambda table, name: table.orphans(filter=f'"{name}" = 1'), errors.PredicateError, "unknown-column"),
        (lambda table, name: table.growth().filter(f'"{name}" = 1'), errors.PredicateError, "unknown-column"),
        (lambda table, name: table.files(columns=[name]), errors.SchemaError, "unknown-column"),
        (lambda table, name: table.files(stats=[name]), errors.SchemaError, "unknown-column"),
        (lambda table, name: table.refs(columns=[name]), errors.SchemaError, "unknown-column"),
        (lambda table, name: table.metadata_table(name), errors.SchemaError, "unknown-view"),
        (
            lambda table, name: table.metadata_table(
                "refs" if table.format == "iceberg" else "tags", columns=[name]
            ),
            errors.SchemaError,
            "unknown-column",
        ),
    ],
)
def test_what_does_not_exist_is_a_kind_with_its_name(
    path: Path, call: Callable[[Any, str], Any], cls: type[errors.LakebedError], kind: str
) -> None:
    for name in ("colour", "no column", "a.b", "ä, b"):
        with pytest.raises(cls) as caught:
            call(opened(path), name)
        for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
            assert (error.kind, error.field) == (kind, name)


def test_a_name_with_quotes_is_the_field_as_it_is() -> None:
    with pytest.raises(errors.PredicateError) as caught:
        opened(SAMPLE_TABLE).files(where='"a""b" = 1')
    assert (caught.value.kind, caught.value.field) == ("unknown-column", 'a"b')


def test_advice_goes_by_the_kind_not_by_the_text() -> None:
    table, advice = opened(SAMPLE_TABLE), "the view has such a column: filter tests it"
    with pytest.raises(errors.PredicateError, match=advice):
        table.files(where="file_path = 'x'")
    with pytest.raises(errors.PredicateError) as caught:
        table.files(where="colour = 'x'")
    assert advice not in str(caught.value)

    def said(condition: str) -> str:
        return run("files", SAMPLE_TABLE, "--filter", condition).stderr

    advice = "the table has such a column: where tests it"
    assert advice in said("region = 'emea'")
    assert advice not in said("colour = 1")
    # A filter that does not parse is shown, whatever it has in it.
    assert "no column" in said('"no column" = 1 AND')
    assert advice not in said('"no column" = 1 AND')


def test_each_class_lists_its_kinds() -> None:
    """Those that the core maps to it, and those of errors that Python code raises."""
    names: dict[str, str] = {}
    for crate, prefix in (("lakebed-avro", "AvroKind"), ("lakebed", "ErrorKind")):
        text = (PROJECT / "rust" / crate / "src" / "error.rs").read_text("utf-8")
        for variants, name in re.findall(r"((?:ErrorKind::\w+(?: \| )?)+) => \"([a-z0-9-]+)\",", text):
            names |= {variant.replace("ErrorKind", prefix): name for variant in variants.split(" | ")}
    text = (PROJECT / "rust" / "lakebed-python" / "src" / "error.rs").read_text("utf-8")
    arms = re.findall(r"((?:(?:ErrorKind|AvroKind)::\w+\s*(?:\| )?)+)=> (?:\{\s*)?\"(\w+)\"", text)
    raised = {(cls, names[variant.strip()]) for variants, cls in arms for variant in variants.split("|")}
    assert len(raised) > 40
    for file in sorted((PROJECT / "python" / "lakebed").rglob("*.py")):
        made = re.findall(r"(\w+Error)\((?:[^()]|\([^()]*\))*kind=\"([a-z-]+)\"", file.read_text("utf-8"))
        raised |= set(made)
    for cls, kind in sorted(raised):
        assert f"`{kind}`" in (getattr(errors, cls).__doc__ or ""), (cls, kind)
