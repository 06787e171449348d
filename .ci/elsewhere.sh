#!/usr/bin/env bash
# Checks that lakebed compiles for macOS and Windows, for which no wheels are built: all but linking, from any machine.
#
#   elsewhere.sh            both
#   elsewhere.sh TARGET…    by Rust's names
#
# The compression libraries are C, which zig compiles; for Windows with MinGW's headers, since those of MSVC are not free.
set -euo pipefail

declare -A zigs=([aarch64-apple-darwin]=aarch64-macos [x86_64-pc-windows-msvc]=x86_64-windows-gnu)
targets=("$@")
(($#)) || targets=(aarch64-apple-darwin x86_64-pc-windows-msvc)
tools=$PWD/build/elsewhere
zig="$PWD/.venv/bin/python -m ziglang"

.ci/install.sh .venv/bin/python -c constraints-release.txt ziglang
mkdir -p "$tools"
for target in "${targets[@]}"; do
    [[ -n ${zigs[$target]:-} ]] || { echo "not known how to compile C for $target" >&2; exit 2; }
    cat >"$tools/cc-$target" <<SCRIPT
#!/usr/bin/env bash
# Rust's names of targets, which are passed on, are not zig's.
arguments=()
for argument in "\$@"; do [[ \$argument == --target=* ]] || arguments+=("\$argument"); done
exec $zig cc -target ${zigs[$target]} "\${arguments[@]}"
SCRIPT
    printf '#!/bin/sh\nexec %s ar "$@"\n' "$zig" >"$tools/ar"
    chmod +x "$tools/cc-$target" "$tools/ar"
    export "CC_${target//-/_}=$tools/cc-$target" "AR_${target//-/_}=$tools/ar"
    rustup target add "$target"
    cargo check --quiet --locked --package lakebed-python --target "$target"
    echo "compiles for $target"
done
