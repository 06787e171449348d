"""What tests of Spark have in common."""

from __future__ import annotations

import pytest

from lakebed.spark import small_tables


@pytest.fixture(autouse=True)
def executors_read_small_tables(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of the tests are small, and what is tested are executors, but where a test is marked."""
    if request.node.get_closest_marker("by_driver") is None:
        monkeypatch.setattr(small_tables, "MANIFEST_BYTES", -1)
