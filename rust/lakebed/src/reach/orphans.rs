//! Files that lie among a table's and that nothing reaches.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Int64Builder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};

use super::found::count;
use super::kind::Kind;
use super::listing::{Place, list};
use super::names::each_named;
use super::partitions::{Fact, PARTS, Partitions, Record, records};
use super::prefixes::Prefixes;
use super::sets::SetId;
use super::{Reach, Walk};
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::record::find;
use crate::scan::{Batches, Scan, ScanOptions, Step, limited, threads};
use crate::storage::{ListedFile, Storage};
use crate::view::{select, whole};

/// Starts reading a listing, once more each time: `path` text, `size` int64 bytes, `modified` int64 milliseconds since
/// 1970 UTC.
pub type Listing = Arc<dyn Fn() -> Result<Batches> + Send + Sync>;

/// Which files may be orphans.
#[derive(Clone, Default)]
pub struct OrphanOptions {
    /// Only those modified before, in milliseconds since 1970 UTC; others may be of a commit that is under way.
    pub before_ms: Option<i64>,
    /// Schemes that mean what another means.
    pub equal_schemes: Vec<(String, String)>,
    /// Authorities (buckets, hosts) that mean what another means.
    pub equal_authorities: Vec<(String, String)>,
    /// What lies there, where the caller knows; else the table's folders are listed.
    pub listing: Option<Listing>,
}

/// What a listing has and a table does not reach.
pub(crate) struct Orphans<R> {
    reach: R,
    which: OrphanOptions,
    options: ScanOptions,
    schema: SchemaRef,
    notes: Notes,
}

impl<R: Reach> Orphans<R> {
    /// Those of a table; columns and filter are checked, nothing is read.
    ///
    /// # Errors
    /// `UnknownColumn`, `Predicate`.
    pub(crate) fn new(reach: R, which: OrphanOptions, options: ScanOptions) -> Result<Orphans<R>> {
        let none = Rows::default().finish()?;
        let schema = select(&none, options.columns.as_deref(), options.filter.as_deref())?.schema();
        let notes = reach.notes();
        Ok(Orphans { reach, which, options, schema, notes })
    }

    /// Lists the files, then reads the table as it is by then: what a commit added in between is reached.
    fn compared(&self) -> Result<Compared> {
        let mut compared = Compared::new(&self.which);
        let places = self.reach.places()?;
        match &self.which.listing {
            Some(listing) => compared.take_listing(listing()?, &places, self.reach.storage().as_ref())?,
            None => compared.list(&places, self.reach.storage(), &self.notes)?,
        }
        let newest = self.reach.newest()?;
        let by_name = places.iter().any(|place| place.by_name);
        let walk = newest.walk(None, threads(self.options.threads))?;
        compared.take_walk(walk, newest.storage().as_ref(), by_name)?;
        newest.notes().take().into_iter().for_each(|note| self.notes.add(note));
        Ok(compared)
    }
}

impl<R: Reach> Scan for Orphans<R> {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn stream(&self) -> Result<Batches> {
        limited(self.options.limit, || {
            let options = self.options.clone();
            let selected = move |rows: Result<RecordBatch>| {
                select(&rows?, options.columns.as_deref(), options.filter.as_deref())
            };
            Ok(Box::new(self.compared()?.map(selected)))
        })
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }

    fn explain(&self) -> Result<Vec<Step>> {
        let compared = self.compared()?;
        let (old, all) = (compared.old, compared.listed);
        let orphans = count(compared)?;
        Ok(vec![
            Step::rows("listed files", old, all, "when they were modified"),
            Step::rows("orphans", orphans, old, "reached by nothing"),
        ])
    }
}

/// What is listed beside what is reached.
struct Compared {
    partitions: Partitions,
    prefixes: Prefixes,
    before_ms: Option<i64>,
    /// Files in the listing, and how many of them are old enough.
    listed: u64,
    old: u64,
    part: usize,
}

