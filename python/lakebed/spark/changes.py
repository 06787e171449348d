"""What changed in a table's files, found by executors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakebed.spark.exchange import exchanged, gathered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lakebed.spark.request import Request


def diff(asked: Request) -> DataFrame:
    """The driver reads the manifest lists of both; executors read the manifests that one of them alone has,
    once, and their files cross an exchange by identity, unless all came or all went.
    """
    spark, scan, reading = asked.of.spark, asked.scan, asked.reading
    exchange = scan.exchange()
    manifests = [manifest for side in exchange.sides for manifest in side]
    if (small := asked.small(manifests)) is not None:
        return small
    if exchange.together:
        return asked.kept(exchanged(spark, scan.schema, exchange, reading))
    return asked.kept(gathered(spark, scan.schema, exchange, manifests, reading))
