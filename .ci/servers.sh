#!/usr/bin/env bash
# Runs the tests of object stores against MinIO, which is built from its Go module, once.
#
#   servers.sh [--built] PYTEST…      the command that runs tests; --built: only where MinIO is built already
set -euo pipefail
cd "$(dirname "$0")/.."

version=v0.0.0-20260212201848-7aac2a2c5b7c
folder=$PWD/build/servers
minio=$folder/minio-$version

if [[ $1 == --built ]]; then
    shift
    [[ -x $minio ]] || { echo 'skipped: MinIO is not built here, which make test-servers does; moto stood in for it' && exit; }
fi
if [[ ! -x $minio ]]; then
    command -v go >/dev/null || { echo 'skipped: no Go, from whose module MinIO is built; moto stands in for it in make test' && exit; }
    echo 'building MinIO, some minutes' >&2
    GOBIN=$folder go install "github.com/minio/minio@$version"
    mv "$folder/minio" "$minio"
fi
LAKEBED_MINIO=$minio exec "$@" tests/test_object_stores.py tests/test_object_store_faults.py tests/test_paimon_commits_stores.py
