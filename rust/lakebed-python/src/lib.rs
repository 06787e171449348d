//! The boundary between Python and lakebed: converts, detaches, maps errors. No logic.
// A panic that input can reach is a bug: code is written so that nothing needs to be unwrapped.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod arguments;
mod arrow;
mod avro;
mod boundary;
mod cache;
mod caller_stream;
mod columnar;
mod error;
mod experimental;
mod iceberg;
mod iceberg_commit;
mod iceberg_tasks;
mod interpreter;
mod job;
mod location;
mod memory;
mod paimon;
mod paimon_commit;
mod rewrite_paths;
mod sink;
mod source;
mod storage;
mod stream;
mod table;
mod turns;
mod view;

/// The compiled module `lakebed._native`.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::{
        arrow::check_names,
        avro::{avro_blocks, avro_header, avro_read, avro_write},
        boundary::panic,
        cache::Cache,
        columnar::{orc_footer, parquet_footer},
        experimental::{
            decode_mumbling, encode_mumbling, iceberg_read_content_entries, iceberg_read_live_files,
            iceberg_write_content_entries,
        },
        iceberg::{
            decode_values, encode_values, iceberg_expression, iceberg_filter, iceberg_read_deletion_vector,
            iceberg_read_manifest, iceberg_read_manifest_list, iceberg_read_metadata, iceberg_write_manifest,
            iceberg_write_manifest_list, iceberg_write_metadata,
        },
        iceberg_commit::{
            FileChangeKind, IcebergAction, Isolation, iceberg_commit, iceberg_create_table, iceberg_fields,
            iceberg_layout, iceberg_stage,
        },
        iceberg_tasks::ScanTasks,
        interpreter::interruptibly,
        job::{Job, JobPlan, Share, divisible, read_share},
        location::{check_locations, location_of, scheme_family, without_credentials, without_secrets},
        paimon::{
            PaimonFileKind, decode_rows, encode_rows, paimon_memory_size, paimon_read_deletion_vector,
            paimon_read_hash_index, paimon_read_records, paimon_read_schema, paimon_read_snapshot,
            paimon_write_records, paimon_write_schema, paimon_write_snapshot,
        },
        paimon_commit::{PaimonChange, paimon_commit, paimon_create_table, paimon_fields},
        rewrite_paths::{PathMover, rewrite_paths},
        storage::ReadLimit,
        stream::{Batch, BatchStream, Filter, byte_count, columns_of},
        table::{Scan, Table, find_tables},
        view::{Place, View, health_schema},
    };

    use lakebed::format::FORMATS;
    use pyo3::prelude::*;
    use pyo3::types::PyTuple;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Interpreters fork, and what they then hold is never let go: the module's own apache-avro takes no lock.
        lakebed_avro::check_names_without_locks();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        let formats = FORMATS.0.iter().map(|format| format.name);
        module.add("FORMATS", PyTuple::new(module.py(), formats)?)?;
        module.add("BUILD_PROFILE", if cfg!(debug_assertions) { "debug" } else { "release" })
    }
}
