"""What the ends of data files say of their rows, and what a table's metadata keeps of it.

`finding` says which files are meant, and `reading` reads their ends side by side; `parquet`, `orc` and
`avro` read each their format's; `matching` finds the columns of a file in a table, `values` converts bounds,
`partitions` tells which partition a file is of, and `rows` makes rows of the view `files`.
"""
