//! What lets manifests or their blocks be skipped: the sidecar of a Paimon manifest, or else a file of Iceberg's
//! partition statistics. Each is in the place of a real one in a small table, all of which is planned.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use lakebed::paimon::manifest::{EntryFilter, EntryReader, entry_columns};
use lakebed::scan::ScanOptions;
use lakebed::storage::Storage;
use lakebed::table::{LakeTable, Place};
use lakebed::view::View;
use lakebed::{Error, ErrorKind, Result, iceberg, paimon};
use lakebed_avro::Blocks;
use serde_json::{Value, json};

use super::parquet::{put_varint, varint};
use super::{LIMITS, assert_message, assert_valid, sample};

/// The files below a folder of `tests/data`, by their names.
macro_rules! files {
    ($folder:literal: $($name:literal),+ $(,)?) => {
        [$(($name, include_bytes!(concat!("../../../../tests/data/", $folder, "/", $name)).as_slice())),+]
    };
}

pub fn run(input: &[u8]) {
    match input {
        [b'#', behind @ ..] => sidecar(&[SidecarTable::get().start.as_slice(), behind].concat()),
        [b'P', b'M', b'S', b'C', ..] => sidecar(input),
        _ => statistics(input),
    }
}

/// A table's files: what is in none of them is missing.
struct Files(Vec<(String, Buffer)>);

impl Files {
    fn new(folder: &str, files: &[(&str, &[u8])]) -> Files {
        Files(files.iter().map(|(name, bytes)| (format!("{folder}/{name}"), Buffer::from(*bytes))).collect())
    }

    fn with(&self, path: &str, bytes: &[u8]) -> Files {
        let others = self.0.iter().filter(|(known, _)| known != path).cloned();
        Files(others.chain([(path.to_owned(), Buffer::from(bytes))]).collect())
    }
}

impl Storage for Files {
    fn read(&self, path: &str) -> Result<Buffer> {
        let found = self.0.iter().find(|(known, _)| known == path);
        found
            .map(|(_, bytes)| bytes.clone())
            .ok_or_else(|| Error::new(ErrorKind::Missing, "no such file").in_file(path))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let names = self.0.iter().filter_map(|(path, _)| path.strip_prefix(folder)?.strip_prefix('/'));
        Ok(names.filter(|name| !name.contains('/')).map(str::to_owned).collect())
    }
}

/// The rows of a view, and what was noted.
fn rows(table: &dyn LakeTable, view: View, options: ScanOptions) -> Result<(RecordBatch, Vec<String>)> {
    let scan = table.scan(view, ScanOptions { threads: 1, ..options })?;
    let batches = scan.stream()?.collect::<Result<Vec<_>>>()?;
    let rows = concat_batches(scan.schema(), &batches).expect("batches of one schema");
    assert_valid(&rows);
    let notes = [scan.notes().take(), table.notes().take()].concat();
    notes.iter().for_each(|note| assert_message(note));
    Ok((rows, notes))
}

const PAIMON: &str = "/paimon";
const SIDECAR: &str = "/paimon/manifest/manifest-0.avro.sidecar";

/// Filters that leave some of the blocks out.
const FILTERS: [&str; 7] = [
    "city = 'emea'",
    "day = 2",
    "bucket = 1",
    "id = 17",
    "city <> 'emea' AND day > 1",
    "id = 17 AND day < 2",
    "city = 'b'",
];

/// The table whose manifest has the sidecar, without that.
struct SidecarTable {
    files: Files,
    /// What sidecars of its manifest begin with: everything in front of the partitions.
    start: Vec<u8>,
    entries: Vec<Entry>,
    /// The rows of each filter.
    planned: Vec<RecordBatch>,
}

struct Entry {
    partition: Vec<u8>,
    bucket: u64,
    /// Where its block begins.
    offset: u64,
}

/// The number of buckets of the table.
const BUCKETS: u64 = 2;

