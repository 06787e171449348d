"""A filter on the partition, with typed bounds of one column, and what it spared.

Run: python examples/prune_partitions.py [TABLE]
"""

import sys
from pathlib import Path

import lakebed

SAMPLE_TABLE = Path(__file__).parent / "sample_table"


def main(location: str) -> None:
    table = lakebed.open_table(location)
    scan = table.files(
        columns=["partition", "record_count"],
        where=(lakebed.col("dt") >= "2026-01-03") & (lakebed.col("region") == "emea"),
        stats=["amount"],
    )
    for file in scan.to_arrow().to_pylist():
        amount = file["stats"]["amount"]
        print(
            f"{file['partition']['dt']}  {file['record_count']:>4} rows"
            f"  amount {amount['lower_bound']} to {amount['upper_bound']}"
        )
    print()
    print(scan.explain())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(SAMPLE_TABLE))
