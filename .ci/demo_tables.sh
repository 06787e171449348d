#!/usr/bin/env bash
# Packs the sample tables for `lakebed demo`, the same bytes for the same files.
#
#   demo_tables.sh FILE.tar.gz
set -euo pipefail
archive=$(realpath "$1")
cd "$(dirname "$0")/../examples"
plain=(--sort=name --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX)
tar --create "${plain[@]}" --exclude=README.md sample_table sample_iceberg_table | gzip -9n >"$archive"
