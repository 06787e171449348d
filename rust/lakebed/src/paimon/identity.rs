//! The identity of a file, by which entries of the same file are matched (Paimon's `FileEntry.Identifier`).

use std::collections::HashSet;
use std::hash::BuildHasher;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{Array, BinaryArray, Int32Array, ListArray, RecordBatch, StringArray, UInt32Array};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_select::take::take_record_batch;
use foldhash::fast::RandomState;

use crate::error::{Result, fitting};
use crate::record::{column, typed};

/// The columns of [`ENTRY`](super::fields::ENTRY) that make up an identity.
pub const IDENTITY: [&str; 7] =
    ["partition", "bucket", "level", "file_name", "extra_files", "embedded_file_index", "external_path"];

/// The identities of `entries`, which have the columns of [`IDENTITY`]: one binary value per row.
///
/// The seven parts follow each other, each part of variable length after its length, so that two values are
/// equal exactly when all parts are.
pub(crate) fn identities(entries: &RecordBatch) -> Result<BinaryArray> {
    let [partition, bucket, level, file_name, extra_files, index, external] = IDENTITY;
    let (partition, index) =
        (column::<BinaryArray>(entries, partition)?, column::<BinaryArray>(entries, index)?);
    let (bucket, level) = (column::<Int32Array>(entries, bucket)?, column::<Int32Array>(entries, level)?);
    let file_name = column::<StringArray>(entries, file_name)?;
    let external = column::<StringArray>(entries, external)?;
    let extra_files = column::<ListArray>(entries, extra_files)?;
    let extra_names = typed::<StringArray>(extra_files.values(), "extra_files")?;
    let extra_offsets = extra_files.value_offsets();
    let mut key = Vec::new();
    let mut keys = BinaryBuilder::with_capacity(entries.num_rows(), 0);
    for row in 0..entries.num_rows() {
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
        keys.append_value(&key);
    }
    Ok(keys.finish())
}

/// The name of the file with this identity; empty for bytes that are none.
fn name_in(identity: &[u8]) -> &[u8] {
    let name = || {
        let (_, rest) = part(identity)?;
        part(rest.get(2 * size_of::<i32>()..)?)
    };
    name().map(|(name, _)| name).unwrap_or_default()
}

/// The part at the start, which is not null, and what follows.
fn part(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = key.strip_prefix(&[1])?.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)
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
pub(crate) struct DeletedIdentities {
    identities: HashSet<Box<[u8]>, RandomState>,
    /// The hashes of their names, by which nearly all other files are told from them before their identity is made.
    names: HashSet<u64, RandomState>,
}

impl DeletedIdentities {
    pub(crate) fn is_empty(&self) -> bool {
        self.identities.is_empty()
    }

    /// The identities of those files, in any order.
    pub(crate) fn identities(&self) -> impl Iterator<Item = &[u8]> {
        self.identities.iter().map(AsRef::as_ref)
    }

    /// Adds the files of DELETE entries.
    pub(crate) fn extend(&mut self, identities: &BinaryArray) {
        let names = identities.iter().flatten().map(name_in);
        self.names.extend(names.map(|name| self.identities.hasher().hash_one(name)));
        self.identities.extend(identities.iter().flatten().map(Box::from));
    }

