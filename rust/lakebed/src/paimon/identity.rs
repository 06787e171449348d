//! The identity of a file, by which entries of the same file are matched (Paimon's `FileEntry.Identifier`).

use std::collections::HashSet;

use arrow_array::{Array, BinaryArray, BooleanArray, Int32Array, ListArray, RecordBatch, StringArray};

use crate::error::Result;
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
pub(crate) struct DeletedIdentities(HashSet<Box<[u8]>>);

impl DeletedIdentities {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The identities of those files, in any order.
    pub(crate) fn identities(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(AsRef::as_ref)
    }

    /// Adds the files of DELETE entries.
    pub(crate) fn extend(&mut self, identities: &BinaryArray) {
        self.0.extend(identities.iter().flatten().map(Box::from));
    }

    /// True for each file that no entry deletes.
    pub(crate) fn live(&self, identities: &BinaryArray) -> BooleanArray {
        identities.iter().map(|identity| identity.map(|bytes| !self.0.contains(bytes))).collect()
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

    /// The identity of one entry of a case.
    fn identity(entry: &Value) -> Vec<u8> {
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
        let entries = RecordBatch::try_from_iter(IDENTITY.into_iter().zip(columns)).expect("an entry");
        identities(&entries).expect("an identity").value(0).to_vec()
    }

    /// Every file that is added, and that no entry in any manifest deletes, is live; deletions of other files have no
    /// effect.
    #[test]
    fn merged_entries_of_other_projects() {
        for case in cases("paimon_manifest_merge") {
            let manifests = case["manifests"].as_array().expect("manifests").iter();
            let entries: Vec<&Value> =
                manifests.flat_map(|manifest| manifest.as_array().expect("entries")).collect();
            let ids: Vec<Vec<u8>> = entries.iter().map(|entry| identity(entry)).collect();
            let of_kind = |wanted: &'static str| {
                let all = entries.iter().zip(&ids);
                all.filter(move |(entry, _)| entry["kind"] == wanted)
                    .map(|(entry, id)| (entry["file"].as_str().expect("a name").to_owned(), id.clone()))
            };
            let mut deleted = DeletedIdentities::default();
            let deletions: Vec<(String, Vec<u8>)> = of_kind("DELETE").collect();
            deleted.extend(&BinaryArray::from_iter_values(deletions.iter().map(|(_, id)| id)));
            let added: Vec<(String, Vec<u8>)> = of_kind("ADD").collect();
            let live = deleted.live(&BinaryArray::from_iter_values(added.iter().map(|(_, id)| id)));
            let live = added.iter().zip(&live).filter(|(_, live)| *live == Some(true)).map(|(file, _)| file);
            if case["expect"].is_object() {
                // Readers accept what is an error for those who rewrite manifests.
                let mut times: HashMap<&[u8], usize> = HashMap::new();
                added.iter().for_each(|(_, id)| *times.entry(id).or_default() += 1);
                assert!(times.values().any(|times| *times > 1), "{case}");
                continue;
            }
            let known: Vec<&Vec<u8>> = added.iter().map(|(_, id)| id).collect();
            let dangling = deletions.iter().filter(|(_, id)| !known.contains(&id));
            let mut answer: Vec<String> = live.map(|(file, _)| format!("ADD:{file}")).collect();
            answer.extend(dangling.map(|(file, _)| format!("DELETE:{file}")));
            let expected = case["expect"].as_array().expect("entries").iter();
            let mut expected: Vec<&str> = expected.map(|entry| entry.as_str().expect("an entry")).collect();
            answer.sort_unstable();
            expected.sort_unstable();
            assert_eq!(answer, expected, "{case}");
        }
    }
}
