use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, FixedSizeBinaryArray, FixedSizeListArray, Int64Array,
    LargeStringArray, NullArray, RecordBatch, StringArray, StructArray,
};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, IntervalUnit, Schema, TimeUnit};

use super::*;
use crate::record::PackedBatch;
use crate::storage::Local;

/// Some rows of every kind of column, in two batches.
pub(super) fn records(rows: usize) -> KeptRecords {
    let whole = batch(rows);
    let (first, second) = (whole.slice(0, rows / 2), whole.slice(rows / 2, rows - rows / 2));
    let metadata = vec![("content".to_owned(), "data".to_owned())];
    KeptRecords { schema: whole.schema(), batches: vec![first, second], metadata, file_bytes: 7 }
}

fn batch(rows: usize) -> RecordBatch {
    let (mut lists, mut maps) = (
        ListBuilder::new(StringBuilder::new()),
        MapBuilder::new(None, Int32Builder::new(), StringBuilder::new()),
    );
    for row in 0..rows {
        lists.append_value((0..row % 3).map(|item| Some(format!("{row}.{item}"))));
        maps.keys().append_value(i32::try_from(row).unwrap());
        maps.values().append_value("value");
        maps.append(row % 4 > 0).unwrap();
    }
    let numbers = || (0..rows).map(|row| i64::try_from(row).unwrap());
    let texts: StringArray = numbers().map(|row| (row % 5 > 0).then(|| format!("path/{row}"))).collect();
    let texts = Arc::new(texts) as ArrayRef;
    let fixed = numbers().map(|row| Some(row.to_be_bytes()));
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed, 8).unwrap();
    let field = Arc::new(Field::new("text", texts.data_type().clone(), true));
    let long: LargeStringArray = numbers().map(|row| Some(format!("text {row}"))).collect();
    let pairs = numbers().map(|row| (row % 3 > 0).then_some([Some(row), None]));
    let pairs = FixedSizeListArray::from_iter_primitive::<Int64Type, _, _>(pairs, 2);
    let nested = StructArray::from(vec![(field, Arc::clone(&texts))]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("number", Arc::new(numbers().collect::<Int64Array>())),
        ("text", texts),
        (
            "flag",
            Arc::new(numbers().map(|row| (row % 7 > 0).then_some(row % 2 == 0)).collect::<BooleanArray>()),
        ),
        ("nothing", Arc::new(NullArray::new(rows))),
        ("fixed", Arc::new(fixed)),
        ("decimal", Arc::new(numbers().map(i128::from).collect::<Decimal128Array>())),
        ("list", Arc::new(lists.finish())),
        ("map", Arc::new(maps.finish())),
        ("nested", Arc::new(nested)),
        ("long", Arc::new(long)),
        ("pairs", Arc::new(pairs)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .unwrap()
}

/// A folder that is removed in the end.
pub(super) struct Scratch(pub PathBuf);

impl Scratch {
    pub(super) fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("lakebed-cache-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Scratch(path)
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn cache(&self, memory_bytes: u64, disk_bytes: u64) -> Arc<Cache> {
        let folder = Some(self.0.clone());
        Arc::new(Cache::new(CacheSettings { memory_bytes, folder, disk_bytes }).unwrap())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Local files of a storage that says this of itself.
struct Named(Option<StorageIdentity>);

impl Storage for Named {
    fn read(&self, _: &str) -> Result<Buffer> {
        Ok(Buffer::default())
    }

    fn list(&self, _: &str) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn identity(&self) -> Option<StorageIdentity> {
        self.0.clone()
    }
}

fn file<'f>(path: &'f str, size: u64, columns: &'f str) -> CachedFile<'f> {
    CachedFile { path, size: Some(size), format: "iceberg", columns, limits: &Limits::DEFAULT }
}

fn found(cache: &Arc<Cache>, storage: &dyn Storage, file: &CachedFile<'_>) -> Option<KeptRecords> {
    match cache.find(storage, file).unwrap()? {
        Found::Kept(kept) => Some(kept.as_ref().clone()),
        Found::Missed(_) => None,
    }
}

fn keep(cache: &Arc<Cache>, storage: &dyn Storage, file: &CachedFile<'_>, records: KeptRecords) {
    let Some(Found::Missed(slot)) = cache.find(storage, file).unwrap() else { panic!("it is there already") };
    slot.keep(&Arc::new(records));
}

#[test]
fn files_are_read_as_they_were_written_and_by_their_key_alone() {
    for rows in [0, 1, 2, 1000] {
        let kept = records(rows);
        let bytes = file::write("key", &kept).unwrap();
        assert_eq!(file::read(&bytes, "key", 1 << 20).unwrap(), kept);
        assert!(file::read(&bytes, "other", 1 << 20).is_err());
    }
    let empty = KeptRecords {
        schema: Arc::new(Schema::empty()),
        batches: Vec::new(),
        metadata: Vec::new(),
        file_bytes: 0,
    };
    assert_eq!(file::read(&file::write("", &empty).unwrap(), "", 0).unwrap(), empty);
    // No more than is kept.
    assert!(file::read(&file::write("key", &records(1000)).unwrap(), "key", 1000).is_err());
}

#[test]
fn a_part_of_a_batch_takes_what_it_has() {
    let whole = batch(1000);
    for (from, rows) in [(0, 0), (0, 10), (3, 10), (500, 0), (990, 10), (0, 1000)] {
        let part = whole.slice(from, rows);
        let (packed, bytes) = PackedBatch::pack(&part).unwrap();
        assert_eq!(packed.unpack(&part.schema(), &bytes), Some(part));
        assert!(packed.length <= 4096 + 200 * rows, "{rows} rows in {} bytes", packed.length);
    }
}

#[test]
fn types_that_no_array_has_are_refused() {
    let numbers: ArrayRef = Arc::new(arrow_array::Int32Array::from(vec![1, 2, 3]));
    let (packed, bytes) = PackedBatch::pack(&RecordBatch::try_from_iter([("x", numbers)]).unwrap()).unwrap();
    let int = || Box::new(DataType::Int32);
    for (types, opens) in [
        (DataType::Int32, true),
        (DataType::Time32(TimeUnit::Second), true),
        (DataType::Time32(TimeUnit::Nanosecond), false),
        (DataType::Time64(TimeUnit::Second), false),
        (DataType::FixedSizeBinary(-1), false),
        (DataType::Dictionary(int(), int()), false),
        (DataType::Interval(IntervalUnit::YearMonth), false),
    ] {
        let inner = Field::new("x", types.clone(), true);
        let schema = Arc::new(Schema::new(vec![inner]));
        assert_eq!(packed.unpack(&schema, &bytes).is_some(), opens, "{types}");
    }
}

#[test]
fn a_file_that_is_cut_or_changed_anywhere_is_refused() {
    let bytes = file::write("key", &records(20)).unwrap();
    for end in 0..bytes.len() {
        assert!(file::read(&bytes[..end], "key", 1 << 20).is_err(), "cut at {end}");
    }
    let mut changed = bytes.clone();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            changed[at] ^= 1 << bit;
            assert!(file::read(&changed, "key", 1 << 20).is_err(), "bit {bit} of byte {at}");
            changed[at] ^= 1 << bit;
        }
    }
    assert!(file::read(&[bytes.as_slice(), b"more"].concat(), "key", 1 << 20).is_err());
}

/// Whoever can write to the folder can make checksums too.
#[test]
fn what_a_file_with_a_right_checksum_says_is_checked() {
    let bytes = file::write("key", &records(20)).unwrap();
    let mut changed = bytes.clone();
    for at in 12..bytes.len() {
        for value in [0, 1, b'9', 0x7f, 0xff] {
            changed[at] = value;
            let checksum = crc32fast::hash(&changed[12..]).to_le_bytes();
            changed[8..12].copy_from_slice(&checksum);
            // Other rows at worst: no panic, and no more memory than is kept.
            let read = file::read(&changed, "key", 1 << 20);
            assert!(read.is_err() || read.unwrap().bytes() <= 2 << 20);
        }
        changed[at] = bytes[at];
    }
}

#[test]
fn memory_then_the_folder_then_nothing() {
    let scratch = Scratch::new("tiers");
    let (cache, one) = (scratch.cache(1 << 20, 1 << 20), file("/m.avro", 1, "a"));
    keep(&cache, &Local, &one, records(10));
    assert_eq!(found(&cache, &Local, &one), Some(records(10)));
    let other = scratch.cache(1 << 20, 1 << 20);
    assert_eq!(found(&other, &Local, &one), Some(records(10)));
    assert_eq!(found(&other, &Local, &one), Some(records(10)));
    let stats = other.stats().unwrap();
    assert_eq!((stats.memory_hits, stats.disk_hits, stats.misses), (1, 1, 0));
    other.clear().unwrap();
    assert_eq!((found(&other, &Local, &one), scratch.files()), (None, Vec::new()));
    // The other's memory is its own.
    assert_eq!(found(&cache, &Local, &one), Some(records(10)));
    assert_eq!(cache.stats().unwrap().disk_bytes, 0);
}

#[test]
fn each_part_of_the_key_tells_files_apart() {
    let scratch = Scratch::new("keys");
    let cache = scratch.cache(0, 1 << 20);
    let named = |name: &str| Named(Some(StorageIdentity { name: name.to_owned(), is_shared: true }));
    let one = file("/m.avro", 1, "a");
    keep(&cache, &named("one"), &one, records(10));
    assert!(found(&cache, &named("one"), &one).is_some());
    assert!(found(&cache, &named("two"), &one).is_none());
    assert!(found(&cache, &Local, &one).is_none());
    for other in [file("/n.avro", 1, "a"), file("/m.avro", 2, "a"), file("/m.avro", 1, "b")] {
        assert!(found(&cache, &named("one"), &other).is_none());
    }
    let limits = Limits { max_file_bytes: 1, ..Limits::DEFAULT };
    assert!(
        found(&cache, &named("one"), &CachedFile { limits: &limits, ..file("/m.avro", 1, "a") }).is_none()
    );
    assert!(found(&cache, &named("one"), &CachedFile { format: "paimon", ..one }).is_none());
    // A path cannot be spelled so that it runs into what follows.
    assert!(found(&cache, &named("one\"\n\"/m.avro"), &file("", 1, "a")).is_none());
    let other = scratch.cache(0, 1 << 20);
    assert!(other.may_have(&named("one"), "/m.avro", Some(1)).unwrap());
    assert!(!other.may_have(&named("one"), "/m.avro", Some(2)).unwrap());
    assert!(!other.may_have(&named("two"), "/m.avro", Some(1)).unwrap());
}

#[test]
fn storages_without_a_name_are_not_cached_and_those_of_one_process_only_in_memory() {
    let scratch = Scratch::new("names");
    let cache = scratch.cache(1 << 20, 1 << 20);
    assert!(cache.find(&Named(None), &file("/m.avro", 1, "a")).unwrap().is_none());
    let own = Named(Some(StorageIdentity { name: "1".to_owned(), is_shared: false }));
    keep(&cache, &own, &file("/m.avro", 1, "a"), records(10));
    assert!(found(&cache, &own, &file("/m.avro", 1, "a")).is_some());
    assert_eq!(scratch.files(), Vec::<PathBuf>::new());
}

#[test]
fn a_damaged_file_is_not_there_and_is_written_again() {
    let scratch = Scratch::new("damage");
    let (cache, one) = (scratch.cache(0, 1 << 20), file("/m.avro", 1, "a"));
    keep(&cache, &Local, &one, records(10));
    let [path] = &scratch.files()[..] else { panic!("one file") };
    for damage in [&b""[..], b"LAKEBEDc", &[0xff; 4096]] {
        std::fs::write(path, damage).unwrap();
        keep(&cache, &Local, &one, records(10));
        assert_eq!(found(&cache, &Local, &one), Some(records(10)));
    }
    assert_eq!(cache.stats().unwrap().damaged, 3);
    // A folder in its place is not removed.
    std::fs::remove_file(path).unwrap();
    std::fs::create_dir(path).unwrap();
    keep(&cache, &Local, &one, records(10));
    assert_eq!(cache.stats().unwrap().failed_writes, 1);
}

#[test]
fn the_folder_is_bounded_and_the_least_recently_used_goes_first() {
    let scratch = Scratch::new("bound");
    let each = file::write("x", &records(100)).unwrap().len() as u64 + 200;
    let cache = scratch.cache(0, 8 * each);
    let names: Vec<String> = (0..40).map(|number| format!("/{number}.avro")).collect();
    for name in &names {
        keep(&cache, &Local, &file(name, 1, "a"), records(100));
        assert!(cache.stats().unwrap().disk_bytes <= 8 * each);
    }
    let there: Vec<bool> =
        names.iter().map(|name| found(&cache, &Local, &file(name, 1, "a")).is_some()).collect();
    assert!(there[39] && !there[0]);
    // What is larger than all may be is not written.
    keep(&cache, &Local, &file("/large.avro", 1, "a"), records(100_000));
    assert!(found(&cache, &Local, &file("/large.avro", 1, "a")).is_none());
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_not_the_users_alone_is_refused() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let scratch = Scratch::new("modes");
    let open = |path: &std::path::Path| {
        let folder = Some(path.to_owned());
        Cache::new(CacheSettings { memory_bytes: 0, folder, disk_bytes: 1 << 20 }).map(drop)
    };
    let refused = |path: &std::path::Path| open(path).unwrap_err().kind() == ErrorKind::Location;
    assert!(open(&scratch.0).is_ok());
    assert_eq!(std::fs::metadata(&scratch.0).unwrap().permissions().mode() & 0o777, 0o700);
    for mode in [0o750, 0o702, 0o777] {
        std::fs::set_permissions(&scratch.0, std::fs::Permissions::from_mode(mode)).unwrap();
        assert!(refused(&scratch.0), "{mode:o}");
    }
    std::fs::set_permissions(&scratch.0, std::fs::Permissions::from_mode(0o700)).unwrap();
    let link = scratch.0.join("link");
    symlink(&scratch.0, &link).unwrap();
    assert!(refused(&link));
    let file = scratch.0.join("file");
    std::fs::write(&file, "").unwrap();
    assert!(refused(&file));
    assert_eq!(open(&scratch.0.join("no/parent")).unwrap_err().kind(), ErrorKind::Io);
}
