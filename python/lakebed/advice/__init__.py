"""What is wrong with a table, by which thresholds, and the calls that mend it."""

from lakebed.advice.findings import Finding, findings, verdict
from lakebed.advice.names import TableName
from lakebed.advice.thresholds import SMALL_BYTES, Thresholds

__all__ = ["SMALL_BYTES", "Finding", "TableName", "Thresholds", "findings", "verdict"]
