#!/usr/bin/env bash
# Shows both sample tables on the command line.
#
#   demo.sh PAIMON ICEBERG WRITTEN      their folders, and where the second one's metadata says that it is
set -euo pipefail
files=(--where "region = 'emea'" --columns)
moved=(--relocate "$3=$2")

set -x
lakebed show "$1"
lakebed files "$1" "${files[@]}" partition,bucket,record_count,file_size_in_bytes
lakebed show "$2" "${moved[@]}"
lakebed files "$2" "${moved[@]}" "${files[@]}" content,partition,record_count,file_size_in_bytes
lakebed deletes "$2" "${moved[@]}" --columns content,partition,record_count,referenced_data_file