impl SidecarTable {
    fn get() -> &'static SidecarTable {
        static TABLE: OnceLock<SidecarTable> = OnceLock::new();
        TABLE.get_or_init(SidecarTable::new)
    }

    fn new() -> SidecarTable {
        let named = files!("paimon_sidecar": "snapshot/snapshot-1", "snapshot/LATEST", "snapshot/EARLIEST",
            "schema/schema-0", "manifest/manifest-0", "manifest/manifest-list-2", "manifest/manifest-list-3");
        let files = Files::new(PAIMON, &named);
        let manifest = files.read("/paimon/manifest/manifest-0").expect("the manifest");
        let (header, blocks) = Blocks::open(manifest.clone().into(), LIMITS).expect("an Avro file");
        let mut start = b"PMSC\x01".to_vec();
        put_varint(&mut start, header.length);
        start.extend(&manifest[..header.length as usize]);
        let columns = Arc::new(entry_columns(None).expect("all columns"));
        let reader = EntryReader::open(manifest, &columns, EntryFilter::default(), None, &LIMITS.into(), 1)
            .expect("a manifest");
        let schema = Arc::clone(reader.schema());
        let batches = reader.collect::<Result<Vec<_>>>().expect("entries");
        let batch = concat_batches(&schema, &batches).expect("batches of one schema");
        let column = |name| batch.column_by_name(name).expect("all columns");
        let (partitions, buckets) =
            (column("partition").as_binary::<i32>(), column("bucket").as_primitive::<Int32Type>());
        let (mut entries, mut offset) = (Vec::new(), header.length);
        for block in blocks {
            let block = block.expect("a block");
            for _ in 0..block.count {
                let row = entries.len();
                let (partition, bucket) = (partitions.value(row).to_vec(), buckets.value(row) as u64);
                entries.push(Entry { partition, bucket, offset });
            }
            offset = block.offset + block.payload.len() as u64 + 16;
        }
        let mut table = SidecarTable { files, start, entries, planned: Vec::new() };
        for filter in 0..FILTERS.len() {
            let (rows, notes) = table.plan(filter, None).expect("a plan of the whole manifest");
            assert!(notes[0].contains("is read"), "{notes:?}");
            table.planned.push(rows);
        }
        table
    }

    fn plan(&self, filter: usize, sidecar: Option<&[u8]>) -> Result<(RecordBatch, Vec<String>)> {
        let files = match sidecar {
            Some(sidecar) => self.files.with(SIDECAR, sidecar),
            None => self.files.with("", &[]),
        };
        let table = paimon::Table::open(PAIMON, Arc::new(files), LIMITS)?;
        let filter = Some(FILTERS[filter].to_owned());
        rows(&table, View::Plan, ScanOptions { table_filter: filter, ..ScanOptions::default() })
    }
}

/// A sidecar without its checksum. Where that is another, or anything else is wrong, the whole manifest is read; else a row
/// is only missing where the sidecar says of its block that it has no entry of this partition or this bucket.
fn sidecar(body: &[u8]) {
    let table = SidecarTable::get();
    let chance = sample(body) as usize;
    let filter = chance % FILTERS.len();
    let all = &table.planned[filter];
    let sum = crc32fast::hash(body);
    let file = |sum: u32| [body, &sum.to_be_bytes()].concat();
    if chance.is_multiple_of(4) {
        let (found, notes) =
            table.plan(filter, Some(&file(sum ^ 1 << (chance % 32)))).expect("a noted sidecar");
        assert_eq!(&found, all, "by another checksum");
        assert!(notes[0].contains("checksum"), "{notes:?}");
    }
    let behind = body.strip_prefix(table.start.as_slice());
    let found = match table.plan(filter, Some(&file(sum))) {
        Ok((found, _)) => found,
        Err(error) => {
            assert_message(&error.to_string());
            // The manifest is read by the header that the sidecar has of it.
            return assert!(behind.is_none(), "{error}");
        }
    };
    let Some(behind) = behind else { return };
    let names = |rows: &RecordBatch| {
        let names = rows.column_by_name("file_name").expect("all columns").as_string::<i32>();
        names.iter().map(|name| name.expect("a name").to_owned()).collect::<Vec<_>>()
    };
    let (ours, wanted) = (names(&found), names(all));
    let kept: BooleanArray = wanted.iter().map(|name| Some(ours.contains(name))).collect();
    assert_eq!(filter_record_batch(all, &kept).expect("as many flags as rows"), found);
    let claims = claims(&mut &*behind).unwrap_or_default();
    for name in wanted.iter().filter(|name| !ours.contains(name)) {
        let number = name.trim_end_matches(".orc").parse::<usize>().expect("a number");
        let entry = &table.entries[number];
        let claim = claims.iter().find(|claim| claim.place.contains(&entry.offset));
        assert!(claim.is_some_and(|claim| claim.denies(entry)), "{name} is lost");
    }
}