impl Compared {
    fn new(which: &OrphanOptions) -> Compared {
        Compared {
            partitions: Partitions::new(),
            prefixes: Prefixes::new(&which.equal_schemes, &which.equal_authorities),
            before_ms: which.before_ms,
            listed: 0,
            old: 0,
            part: 0,
        }
    }

    fn list(&mut self, places: &[Place], storage: &Arc<dyn Storage>, notes: &Notes) -> Result<()> {
        for place in places {
            for files in list(place, storage, notes) {
                for (path, file) in files? {
                    self.take_listed(&storage.place(&path)?, &file, place.by_name)?;
                }
            }
        }
        Ok(())
    }

    /// Takes the files of a listing that are in the table's places.
    fn take_listing(&mut self, listing: Batches, places: &[Place], storage: &dyn Storage) -> Result<()> {
        let mut known = Vec::new();
        for place in places {
            let location = storage.place(&place.location)?;
            let (prefix, key) = self.prefixes.split(&location)?;
            known.push((place, prefix, format!("{}/", key.trim_end_matches('/'))));
        }
        for batch in listing {
            let batch = batch?;
            let paths = find(&batch, "path")?;
            let (sizes, times) = (find(&batch, "size")?, find(&batch, "modified")?);
            let (sizes, times) = (longs(&sizes, "size")?, longs(&times, "modified")?);
            for (row, path) in texts(&paths)?.enumerate() {
                let path = path.ok_or_else(|| Error::new(ErrorKind::Argument, "a path is null"))?;
                let file = ListedFile {
                    name: String::new(),
                    size: sizes.get(row).copied().flatten().and_then(|size| u64::try_from(size).ok()),
                    modified: times.get(row).copied().flatten(),
                };
                self.take_given(path, &file, &known)?;
            }
        }
        Ok(())
    }

    fn take_given(&mut self, path: &str, file: &ListedFile, places: &[(&Place, u16, String)]) -> Result<()> {
        let (prefix, key) = self.prefixes.split(path)?;
        for (place, own, folder) in places {
            let Some(rest) = key.strip_prefix(folder.as_str()) else { continue };
            if !self.prefixes.agree(*own, prefix) {
                return Err(self.prefixes.conflict(*own, prefix, path));
            }
            if (place.rule)(rest, false) {
                return self.take_listed(path, file, place.by_name);
            }
        }
        if !key.starts_with('/') && !places.iter().any(|(_, _, folder)| !folder.starts_with('/')) {
            let message =
                "a path of the listing is not a full one: with its scheme and bucket, or from the root on";
            return Err(Error::new(ErrorKind::Argument, message).in_file(path));
        }
        Ok(())
    }

    fn take_listed(&mut self, path: &str, file: &ListedFile, by_name: bool) -> Result<()> {
        self.listed += 1;
        if let Some(before) = self.before_ms {
            let modified = file.modified.ok_or_else(|| {
                let message =
                    "nobody says when it was modified: list it otherwise, or ask with older_than=None";
                Error::new(ErrorKind::Argument, message).in_file(path)
            })?;
            if modified >= before {
                return Ok(());
            }
        }
        self.old += 1;
        let (prefix, key) = self.prefixes.split(path)?;
        self.partitions.push(&Record {
            fact: Fact::Listed,
            kind: Kind::Extra,
            prefix,
            set: SetId::NONE,
            size: file.size.and_then(|size| i64::try_from(size).ok()).unwrap_or(-1),
            value: file.modified.unwrap_or(i64::MIN),
            path,
            key: if by_name { name(&key) } else { &key },
        })
    }

