//! Partition tuples as manifests store them: named by field ids, then aligned to the table's type.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Fields};
use lakebed_avro::schema::{Schema, Wire};
use lakebed_avro::{Blocks, Limits};

use super::canonical::{canonical_entry, fixed_partition_fields};
use crate::columnar::PARQUET_FIELD_ID;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::fields::PARTITION_ON_DISK;
use crate::iceberg::partition::{PartitionSpec, PartitionType};
use crate::record::{RecordReader, below, find};

/// The partition type that the specs of a table share, and the spec of one manifest.
#[derive(Debug, Clone)]
pub struct PartitionLayout {
    /// The type that tuples are shown as.
    pub unified: Arc<PartitionType>,
    /// The spec of the manifest's tuples.
    pub spec: Arc<PartitionSpec>,
}

/// Reads the partition tuples of one manifest.
pub(super) struct Tuples {
    layout: Option<PartitionLayout>,
    is_stored: bool,
    data_type: DataType,
    /// The names of the fields, by id, where there is no layout.
    names: HashMap<String, String>,
    /// The lengths that values of `fixed` fields must have, where the file does not record it.
    pub(super) fixed_lengths: Vec<(String, usize)>,
}

impl Tuples {
    /// For the manifest that `reader` opened; without a layout tuples keep their stored types.
    pub(super) fn of(
        reader: &RecordReader,
        layout: Option<PartitionLayout>,
        spec: Option<&PartitionSpec>,
    ) -> Tuples {
        let names = spec.filter(|_| layout.is_none()).map(names_by_id).unwrap_or_default();
        let stored = match reader.stored_type(PARTITION_ON_DISK) {
            Some(DataType::Struct(fields)) => Some(by_ids(fields, layout.as_ref())),
            _ => None,
        };
        let is_stored = stored.is_some();
        let data_type = match &layout {
            Some(layout) => layout.unified.arrow(),
            None => DataType::Struct(called(&stored.unwrap_or_default(), &names)),
        };
        Tuples { layout, is_stored, data_type, names, fixed_lengths: Vec::new() }
    }

    /// The type of the tuples.
    pub(super) fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// The tuples of a batch as stored; a null is read as a tuple of nulls.
    pub(super) fn read(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let tuples = match self.is_stored {
            true => self.stored(&find(batch, PARTITION_ON_DISK)?)?,
            false => StructArray::new_empty_fields(batch.num_rows(), None),
        };
        match &self.layout {
            Some(layout) => Ok(Arc::new(layout.unified.align(&tuples, &layout.spec)?)),
            None => {
                let (fields, columns, nulls) = tuples.into_parts();
                let rows = batch.num_rows();
                let fields = called(&fields, &self.names);
                let called = StructArray::try_new_with_length(fields, columns, nulls, rows);
                Ok(Arc::new(called.map_err(|error| malformed(&error.to_string()))?))
            }
        }
    }

    fn stored(&self, column: &ArrayRef) -> Result<StructArray> {
        let tuples = column.as_struct_opt().ok_or_else(|| malformed("partition is not a record"))?;
        let fields = by_ids(tuples.fields(), self.layout.as_ref());
        let columns = tuples.columns().iter().map(|child| below(tuples, child));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let named = StructArray::try_new_with_length(fields, columns, None, tuples.len());
        let named = named.map_err(|error| malformed(&error.to_string()))?;
        for (name, length) in &self.fixed_lengths {
            let values = named.column_by_name(name).and_then(|column| column.as_binary_opt::<i32>());
            let other =
                values.and_then(|values| values.iter().flatten().find(|value| value.len() != *length));
            if let Some(other) = other {
                let message = format!("a value of {length} bytes has {}", other.len());
                return Err(Error::new(ErrorKind::Length, message).in_field(PARTITION_ON_DISK));
            }
        }
        Ok(named)
    }
}

/// The names of a spec's fields by id; none where two fields have the same name.
fn names_by_id(spec: &PartitionSpec) -> HashMap<String, String> {
    let names: HashSet<&str> = spec.fields.iter().map(|field| field.name.as_str()).collect();
    if names.len() < spec.fields.len() {
        return HashMap::new();
    }
    spec.fields.iter().map(|field| (field.field_id.to_string(), field.name.clone())).collect()
}

/// Fields renamed from their ids.
fn called(fields: &Fields, names: &HashMap<String, String>) -> Fields {
    let named = fields.iter().map(|field| match names.get(field.name()) {
        Some(name) => Arc::new(field.as_ref().clone().with_name(name)),
        None => Arc::clone(field),
    });
    named.collect()
}

/// The fields of tuples, nullable and named by their ids. The id is the stored one, else that of the name in
/// the manifest's spec, else that of the position in a spec with as many fields.
pub(super) fn by_ids(fields: &Fields, layout: Option<&PartitionLayout>) -> Fields {
    let spec = layout.map_or(&[][..], |layout| layout.spec.fields.as_slice());
    let named = fields.iter().enumerate().map(|(position, field)| {
        let by_name = || spec.iter().find(|known| known.name == *field.name());
        let by_position = || spec.get(position).filter(|_| spec.len() == fields.len());
        let name = match field.metadata().get(PARQUET_FIELD_ID) {
            Some(id) => id.clone(),
            None if field.name().parse::<i32>().is_ok() => field.name().clone(),
            None => by_name()
                .or_else(by_position)
                .map_or(field.name().clone(), |known| known.field_id.to_string()),
        };
        Field::new(name, field.data_type().clone(), true)
    });
    named.collect()
}

/// The partition fields of an Avro manifest that are `fixed` without being decimals, and their lengths.
pub(super) fn fixed_lengths(bytes: &Buffer, limits: Limits) -> Result<Vec<(String, usize)>> {
    let (header, _) = Blocks::open(bytes.clone().into(), limits)?;
    let (schema, _) = canonical_entry(Schema::parse(header.schema()?, &limits)?)?;
    let mut root = schema.root().clone();
    let fixed = fixed_partition_fields(&mut root).into_iter();
    Ok(fixed
        .filter_map(|(name, wire)| if let Wire::Fixed(size) = wire { Some((name, *size)) } else { None })
        .collect())
}

#[cold]
fn malformed(message: &str) -> Error {
    Error::new(ErrorKind::Avro(lakebed_avro::ErrorKind::Schema), message).in_field(PARTITION_ON_DISK)
}
