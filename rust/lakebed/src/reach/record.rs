//! What metadata or a listing states about a file, as a row of a batch: for memory, for the disk, and for other
//! processes.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{
    ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, UInt8Array, UInt16Array, UInt32Array,
};

use super::kind::Kind;
use super::sets::SetId;
use crate::distributed::sorted_by_part;
use crate::error::{Error, ErrorKind, Result};
use crate::record::column;
use crate::view::{whole, with_columns};

/// The size of a listed file whose details were not asked for.
pub(super) const NOT_ASKED: i64 = i64::MIN;

/// A statement about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The roots reach it, unless they also list it as deleted.
    Reached,
    /// The roots list it as deleted.
    Deleted,
    /// A listing has it.
    Listed,
    /// A listing has it, and it is too new to be an orphan.
    New,
    /// A folder of listed files.
    Folder,
    /// The folder of another table.
    Table,
    /// The listing has the table; there may be no path.
    Own,
}

const FACTS: [Fact; 7] =
    [Fact::Reached, Fact::Deleted, Fact::Listed, Fact::New, Fact::Folder, Fact::Table, Fact::Own];

/// A statement about a file, with its details.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Record<'r> {
    pub(crate) fact: Fact,
    pub(crate) kind: Kind,
    /// The number of the prefix before the key, where locations are compared.
    pub(crate) prefix: u16,
    pub(crate) set: SetId,
    /// The file's size \[bytes\]; negative where it is not known.
    pub(crate) size: i64,
    /// For reached files the identity among several files at one path; for listed files the time of
    /// modification.
    pub(crate) value: i64,
    /// The path as it is written.
    pub(crate) path: &'r str,
    /// The key, the same in all records of a file.
    pub(crate) key: &'r str,
}

/// A builder of rows.
#[derive(Default)]
pub(super) struct RecordRows {
    /// The hashes by which rows are moved to parts; `None` for a row that every part needs.
    hashes: Vec<Option<u64>>,
    facts: Vec<u8>,
    kinds: Vec<u8>,
    prefixes: Vec<u16>,
    sets: Vec<u32>,
    sizes: Vec<i64>,
    values: Vec<i64>,
    /// Paths, each followed by the key where it does not end with it.
    texts: StringBuilder,
    path_lengths: Vec<i32>,
    key_starts: Vec<i32>,
}

impl RecordRows {
    /// Adds a record.
    ///
    /// # Errors
    /// `Argument` for paths of more than 2 GiB in all.
    pub(super) fn push(&mut self, record: &Record<'_>, hash: Option<u64>) -> Result<()> {
        let Record { path, key, .. } = *record;
        let offset = |bytes: usize| {
            i32::try_from(bytes).map_err(|_| Error::new(ErrorKind::Argument, "paths of more than 2 GiB"))
        };
        let is_end = path.ends_with(key);
        let text = if is_end { Cow::Borrowed(path) } else { Cow::Owned([path, key].concat()) };
        offset(self.text_bytes() + text.len())?;
        self.path_lengths.push(offset(path.len())?);
        self.key_starts.push(offset(text.len() - key.len())?);
        self.texts.append_value(text);
        self.hashes.push(hash);
        self.facts.push(record.fact as u8);
        self.kinds.push(record.kind as u8);
        self.prefixes.push(record.prefix);
        self.sets.push(record.set.0);
        self.sizes.push(record.size);
        self.values.push(record.value);
        Ok(())
    }

    /// Bytes of all paths.
    pub(super) fn text_bytes(&self) -> usize {
        self.texts.values_slice().len()
    }

    /// The rows in the order of their parts: `part` uint32, null for those that every part needs, which come last, and
    /// the columns that [`records`] reads.
    ///
    /// # Errors
    /// None that input could cause.
    pub(super) fn finish(mut self, parts: u32) -> Result<RecordBatch> {
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("fact", Arc::new(UInt8Array::from(self.facts))),
            ("kind", Arc::new(UInt8Array::from(self.kinds))),
            ("prefix", Arc::new(UInt16Array::from(self.prefixes))),
            ("set", Arc::new(UInt32Array::from(self.sets))),
            ("size", Arc::new(Int64Array::from(self.sizes))),
            ("value", Arc::new(Int64Array::from(self.values))),
            ("text", Arc::new(self.texts.finish())),
            ("path_length", Arc::new(Int32Array::from(self.path_lengths))),
            ("key_start", Arc::new(Int32Array::from(self.key_starts))),
        ];
        let (rows, parts) = sorted_by_part(&whole(columns, self.hashes.len())?, &self.hashes, parts)?;
        with_columns(&rows, vec![("part", Arc::new(UInt32Array::from(parts)))])
    }
}

