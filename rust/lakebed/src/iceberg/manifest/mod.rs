//! Manifests: the entries of files that were added, are there, or were deleted (Iceberg specification,
//! "Manifests"; Iceberg's `ManifestReader.java`).

pub(in crate::iceberg) mod canonical;
