"""Errors that tests expect, with what they say of their place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

Errors = type[BaseException] | tuple[type[BaseException], ...]


@contextmanager
def raises(error: Errors, match: str | None = None, **attributes: Any) -> Iterator[pytest.ExceptionInfo[Any]]:
    """As `pytest.raises`, of an error that has these attributes too: its `kind`, `field`, `path`, …"""
    with pytest.raises(error, match=match) as caught:
        yield caught
    found = {name: getattr(caught.value, name, None) for name in attributes}
    assert found == attributes, found
