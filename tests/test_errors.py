"""Errors are caught the way Python's own are, keep their place, and survive a trip to another process."""

from __future__ import annotations

import copy
import inspect
import pickle

import pytest

from lakebed import errors

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


def test_the_place_is_named_by_keyword_only():
    with pytest.raises(TypeError):
        errors.LakebedError("what is wrong", "varint")  # type: ignore[call-arg]
