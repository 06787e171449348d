"""The Java engines, started once for all tests that ask them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from java_engine import JavaEngine


@pytest.fixture(scope="session")
def paimon_java(request: pytest.FixtureRequest) -> Iterator[JavaEngine]:
    yield from _running("PaimonEngine", request)


@pytest.fixture(scope="session")
def iceberg_java(request: pytest.FixtureRequest) -> Iterator[JavaEngine]:
    yield from _running("IcebergEngine", request)


def _running(name: str, request: pytest.FixtureRequest) -> Iterator[JavaEngine]:
    engine = JavaEngine(name, request.config.cache.mkdir("engines"))
    yield engine
    engine.close()
