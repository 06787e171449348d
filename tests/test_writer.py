"""Who wrote a snapshot, by what engines write into summaries."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from file_rows import file_rows

import lakebed
from lakebed._writer import Writer, writer_of
from shared_data import SAMPLE_ICEBERG_TABLE, SAMPLE_MOVED

JAVA = "Apache Iceberg 1.11.0 (commit 6976e020b894f6a6777704df2b8c4458cb291ae9)"


@pytest.mark.parametrize(
    ("summary", "writer"),
    [
        (
            {
                "engine-version": "4.0.1",
                "app-id": "local-1795248281057",
                "engine-name": "spark",
                "app-name": "golden",
            },
            Writer("spark 4.0.1", "golden", None),
        ),
        (
            {"spark.app.id": "local-1795248281057", "iceberg-version": JAVA},
            Writer("Spark", "local-1795248281057", None),
        ),
        (
            {"trino_query_id": "20230630_050145_00001_9ikf4", "trino_user": "ann"},
            Writer("Trino", None, "ann"),
        ),
        ({"flink.job-id": "94ebe46e", "iceberg-version": JAVA}, Writer("Flink", "94ebe46e", None)),
        ({"kafka.connect.commit-id": "5e"}, Writer("Kafka Connect", None, None)),
        ({"snowflake.operation.1.1780609417422000000": '{"ts":1}'}, Writer("Snowflake", None, None)),
        ({"iceberg-version": JAVA, "user": "ann"}, Writer("Apache Iceberg 1.11.0", None, "ann")),
        ({"operation": "append", "total-records": "3"}, Writer(None, None, None)),
        (None, Writer(None, None, None)),
    ],
)
def test_engines_of_iceberg_are_known_by_their_keys(summary: dict[str, str | None], writer: Writer) -> None:
    assert writer_of(summary) == writer


@pytest.mark.parametrize(
    ("commit_user", "user"),
    [
        ("f1cef25a-720e-4d8f-a1ef-9fd7f8769090", None),
        ("etl_f1cef25a-720e-4d8f-a1ef-9fd7f8769090", "etl"),
        ("stream-user", "stream-user"),
        ("", None),
    ],
)
def test_random_commit_users_of_paimon_are_nobody(commit_user: str, user: str | None) -> None:
    assert writer_of({}, commit_user) == Writer(None, None, user)
    assert writer_of({}, commit_user, "2.1.0") == Writer("2.1.0", None, user)


def test_tables_say_who_wrote_them(tmp_path: Path) -> None:
    sample = lakebed.open_table(SAMPLE_ICEBERG_TABLE, relocate=SAMPLE_MOVED)
    for summary in sample.snapshots(columns=["summary"]).to_arrow()["summary"].to_pylist():
        assert writer_of(dict(summary)) == Writer("Apache Iceberg 1.11.0", None, None)
    table = lakebed.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]), "iceberg")
    table = table.append_files(file_rows("data/1.parquet"))
    (summary,) = table.snapshots(columns=["summary"]).to_arrow()["summary"].to_pylist()
    assert writer_of(dict(summary)).engine == f"lakebed {lakebed.__version__}"
