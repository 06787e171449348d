#!/usr/bin/env bash
# Says where tests put their files: in memory where there is room for those of several runs, else where the system does.
set -euo pipefail

memory=/dev/shm
if [[ -w $memory ]] && (($(df --output=avail --block-size=1M "$memory" | tail -n 1) > 2000)); then
    echo "$memory"
else
    echo "${TMPDIR:-/tmp}"
fi