/// What a sidecar says of a block.
struct Claim {
    place: Range<u64>,
    partitions: Option<Vec<Vec<u8>>>,
    buckets: Option<Vec<(u64, u64)>>,
}

impl Claim {
    fn denies(&self, entry: &Entry) -> bool {
        let (partition, bucket) = (&entry.partition, (entry.bucket, BUCKETS));
        self.partitions.as_ref().is_some_and(|some| !some.contains(partition))
            || self.buckets.as_ref().is_some_and(|some| !some.contains(&bucket))
    }
}

/// What a sidecar says, read without any check of whether it may; `None` where it ends.
fn claims(bytes: &mut &[u8]) -> Option<Vec<Claim>> {
    let count = varint(bytes)?;
    let partitions = (0..count).map(|_| prefixed(bytes).map(<[u8]>::to_vec)).collect::<Option<Vec<_>>>()?;
    let count = varint(bytes)?;
    (0..count).map(|_| claim(bytes, &partitions)).collect()
}

fn claim(bytes: &mut &[u8], known: &[Vec<u8>]) -> Option<Claim> {
    let (offset, length, _records) = (varint(bytes)?, varint(bytes)?, varint(bytes)?);
    let partitions = match payload(bytes)? {
        Some(mut payload) => {
            let numbers = ascending(&mut payload)?;
            let named = numbers.into_iter().map(|number| known.get(number as usize).cloned());
            Some(named.collect::<Option<Vec<_>>>()?)
        }
        None => None,
    };
    payload(bytes)?;
    let buckets = match payload(bytes)? {
        Some(mut payload) => {
            let buckets = ascending(&mut payload)?;
            let (count, mut total) = (varint(&mut payload)?, 0_i64);
            let totals = (0..count).map(|_| {
                let delta = varint(&mut payload)?;
                total = total.wrapping_add((delta >> 1).cast_signed() ^ -(delta & 1).cast_signed());
                Some(total.cast_unsigned())
            });
            let totals = totals.collect::<Option<Vec<_>>>()?;
            Some(buckets.into_iter().zip(totals).collect())
        }
        None => None,
    };
    Some(Claim { place: offset..offset.checked_add(length)?, partitions, buckets })
}

/// The payload of a dimension; the inner `None` where that is not known.
fn payload<'b>(bytes: &mut &'b [u8]) -> Option<Option<&'b [u8]>> {
    let (encoding, rest) = bytes.split_first()?;
    *bytes = rest;
    if *encoding == 0 {
        return Some(None);
    }
    let payload = prefixed(bytes)?;
    Some((*encoding == 1).then_some(payload))
}

fn ascending(bytes: &mut &[u8]) -> Option<Vec<u64>> {
    let (count, mut number) = (varint(bytes)?, 0_u64);
    (0..count)
        .map(|_| {
            number = number.wrapping_add(varint(bytes)?);
            Some(number)
        })
        .collect()
}

fn prefixed<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = usize::try_from(varint(bytes)?).ok()?;
    let (prefixed, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(prefixed)
}

