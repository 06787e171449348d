"""Commits to tables of catalogs: lakebed writes the files, the catalog says that they are the table's."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any

from lakebed import _native
from lakebed._notes import warn
from lakebed.catalogs import IcebergEntry, name_of, refused
from lakebed.errors import CommitConflictError, LakebedError, SnapshotNotFoundError, UnsupportedError
from lakebed.iceberg.reading import read_metadata
from lakebed.storage.failures import failure, loaded

if TYPE_CHECKING:
    from lakebed.catalogs import Entry
    from lakebed.commits.change import StagedCommit
    from lakebed.table import Table

# As of tables without a catalog: each attempt that is lost has made way for another.
_RETRIES = 1000
_LONGEST_WAIT = 1.0  # seconds
# PyIceberg's errors of a commit that has not happened and will not. After all others it may have, or may yet.
_REFUSED = (
    *("NoSuchTableError", "NoSuchIdentifierError", "BadRequestError", "UnauthorizedError"),
    *("ForbiddenError", "AuthorizationExpiredError", "OAuthError", "ValidationException"),
)


def commit_through(table: Table, stage: Callable[[Table], StagedCommit | None]) -> tuple[Table, str | None]:
    """Commits through the table's catalog, again and again until no other was first.

    Args: stage, writes the files of the commit to the table that it is given, None where there is nothing to
        do.
    Returns: the table after the commit, and the metadata file that this builds on; None where nothing was to
        be done.
    Raises: what `stage` raises; CommitConflictError where the last attempt was lost too; TableNotFoundError;
        UnsupportedError (no catalog that commits); OSError of the catalog. Where that leaves open whether the
        commit has happened, its files stay, and the message says so.
    """
    catalog = getattr(_entry(table).table, "catalog", None)
    if not hasattr(catalog, "commit_table"):
        path = _native.without_credentials(_entry(table).path)
        message = f"the catalog cannot commit; PyIceberg's can from 0.8 on ({path})"
        raise UnsupportedError(message, kind="unsupported", path=path)
    table = table.refresh()
    retries = table.properties.get("commit.retry.num-retries", "")
    attempts = (int(retries) if retries.isdecimal() else _RETRIES) + 1
    from lakebed.table import table_of

    attempt = 0
    while (staged := stage(table)) is not None:
        attempt += 1
        before = _entry(table).path
        answer = _offered(_entry(table), staged)
        if not isinstance(answer, Exception):
            return table_of(*table.opening.at(answer, table.core)), before
        error = answer
        table, made = _after(error, table, staged)
        if made:
            return table, before
        if attempt >= attempts:
            path = _native.without_credentials(_entry(table).path)
            message = f"{attempt} attempts lost to other commits ({path})"
            raise CommitConflictError(message, kind="conflict", path=path, retryable=True)
        time.sleep(random.uniform(0, min(_LONGEST_WAIT, 0.004 * 2 ** min(attempt, 10))))
    return table, None


def _offered(entry: Entry, staged: StagedCommit) -> IcebergEntry | Exception:
    """Has the catalog make the commit: its entry after it, or what it raised."""
    from pydantic import TypeAdapter
    from pyiceberg.table.update import TableRequirement, TableUpdate

    requirement, update = TypeAdapter(TableRequirement), TypeAdapter(TableUpdate)
    try:
        requirements = tuple(requirement.validate_python(one) for one in staged.requirements)
        updates = tuple(update.validate_python(one) for one in staged.updates)
    except ValueError:
        # A version of PyIceberg that does not know them.
        staged.discard()
        raise
    try:
        made = entry.table.catalog.commit_table(entry.table, requirements, updates)
    except Exception as error:  # noqa: BLE001 - of many classes, which the caller tells apart
        return error
    _delete_old_metadata(entry.table, made.metadata)
    # The table that was given stays as it was.
    after = copy(entry.table)
    after.metadata, after.metadata_location = made.metadata, made.metadata_location
    return IcebergEntry.of(after)


def _delete_old_metadata(table: Any, metadata: Any) -> None:
    """Deletes the metadata files that a commit took out of the log, where the table's properties say so.

    PyIceberg does so outside of its catalogs. What is not deleted is a warning: the commit has happened.
    """
    if metadata.properties.get("write.metadata.delete-after-commit.enabled", "").lower() != "true":
        return
    logged = {log.metadata_file for log in metadata.metadata_log}
    for log in table.metadata.metadata_log:
        if log.metadata_file in logged:
            continue
        try:
            table.io.delete(log.metadata_file)
        except FileNotFoundError:
            # A catalog that deletes by itself was first.
            pass
        except Exception as error:  # noqa: BLE001 - of many classes, each of which is reported
            text = failure(error, log.metadata_file, table.catalog, table.io)
            warn([f"an old metadata file stays: {text}"])


def _after(error: Exception, before: Table, staged: StagedCommit) -> tuple[Table, bool]:
    """The table behind a commit that the catalog did not confirm, and whether the commit is in it.

    Where it is not, its files are deleted, and it may be tried again. Raises: as `commit_through`.
    """
    entry = _entry(before)
    try:
        now = before.refresh()
        made = _is_made(now, staged)
    except (LakebedError, OSError):
        # Then what the commit itself raised says more.
        now, made = before, False
        if _is_lost(error):
            staged.discard()
            raise
    if made:
        return now, True
    if not (_is_lost(error) or _is_refused(error)):
        text = failure(error, entry.path, entry.table.catalog, entry.table.io)
        words = f"the commit may have happened, or may yet: its files stay; {text.strerror}"
        unknown = OSError(text.errno, words, text.filename)
        unknown.retryable = False  # type: ignore[attr-defined] # as `is_retryable` has it
        raise unknown from None
    staged.discard()
    # What is refused may be what others have changed meanwhile: a sequence number, say.
    if not _is_lost(error) and _entry(now).path == entry.path:
        raise refused(error, name_of(entry.table), entry.table.catalog, entry.table.io) from None
    return now, False


def _is_lost(error: Exception) -> bool:
    """Whether the catalog refused the commit since it has another version by now."""
    return isinstance(error, loaded("pyiceberg.exceptions", "CommitFailedException"))


def _is_refused(error: Exception) -> bool:
    """Whether the commit has not happened and will not."""
    # Of the built-in ones only these themselves: an answer that does not parse is a kind of ValueError too.
    own = type(error) in (ValueError, NotImplementedError)
    return own or isinstance(error, loaded("pyiceberg.exceptions", *_REFUSED))


def _entry(table: Table) -> Entry:
    """What the catalog said of the table."""
    entry = table.opening.entry
    assert entry is not None
    return entry


# What a commit without a snapshot may change.
_CHANGED = (
    *("format-version", "properties", "refs", "current-snapshot-id", "statistics", "partition-statistics"),
    *("current-schema-id", "last-column-id", "default-spec-id", "last-partition-id"),
)


def _is_made(table: Table, staged: StagedCommit) -> bool:
    """Whether a commit is in the table: its snapshot, or all that it was to change."""
    if staged.snapshot_id is None:
        now = read_metadata(_entry(table).path, storage=table.opening.storage)
        ids = [{one["snapshot-id"] for one in json.get("snapshots", ())} for json in (now, staged.metadata)]
        same = all(now.get(key) == staged.metadata.get(key) for key in _CHANGED)
        return same and ids[0] == ids[1]
    try:
        table.at(snapshot=staged.snapshot_id)
    except SnapshotNotFoundError:
        return False
    return True
