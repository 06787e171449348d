"""What a reader agrees to spend on one input."""

from __future__ import annotations

from dataclasses import dataclass, fields

_MIB = 1 << 20
_GIB = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds on the work and memory one Avro input may cause, passed by value with every call.

    A bound that is passed raises `LimitError`, which names the bound and what was asked for. The compiled
    core lowers values above its hard caps to them, so that no caller can lift a bound without end.

    Attributes:
        max_header_bytes: bytes of the file header: magic, metadata map and sync marker.
        max_schema_depth: nesting depth of the schema.
        max_schema_nodes: nodes of the schema once every named type is expanded where it is used.
        max_block_bytes: bytes of one block, compressed or inflated.
        max_file_bytes: inflated bytes of all blocks of one file.
        max_rows: records of one file.
        max_items: array and map items of one file.
        max_zero_width_items: items that take no bytes (nulls, empty records) in one block.
        max_cells: records times leaf columns of one file.
        max_value_bytes: bytes of one string, bytes or fixed value.

    Raises: ValueError for a bound that is not a whole number of at least 0.
    """

    max_header_bytes: int = 16 * _MIB
    max_schema_depth: int = 64
    max_schema_nodes: int = 100_000
    max_block_bytes: int = 256 * _MIB
    max_file_bytes: int = 4 * _GIB
    max_rows: int = 100_000_000
    max_items: int = 1_000_000_000
    max_zero_width_items: int = _MIB
    max_cells: int = 4_000_000_000
    max_value_bytes: int = 64 * _MIB

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 64:
                raise ValueError(f"{field.name} must be a whole number from 0 to 2^64 - 1, not {value!r}")


LIMITS = Limits()
"""The defaults: generous for real metadata, small enough for a laptop."""
