//! Columns of entries, made of stored fields as the table of fields says.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, StructArray, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields};
use lakebed_avro::ErrorKind as AvroKind;

use super::fields::{EntryField, FieldShape};
use super::stats::ContentStats;
use super::stored::id_of;
use crate::conform::conform;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::partition::{PartitionType, conform as conform_value};

/// What the types of some fields depend on.
pub(super) struct EntryTypes {
    /// The partition fields of all specs; `None` where they are given as stored, by their ids.
    pub(super) partition: Option<Arc<PartitionType>>,
    /// The stored type of partitions.
    pub(super) stored_partition: Fields,
    pub(super) stats: ContentStats,
}

impl EntryTypes {
    /// The Arrow field of a column.
    pub(super) fn arrow(&self, field: &EntryField) -> Field {
        Field::new(field.name, self.data_type(&field.shape), !field.required)
    }

    fn data_type(&self, shape: &FieldShape) -> DataType {
        match shape {
            FieldShape::Value(data_type) => data_type(),
            FieldShape::Struct(fields) => DataType::Struct(self.arrow_fields(fields)),
            FieldShape::List(item) => DataType::List(self.item(item)),
            FieldShape::Partition => DataType::Struct(self.partition_fields()),
            FieldShape::ContentStats => DataType::Struct(self.stats.fields()),
        }
    }

    fn arrow_fields(&self, fields: &[EntryField]) -> Fields {
        fields.iter().map(|field| self.arrow(field)).collect()
    }

    /// As all lists of this crate have it: items are called `item`, and may be null.
    fn item(&self, item: &EntryField) -> Arc<Field> {
        Arc::new(Field::new(Field::LIST_FIELD_DEFAULT_NAME, self.data_type(&item.shape), true))
    }

    fn partition_fields(&self) -> Fields {
        match &self.partition {
            Some(partition) => partition.arrow_fields(),
            None => {
                let of = |field: &Arc<Field>| {
                    Some(Field::new(id_of(field)?.to_string(), field.data_type().clone(), true))
                };
                self.stored_partition.iter().filter_map(of).collect()
            }
        }
    }

    /// The column of a field that is stored below `parent`, of `rows` rows.
    ///
    /// # Errors
    /// `Required` for a field that the file lacks, or that is null where `parent` is not; those of [`conform`].
    pub(super) fn column(&self, field: &EntryField, parent: &StoredFields<'_>) -> Result<ArrayRef> {
        let made = match parent.child(field.id) {
            Some(stored) => self.made(&field.shape, stored),
            None if field.required => {
                let message = format!("the manifest has no {} (id {})", field.name, field.id);
                Err(Error::new(ErrorKind::Required, message))
            }
            None => Ok(new_null_array(&self.data_type(&field.shape), parent.rows)),
        };
        let column = made.map_err(|error| error.within(field.name))?;
        let is_absent =
            |row: &usize| column.is_null(*row) && parent.nulls.is_none_or(|nulls| nulls.is_valid(*row));
        if field.required
            && column.null_count() > 0
            && let Some(row) = (0..column.len()).find(is_absent)
        {
            let message = format!("{} (id {}) is null", field.name, field.id);
            return Err(Error::new(ErrorKind::Required, message).in_field(field.name).in_row(row));
        }
        Ok(column)
    }

    fn made(&self, shape: &FieldShape, stored: &ArrayRef) -> Result<ArrayRef> {
        match shape {
            FieldShape::Value(data_type) => conform(stored, &data_type()),
            FieldShape::Struct(fields) => {
                let parent = StoredFields::of(stored)?;
                let columns = fields.iter().map(|field| self.column(field, &parent));
                built(self.arrow_fields(fields), columns, stored)
            }
            FieldShape::List(item) => {
                let list = stored.as_list_opt::<i32>().ok_or_else(|| mistyped(stored, "a list"))?;
                let values = self.made(&item.shape, list.values())?;
                let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
                Ok(Arc::new(ListArray::try_new(self.item(item), offsets, values, nulls)?))
            }
            FieldShape::Partition => {
                let parent = StoredFields::of(stored)?;
                let columns = match &self.partition {
                    Some(partition) => {
                        let column = |unified: &crate::iceberg::partition::UnifiedField| {
                            match parent.child(unified.field.field_id) {
                                Some(stored) => conform_value(stored, &unified.ty),
                                None => Ok(new_null_array(&unified.ty.arrow(), parent.rows)),
                            }
                            .map_err(|error| error.in_field(&unified.field.name))
                        };
                        partition.fields.iter().map(column).collect::<Vec<_>>()
                    }
                    None => {
                        let ids = self.stored_partition.iter().filter_map(|field| id_of(field));
                        ids.filter_map(|id| parent.child(id)).map(|column| Ok(Arc::clone(column))).collect()
                    }
                };
                built(self.partition_fields(), columns.into_iter(), stored)
            }
            FieldShape::ContentStats => {
                let columns = self.stats.columns(&StoredFields::of(stored)?);
                built(self.stats.fields(), columns.into_iter(), stored)
            }
        }
    }
}

/// The fields of a stored struct, by id.
pub(super) struct StoredFields<'s> {
    columns: HashMap<i32, &'s ArrayRef>,
    pub(super) nulls: Option<&'s NullBuffer>,
    pub(super) rows: usize,
}

impl<'s> StoredFields<'s> {
    /// # Errors
    /// `Schema` for what is not a struct.
    pub(super) fn of(array: &'s ArrayRef) -> Result<StoredFields<'s>> {
        let parent = array.as_struct_opt().ok_or_else(|| mistyped(array, "a struct"))?;
        let columns = by_id(parent.fields(), parent.columns());
        Ok(StoredFields { columns, nulls: parent.nulls(), rows: parent.len() })
    }

    /// The columns of a batch.
    pub(super) fn of_batch(batch: &'s RecordBatch) -> StoredFields<'s> {
        let columns = by_id(batch.schema_ref().fields(), batch.columns());
        StoredFields { columns, nulls: None, rows: batch.num_rows() }
    }

    pub(super) fn child(&self, id: i32) -> Option<&'s ArrayRef> {
        self.columns.get(&id).copied()
    }
}

fn by_id<'s>(fields: &Fields, columns: &'s [ArrayRef]) -> HashMap<i32, &'s ArrayRef> {
    fields.iter().zip(columns).filter_map(|(field, column)| Some((id_of(field)?, column))).collect()
}

/// A struct that is null where the stored one is.
pub(super) fn built(
    fields: Fields,
    columns: impl Iterator<Item = Result<ArrayRef>>,
    stored: &ArrayRef,
) -> Result<ArrayRef> {
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let nulls = stored.nulls().cloned();
    Ok(Arc::new(StructArray::try_new_with_length(fields, columns, nulls, stored.len())?))
}

#[cold]
pub(super) fn mistyped(array: &ArrayRef, wanted: &str) -> Error {
    let message = format!("the writer's type {} is not {wanted}", array.data_type());
    Error::new(ErrorKind::Avro(AvroKind::Schema), message)
}
