//! Which entries speak of the same file (Paimon's `FileEntry.Identifier`).

use std::collections::HashSet;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, BinaryArray, BooleanArray, RecordBatch};

use crate::error::Result;
use crate::record::find;

/// The columns of [`ENTRY`](super::fields::ENTRY) that make up an identity.
pub const IDENTITY: [&str; 7] =
    ["partition", "bucket", "level", "file_name", "extra_files", "embedded_file_index", "external_path"];

/// The identities of `entries`, which hold the columns of [`IDENTITY`]: one binary value a row.
///
/// The seven parts stand one behind the other, each of varying length behind its own length, so that
/// two values are equal exactly when all parts are.
pub(crate) fn identities(entries: &RecordBatch) -> Result<BinaryArray> {
    let columns = IDENTITY.map(|name| find(entries, name));
    let [partition, bucket, level, file_name, extra_files, index, external] = columns;
    let (partition, bucket, level, file_name) = (partition?, bucket?, level?, file_name?);
    let (extra_files, index, external) = (extra_files?, index?, external?);
    let (partition, index) = (partition.as_binary::<i32>(), index.as_binary::<i32>());
    let (bucket, level) = (bucket.as_primitive::<Int32Type>(), level.as_primitive::<Int32Type>());
    let (file_name, external) = (file_name.as_string::<i32>(), external.as_string::<i32>());
    let extra_files = extra_files.as_list::<i32>();
    let extra_names = extra_files.values().as_string::<i32>();
    let extra_offsets = extra_files.value_offsets();
    let mut key = Vec::new();
    let keys = (0..entries.num_rows()).map(|row| {
        key.clear();
        push(&mut key, Some(partition.value(row)));
        key.extend(bucket.value(row).to_le_bytes());
        key.extend(level.value(row).to_le_bytes());
        push(&mut key, Some(file_name.value(row).as_bytes()));
        push(&mut key, index.is_valid(row).then(|| index.value(row)));
        push(&mut key, external.is_valid(row).then(|| external.value(row).as_bytes()));
        for item in extra_offsets[row] as usize..extra_offsets[row + 1] as usize {
            push(&mut key, extra_names.is_valid(item).then(|| extra_names.value(item).as_bytes()));
        }
        key.clone()
    });
    Ok(BinaryArray::from_iter_values(keys))
}

fn push(key: &mut Vec<u8>, part: Option<&[u8]>) {
    match part {
        None => key.push(0),
        Some(bytes) => {
            key.push(1);
            key.extend((bytes.len() as u64).to_le_bytes());
            key.extend(bytes);
        }
    }
}

/// The files that some entry deletes.
#[derive(Default)]
pub(crate) struct Deleted(HashSet<Box<[u8]>>);

impl Deleted {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Notes the files of DELETE entries.
    pub(crate) fn extend(&mut self, identities: &BinaryArray) {
        self.0.extend(identities.iter().flatten().map(Box::from));
    }

    /// True for each file that no entry deletes.
    pub(crate) fn live(&self, identities: &BinaryArray) -> BooleanArray {
        identities.iter().map(|identity| identity.map(|bytes| !self.0.contains(bytes))).collect()
    }
}
