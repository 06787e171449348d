"""Whether paths that metadata names are where they may be."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lakebed import _native
from lakebed._pyarrow import pa

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_locations(
    column: pa.Array | pa.ChunkedArray | Iterable[str | None],
    allowed_prefixes: Iterable[str | os.PathLike[str]],
    *,
    policy: str = "error",
) -> pa.BooleanArray:
    """For each path whether it is below one of the prefixes, and is nothing but a plain path.

    Whoever can write a table's metadata can name any path in it: check paths before you open them, such as
    `file_path` of `Table.files`. (lakebed checks those that it opens itself: see `open_table`.)

    Paths are compared name by name, never as text: `/t10/x` is not below `/t1`. Schemes are compared without
    case, `s3`, `s3a` and `s3n` are one, as are `abfs`, `abfss`, `az`, `wasb` and `wasbs`, `gs` and `gcs`,
    `file:/`, `file:///` and no scheme; hosts are compared as they are written, and in `hdfs` and `viewfs` may
    be left out. Names stay percent-encoded. A bare file name, as in Paimon's `file_name`, is below the
    table's own folders and is always fine; other relative paths need a relative prefix.

    Never below any prefix: folders `.` and `..`, also percent-encoded, over and over if need be; control
    characters and backslashes; user-info (but for a container before `@`); a missing or malformed host.

    Args:
        column: paths, text of any Arrow type or plain `str`s; null stays null.
        allowed_prefixes: folders, with a scheme or local. Every scheme must be listed to be allowed.
        policy: "error" raises for the first path that is not allowed, "mark" gives False for it, "ignore"
            checks nothing.
    Returns: one boolean for each path.
    Raises: LocationError with `.record` and `.path` (without credentials), SchemaError (a prefix or policy
        that is none, a column that is no text).
    Cost: one pass over the paths and a copy of them.
    """
    if not isinstance(column, pa.Array | pa.ChunkedArray):
        column = pa.array(column, pa.large_string())
    paths = column.cast(pa.large_string())
    if isinstance(paths, pa.ChunkedArray):
        paths = pa.concat_arrays(paths.chunks) if paths.num_chunks else pa.array([], pa.large_string())
    allowed = [os.fspath(prefix) for prefix in allowed_prefixes]
    return pa.array(_native.check_locations(paths, allowed, policy))
