"""What a table is made of: its history, its manifests, and the largest of its live files.

Run: python examples/read_table.py [TABLE]
"""

import sys
from pathlib import Path

import pyarrow as pa

import lakebed

SAMPLE_TABLE = Path(__file__).parent / "sample_table"


def main(location: str) -> None:
    table = lakebed.open_table(location)
    print(table)

    print("\nHistory, newest first")
    history = table.snapshots(columns=["snapshot_id", "committed_at", "operation", "total_record_count"])
    for snapshot in reversed(history.to_arrow().to_pylist()):
        print(
            f"  {snapshot['snapshot_id']:>3}  {snapshot['committed_at']:%Y-%m-%d %H:%M}"
            f"  {snapshot['operation']:<9}  {snapshot['total_record_count']:>6} rows"
        )

    print(f"\nManifests: {table.manifests().to_arrow().num_rows}")

    # A scan is an Arrow stream: pa.table, pl.DataFrame or DuckDB take it as it is.
    files = pa.table(table.files(columns=["file_path", "record_count", "file_size_in_bytes"]))
    print(f"Live files: {files.num_rows}; the largest:")
    for file in files.sort_by([("file_size_in_bytes", "descending")]).slice(0, 3).to_pylist():
        name = file["file_path"].rpartition("/")[2]
        print(f"  {file['file_size_in_bytes']:>6} bytes  {file['record_count']:>3} rows  {name}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(SAMPLE_TABLE))
