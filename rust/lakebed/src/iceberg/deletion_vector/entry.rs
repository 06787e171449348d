//! The deletion vectors that entries of a manifest refer to.

use arrow_array::{Array, BinaryArray, Int64Array, RecordBatch, StringArray};
use zeroize::Zeroizing;

use super::{DeletionVector, VectorRange, decode_vector};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::encryption::read_range;
use crate::record::column;
use crate::storage::Storage;

/// The columns of entries with the place and row count of a deletion vector.
pub(crate) const VECTOR_INPUT: [&str; 5] =
    ["file_path", "content_offset", "content_size_in_bytes", "record_count", "key_metadata"];

/// A deletion vector as its entry describes it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct VectorEntry {
    /// Its Puffin file.
    pub(crate) path: String,
    /// Its offset and size in the file.
    pub(crate) range: VectorRange,
    /// How many rows it deletes.
    pub(crate) record_count: i64,
    /// What its file is decrypted by.
    key: Option<Zeroizing<Vec<u8>>>,
}

impl VectorEntry {
    /// The deletion vectors of entries, which have the columns of [`VECTOR_INPUT`]; `None` for entries
    /// without an offset, which are whole files.
    ///
    /// # Errors
    /// `Required` for a vector without a size; `Length` for a negative offset or size. They name the file.
    pub(crate) fn of(entries: &RecordBatch) -> Result<Vec<Option<VectorEntry>>> {
        let [path, numbers @ .., key] = VECTOR_INPUT;
        let keys = column::<BinaryArray>(entries, key)?;
        let paths = column::<StringArray>(entries, path)?;
        let [offsets, sizes, counts] = numbers.map(|name| column::<Int64Array>(entries, name));
        let (offsets, sizes, counts) = (offsets?, sizes?, counts?);
        let entry = |row: usize| {
            if offsets.is_null(row) {
                return Ok(None);
            }
            let path = paths.value(row);
            if sizes.is_null(row) {
                let error = Error::new(ErrorKind::Required, "a deletion vector has an offset, but no size");
                return Err(error.in_file(path).in_field("content_size_in_bytes"));
            }
            let range = VectorRange::new(offsets.value(row), sizes.value(row));
            let range = range.map_err(|error| error.in_file(path))?;
            let key = keys.is_valid(row).then(|| Zeroizing::new(keys.value(row).to_vec()));
            Ok(Some(VectorEntry { path: path.to_owned(), range, record_count: counts.value(row), key }))
        };
        (0..entries.num_rows()).map(entry).collect()
    }

    /// Reads the vector's bytes, and no other bytes of the file.
    ///
    /// # Errors
    /// Those of storage and of [`decode_vector`], and `Mismatch` for another number of rows than the entry
    /// records; with file and byte.
    pub(crate) fn read(&self, storage: &dyn Storage) -> Result<DeletionVector> {
        let read = || {
            let bytes = read_range(storage, &self.path, self.key.as_deref().map(Vec::as_slice), self.range)?;
            let vector = decode_vector(&bytes, self.range)?;
            vector.check_cardinality(self.record_count).map_err(|error| error.at(self.range.place()))?;
            Ok(vector)
        };
        read().map_err(|error: Error| error.in_file(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::ArrayRef;

    use super::*;
    use crate::record::mistyped;

    #[test]
    fn columns_of_another_type_are_refused_by_name() {
        let path = ("file_path", Arc::new(StringArray::from(vec!["a"])) as ArrayRef);
        let numbers = VECTOR_INPUT[1..4].iter().map(|name| (*name, Arc::new(Int64Array::from(vec![4])) as _));
        let key = ("key_metadata", Arc::new(BinaryArray::new_null(1)) as ArrayRef);
        let entries = RecordBatch::try_from_iter([path].into_iter().chain(numbers).chain([key])).unwrap();
        assert_eq!(VectorEntry::of(&entries).unwrap().len(), 1);
        for (name, entries) in mistyped(&entries) {
            let error = VectorEntry::of(&entries).map(|_| ()).unwrap_err();
            let found = (error.kind(), error.location().field.as_deref());
            assert_eq!(found, (ErrorKind::Mismatch, Some(name.as_str())));
        }
    }
}
