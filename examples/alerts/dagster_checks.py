"""Checks of Dagster: one for each table, beside the asset that writes it."""

import os

import dagster as dg

import lakebed

TABLES = {"orders": os.environ.get("ORDERS", "examples/sample_table")}


def health_check(asset: str, path: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=asset, name="health")
    def check() -> dg.AssetCheckResult:
        table = lakebed.open_table(path)
        found = table.health().findings()
        (row,) = (
            table.health(columns=["file_count", "small_file_count", "snapshot_count"]).to_arrow().to_pylist()
        )
        steps = "\n".join(f"- {one['what']}; {one['next_step']}" for one in found)
        metadata = {"advice": dg.MetadataValue.md(steps or "no problems found"), **row}
        return dg.AssetCheckResult(passed=not found, severity=dg.AssetCheckSeverity.WARN, metadata=metadata)

    return check


@dg.asset
def orders() -> None:
    """Whatever writes the table."""


defs = dg.Definitions(assets=[orders], asset_checks=[health_check(*one) for one in TABLES.items()])
