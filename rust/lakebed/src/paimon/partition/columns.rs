//! The partition columns of a table, as stored in rows and as shown in views.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BinaryArray, StructArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Fields};

use crate::error::{Error, ErrorKind, Result};
use crate::notes::Notes;
use crate::paimon::binary_row::{arity, decode_column, decode_rows};
use crate::paimon::schema::TableSchema;
use crate::paimon::types::{DataField, show};

/// The partition columns of a table, as stored in rows and as shown in views.
#[derive(Debug, Clone, Default)]
pub struct PartitionType {
    /// The columns, in key order.
    pub fields: Vec<DataField>,
    /// Their exact types; every column may be null.
    pub stored: Fields,
    /// Their types in views.
    pub shown: Fields,
    /// Receives notes on values that views cannot show.
    notes: Notes,
}

impl PartitionType {
    /// The partition columns of `schema`.
    pub fn new(schema: &TableSchema) -> PartitionType {
        let fields: Vec<DataField> = schema.partition_fields().into_iter().cloned().collect();
        let stored = fields.iter().map(|field| field.ty.exact_field(&field.name));
        let shown = fields.iter().map(|field| field.ty.view_field(&field.name).with_nullable(true));
        PartitionType { stored: stored.collect(), shown: shown.collect(), fields, notes: Notes::default() }
    }

    /// The same, which adds to `notes` what views cannot show.
    #[must_use]
    pub(crate) fn noting(self, notes: &Notes) -> PartitionType {
        PartitionType { notes: notes.clone(), ..self }
    }

    /// The type of the views' `partition` column.
    pub fn data_type(&self) -> DataType {
        DataType::Struct(self.shown.clone())
    }

    /// Partition rows as the views show them; a struct with a column per partition key.
    pub fn decode(&self, rows: &BinaryArray) -> Result<ArrayRef> {
        self.as_shown(&self.values(rows)?)
    }

    /// Partition rows as they are stored; a struct with a column per partition key.
    pub(crate) fn values(&self, rows: &BinaryArray) -> Result<StructArray> {
        decode_rows(rows, &self.stored)
    }

    /// Stored partitions as the views show them.
    pub(super) fn as_shown(&self, stored: &StructArray) -> Result<ArrayRef> {
        self.structure(stored.columns(), stored.nulls().cloned(), stored.len())
    }

    fn structure(&self, stored: &[ArrayRef], nulls: Option<NullBuffer>, rows: usize) -> Result<ArrayRef> {
        let columns = stored.iter().zip(&self.shown);
        let columns =
            columns.map(|(column, shown)| show(column, shown.data_type(), shown.name(), &self.notes));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let array = StructArray::try_new_with_length(self.shown.clone(), columns, nulls, rows);
        array
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| Error::new(ErrorKind::Argument, error.to_string()).in_field("partition"))
    }

    /// Bounds of partitions as they are stored, one column per partition key; null where the row has another arity, as in the
    /// statistics of an empty manifest.
    pub(crate) fn decode_bounds(&self, rows: &BinaryArray) -> Result<Vec<ArrayRef>> {
        let fits = |row: usize| rows.is_valid(row) && arity(rows.value(row)).ok() == Some(self.stored.len());
        let columns = self.stored.iter().enumerate();
        let columns = columns
            .map(|(position, stored)| decode_column(rows, |row| fits(row).then_some(position), stored));
        columns.collect()
    }

    /// Bounds of partitions as the views show them, as one struct.
    pub fn decode_bounds_struct(&self, rows: &BinaryArray) -> Result<ArrayRef> {
        self.structure(&self.decode_bounds(rows)?, None, rows.len())
    }
}
