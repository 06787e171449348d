//! The boundary between Python and lakebed: converts, detaches, maps errors. No logic.
// A panic that input can reach is a bug: code is written so that nothing needs to be unwrapped.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod arrow;
mod avro;
mod boundary;
mod caller_stream;
mod columnar;
mod error;
mod file;
mod finding;
mod iceberg;
mod iceberg_action;
mod iceberg_commit;
mod iceberg_write;
mod interpreter;
mod job;
mod limits;
mod listing;
mod location;
mod memory;
mod notes;
mod paimon;
mod paimon_change;
mod paimon_commit;
mod paimon_write;
mod rewrite_paths;
mod sink;
mod source;
mod storage;
mod stream;
mod table;
mod turns;
mod vector;
mod view;

/// The compiled module `lakebed._native`.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::arrow::check_names;
    #[pymodule_export]
    use super::avro::{avro_blocks, avro_header, avro_read, avro_write};
    #[pymodule_export]
    use super::boundary::panic;
    #[pymodule_export]
    use super::finding::find_tables;
    #[pymodule_export]
    use super::iceberg::{
        decode_values, encode_values, iceberg_read_manifest, iceberg_read_manifest_list,
        iceberg_read_metadata,
    };
    #[pymodule_export]
    use super::iceberg_action::{FileChangeKind, IcebergAction, Isolation};
    #[pymodule_export]
    use super::iceberg_commit::{
        iceberg_commit, iceberg_create_table, iceberg_fields, iceberg_layout, iceberg_stage,
    };
    #[pymodule_export]
    use super::iceberg_write::{iceberg_write_manifest, iceberg_write_manifest_list, iceberg_write_metadata};
    #[pymodule_export]
    use super::interpreter::interruptibly;
    #[pymodule_export]
    use super::job::{Job, Planned, Share, divisible, health_schema, read_share};
    #[pymodule_export]
    use super::location::{check_locations, location_of, without_credentials, without_secrets};
    #[pymodule_export]
    use super::paimon::{
        decode_rows, encode_rows, paimon_read_hash_index, paimon_read_index_manifest, paimon_read_manifest,
        paimon_read_manifest_list, paimon_read_schema, paimon_read_snapshot,
    };
    #[pymodule_export]
    use super::paimon_change::PaimonChange;
    #[pymodule_export]
    use super::paimon_commit::{FreedFiles, paimon_commit, paimon_create_table, paimon_fields};
    #[pymodule_export]
    use super::paimon_write::{
        PaimonFileKind, paimon_write_records, paimon_write_schema, paimon_write_snapshot,
    };
    #[pymodule_export]
    use super::rewrite_paths::{PathMover, rewrite_paths};
    #[pymodule_export]
    use super::stream::{Batch, BatchStream, Filter};
    #[pymodule_export]
    use super::table::{Scan, Table};
    #[pymodule_export]
    use super::vector::{iceberg_read_deletion_vector, paimon_read_deletion_vector};

    #[pymodule_export]
    use super::view::{Place, View};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("BUILD_PROFILE", if cfg!(debug_assertions) { "debug" } else { "release" })
    }
}
