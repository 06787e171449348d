"""Commits that lose every race: a typed error, and nothing of them is left."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from file_rows import file_rows
from raising import raises

import lakebed
from lakebed.errors import CommitConflictError, is_retryable

FILES = file_rows("data/f.parquet")


def test_a_commit_to_iceberg_that_loses_every_race_is_a_conflict(tmp_path: Path) -> None:
    """Its next version is a name that is taken, of a file that nobody can read yet.

    Of Paimon's commits `rust/lakebed/src/paimon/write/commit/tests.rs` has the same.
    """
    made = lakebed.create_table(
        tmp_path / "t",
        pa.schema([("id", pa.int64())]),
        "iceberg",
        properties={"commit.retry.num-retries": "2"},
    )
    folder = Path(made.location) / "metadata"
    (folder / "v2.metadata.json").symlink_to(tmp_path / "not there")
    before = sorted(folder.iterdir())
    with raises(CommitConflictError, match="3 attempts lost", kind="conflict", retryable=True) as caught:
        made.append_files(FILES)
    assert is_retryable(caught.value)
    assert not isinstance(caught.value, OSError)
    assert sorted(folder.iterdir()) == before
    (folder / "v2.metadata.json").unlink()
    assert made.append_files(FILES).files().to_arrow().num_rows == 1
