#!/usr/bin/env bash
# Shows both sample tables on the command line.
#
#   demo.sh PAIMON ICEBERG WRITTEN      their folders, and where the second one's metadata says that it is
set -euo pipefail
files=(--where "region = 'emea'" --columns)
moved=(--relocate "$3=$2")

# What is shown, the command as one would type it, and what it prints.
show() {
    printf '\n== %s\n$ lakebed' "$1"
    for word in "${@:2}"; do
        [[ "$word" == *" "* ]] && word="\"$word\""
        printf ' %s' "$word"
    done
    printf '\n\n'
    lakebed "${@:2}"
}

show "What a Paimon table is, and how it is" show "$1"
show "Its files in one region" files "$1" "${files[@]}" partition,bucket,record_count,file_size_in_bytes
show "Its partitions, those with most small files first" partitions "$1" --sort -small_file_count --limit 5
show "An Iceberg table, in the same words; it was copied to here" show "$2" "${moved[@]}"
show "How it is, number by number" health "$2" "${moved[@]}"
show "Its files in one region" files "$2" "${moved[@]}" "${files[@]}" content,partition,record_count,file_size_in_bytes
show "What is deleted in them" deletes "$2" "${moved[@]}" --columns content,partition,record_count,referenced_data_file
