"""Which tests go to one worker, for the JVM that they share."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import pytest

# Each worker that has one starts a Spark of its own, whose first jobs take longest; others do the rest.
_SPARK_GROUPS = 2
# Fixtures that start an engine: one worker has it.
_ENGINES = ("paimon_java", "iceberg_javas", "rest_java", "spark_runtimes")


def assign(items: Sequence[pytest.Item]) -> None:
    """Marks tests that need a JVM with their group; a worker without such tests starts none."""
    for item in items:
        if (name := _group(item)) is not None and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(name))


def _group(item: pytest.Item) -> str | None:
    if not isinstance(item, pytest.Function):
        return None
    if engine := next((name for name in _ENGINES if name in item.fixturenames), None):
        # Iceberg's take longest: two workers have them, each whole files.
        file = item.nodeid.partition("::")[0]
        return f"{engine}-{crc32(file.encode()) % 2}" if engine == "iceberg_javas" else engine
    if "spark" not in item.fixturenames:
        return None
    # Tests of one table read the same files.
    table = item.callspec.params.get("table") if hasattr(item, "callspec") else None
    return f"spark-{crc32(str(getattr(table, 'name', item.nodeid)).encode()) % _SPARK_GROUPS}"
