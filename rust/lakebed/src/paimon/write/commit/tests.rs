mod refused;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field};
use lakebed_avro::ErrorKind as AvroKind;

use super::base::Base;
use super::{
    Change, CommitOptions, FileSelection, ManifestCompaction, TableDefinition, commit, create_table,
};
use crate::columnar::Decoding;
use crate::error::{Error, ErrorKind, Result};
use crate::paimon::partition::PartitionType;
use crate::paimon::snapshot::CommitKind;
use crate::paimon::table::Table;
use crate::paimon::write::alter::SchemaChange;
use crate::paimon::write::refs::RefChange;
use crate::paimon::write::summary::Summary;
use crate::predicate::Predicate;
use crate::record::find;
use crate::storage::{Local, Storage};
use crate::test_data::paths;
use crate::write::ExistingFile;

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
            let Ok(entries) = base.whole_entries(manifest) else { continue };
            for entries in entries {
                summary.extend(&entries.expect("entries")).expect("a summary");
            }
            let made =
                summary.finish(&manifest.file_name, manifest.file_size, None, &partition).expect("a record");
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

/// Local files, where another commit is made before each snapshot is published.
struct OvertakenStorage {
    /// Makes the commit of a number.
    other: Box<dyn Fn(u32) + Send + Sync>,
    commits: AtomicU32,
    most: u32,
}

impl Storage for OvertakenStorage {
    fn read(&self, path: &str) -> Result<Buffer> {
        Local.read(path)
    }

    fn read_range(&self, path: &str, start: u64, length: u64) -> Result<Buffer> {
        Local.read_range(path, start, length)
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        Local.list(folder)
    }

    fn publish(&self, path: &str, existing: ExistingFile, bytes: &[u8]) -> Result<bool> {
        let number = self.commits.load(Ordering::Relaxed);
        if path.contains("/snapshot/snapshot-") && number < self.most {
            self.commits.store(number + 1, Ordering::Relaxed);
            (self.other)(number);
        }
        Local.publish(path, existing, bytes)
    }

    fn inner(&self) -> Option<&dyn Storage> {
        Some(&Local)
    }
}

/// A folder that is removed with everything in it.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Folder {
    fn new(name: &str) -> Folder {
        Folder(std::env::temp_dir().join(format!("lakebed-{name}-{}", std::process::id())))
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let Ok(files) = std::fs::read_dir(self.0.join(folder)) else { return Vec::new() };
        files.map(|file| file.expect("a file").file_name().into_string().expect("UTF-8")).collect()
    }
}

/// A new table partitioned by `p`.
fn created(folder: &Folder, table_options: &[(&str, &str)]) -> Table {
    let fields = r#"[{"name":"id","type":"BIGINT"},{"name":"p","type":"INT"}]"#;
    let definition = TableDefinition {
        fields: TableDefinition::fields_from_json(fields).expect("JSON"),
        partition_keys: vec!["p".to_owned()],
        options: table_options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        ..TableDefinition::default()
    };
    let location = folder.0.to_string_lossy();
    create_table(&location, Arc::new(Local), &definition, crate::Limits::DEFAULT).expect("a table")
}

fn opened(table: &Table, storage: impl Storage + 'static) -> Table {
    Table::open(table.location(), Arc::new(storage), Decoding::from(crate::Limits::DEFAULT)).expect("a table")
}

fn options(uuid: u128) -> CommitOptions {
    CommitOptions {
        user: "writer".to_owned(),
        identifier: None,
        properties: Vec::new(),
        watermark: None,
        uuid,
        zone_offset_millis: 0,
        encoder: None,
    }
}

fn folder_of(partition: Option<i32>) -> String {
    let value = partition.map_or_else(|| "__DEFAULT_PARTITION__".to_owned(), |value| value.to_string());
    format!("p={value}/bucket-0")
}

/// Files of ten rows in a partition.
fn files(partition: Option<i32>, names: &[&str]) -> RecordBatch {
    let paths = names.iter().map(|name| format!("{}/{name}", folder_of(partition)));
    let partitions: ArrayRef = Arc::new(Int32Array::from(vec![partition; names.len()]));
    let partitions = StructArray::from(vec![(Arc::new(Field::new("p", DataType::Int32, true)), partitions)]);
    let ten: ArrayRef = Arc::new(Int64Array::from(vec![10; names.len()]));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("file_path", Arc::new(StringArray::from_iter_values(paths))),
        ("record_count", Arc::clone(&ten)),
        ("file_size_in_bytes", ten),
        ("partition", Arc::new(partitions)),
    ];
    RecordBatch::try_from_iter(columns).expect("columns")
}

fn added(partition: Option<i32>, names: &[&str]) -> Change {
    Change::AppendFiles { files: files(partition, names), changelog: None, check: true }
}

