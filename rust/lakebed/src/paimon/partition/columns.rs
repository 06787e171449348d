//! The partition columns of a table, as stored in rows and as shown in views.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, StructArray};
use arrow_schema::{DataType, Fields};

use crate::error::{Error, ErrorKind, Result};
use crate::paimon::binary_row::{arity, decode_column, decode_rows};
use crate::paimon::schema::TableSchema;
use crate::paimon::types::{DataField, widen};

/// The partition columns of a table, as stored in rows and as shown in views.
#[derive(Debug, Clone)]
pub struct PartitionType {
    /// The columns, in key order.
    pub fields: Vec<DataField>,
    /// Their types in BinaryRow; every column may be null.
    pub stored: Fields,
    /// Their types in views.
    pub shown: Fields,
}

impl PartitionType {
    /// The partition columns of `schema`.
    pub fn new(schema: &TableSchema) -> PartitionType {
        let fields: Vec<DataField> = schema.partition_fields().into_iter().cloned().collect();
        let stored = fields.iter().map(|field| field.ty.storage_field(&field.name).with_nullable(true));
        let shown = fields.iter().map(|field| field.ty.view_field(&field.name).with_nullable(true));
        PartitionType { stored: stored.collect(), shown: shown.collect(), fields }
    }

    /// The type of the views' `partition` column.
    pub fn data_type(&self) -> DataType {
        DataType::Struct(self.shown.clone())
    }

    /// Partition rows as the views show them; a struct with a column per partition key.
    pub fn decode(&self, rows: &BinaryArray) -> Result<ArrayRef> {
        let stored: ArrayRef = Arc::new(decode_rows(rows, &self.stored)?);
        widen(&stored, &self.data_type())
    }

    /// Bounds of partitions, one column per partition key; null where the row has another arity, as in the
    /// statistics of an empty manifest.
    pub(crate) fn decode_bounds(&self, rows: &BinaryArray) -> Result<Vec<ArrayRef>> {
        let fits = |row: usize| rows.is_valid(row) && arity(rows.value(row)).ok() == Some(self.stored.len());
        let columns = self.stored.iter().zip(&self.shown).enumerate().map(|(position, (stored, shown))| {
            let column = decode_column(rows, |row| fits(row).then_some(position), stored)?;
            widen(&column, shown.data_type())
        });
        columns.collect()
    }

    /// Bounds of partitions as one struct.
    pub fn decode_bounds_struct(&self, rows: &BinaryArray) -> Result<ArrayRef> {
        let columns = self.decode_bounds(rows)?;
        let array = StructArray::try_new_with_length(self.shown.clone(), columns, None, rows.len());
        array
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| Error::new(ErrorKind::Argument, error.to_string()).in_field("partition"))
    }
}