const METADATA: &str = "/tmp/partition_stats/stats_parquet_v3/metadata";
const STATISTICS: &str = "/tmp/partition_stats/stats_parquet_v3/metadata/statistics";
/// The snapshot that has statistics, before the last one.
const SNAPSHOT: i64 = 8_874_487_114_481_226_196;
/// What is summed up.
const SUMS: [&str; 8] = [
    "data_record_count",
    "data_file_count",
    "total_data_file_size_in_bytes",
    "position_delete_record_count",
    "position_delete_file_count",
    "equality_delete_record_count",
    "equality_delete_file_count",
    "dv_count",
];

/// The sums of each partition, by its spec and its region.
type Sums = BTreeMap<(i32, Option<String>), [i64; SUMS.len()]>;

/// The table whose partitions have statistics, without these.
struct StatisticsTable {
    files: Files,
    metadata: Value,
    /// The rows that are computed from all manifests.
    computed: RecordBatch,
    /// By how much they are more than those of the snapshot with statistics.
    later: Sums,
    /// The data files of the table.
    data_files: i64,
}

impl StatisticsTable {
    fn get() -> &'static StatisticsTable {
        static TABLE: OnceLock<StatisticsTable> = OnceLock::new();
        TABLE.get_or_init(StatisticsTable::new)
    }

    fn new() -> StatisticsTable {
        let named = files!("iceberg_partition_stats/stats_parquet_v3/metadata": "v7.metadata.json",
            "3c4eccd8-ffaf-43ac-9b34-9fe82923b4cd-m0.avro", "405d917e-bb43-4c39-bc86-95e51904ac1c-m0.avro",
            "55c72e92-601f-4593-b3a9-fed7a5d12046-m0.avro", "55c72e92-601f-4593-b3a9-fed7a5d12046-m1.avro",
            "55c72e92-601f-4593-b3a9-fed7a5d12046-m2.avro", "fb233642-88d9-4c59-b594-ab7f135da572-m0.avro",
            "snap-7234475391031673635-1-405d917e-bb43-4c39-bc86-95e51904ac1c.avro",
            "snap-8279208269854314572-1-fb233642-88d9-4c59-b594-ab7f135da572.avro",
            "snap-8352583299679814107-1-55c72e92-601f-4593-b3a9-fed7a5d12046.avro",
            "snap-8874487114481226196-1-3c4eccd8-ffaf-43ac-9b34-9fe82923b4cd.avro");
        let metadata = serde_json::from_slice::<Value>(named[0].1).expect("JSON");
        let last = metadata["snapshots"].as_array().and_then(|all| all.last()).expect("snapshots");
        let total = last["summary"]["total-data-files"].as_str().expect("a total").parse().expect("a number");
        let files = Files::new(METADATA, &named);
        let later = Sums::new();
        let empty = RecordBatch::new_empty(Arc::new(arrow_schema::Schema::empty()));
        let mut table = StatisticsTable { files, metadata, computed: empty, later, data_files: total };
        let of = |at| {
            let found = table.rows(None, COMPUTED, at, None).expect("rows of all manifests");
            assert!(found.1.is_empty(), "{:?}", found.1);
            found.0
        };
        let (computed, before) = (of(None), of(Some(SNAPSHOT)));
        table.later = minus(&sums(&computed).expect("counts"), &sums(&before).expect("counts"));
        table.computed = computed;
        table
    }

    /// The rows of a metadata table, where the snapshot has this file of statistics, or a longer one of which this is
    /// what is left.
    fn rows(
        &self,
        statistics: Option<(&[u8], usize)>,
        name: &str,
        at: Option<i64>,
        columns: Option<&[&str]>,
    ) -> Result<(RecordBatch, Vec<String>)> {
        let (bytes, size) = statistics.unwrap_or_default();
        let record =
            json!({"snapshot-id": SNAPSHOT, "statistics-path": STATISTICS, "file-size-in-bytes": size});
        let mut metadata = self.metadata.clone();
        metadata["partition-statistics"] = json!(statistics.map(|_| record).as_slice());
        let path = format!("{METADATA}/v7.metadata.json");
        let files = self.files.with(&path, metadata.to_string().as_bytes()).with(STATISTICS, bytes);
        let table = iceberg::Table::open(&path, Arc::new(files), LIMITS)?;
        let columns = columns.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        let options = ScanOptions { columns, ..ScanOptions::default() };
        let view = View::MetadataTable(name.to_owned());
        match at {
            Some(id) => rows(table.at(&Place::Snapshot(id))?.as_ref(), view, options),
            None => rows(&table, view, options),
        }
    }
}

