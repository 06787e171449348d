use std::path::Path;
use std::sync::Arc;

use lakebed_avro::ErrorKind as AvroKind;

use super::base::Base;
use crate::columnar::Decoding;
use crate::error::ErrorKind;
use crate::paimon::partition::PartitionType;
use crate::paimon::table::Table;
use crate::paimon::write::summary::Summary;
use crate::storage::Local;
use crate::test_data::paths;

/// The tables of other writers, whose manifests are Avro.
fn tables() -> Vec<Table> {
    let schemas = paths("paimon", &|name| name == "schema-0");
    let roots = schemas.iter().filter_map(|schema| schema.parent().and_then(Path::parent));
    let roots = roots.filter(|root| !root.components().any(|part| part.as_os_str() == "branch"));
    let open = |root: &Path| {
        let table =
            Table::open(&root.to_string_lossy(), Arc::new(Local), Decoding::from(crate::Limits::DEFAULT));
        match table {
            Ok(table) => Some(table),
            Err(error) => panic!("{root:?}: {error}"),
        }
    };
    roots.filter_map(open).collect()
}

/// What is summed up of entries is what the engine's lists record, but for what its older versions did not.
#[test]
fn manifests_are_summed_up_as_the_engine_sums_them_up() {
    let mut seen = 0;
    for table in tables() {
        let base = match Base::latest(&table) {
            // No reader of ORC and Parquet is lent here.
            Err(error) if error.kind() == ErrorKind::Avro(AvroKind::Foreign) => continue,
            base => base.expect("lists"),
        };
        let partition = PartitionType::new(base.schema());
        for (row, manifest) in base.manifests.iter().enumerate() {
            let mut summary = Summary::new();
            let Ok(entries) = base.entries(manifest, None) else { continue };
            for entries in entries {
                summary.extend(&entries.expect("entries")).expect("a summary");
            }
            let made = summary.finish(&manifest.file_name, manifest.file_size, &partition).expect("a record");
            let recorded = base.list.slice(row, 1);
            for (name, (made, recorded)) in made
                .schema()
                .fields()
                .iter()
                .map(|field| field.name())
                .zip(made.columns().iter().zip(recorded.columns()))
            {
                // What only newer writers record is kept where it is, and not made.
                let kept = ["total_buckets", "extra_files"].contains(&name.as_str());
                let unknown = kept || recorded.null_count() == 1;
                assert!(unknown || made == recorded, "{}: {name}: {made:?} {recorded:?}", table.location());
            }
            seen += 1;
        }
    }
    assert!(seen > 0 || crate::test_data::shared().is_none());
}
