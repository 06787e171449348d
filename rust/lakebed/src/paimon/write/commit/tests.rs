use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use lakebed_avro::ErrorKind as AvroKind;

use super::apply::commit;
use super::base::Base;
use super::changes::Changes;
use super::{CommitOptions, TableDefinition, create_table};
use crate::columnar::Decoding;
use crate::error::ErrorKind;
use crate::paimon::partition::PartitionType;
use crate::paimon::snapshot::CommitKind;
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

/// The totals of entries equal those in the engine's lists, except values that its older versions did not record.
#[test]
fn manifests_have_the_totals_that_the_engine_records() {
    let mut seen = 0;
    for table in tables() {
        let base = match Base::latest(&table) {
            // This test cannot read ORC and Parquet.
            Err(error) if error.kind() == ErrorKind::Avro(AvroKind::Foreign) => continue,
            base => base.expect("lists"),
        };
        let partition = PartitionType::new(base.schema());
        for (row, manifest) in base.manifests().expect("lists").iter().enumerate() {
            let mut summary = Summary::new();
            let Ok(entries) = base.entries(manifest, None) else { continue };
            for entries in entries {
                summary.extend(&entries.expect("entries")).expect("a summary");
            }
            let made = summary.finish(&manifest.file_name, manifest.file_size, &partition).expect("a record");
            let recorded = base.list().expect("lists").slice(row, 1);
            for (name, (made, recorded)) in made
                .schema()
                .fields()
                .iter()
                .map(|field| field.name())
                .zip(made.columns().iter().zip(recorded.columns()))
            {
                // Values that only newer writers record are kept where they exist, but not computed.
                let kept = ["total_buckets", "extra_files"].contains(&name.as_str());
                let unknown = kept || recorded.null_count() == 1;
                assert!(unknown || made == recorded, "{}: {name}: {made:?} {recorded:?}", table.location());
            }
            seen += 1;
        }
    }
    assert!(seen > 0 || crate::test_data::shared().is_none());
}

/// After each plan another commit is made before the snapshot is published.
#[test]
fn a_commit_that_loses_every_race_is_a_conflict_and_leaves_nothing() {
    let folder = std::env::temp_dir().join(format!("lakebed-races-{}", std::process::id()));
    let definition = TableDefinition {
        fields: TableDefinition::fields_from_json(r#"[{"id":0,"name":"id","type":"BIGINT"}]"#).expect("JSON"),
        partition_keys: Vec::new(),
        primary_keys: Vec::new(),
        options: Vec::new(),
        comment: None,
    };
    let table = create_table(&folder.to_string_lossy(), Arc::new(Local), &definition, crate::Limits::DEFAULT);
    let table = table.expect("a table");
    let options = |uuid| CommitOptions {
        user: "writer".to_owned(),
        identifier: None,
        properties: Vec::new(),
        watermark: None,
        uuid,
        zone_offset_millis: 0,
        encoder: None,
    };
    let changes = || Ok(Some(Changes::of(Vec::new())));
    let others = Cell::new(0u128);
    let made_by_another_first = |_: &Base| {
        others.set(others.get() + 1);
        commit(&table, &options(others.get()), CommitKind::Append, &|_| changes())?;
        changes()
    };
    let lost = commit(&table, &options(1 << 64), CommitKind::Append, &made_by_another_first);
    let error = lost.err().expect("a conflict");
    assert_eq!((error.kind(), others.get()), (ErrorKind::Conflict, 3));
    let names = |name: &str| {
        let files = std::fs::read_dir(folder.join(name)).expect("a folder");
        files.map(|file| file.expect("a file").file_name().into_string().expect("UTF-8")).collect::<Vec<_>>()
    };
    let snapshots = names("snapshot").into_iter().filter(|name| name.starts_with("snapshot-"));
    assert_eq!(snapshots.count(), 3);
    let own = uuid(1 << 64);
    assert!(names("manifest").iter().all(|name| !name.contains(&own)), "{:?}", names("manifest"));
    std::fs::remove_dir_all(folder).expect("there");
}

/// Manifests in ORC and Parquet need an encoder: without one nothing is written.
#[test]
fn without_an_encoder_other_formats_than_avro_are_refused() {
    for format in ["orc", "parquet"] {
        let folder = std::env::temp_dir().join(format!("lakebed-{format}-{}", std::process::id()));
        let fields = r#"[{"id":0,"name":"id","type":"BIGINT"}]"#;
        let definition = TableDefinition {
            fields: TableDefinition::fields_from_json(fields).expect("JSON"),
            options: vec![("manifest.format".to_owned(), format.to_owned())],
            ..TableDefinition::default()
        };
        let table =
            create_table(&folder.to_string_lossy(), Arc::new(Local), &definition, crate::Limits::DEFAULT);
        let table = table.expect("a table");
        let options = CommitOptions {
            user: "writer".to_owned(),
            identifier: None,
            properties: Vec::new(),
            watermark: None,
            uuid: 1,
            zone_offset_millis: 0,
            encoder: None,
        };
        let made =
            commit(&table, &options, CommitKind::Append, &|_| Ok(Some(Changes::of(Vec::new())))).map(drop);
        let error = made.expect_err("no encoder");
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("encoder"), "{error}");
        assert!(!folder.join("manifest").exists() && !folder.join("snapshot").exists());
        std::fs::remove_dir_all(folder).expect("there");
    }
}

/// How names of files spell a UUID.
fn uuid(number: u128) -> String {
    let digits = format!("{number:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}
