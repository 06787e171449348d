#!/usr/bin/env bash
# Makes what is attached to a release beside the wheels: puts the bill of materials that each wheel in dist/ has inside into
# assets/, beside the profiles that are there in folders of the targets, and the checksums of all of them. What is in dist/
# is what the package index gets.
set -euo pipefail

mkdir -p assets
rm -f dist/SHA256SUMS
for wheel in dist/*.whl; do
    name=$(basename "$wheel" .whl)
    unzip -p "$wheel" '*.dist-info/sboms/*.json' >"assets/$name.cdx.json"
done
for folder in assets/profile-*/; do
    mv "$folder"release.profdata "${folder%/}.profdata"
    rmdir "$folder"
done
sums=$(cd dist && sha256sum -- * && cd ../assets && sha256sum -- *.cdx.json *.profdata)
echo "$sums" | tee assets/SHA256SUMS
