"""Who wrote a snapshot, as far as its summary says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

# Keys that an engine alone writes, where it does not name itself.
_ENGINE_OF = {
    "trino_query_id": "Trino",
    "flink.job-id": "Flink",
    "kafka.connect.commit-id": "Kafka Connect",
    "dremio-job-id": "Dremio",
    "spark.app.id": "Spark",
}
_SNOWFLAKE = "snowflake.operation."
_APPLICATIONS = ("app-name", "app-id", "spark.app.id", "flink.job-id")
_USERS = ("user", "trino_user", "commit-user")
# Java's own version is written as "Apache Iceberg 1.11.0 (commit 6976e020…)".
_COMMIT = re.compile(r"\s*\(commit \w+\)$")
# Without `commit.user-prefix` Paimon's commit users are random, else they end so.
_RANDOM = re.compile(r"_?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", re.IGNORECASE)


class Writer(NamedTuple):
    """Who wrote a snapshot; None for what its summary does not say.

    Attributes: engine, with its version where that is told: "spark 4.0.1"; application, its name or id; user.
    """

    engine: str | None
    application: str | None
    user: str | None


def writer_of(
    summary: Mapping[str, str | None] | None,
    commit_user: str | None = None,
    writer_version: str | None = None,
) -> Writer:
    """Who wrote a snapshot.

    An engine that does not name itself is known by the keys that it alone writes; where no key tells it, the
    library is named ("Apache Iceberg 1.11.0"). The id of one query is no application.

    Args: summary, commit_user and writer_version, as `Table.snapshots` has them, the last two of Paimon
        alone. A commit user that is random, as Paimon's is where nobody chose one, is nobody.
    Source: Iceberg specification, "Optional Snapshot Summary Fields"; `EnvironmentContext.java`; Trino's
        `IcebergUtil.java`; Flink's `IcebergFilesCommitter.java`; Paimon's `Snapshot.java`.
    """
    told = {key: value for key, value in (summary or {}).items() if value}
    named = _RANDOM.sub("", commit_user or "") or None
    user = next((told[key] for key in _USERS if key in told), named)
    application = next((told[key] for key in _APPLICATIONS if key in told), None)
    return Writer(_engine(told) or writer_version or None, application, user)


def _engine(told: Mapping[str, str]) -> str | None:
    if "engine-name" in told:
        return " ".join(filter(None, (told["engine-name"], told.get("engine-version"))))
    for key, engine in _ENGINE_OF.items():
        if key in told:
            return engine
    if any(key.startswith(_SNOWFLAKE) for key in told):
        return "Snowflake"
    library = told.get("iceberg-version")
    return None if library is None else _COMMIT.sub("", library)
