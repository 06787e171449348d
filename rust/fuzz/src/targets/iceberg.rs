//! Iceberg: manifest lists, manifests and table metadata.

use std::cell::OnceCell;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, BooleanArray, MapArray, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use lakebed::iceberg::manifest::{EntryColumns, EntryReader, ManifestContext, ManifestHeader, Statuses};
use lakebed::iceberg::manifest_list::{ManifestFile, RecordedCounts, read_manifest_list};
use lakebed::iceberg::metadata::{MetadataFile, TableMetadata, WantedElements};
use lakebed::{Error, ErrorKind, Result};
use lakebed_avro::Blocks;

use super::{LIMITS, assert_message, assert_valid, sample};

/// The columns whose metrics are requested, where not all are.
const METRICS_OF: [i32; 2] = [1, 3];

pub fn run(input: &[u8]) {
    if !input.starts_with(b"Obj") {
        return metadata(input);
    }
    let declared = match declared(input) {
        Ok((true, declared)) => return list(input, declared),
        Ok((false, declared)) => declared,
        Err(error) => return assert_message(&error.to_string()),
    };
    manifest(input, declared);
}

/// Whether a file is a manifest list, by its schema, and how many records its blocks declare.
fn declared(input: &[u8]) -> lakebed_avro::Result<(bool, Option<u64>)> {
    let (header, blocks) = Blocks::open(Buffer::from(input).into(), LIMITS)?;
    let counts = blocks.map(|block| block.map(|block| block.count)).collect::<lakebed_avro::Result<Vec<_>>>();
    Ok((header.schema()?.contains("manifest_path"), counts.ok().map(|counts| counts.iter().sum())))
}

fn list(input: &[u8], declared: Option<u64>) {
    let read = |columns: Option<&[String]>| read_manifest_list(input.into(), columns, &LIMITS.into());
    match read(None) {
        Ok(list) => {
            assert_valid(&list);
            assert_eq!(Some(list.num_rows() as u64), declared);
            if let Ok(manifests) = ManifestFile::all(&list) {
                assert_eq!(manifests.len(), list.num_rows());
            }
            if sample(input).is_multiple_of(4) {
                let names = ["added_snapshot_id", "manifest_path"].map(str::to_owned);
                let some = read(Some(&names)).expect("columns of a list that is read");
                for name in &names {
                    assert_eq!(some.column_by_name(name), list.column_by_name(name));
                }
            }
        }
        Err(error) => assert_message(&error.to_string()),
    }
}

thread_local! {
    /// The resolved columns: all, and all with the metrics of some columns of the table.
    static COLUMNS: OnceCell<[Arc<EntryColumns>; 2]> = const { OnceCell::new() };
}

fn columns() -> [Arc<EntryColumns>; 2] {
    let all = || EntryColumns::new(None).expect("all columns");
    COLUMNS.with(|columns| {
        let keyed = || all().with_metrics_of(Some(METRICS_OF.to_vec()));
        columns.get_or_init(|| [Arc::new(all()), Arc::new(keyed())]).clone()
    })
}

/// The entries of a manifest, and the number of entries by status.
fn entries(
    input: &[u8],
    columns: &Arc<EntryColumns>,
    known: ManifestContext,
    statuses: Statuses,
) -> Result<(RecordBatch, [u64; 3])> {
    let mut reader = EntryReader::open(input.into(), columns, known, statuses, &LIMITS.into(), 1)?;
    let batches = reader.by_ref().collect::<Result<Vec<_>>>()?;
    Ok((concat_batches(reader.schema(), &batches).expect("batches of one schema"), reader.seen()))
}

fn manifest(input: &[u8], declared: Option<u64>) {
    let [all, keyed] = columns();
    let found = entries(input, &all, ManifestContext::default(), Statuses::ALL);
    let (batch, seen) = match found {
        Ok(found) => found,
        Err(error) => return assert_message(&error.to_string()),
    };
    assert_valid(&batch);
    assert_eq!(Some(batch.num_rows() as u64), declared);
    assert_eq!(batch.num_rows() as u64, seen.iter().sum::<u64>());
    match sample(input) % 4 {
        0 => live(input, &all, &batch, seen),
        1 => recorded(input, &all, seen),
        2 => {
            let (some, _) =
                entries(input, &keyed, ManifestContext::default(), Statuses::ALL).expect("fewer metrics");
            same_metrics(&batch, &some);
        }
        _ => with_header(input, &all, &batch),
    }
}

