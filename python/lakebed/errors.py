"""Everything lakebed raises on its own account.

Each class is also one of Python's built-in errors, so that code which knows nothing of lakebed catches it in
the usual way. Failures of a storage stay the `OSError` the storage raised.

Code that tells errors apart reads the class, and within a class `kind` and `field`: texts are for
people, and change. `is_retryable` says of every error whether to try again. Where rows to be written are
wrong, and no file is, the kinds of `CorruptError` are those of a `SchemaError`.
"""

from __future__ import annotations

import errno
from typing import Any

from lakebed._text import printable, printable_lines


class LakebedWarning(UserWarning):
    """Something is odd about a file that was read, and did no harm: a size recorded wrongly, for instance."""


class LakebedError(Exception):
    """An error with a kind and a place; attributes are None where nothing is known.

    Attributes:
        kind: what is wrong, one of the words that its class lists; `io` where a storage failed without an
            error number.
        path: the file it is in.
        offset: byte within that file (or within the value, for bytes without a file), from 0.
        block: Avro block within the file, from 0.
        record: record within the file or row within the batch, from 0.
        field: dotted name of the field; of a column or view that does not exist, its name.
        retryable: whether the same call may be made again as it is: nothing of this one is left, and what was
            in its way may have passed.
    """

    def __init__(
        self,
        message: str = "",
        *,
        kind: str | None = None,
        path: str | None = None,
        offset: int | None = None,
        block: int | None = None,
        record: int | None = None,
        field: str | None = None,
        retryable: bool = False,
    ) -> None:
        # Messages name files, columns and values, which may hold anything; a filter's caret has its own line.
        message = printable_lines(message) if kind == "predicate" else printable(message)
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.path = path
        self.offset = offset
        self.block = block
        self.record = record
        self.field = field
        self.retryable = retryable

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        # The default would call the class with `args` alone; the state carries the attributes and notes.
        return type(self), (self.message,), self.__dict__


class CorruptError(LakebedError, ValueError):
    """Bytes contradict the format, or two places of the metadata contradict each other.

    Kinds: of containers `magic`, `schema`, `codec`, `checksum`, `sync`, `trailing`, `count`, `length`; of
        values `varint`, `int-range`, `union`, `enum`, `boolean`, `utf8`, `uuid`, `decimal`, `timestamp`,
        `duplicate`; of Paimon's BinaryRow `arity`, `row-kind`, `offset`; of metadata `json`, `type`,
        `required` (a field that the format requires), `mismatch` (counts or sizes recorded elsewhere).
    """


class TruncatedError(CorruptError, EOFError):
    """Input ended early; where a file is still being written or copied, a retry may help.

    Kind: `truncated`.
    """


class EncryptionError(LakebedError, ValueError):
    """Encrypted metadata that is not decrypted: no key, another one, or bytes that were changed.

    Kind: `encryption`. The message has the ids of keys. What `keys=` raised is the `__cause__`.
    """


class MissingFileError(CorruptError, FileNotFoundError):
    """Metadata names a file that is not there. Kind: `missing`."""


class LocationError(LakebedError, ValueError):
    """A path that is not opened: outside the allowed prefixes, malformed, or no regular file.

    Kind: `location`.
    """


class UnsupportedError(LakebedError, NotImplementedError):
    """Valid, but not handled: a codec, a format version, a table format.

    Kinds: `codec`, `version`, `schema` (an Avro schema), `magic` (no Avro file), `unsupported` (all else).
    """


class LimitError(LakebedError, ValueError):
    """Over a bound of `lakebed.Limits`; the message names the bound, its value and what was asked for.

    Or there is no memory: a storage's own `MemoryError` becomes this too, and is then its cause.
    Kinds: `limit`, `depth` (of nesting).
    """


class SchemaError(LakebedError, TypeError):
    """A column that is not there, or a type that does not fit the one wanted.

    Kinds: `unknown-column`, and `unknown-view` of a metadata table, each with the name as `field`;
        `argument` (values or types that do not fit), `type`, `required` (nulls), `mismatch` (rows of several
        partitions), `schema` (that cannot be read as another).
    """


class PredicateError(LakebedError, ValueError):
    """A condition (`where=` or `filter=`) that does not parse, or does not fit the columns it names.

    Kinds: `unknown-column`, with the name as `field`; `predicate` (all else).
    """


class TableNotFoundError(LakebedError, FileNotFoundError):
    """No table at this place. Kind: `table-not-found`."""


class SnapshotNotFoundError(LakebedError, LookupError):
    """The table has no such snapshot, tag or branch. Kind: `snapshot-not-found`."""


class PlanRequestError(LakebedError, ValueError):
    """What a client of a REST catalog asked a planner for is no request that there is.

    Kind: `argument`, with the key as `field`.
    """


class PlanNotFoundError(LakebedError, LookupError):
    """The id of a plan that this catalog has not, or no longer. Kind: `plan-id`."""


class PlanTaskNotFoundError(LakebedError, LookupError):
    """A plan task that this catalog did not make for this table: forged, changed, too old, of another table
    or secret; or what it was made of is gone. Kind: `plan-task`.
    """


class CommitConflictError(LakebedError):
    """Other writers were first, and nothing of this commit is left.

    It is `retryable` where all attempts were lost to others. Where another commit took what this one builds
    on, such as a file that it replaces, it is not: look at the table again, and decide anew.
    Kind: `conflict`.
    """


class ConfigurationError(LakebedError, ValueError):
    """A configuration file says what cannot be: `path` is the file, `field` the key in it.

    Kinds: `toml` (it is no TOML), `unknown-key`, `type` (a value that the key does not take).
    """


class InternalError(LakebedError, RuntimeError):
    """A bug of lakebed, please report it: a panic of the core, or columns of its own that do not fit.

    Kind: `internal`.
    """


# What passes by itself: nobody answers, or not now.
_PASSING = frozenset(
    getattr(errno, name)
    for name in (
        *("EAGAIN", "EINTR", "EBUSY", "EPIPE", "ETIMEDOUT", "ECONNABORTED", "ECONNREFUSED", "ECONNRESET"),
        *("EHOSTUNREACH", "ENETDOWN", "ENETRESET", "ENETUNREACH", "ESTALE"),
    )
    if hasattr(errno, name)
)


def is_retryable(error: BaseException) -> bool:
    """Whether the call that raised an error may be made again as it is: nothing of it is left, and what was
    in its way may have passed.

    Args: error, of lakebed's or another, such as an `OSError` of a storage. One of a commit of which it is
        not known whether it has happened has the attribute `retryable`, False: look at the table first.
    Returns: the error's `retryable`; without one True for an `OSError` whose number says that nobody answered
        in time, or not now, and False for all else.
    """
    said = getattr(error, "retryable", None)
    if said is not None:
        return bool(said)
    return isinstance(error, OSError) and error.errno in _PASSING
