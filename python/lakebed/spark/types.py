"""Arrow types as Spark takes them.

What `mapInArrow` refuses, run and seen in PySpark 4.3: dictionaries, unsigned integers, timestamps in other
units than microseconds, fixed-size binary, views, large lists, 256-bit decimals. Its TIME type passes, but is
switched off by default, and then a mere `count()` over such a column fails; PySpark 3.5 has none. Times are
integers here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


def spark_schema(schema: pa.Schema) -> StructType:
    """The Spark schema of an Arrow schema, by way of `to_spark`. Cost: none, no session is needed."""
    from pyspark.sql.pandas.types import from_arrow_schema

    # Said aloud, as versions differ in the default: a time without a zone is not moved by the session's zone.
    return from_arrow_schema(to_spark(schema), prefer_timestamp_ntz=True)


def to_spark(schema: pa.Schema) -> pa.Schema:
    """The Arrow schema with every type replaced by the one that Spark takes."""
    return pa.schema([_field(field) for field in schema])


def cast_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with the types of a schema made by `to_spark`, column by column, by position.

    Timestamps finer than microseconds are cut to them, towards the past; a time of day becomes the number it
    is stored as, in the unit of its Arrow type.
    """
    if not batch.num_columns:
        return batch  # one made of no columns would have no rows
    columns = [_cast(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _field(field: pa.Field) -> pa.Field:
    return pa.field(field.name, _type(field.type), field.nullable)


def _inner(field: pa.Field) -> pa.Field:
    # `DataFrame.toArrow` fails on a null struct whose fields are not nullable.
    return _field(field).with_nullable(True)


def _type(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_struct(kind):
        return pa.struct([_inner(child) for child in kind])
    if types.is_map(kind):
        return pa.map_(_field(kind.key_field), _inner(kind.item_field))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return pa.list_(_inner(kind.value_field))
    if types.is_dictionary(kind):
        return _type(kind.value_type)
    if types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz and "UTC")
    if types.is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale)
    return next((replacement for replaced, replacement in _REPLACED if replaced(kind)), kind)


_REPLACED = (
    (pa.types.is_uint8, pa.int16()),
    (pa.types.is_uint16, pa.int32()),
    (pa.types.is_uint32, pa.int64()),
    (pa.types.is_uint64, pa.decimal128(20, 0)),
    (pa.types.is_time32, pa.int32()),
    (pa.types.is_time64, pa.int64()),
    (pa.types.is_float16, pa.float32()),
    (pa.types.is_date64, pa.date32()),
    (pa.types.is_large_string, pa.string()),
    (pa.types.is_string_view, pa.string()),
    (pa.types.is_fixed_size_binary, pa.binary()),
    (pa.types.is_large_binary, pa.binary()),
    (pa.types.is_binary_view, pa.binary()),
)


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if array.type.equals(kind):
        return array
    if pa.types.is_struct(kind) and kind.num_fields:
        # Arrow's own cast finds fields by name, and takes the fields of one name in any order.
        children = [_cast(child, field.type) for child, field in zip(array.flatten(), kind, strict=True)]
        return pa.StructArray.from_arrays(children, fields=list(kind), mask=array.is_null())
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        array = pc.floor_temporal(array, unit="microsecond")
    return array.cast(kind, safe=False)