fn removed(paths: &[&str]) -> Change {
    let paths = FileSelection::Paths(StringArray::from(paths.to_vec()));
    Change::OverwriteFiles { removed: vec![paths], added: None }
}

fn condition(text: &str) -> FileSelection {
    FileSelection::Where(Predicate::parse(text).expect("a condition"))
}

fn removed_where(text: &str) -> Change {
    Change::OverwriteFiles { removed: vec![condition(text)], added: None }
}

fn option(key: &str, value: &str) -> Change {
    Change::AlterTable(vec![SchemaChange::SetOption { key: key.to_owned(), value: value.to_owned() }])
}

/// The table after a commit.
fn after(table: &Table, changes: &[Change]) -> Table {
    committed(table, changes).expect("a commit")
}

fn committed(table: &Table, changes: &[Change]) -> Result<Table> {
    static UUIDS: AtomicU32 = AtomicU32::new(1);
    commit(table, changes, &options(UUIDS.fetch_add(1, Ordering::Relaxed).into())).map(|done| done.table)
}

/// The names of the live files.
fn live(table: &Table) -> Vec<String> {
    let base = Base::latest(table).expect("a snapshot");
    let all = |entries: &RecordBatch| Ok(vec![true; entries.num_rows()].into());
    let live = super::live::live_entries(&base, None, None, all).expect("entries");
    let names = find(&live, "file_name").expect("names");
    let mut names: Vec<String> = names.as_string::<i32>().iter().flatten().map(str::to_owned).collect();
    names.sort();
    names
}

fn kind(table: &Table) -> CommitKind {
    table.snapshot().expect("a snapshot").commit_kind
}

fn refused(table: &Table, changes: &[Change]) -> Error {
    committed(table, changes).err().expect("an error")
}

#[test]
fn several_changes_are_one_snapshot() {
    let folder = Folder::new("together");
    let table = after(&created(&folder, &[]), &[added(Some(1), &["a", "b"]), added(Some(2), &["c"])]);
    assert_eq!((live(&table).concat().as_str(), kind(&table)), ("abc", CommitKind::Append));
    let overwritten = Change::OverwriteFiles {
        removed: vec![FileSelection::PartitionsOfAdded],
        added: Some(files(Some(2), &["d"])),
    };
    let changes = [removed(&["p=1/bucket-0/a"]), overwritten, added(Some(2), &["e"]), added(Some(3), &["f"])];
    let table = after(&table, &changes);
    let snapshot = table.snapshot().expect("a snapshot");
    assert_eq!(
        (snapshot.id, live(&table).concat().as_str(), kind(&table)),
        (2, "bdef", CommitKind::Overwrite)
    );
    assert_eq!((snapshot.delta_record_count, snapshot.total_record_count), (Some(10), Some(40)));
    // Manifests can be rewritten on the way; alone they are a snapshot of their own kind.
    let manifests = Change::CompactManifests(ManifestCompaction::default());
    let table = after(&table, &[manifests.clone(), added(Some(3), &["g"])]);
    assert_eq!((live(&table).concat().as_str(), kind(&table)), ("bdefg", CommitKind::Append));
    let table = after(&table, &[manifests]);
    assert_eq!((live(&table).concat().as_str(), kind(&table)), ("bdefg", CommitKind::Compact));
    assert_eq!(after(&table, &[]).snapshot().expect("a snapshot").id, 4);
}

#[test]
fn several_schema_changes_are_one_schema() {
    let folder = Folder::new("schemas");
    let table = created(&folder, &[]);
    let table = after(&table, &[option("a", "1"), option("b", "2"), option("a", "3")]);
    assert_eq!(
        (table.schema().id, table.schema().option("a"), table.schema().option("b")),
        (1, Some("3"), Some("2"))
    );
}

#[test]
fn changes_that_one_commit_cannot_hold_are_named_before_anything_is_written() {
    let folder = Folder::new("apart");
    let table = after(&created(&folder, &[]), &[added(Some(1), &["a"])]);
    let compaction = Change::CompactFiles(Box::new(super::Compaction {
        removed: StringArray::from(vec!["p=1/bucket-0/a"]),
        added: files(Some(1), &["b"]),
        changelog: None,
        vectors: None,
        dangling: Vec::new(),
    }));
    let tag = |name: &str| {
        let (name, snapshot, retained, replace) = (name.to_owned(), None, None, false);
        Change::Ref(RefChange::CreateTag { name, snapshot, retained, replace })
    };
    let with_changelog = Change::AppendFiles {
        files: files(Some(1), &["c"]),
        changelog: Some(files(Some(1), &["l"])),
        check: true,
    };
    let manifests = Change::CompactManifests(ManifestCompaction::default());
    let before =
        (folder.names("manifest").len(), folder.names("snapshot").len(), folder.names("schema").len());
    for (changes, words) in [
        (
            [added(Some(1), &["c"]), compaction.clone()],
            "added files and a compaction of files cannot be one commit",
        ),
        ([compaction, removed(&["p=1/bucket-0/a"])], "a compaction of files and removed files cannot"),
        ([added(Some(1), &["c"]), option("a", "1")], "added files and a change of the schema cannot"),
        ([option("a", "1"), tag("t")], "a change of the schema and a new tag cannot"),
        ([tag("t"), tag("u")], "a new tag and a new tag cannot"),
        ([with_changelog, removed_where("p = 1")], "files with a changelog and removed files cannot"),
        ([manifests.clone(), manifests], "rewritten once"),
        ([added(Some(1), &["c"]), removed_where("p < 2")], "added files and replaced partitions cannot"),
    ] {
        let error = refused(&table, &changes);
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.message().contains(words), "{error}");
    }
    let after =
        (folder.names("manifest").len(), folder.names("snapshot").len(), folder.names("schema").len());
    assert_eq!((before, folder.names("tag").len()), (after, 0));
}