/// The guard drops the same entries in mid-record as a filter afterwards.
fn live(input: &[u8], columns: &Arc<EntryColumns>, batch: &RecordBatch, seen: [u64; 3]) {
    let (live, seen_live) =
        entries(input, columns, ManifestContext::default(), Statuses::LIVE).expect("fewer entries");
    assert_eq!(seen, seen_live);
    let statuses = batch.column_by_name("status").expect("all columns").as_primitive::<Int32Type>();
    let keep: BooleanArray = statuses.values().iter().map(|status| Some(*status != 2)).collect();
    let kept = filter_record_batch(batch, &keep).expect("as many flags as rows");
    assert_eq!(kept.num_rows(), live.num_rows());
    assert_eq!(kept, live);
}

/// The correct counts are accepted, others are not.
fn recorded(input: &[u8], columns: &Arc<EntryColumns>, [existing, added, deleted]: [u64; 3]) {
    let of = |files: u64| RecordedCounts { files: Some(files), rows: None };
    let mut manifest = ManifestFile {
        existing: of(existing),
        added: of(added),
        deleted: of(deleted),
        ..ManifestFile::default()
    };
    let read = |manifest: &ManifestFile| {
        let known = ManifestContext { manifest: Some(manifest.clone()), ..ManifestContext::default() };
        entries(input, columns, known, Statuses::ALL)
    };
    let agreed = read(&manifest);
    manifest.added = of(added + 1);
    let differing = read(&manifest).expect_err("a count that differs").kind();
    match agreed {
        Ok(_) => assert_eq!(differing, ErrorKind::Mismatch),
        Err(error) => assert!(error.kind() != ErrorKind::Mismatch || is_inherited(&error), "{error}"),
    }
}

/// Whether the error is of values that entries inherit, not of counts.
fn is_inherited(error: &Error) -> bool {
    !error.message().contains("its list records")
}

/// Columns are the same, except metrics, of which the requested entries are the same.
fn same_metrics(all: &RecordBatch, some: &RecordBatch) {
    for ((field, all), some) in all.schema_ref().fields().iter().zip(all.columns()).zip(some.columns()) {
        match field.data_type() {
            DataType::Map(_, _) => {
                let (all, some) = (all.as_map(), some.as_map());
                for row in 0..all.len() {
                    assert_eq!(wanted(all, row), wanted(some, row), "{field} of row {row}");
                }
            }
            _ => assert_eq!(all, some, "{field}"),
        }
    }
}

/// The requested entries of a map; `None` for a null.
fn wanted(map: &MapArray, row: usize) -> Option<Vec<(i32, arrow_array::ArrayRef)>> {
    if map.is_null(row) {
        return None;
    }
    let entries = map.value(row);
    let keys = entries.column(0).as_primitive_opt::<Int32Type>().expect("keys are field ids");
    let kept = keys.values().iter().enumerate().filter(|(_, key)| METRICS_OF.contains(key));
    Some(kept.map(|(at, key)| (*key, entries.column(1).slice(at, 1))).collect())
}

/// With the partition spec of its own header a manifest can be read, or is refused for its partition tuples.
fn with_header(input: &[u8], columns: &Arc<EntryColumns>, batch: &RecordBatch) {
    let header = ManifestHeader::read(&Buffer::from(input), &LIMITS.into()).expect("a header that was read");
    let known = ManifestContext {
        partition: header.partition,
        spec_id: header.spec_id,
        ..ManifestContext::default()
    };
    match entries(input, columns, known, Statuses::ALL) {
        Ok((typed, _)) => {
            assert_valid(&typed);
            assert_eq!(typed.num_rows(), batch.num_rows());
            assert_eq!(typed.column_by_name("file_path"), batch.column_by_name("file_path"));
        }
        Err(error) => assert_message(&error.to_string()),
    }
}

fn metadata(input: &[u8]) {
    let file = MetadataFile::of_bytes(input.into(), LIMITS);
    let all = TableMetadata::read(&file, &WantedElements::ALL);
    let current = TableMetadata::read(&file, &WantedElements::CURRENT);
    let all = match all {
        Ok(all) => all,
        Err(error) => return assert_message(&error.to_string()),
    };
    let current = current.expect("part of what can be read");
    assert_eq!(all.current_schema_id, current.current_schema_id);
    assert_eq!(all.current_snapshot_id, current.current_snapshot_id);
    assert_eq!(all.refs, current.refs);
    assert_eq!(all.properties, current.properties);
    let id = all.current_schema_id;
    assert!(all.schema(id).is_some());
    assert_eq!(all.schema(id), current.schema(id));
    if let Some(id) = all.current_snapshot_id {
        assert_eq!(all.snapshot(id), current.snapshot(id));
    }
    assert_eq!(all.snapshots.len(), all.lineage.len());
    let mut each = Vec::new();
    let read = current.each_snapshot(&file, |some| {
        each.extend(some);
        Ok(())
    });
    read.expect("snapshots that can be read");
    assert_eq!(each, all.snapshots);
}
