"""Partitions as people and JSON get them: without the fields that the partition spec of a row does not have.

Arrow has null in their place, as in a row whose value is null.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakebed._kept import kept
from lakebed._pyarrow import pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakebed._native import Table

SPEC = "spec_id"
"""The column with the spec of a row."""

PARTITIONS = ("partition", "partition_lower", "partition_upper")
"""The columns with partitions."""

# As many as unions have.
_MOST_KINDS = 128


@dataclass(frozen=True)
class Specs:
    """The partition specs of a table.

    Attributes: absent, by the id of a spec the fields that it does not have; without specs that have all.
    """

    absent: Mapping[int, Sequence[str]]

    @classmethod
    def of(cls, table: Table) -> Specs:
        """Those of a table. Cost: none, but where a schema lacks the source of a field: that of `schemas`."""
        return cls(table.absent_partition_fields())

    def differ_in(self, schema: pa.Schema) -> bool:
        """Whether rows of this schema have partitions of which some lack fields."""
        return bool(self._columns(schema))

    def shown(self, rows: pa.Table) -> pa.Table:
        """The rows with partitions that are unions of structs: each has the fields of its row's spec.

        Rows without the column `spec_id` are as they were.
        """
        names = self._columns(rows.schema)
        if not names or SPEC not in rows.schema.names:
            return rows
        codes = {spec: self._kinds.index(frozenset(fields)) for spec, fields in self.absent.items()}
        of_rows = pa.array([codes.get(spec, 0) for spec in rows[SPEC].to_pylist()], pa.int8())
        for name in names:
            union = self._union(rows[name].combine_chunks(), of_rows)
            rows = rows.set_column(rows.schema.get_field_index(name), name, union)
        return rows

    @kept
    def _kinds(self) -> list[frozenset[str]]:
        """The sets of fields that specs lack, the first of them empty."""
        return list(dict.fromkeys((frozenset[str](), *map(frozenset, self.absent.values()))))

    def _columns(self, schema: pa.Schema) -> list[str]:
        if not self.absent or len(self._kinds) > _MOST_KINDS:
            return []
        known = (name for name in PARTITIONS if name in schema.names)
        return [name for name in known if pa.types.is_struct(schema.field(name).type)]

    def _union(self, column: pa.StructArray, of_rows: pa.Array) -> pa.UnionArray:
        fields = {field.name: column.field(place) for place, field in enumerate(column.type)}
        missing = column.is_null()
        kinds = [
            _struct({name: values for name, values in fields.items() if name not in kind}, missing)
            for kind in self._kinds
        ]
        places = pa.array(range(len(column)), pa.int32())
        return pa.UnionArray.from_dense(of_rows, places, kinds)


def _struct(fields: dict[str, pa.Array], missing: pa.Array) -> pa.StructArray:
    if not fields:
        return pa.array([None if one else {} for one in missing.to_pylist()], pa.struct([]))
    return pa.StructArray.from_arrays(list(fields.values()), list(fields), mask=missing)