const STORED: &str = "partition_stats";
const COMPUTED: &str = "computed_partition_stats";

/// A file of statistics has rows, or is refused by its path; what is computed from it is what it has and what was
/// committed since, or is read from all manifests.
fn statistics(input: &[u8]) {
    let table = StatisticsTable::get();
    let whole = Some((input, input.len()));
    let stored = table.rows(whole, STORED, Some(SNAPSHOT), None);
    match &stored {
        Ok((stored, _)) => {
            let names = ["dv_count", "spec_id"];
            let (some, _) = table
                .rows(whole, STORED, Some(SNAPSHOT), Some(&names))
                .expect("columns of rows that are read");
            names.iter().for_each(|name| assert_eq!(some.column_by_name(name), stored.column_by_name(name)));
        }
        Err(error) => refused(error),
    }
    let cut = input.get(..sample(input) as usize % input.len().max(1)).unwrap_or_default();
    if cut.len() < input.len() {
        let found = table.rows(Some((cut, input.len())), STORED, Some(SNAPSHOT), None);
        refused(&found.expect_err("a file that was cut"));
    }
    let (computed, notes) = match table.rows(whole, COMPUTED, None, None) {
        Ok(found) => found,
        // Sums beyond 64 bits.
        Err(error) => {
            assert_message(&error.to_string());
            return assert_eq!(error.kind(), ErrorKind::Mismatch);
        }
    };
    if notes.iter().any(|note| note.starts_with("all manifests are read")) {
        return assert_eq!(computed, table.computed);
    }
    let (stored, _) = stored.expect("statistics that were used");
    let (computed, stored) =
        (sums(&computed).expect("counts"), sums(&stored).expect("counts that were used"));
    assert_eq!(minus(&computed, &stored), table.later);
    assert_eq!(computed.values().map(|sums| sums[1]).sum::<i64>(), table.data_files);
}

fn refused(error: &Error) {
    assert_message(&error.to_string());
    assert_eq!(error.location().path.as_deref(), Some(STATISTICS), "{error}");
}

/// The sums of rows; `None` where a count is null.
fn sums(rows: &RecordBatch) -> Option<Sums> {
    let column = |name: &str| rows.column_by_name(name).expect("all columns");
    let regions = column("partition").as_struct().column(0).as_string::<i32>();
    let specs = column("spec_id").as_primitive::<Int32Type>();
    let count = |row: usize, name: &str| {
        let counts = column(name);
        let count = match counts.data_type() {
            DataType::Int32 => i64::from(counts.as_primitive::<Int32Type>().value(row)),
            _ => counts.as_primitive::<Int64Type>().value(row),
        };
        counts.is_valid(row).then_some(count)
    };
    let row = |row: usize| {
        let mut sums = [0; SUMS.len()];
        for (sum, name) in sums.iter_mut().zip(SUMS) {
            *sum = count(row, name)?;
        }
        let region = regions.is_valid(row).then(|| regions.value(row).to_owned());
        Some(((specs.value(row), region), sums))
    };
    (0..rows.num_rows()).map(row).collect()
}

/// By how much sums are more than others, where they are.
fn minus(sums: &Sums, others: &Sums) -> Sums {
    let mut differences = sums.clone();
    for (partition, others) in others {
        let sums = differences.entry(partition.clone()).or_insert([0; SUMS.len()]);
        sums.iter_mut().zip(others).for_each(|(sum, other)| *sum -= other);
    }
    differences.retain(|_, sums| sums.iter().any(|sum| *sum != 0));
    differences
}
