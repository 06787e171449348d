//! The files of a listing that are among a table's, and may be orphans.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::deal::{Deal, Dealer, Keys, name};
use super::kind::Kind;
use super::listing::{Place, list};
use super::orphans::OrphanOptions;
use super::partitions::Partitions;
use super::prefixes::{Last, Prefixes};
use super::record::{Fact, Record};
use super::sets::SetId;
use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::record::find;
use crate::scan::Batches;
use crate::storage::{ListedFile, Storage};

/// Bytes of records that are dealt out together.
const TOGETHER: usize = 4 << 20;

/// Files that were listed.
pub(super) struct Listed {
    pub(super) partitions: Partitions,
    pub(super) prefixes: Arc<Prefixes>,
    /// Files in the listing, and how many of them are old enough.
    pub(super) listed: u64,
    pub(super) old: u64,
    before_ms: Option<i64>,
    dealer: Arc<Dealer>,
    deal: Deal,
    last: Last,
}

impl Listed {
    pub(super) fn new(which: &OrphanOptions) -> Listed {
        let prefixes = Prefixes::new(&which.equal_schemes, &which.equal_authorities);
        let dealer = Arc::new(Dealer::new());
        Listed {
            partitions: Partitions::new(),
            prefixes: Arc::new(prefixes),
            listed: 0,
            old: 0,
            before_ms: which.before_ms,
            deal: dealer.deal(),
            dealer,
            last: None,
        }
    }

    /// What deals out, beside these files, what a table names in a storage.
    pub(super) fn dealer(&self, storage: Arc<dyn Storage>, by_name: bool) -> Dealer {
        self.dealer.by(Keys::Places { prefixes: Arc::clone(&self.prefixes), storage, by_name })
    }

    /// The same with all files in parts.
    ///
    /// # Errors
    /// As [`Partitions::push`].
    pub(super) fn whole(mut self) -> Result<Listed> {
        self.deal_out()?;
        Ok(self)
    }

    fn deal_out(&mut self) -> Result<()> {
        let deal = std::mem::replace(&mut self.deal, self.dealer.deal());
        self.partitions.push(deal.dealt()?)
    }

    pub(super) fn list(&mut self, places: &[Place], storage: &Arc<dyn Storage>, notes: &Notes) -> Result<()> {
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
    pub(super) fn take_listing(
        &mut self,
        listing: Batches,
        places: &[Place],
        storage: &dyn Storage,
    ) -> Result<()> {
        let mut known = Vec::new();
        for place in places {
            let location = storage.place(&place.location)?;
            let (prefix, key) = self.prefixes.split(&location, &mut self.last)?;
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
        let (prefix, key) = self.prefixes.split(path, &mut self.last)?;
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
        let (prefix, key) = self.prefixes.split(path, &mut self.last)?;
        self.deal.add(Record {
            fact: Fact::Listed,
            kind: Kind::Extra,
            prefix,
            set: SetId::NONE,
            hash: 0,
            size: file.size.and_then(|size| i64::try_from(size).ok()).unwrap_or(-1),
            value: file.modified.unwrap_or(i64::MIN),
            path,
            key: if by_name { name(&key) } else { &key },
        })?;
        if self.deal.held() > TOGETHER { self.deal_out() } else { Ok(()) }
    }
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