/// The columns of rows.
struct RecordColumns<'r> {
    facts: &'r UInt8Array,
    kinds: &'r UInt8Array,
    prefixes: &'r UInt16Array,
    sets: &'r UInt32Array,
    sizes: &'r Int64Array,
    values: &'r Int64Array,
    texts: &'r StringArray,
    path_lengths: &'r Int32Array,
    key_starts: &'r Int32Array,
}

impl<'r> RecordColumns<'r> {
    fn of(rows: &'r RecordBatch) -> Result<RecordColumns<'r>> {
        Ok(RecordColumns {
            facts: column(rows, "fact")?,
            kinds: column(rows, "kind")?,
            prefixes: column(rows, "prefix")?,
            sets: column(rows, "set")?,
            sizes: column(rows, "size")?,
            values: column(rows, "value")?,
            texts: column(rows, "text")?,
            path_lengths: column(rows, "path_length")?,
            key_starts: column(rows, "key_start")?,
        })
    }

    fn record(&self, row: usize) -> Option<Record<'r>> {
        let text = self.texts.value(row);
        Some(Record {
            fact: *FACTS.get(usize::from(self.facts.value(row)))?,
            kind: Kind::numbered(self.kinds.value(row))?,
            prefix: self.prefixes.value(row),
            set: SetId(self.sets.value(row)),
            size: self.sizes.value(row),
            value: self.values.value(row),
            path: text.get(..usize::try_from(self.path_lengths.value(row)).ok()?)?,
            key: text.get(usize::try_from(self.key_starts.value(row)).ok()?..)?,
        })
    }
}

/// The records in rows of [`RecordRows`], in their order.
///
/// # Errors
/// `Required` and `Mismatch` for rows of other columns.
pub(crate) fn records(rows: &RecordBatch) -> Result<impl Iterator<Item = Result<Record<'_>>>> {
    let columns = RecordColumns::of(rows)?;
    Ok((0..rows.num_rows()).map(move |row| columns.record(row).ok_or_else(foreign)))
}

#[cold]
pub(super) fn foreign() -> Error {
    Error::new(ErrorKind::Internal, "records of files are not as they were written")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::mistyped;

    #[test]
    fn records_that_were_changed_are_an_error() {
        let (fact, kind, set) = (Fact::Listed, Kind::Extra, SetId(9));
        let one = Record { fact, kind, prefix: 7, set, size: -1, value: 5, path: "/a", key: "/a" };
        let other = Record { key: "/b", ..one };
        let mut rows = RecordRows::default();
        rows.push(&one, Some(1)).expect("short");
        rows.push(&other, None).expect("short");
        let rows = rows.finish(1).expect("rows");
        assert_eq!(records(&rows).expect("rows").collect::<Result<Vec<_>>>().expect("two"), [one, other]);
        for (place, column) in [
            (0, Arc::new(UInt8Array::from_value(FACTS.len() as u8, 2)) as ArrayRef),
            (1, Arc::new(UInt8Array::from_value(u8::MAX, 2))),
            (7, Arc::new(Int32Array::from_value(5, 2))),
            (7, Arc::new(Int32Array::from_value(-1, 2))),
            (8, Arc::new(Int32Array::from_value(5, 2))),
        ] {
            let mut columns = rows.columns().to_vec();
            columns[place] = column;
            let changed = RecordBatch::try_new(rows.schema(), columns).expect("columns of the same types");
            assert!(records(&changed).expect("rows").all(|record| record.is_err()), "{place}");
        }
        for (name, batch) in mistyped(&rows).filter(|(name, _)| name != "part") {
            let error = records(&batch).err().expect(&name);
            let found = (error.kind(), error.location().field.as_deref());
            assert_eq!(found, (ErrorKind::Mismatch, Some(&*name)));
        }
    }
}