    /// Takes everything that a table names, also what it only says is deleted: engines leave that alone.
    fn take_walk(&mut self, walk: Walk, storage: &dyn Storage, by_name: bool) -> Result<()> {
        let mut take = |path: &str| {
            let place = if by_name { path.to_owned() } else { storage.place(path)? };
            let (prefix, key) = self.prefixes.split(&place)?;
            let key = if by_name { name(&key) } else { &key };
            let (fact, kind, set, size, value) = (Fact::Reached, Kind::Extra, SetId::NONE, -1, 0);
            self.partitions.push(&Record { fact, kind, prefix, set, size, value, path: key, key })
        };
        walk.files.reached().iter().try_for_each(|file| take(&file.path))?;
        walk.files.named().iter().try_for_each(|path| take(path))?;
        for batch in walk.entries {
            each_named(&batch?, |record| take(record.path))?;
        }
        Ok(())
    }

    /// The orphans of a part.
    fn orphans(&self, bytes: &[u8]) -> Result<RecordBatch> {
        let mut reached: HashMap<&str, Vec<u16>> = HashMap::new();
        for record in records(bytes) {
            let record = record?;
            if record.fact == Fact::Reached {
                let prefixes = reached.entry(record.key).or_default();
                if !prefixes.contains(&record.prefix) {
                    prefixes.push(record.prefix);
                }
            }
        }
        let mut rows = Rows::default();
        for record in records(bytes) {
            let record = record?;
            match reached.get(record.key) {
                _ if record.fact != Fact::Listed => {}
                None => rows.push(&record)?,
                Some(prefixes) => {
                    let conflict = prefixes.first().filter(|_| {
                        // Of names nobody asks where they are.
                        record.key.contains('/')
                            && !prefixes.iter().any(|prefix| self.prefixes.agree(*prefix, record.prefix))
                    });
                    if let Some(prefix) = conflict {
                        return Err(self.prefixes.conflict(*prefix, record.prefix, record.path));
                    }
                }
            }
        }
        rows.finish()
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        while self.part < PARTS {
            let bytes = self.partitions.take(self.part)?;
            self.part += 1;
            let rows = self.orphans(&bytes)?;
            if rows.num_rows() > 0 {
                return Ok(Some(rows));
            }
        }
        Ok(None)
    }
}

impl Iterator for Compared {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let next = self.advance();
        if next.is_err() {
            self.part = PARTS;
        }
        next.transpose()
    }
}

/// The last name of a path.
fn name(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or_default()
}

fn texts(column: &ArrayRef) -> Result<Box<dyn Iterator<Item = Option<&str>> + '_>> {
    match column.data_type() {
        DataType::Utf8 => Ok(Box::new(column.as_string::<i32>().iter())),
        DataType::LargeUtf8 => Ok(Box::new(column.as_string::<i64>().iter())),
        other => Err(Error::new(ErrorKind::Argument, format!("paths are text, not {other}"))),
    }
}

fn longs(column: &ArrayRef, name: &str) -> Result<Vec<Option<i64>>> {
    let numbers = column.as_primitive_opt::<Int64Type>();
    let numbers = numbers.ok_or_else(|| Error::new(ErrorKind::Argument, format!("{name} is no int64")))?;
    Ok(numbers.iter().collect())
}

/// Rows that are being made.
#[derive(Default)]
struct Rows {
    paths: StringBuilder,
    sizes: Int64Builder,
    times: TimestampMicrosecondBuilder,
    count: usize,
}

impl Rows {
    fn push(&mut self, record: &Record<'_>) -> Result<()> {
        let time = (record.value != i64::MIN).then(|| record.value.checked_mul(1000));
        let out_of_range = || {
            let message = format!("modified {} ms since 1970", record.value);
            Error::new(ErrorKind::Timestamp, message).in_file(record.path)
        };
        self.times.append_option(time.map(|time| time.ok_or_else(out_of_range)).transpose()?);
        self.paths.append_value(record.path);
        self.sizes.append_option((record.size >= 0).then_some(record.size));
        self.count += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<RecordBatch> {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("file_path", Arc::new(self.paths.finish())),
            ("file_size_in_bytes", Arc::new(self.sizes.finish())),
            ("modified_at", Arc::new(self.times.finish().with_timezone("UTC"))),
        ];
        whole(columns, self.count)
    }
}
