#!/usr/bin/env bash
# Makes what stands beside the wheels of a release: puts the bill of materials that each wheel in dist/ has inside into
# assets/, and the checksums of all of them. What is in dist/ is what the package index gets.
set -euo pipefail

mkdir -p assets
rm -f dist/SHA256SUMS
for wheel in dist/*.whl; do
    name=$(basename "$wheel" .whl)
    unzip -p "$wheel" '*.dist-info/sboms/*.json' >"assets/$name.cdx.json"
done
sums=$(cd dist && sha256sum -- * && cd ../assets && sha256sum -- *.cdx.json)
echo "$sums" | tee assets/SHA256SUMS
