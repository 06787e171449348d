"""Apache Iceberg's metadata: single files and bytes, read and written, and filters in its JSON."""

from lakebed.iceberg.answers import error_answer
from lakebed.iceberg.expressions import decode_expression, encode_expression
from lakebed.iceberg.planning import Planner
from lakebed.iceberg.reading import (
    decode_values,
    encode_values,
    read_deletion_vector,
    read_manifest,
    read_manifest_list,
    read_metadata,
)
from lakebed.iceberg.submitted import SubmittedPlans
from lakebed.iceberg.writing import write_manifest, write_manifest_list, write_metadata

__all__ = [
    "Planner",
    "SubmittedPlans",
    "decode_expression",
    "decode_values",
    "encode_expression",
    "encode_values",
    "error_answer",
    "read_deletion_vector",
    "read_manifest",
    "read_manifest_list",
    "read_metadata",
    "write_manifest",
    "write_manifest_list",
    "write_metadata",
]
