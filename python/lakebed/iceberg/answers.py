"""What a REST catalog answers where it cannot do what it was asked for."""

from __future__ import annotations

from typing import Any

from lakebed.errors import (
    LimitError,
    PlanNotFoundError,
    PlanRequestError,
    PlanTaskNotFoundError,
    PredicateError,
    SchemaError,
    SnapshotNotFoundError,
    TableNotFoundError,
    UnsupportedError,
    is_retryable,
)

# The first that fits. Names of types are those of Iceberg's Java, which its clients raise again.
_ANSWERS: tuple[tuple[type[Exception], int, str], ...] = (
    (PlanTaskNotFoundError, 404, "NoSuchPlanTaskException"),
    (PlanNotFoundError, 404, "NoSuchPlanIdException"),
    (TableNotFoundError, 404, "NoSuchTableException"),
    (SnapshotNotFoundError, 400, "BadRequestException"),
    (PlanRequestError, 400, "BadRequestException"),
    (PredicateError, 400, "BadRequestException"),
    (SchemaError, 400, "BadRequestException"),
    (UnsupportedError, 406, "UnsupportedOperationException"),
)


def error_answer(error: Exception) -> tuple[int, dict[str, Any]]:
    """An error as a REST catalog answers it.

    Args: error, of a planner or of opening a table; any other is of the server.
    Returns: the status of HTTP, and the body, an `IcebergErrorResponse`: 404 for what is not there, 400 for
        requests that do not fit, 406 for what is not supported, 503 for what may be tried again, else 500.
    Source: Iceberg's REST catalog specification, `ErrorModel`; Iceberg's `ErrorHandlers.java`.
    """
    found = [(status, kind) for of, status, kind in _ANSWERS if isinstance(error, of)]
    if is_retryable(error):
        found.insert(0, (503, "ServiceUnavailableException"))
    status, kind = found[0] if found else (500, "ServiceFailureException")
    return status, error_model(status, kind, str(error))


def error_model(status: int, kind: str, message: str) -> dict[str, Any]:
    """An `IcebergErrorResponse`."""
    return {"error": {"message": message, "type": kind, "code": status}}


def busy(most: int) -> LimitError:
    """The error for a server that has as many plans as it takes."""
    message = f"{most} plans are under way or were not fetched yet: try again later"
    return LimitError(message, kind="limit", retryable=True)
