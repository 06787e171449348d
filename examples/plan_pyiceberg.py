"""A program for PyIceberg, with lakebed below it: the call of `install` is all that is new.

Run: python examples/plan_pyiceberg.py (needs pyiceberg and its extra sql-sqlite)
"""

from __future__ import annotations

import tempfile

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

import lakebed.pyiceberg

lakebed.pyiceberg.install()

with tempfile.TemporaryDirectory() as warehouse:
    catalog = SqlCatalog("local", uri=f"sqlite:///{warehouse}/catalog.db", warehouse=f"file://{warehouse}")
    catalog.create_namespace("shop")
    rows = pa.table({"id": [1, 2, 3, 4], "region": ["emea", "apac", "emea", "amer"]})
    table = catalog.create_table("shop.orders", rows.schema)
    for number in range(3):
        table.append(rows.slice(number))

    scan = table.scan(row_filter="region = 'amer' and id > 2", selected_fields=("id",))
    for task in scan.plan_files():
        print(task.file.record_count, "rows,", task.file.file_size_in_bytes, "bytes")
    print(scan.to_arrow()["id"].to_pylist())

    files = table.inspect.files()
    print(files.num_rows, "files,", sum(files["record_count"].to_pylist()), "rows")
    entries = table.inspect.entries()
    print(entries["readable_metrics"][0]["id"]["upper_bound"])
    catalog.close()

print("Read by lakebed:", lakebed.pyiceberg.status().by_lakebed)
print("Read by PyIceberg's own code:", lakebed.pyiceberg.status().by_pyiceberg)