#[test]
fn a_condition_on_partition_columns_selects_whole_partitions() {
    let folder = Folder::new("where");
    let all = [added(Some(1), &["a"]), added(Some(2), &["b"]), added(None, &["n"])];
    let table = after(&created(&folder, &[]), &all);
    // Null matches no comparison.
    let rest = after(&table, &[removed_where("p <> 2")]);
    assert_eq!((live(&rest).concat().as_str(), kind(&rest)), ("bn", CommitKind::Overwrite));
    let overwritten =
        Change::OverwriteFiles { removed: vec![condition("p IS NULL")], added: Some(files(Some(7), &["c"])) };
    let rest = after(&rest, &[overwritten]);
    assert_eq!(live(&rest).concat(), "bc");
    // Nothing matches.
    assert_eq!(after(&rest, &[removed_where("p = 9")]).snapshot(), rest.snapshot());
    for (text, field) in [("id = 1", "id"), ("p = 1 OR id = 1", "id"), ("bucket = 0", "bucket")] {
        let error = refused(&rest, &[removed_where(text)]);
        assert_eq!((error.kind(), error.location().field.as_deref()), (ErrorKind::Unsupported, Some(field)));
    }
    assert_eq!(refused(&rest, &[removed_where("q = 1")]).kind(), ErrorKind::FilterColumn);
    assert!(live(&after(&rest, &[removed_where("TRUE")])).is_empty());
}

#[test]
fn all_changes_are_applied_again_after_a_lost_race() {
    let folder = Folder::new("again");
    let table = after(&created(&folder, &[]), &[added(Some(1), &["a", "b"])]);
    let own = opened(&table, Local);
    let other = move |number: u32| {
        let name = format!("other-{number}");
        after(&own, &[added(Some(1), &[&name])]);
    };
    let racing = OvertakenStorage { other: Box::new(other), commits: AtomicU32::new(0), most: 2 };
    let changes = [removed_where("p = 1"), removed(&["p=1/bucket-0/a"]), added(Some(2), &["c"])];
    let done = after(&opened(&table, racing), &changes);
    // The partition has other files by then.
    assert_eq!((live(&done).concat().as_str(), done.snapshot().map(|snapshot| snapshot.id)), ("c", Some(4)));
}

#[test]
fn a_commit_that_loses_every_race_is_a_conflict_and_leaves_nothing() {
    let folder = Folder::new("races");
    let table = created(&folder, &[]);
    let own = opened(&table, Local);
    let other = move |number: u32| {
        let name = format!("other-{number}");
        after(&own, &[added(Some(1), &[&name])]);
    };
    let racing = OvertakenStorage { other: Box::new(other), commits: AtomicU32::new(0), most: u32::MAX };
    let lost = commit(&opened(&table, racing), &[added(Some(2), &["a"])], &options(1 << 64));
    assert_eq!(lost.err().expect("a conflict").kind(), ErrorKind::Conflict);
    let snapshots = folder.names("snapshot").into_iter().filter(|name| name.starts_with("snapshot-"));
    assert_eq!(snapshots.count(), 3);
    let own = uuid(1 << 64);
    let manifests = folder.names("manifest");
    assert!(!manifests.is_empty() && manifests.iter().all(|name| !name.contains(&own)), "{manifests:?}");
}

/// Manifests in ORC and Parquet need an encoder: without one nothing is written.
#[test]
fn without_an_encoder_other_formats_than_avro_are_refused() {
    for format in ["orc", "parquet"] {
        let folder = Folder::new(format);
        let error = refused(&created(&folder, &[("manifest.format", format)]), &[added(Some(1), &["a"])]);
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains("encoder"), "{error}");
        assert!(folder.names("manifest").is_empty() && folder.names("snapshot").is_empty());
    }
}

/// How names of files spell a UUID.
fn uuid(number: u128) -> String {
    let digits = format!("{number:032x}");
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
}