    /// Which of `entries`, which have the columns of [`IDENTITY`], are of files that no entry deletes.
    ///
    /// # Errors
    /// `Mismatch` for a column of another type.
    pub(crate) fn live(&self, entries: &RecordBatch) -> Result<BooleanBuffer> {
        let mut live = BooleanBufferBuilder::new(entries.num_rows());
        live.append_n(entries.num_rows(), true);
        if self.is_empty() {
            return Ok(live.finish());
        }
        let names = column::<StringArray>(entries, "file_name")?;
        let is_named = |row: &u32| {
            let hash = self.identities.hasher().hash_one(names.value(*row as usize).as_bytes());
            self.names.contains(&hash)
        };
        let rows = fitting(u32::try_from(entries.num_rows()).ok(), "the number of entries")?;
        let named: Vec<u32> = (0..rows).filter(is_named).collect();
        if named.is_empty() {
            return Ok(live.finish());
        }
        let places = IDENTITY.map(|name| entries.schema_ref().index_of(name));
        let places = places.into_iter().collect::<std::result::Result<Vec<_>, _>>()?;
        let some = take_record_batch(&entries.project(&places)?, &UInt32Array::from(named.clone()))?;
        for (row, identity) in named.into_iter().zip(&identities(&some)?) {
            if identity.is_some_and(|identity| self.identities.contains(identity)) {
                live.set_bit(row as usize, false);
            }
        }
        Ok(live.finish())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Arc;

    use arrow_array::builder::{ListBuilder, StringBuilder};
    use arrow_array::{ArrayRef, Int32Array, StringArray};
    use serde_json::Value;

    use super::*;
    use crate::predicate::tests::cases::cases;

    #[test]
    fn a_column_of_another_type_is_an_error_with_its_name() {
        let floats: ArrayRef = Arc::new(arrow_array::Float64Array::from(vec![1.5]));
        let columns = IDENTITY.map(|name| (name, Arc::clone(&floats)));
        let error = identities(&RecordBatch::try_from_iter(columns).expect("a batch")).unwrap_err();
        assert_eq!(error.kind(), crate::error::ErrorKind::Mismatch);
        assert_eq!(error.location().field.as_deref(), Some("partition"));
    }

    /// One entry of a case, with the columns of an identity.
    fn row(entry: &Value) -> RecordBatch {
        let number = |name: &str| {
            let number = entry[name].as_i64().and_then(|number| i32::try_from(number).ok());
            Arc::new(Int32Array::from(vec![number.expect("a number")])) as ArrayRef
        };
        let text = |name: &str| Arc::new(StringArray::from(vec![entry[name].as_str()])) as ArrayRef;
        let mut extra = ListBuilder::new(StringBuilder::new());
        let names = entry["extra_files"].as_array().into_iter().flatten();
        extra.append_value(names.map(Value::as_str));
        let index = entry["embedded_index"].as_str().map(str::as_bytes);
        let columns = [
            Arc::new(BinaryArray::from_vec(vec![entry["partition"].to_string().as_bytes()])) as ArrayRef,
            number("bucket"),
            number("level"),
            text("file"),
            Arc::new(extra.finish()),
            Arc::new(BinaryArray::from_opt_vec(vec![index])),
            text("external_path"),
        ];
        RecordBatch::try_from_iter(IDENTITY.into_iter().zip(columns)).expect("an entry")
    }

    /// Every file that is added, and that no entry in any manifest deletes, is live; deletions of other files have no
    /// effect.
    #[test]
    fn merged_entries_of_other_projects() {
        for case in cases("paimon_manifest_merge") {
            let manifests = case["manifests"].as_array().expect("manifests").iter();
            let entries: Vec<&Value> =
                manifests.flat_map(|manifest| manifest.as_array().expect("entries")).collect();
            let of_kind = |wanted: &'static str| entries.iter().filter(move |entry| entry["kind"] == wanted);
            let of_entry = |entry: &&&Value| {
                let identity = identities(&row(entry)).expect("an identity");
                (entry["file"].as_str().expect("a name").to_owned(), identity.value(0).to_vec())
            };
            let mut deleted = DeletedIdentities::default();
            let deletions: Vec<(String, Vec<u8>)> = of_kind("DELETE").map(|entry| of_entry(&entry)).collect();
            deleted.extend(&BinaryArray::from_iter_values(deletions.iter().map(|(_, id)| id)));
            let added: Vec<(String, Vec<u8>)> = of_kind("ADD").map(|entry| of_entry(&entry)).collect();
            assert!(deletions.iter().all(|(file, id)| name_in(id) == file.as_bytes()));
            let live = |entry: &Value| deleted.live(&row(entry)).expect("columns").value(0);
            let live =
                added.iter().zip(of_kind("ADD")).filter(|(_, entry)| live(entry)).map(|((file, _), _)| file);
            if case["expect"].is_object() {
                // Readers accept what is an error for those who rewrite manifests.
                let mut times: HashMap<&[u8], usize> = HashMap::new();
                added.iter().for_each(|(_, id)| *times.entry(id).or_default() += 1);
                assert!(times.values().any(|times| *times > 1), "{case}");
                continue;
            }
            let known: Vec<&Vec<u8>> = added.iter().map(|(_, id)| id).collect();
            let dangling = deletions.iter().filter(|(_, id)| !known.contains(&id));
            let mut answer: Vec<String> = live.map(|file| format!("ADD:{file}")).collect();
            answer.extend(dangling.map(|(file, _)| format!("DELETE:{file}")));
            let expected = case["expect"].as_array().expect("entries").iter();
            let mut expected: Vec<&str> = expected.map(|entry| entry.as_str().expect("an entry")).collect();
            answer.sort_unstable();
            expected.sort_unstable();
            assert_eq!(answer, expected, "{case}");
        }
    }
}
