#!/usr/bin/env bash
# Runs parts of a test run one after another, and says what each took. A part is a target of the Makefile, or some of
# them that run side by side: one that waits leaves a core to the other.
#
#   parts.sh "TARGET…"…     ends with the first that fails
set -uo pipefail
cd "$(dirname "$0")/.."

parts=() taken=() status=0
for part in "$@"; do
    start=$(date +%s)
    read -ra targets <<<"$part"
    "${MAKE:-make}" --no-print-directory --jobs "${#targets[@]}" "${targets[@]}" || status=$?
    parts+=("$part") taken+=($(($(date +%s) - start)))
    ((status == 0)) || break
done
echo
for i in "${!parts[@]}"; do
    printf '%-20s %5d s\n' "${parts[i]}" "${taken[i]}"
done
((status == 0)) || printf '%s failed\n' "${parts[-1]}" >&2
exit "$status"
