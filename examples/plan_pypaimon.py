"""A program for pypaimon, with lakebed below it: the call of `install` is all that is new.

Run: python examples/plan_pypaimon.py (needs pypaimon)
"""

from __future__ import annotations

import tempfile

import pyarrow as pa
from pypaimon import CatalogFactory, Schema

import lakebed.pypaimon

lakebed.pypaimon.install()

with tempfile.TemporaryDirectory() as warehouse:
    catalog = CatalogFactory.create({"warehouse": warehouse})
    catalog.create_database("shop", False)
    rows = pa.table({"id": [1, 2, 3, 4], "region": ["emea", "apac", "emea", "amer"]})
    catalog.create_table(
        "shop.orders", Schema.from_pyarrow_schema(rows.schema, partition_keys=["region"]), False
    )
    table = catalog.get_table("shop.orders")
    for _ in range(3):
        writes = table.new_batch_write_builder()
        write, commit = writes.new_write(), writes.new_commit()
        write.write_arrow(rows)
        commit.commit(write.prepare_commit())
        write.close()
        commit.close()

    builder = table.new_read_builder()
    emea = builder.new_predicate_builder().equal("region", "emea")
    builder = builder.with_filter(emea).with_projection(["id"])
    splits = builder.new_scan().plan().splits()
    for split in splits:
        print(split.partition.values, [file.row_count for file in split.files])
    print(builder.new_read().to_arrow(splits)["id"].to_pylist())

print("Read by lakebed:", lakebed.pypaimon.status().by_lakebed)
print("Read by pypaimon's own code:", lakebed.pypaimon.status().by_pypaimon)
