"""The limits of Python are those of the compiled core, name by name and number by number."""

from __future__ import annotations

import dataclasses
import pickle
import re

import pytest

from lakebed import LIMITS, Limits
from shared_data import PROJECT

UNITS = {"MIB": 1 << 20, "GIB": 1 << 30}


def defaults_of_the_core() -> dict[str, int]:
    """Field → default, read from the source of the Rust struct."""
    source = (PROJECT / "rust" / "lakebed-avro" / "src" / "limits.rs").read_text("utf-8")
    body = re.search(r"const DEFAULT: Limits = Limits \{(.*?)\};", source, re.DOTALL)
    assert body, "limits.rs has no DEFAULT"
    fields = re.findall(r"(\w+): ([^,]+),", body[1])
    return {name: product(value) for name, value in fields}


def product(text: str) -> int:
    result = 1
    for factor in text.split("*"):
        word = factor.strip().replace("_", "")
        result *= UNITS[word] if word in UNITS else int(word)
    return result


def test_fields_and_defaults_are_those_of_the_core():
    assert dataclasses.asdict(LIMITS) == defaults_of_the_core()


def test_limits_are_a_value():
    assert Limits() == LIMITS
    assert pickle.loads(pickle.dumps(Limits(max_rows=7))) == Limits(max_rows=7)
    with pytest.raises(dataclasses.FrozenInstanceError):
        LIMITS.max_rows = 1  # type: ignore[misc]


@pytest.mark.parametrize("value", [-1, 1 << 64, 1.5, "7", True, None])
def test_a_bound_is_a_whole_number(value):
    with pytest.raises(ValueError, match="max_rows"):
        Limits(max_rows=value)
