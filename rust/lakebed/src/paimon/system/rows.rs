//! Serialised rows as text, as the engine's metadata tables print them.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, Int64Array, RecordBatch, StringArray};
use arrow_schema::Fields;

use crate::error::{Error, ErrorKind, Result};
use crate::paimon::binary_row::{arity, decode_rows};
use crate::paimon::partition::{PartitionType, distinct};
use crate::paimon::schema::TableSchema;
use crate::paimon::text::{key_texts, partition_texts as texts_of_partitions};
use crate::paimon::types::DataField;
use crate::record::column;

/// Partitions as `{v1, v2}`; each distinct one is decoded once. Null for rows of another arity, as in the
/// statistics of a manifest without entries.
pub(super) fn partition_texts(rows: &BinaryArray, partition: &PartitionType) -> Result<ArrayRef> {
    let (numbers, distinct) = distinct(rows);
    let decoded = decode_rows(&of_arity(&distinct, partition.stored.len()), &partition.stored)?;
    let texts = texts_of_partitions(&decoded, &partition.fields)?;
    let text = |number: &usize| texts.is_valid(*number).then(|| texts.value(*number));
    Ok(Arc::new(numbers.iter().map(text).collect::<StringArray>()))
}

fn of_arity(rows: &BinaryArray, wanted: usize) -> BinaryArray {
    rows.iter().map(|row| row.filter(|row| arity(row).ok() == Some(wanted))).collect()
}

/// The trimmed primary keys of every schema version, which are the columns of files' keys.
pub(super) struct KeyTypes(BTreeMap<i64, (Vec<DataField>, Fields)>);

impl KeyTypes {
    pub(super) fn new(schemas: &BTreeMap<i64, TableSchema>) -> KeyTypes {
        let keys = schemas.iter().map(|(id, schema)| {
            let fields: Vec<DataField> = schema.trimmed_primary_keys().into_iter().cloned().collect();
            let stored = fields.iter().map(|field| field.ty.exact_field(&field.name));
            let stored = stored.collect();
            (*id, (fields, stored))
        });
        KeyTypes(keys.collect())
    }

    /// The keys in the column `name` of `files`, as `[v1, v2]` in the types of each file's schema; null for
    /// keys without columns.
    pub(super) fn texts(&self, files: &RecordBatch, name: &str) -> Result<ArrayRef> {
        let keys = column::<BinaryArray>(files, name)?;
        let schema_ids = column::<Int64Array>(files, "schema_id")?;
        let mut texts: Vec<Option<String>> = vec![None; files.num_rows()];
        let mut done: Vec<i64> = Vec::new();
        for id in schema_ids.values() {
            if done.contains(id) {
                continue;
            }
            done.push(*id);
            let wanted = |row: usize| schema_ids.value(row) == *id && !is_empty(keys.value(row));
            let masked = (0..keys.len()).map(|row| wanted(row).then(|| keys.value(row)));
            let masked: BinaryArray = masked.collect();
            if masked.null_count() == masked.len() {
                continue;
            }
            let absent = || Error::new(ErrorKind::Missing, format!("schema {id} of files does not exist"));
            let (fields, stored) = self.0.get(id).ok_or_else(absent)?;
            let printed = key_texts(&decode_rows(&masked, stored)?, fields)?;
            for (text, printed) in texts.iter_mut().zip(&printed) {
                if let Some(printed) = printed {
                    *text = Some(printed.to_owned());
                }
            }
        }
        Ok(Arc::new(StringArray::from(texts)))
    }
}

fn is_empty(row: &[u8]) -> bool {
    row.is_empty() || arity(row).ok() == Some(0)
}
