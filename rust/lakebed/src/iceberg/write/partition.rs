//! Prepares partition tuples for a manifest.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, Decimal128Array, RecordBatch, StructArray, TimestampMicrosecondArray,
    TimestampNanosecondArray, new_null_array,
};
use arrow_schema::{DataType, Field, Fields, Schema as ArrowSchema, TimeUnit};

use super::avro::avro_name;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::fields::PARTITION;
use crate::iceberg::partition::{PartitionField, PartitionSpec, conform};
use crate::iceberg::transform::Transform;
use crate::iceberg::types::{FieldRef, NestedField, Schema, Type};
use crate::iceberg::value;
use crate::iceberg::value::decimal::fits;
use crate::record::{below, typed};

/// The fields of a spec and the types of their values.
pub(super) struct TupleLayout {
    spec: PartitionSpec,
    types: Vec<Type>,
}

impl TupleLayout {
    /// For `spec` over `schema`; where that lacks a source, the type is that of the column in `entries`.
    pub(super) fn new(spec: &PartitionSpec, schema: &Schema, entries: &ArrowSchema) -> Result<TupleLayout> {
        let given = match entries.field_with_name(PARTITION).map(Field::data_type) {
            Ok(DataType::Struct(fields)) => fields.clone(),
            _ => Fields::empty(),
        };
        let of = |field: &PartitionField| -> Result<Type> {
            let source = field.source_ids.first().and_then(|id| schema.field_by_id(*id));
            match source {
                Some(source) => Ok(field.transform.result_type(&source.ty)),
                None => match field.transform.result_type(&Type::Unknown) {
                    Type::Unknown => given_type(&given, field, spec),
                    ty => Ok(ty),
                },
            }
        };
        let types = spec.fields.iter().map(of).collect::<Result<_>>()?;
        Ok(TupleLayout { spec: spec.clone(), types })
    }

    /// The fields of the tuple, as Iceberg fields.
    pub(super) fn fields(&self) -> Vec<FieldRef> {
        let field = |(field, ty): (&PartitionField, &Type)| {
            Arc::new(NestedField::new(field.field_id, field.name.clone(), false, ty.clone()))
        };
        self.spec.fields.iter().zip(&self.types).map(field).collect()
    }

    /// The types of the values, in the order of the spec.
    pub(super) fn types(&self) -> &[Type] {
        &self.types
    }

    /// The values of a batch's tuples: one column per field of the spec, with the field's Arrow type.
    ///
    /// # Errors
    /// `UnknownColumn` for a missing field; `Argument` for a value in a field that the spec does not have;
    /// those of [`conform`], each with field and row.
    pub(super) fn values(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let empty = || StructArray::new_empty_fields(batch.num_rows(), None);
        let tuples = match batch.column_by_name(PARTITION) {
            None if self.spec.fields.is_empty() => empty(),
            None => {
                let message = "the files of a partitioned spec need the column \"partition\"";
                return Err(Error::new(ErrorKind::UnknownColumn, message).in_field(PARTITION));
            }
            Some(column) if *column.data_type() == DataType::Null && self.spec.fields.is_empty() => empty(),
            Some(column) => column.as_struct_opt().cloned().ok_or_else(|| {
                let message = format!("a column of type {} cannot hold partition tuples", column.data_type());
                Error::new(ErrorKind::Argument, message).in_field(PARTITION)
            })?,
        };
        self.check_others(&tuples)?;
        let fields = self.spec.fields.iter().zip(&self.types);
        fields
            .map(|(field, ty)| one(&tuples, place_of(tuples.fields(), field, &self.spec), field, ty))
            .collect()
    }

    /// The tuples of a batch in the form of the records.
    pub(super) fn stored(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let columns =
            self.values(batch)?.into_iter().zip(self.types()).map(|(column, ty)| stored(column, ty));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let named = self.spec.fields.iter().zip(&columns);
        let named: Fields = named
            .map(|(field, column)| Field::new(avro_name(&field.name), column.data_type().clone(), true))
            .collect();
        let tuples = StructArray::try_new_with_length(named, columns, None, batch.num_rows());
        Ok(Arc::new(tuples?))
    }

    /// Refuses values in fields that the spec does not have: those of the table's other specs must be null.
    fn check_others(&self, tuples: &StructArray) -> Result<()> {
        let known = self.spec.fields.iter().map(|field| place_of(tuples.fields(), field, &self.spec));
        let known: Vec<Option<usize>> = known.collect();
        for (place, (given, column)) in tuples.fields().iter().zip(tuples.columns()).enumerate() {
            if known.contains(&Some(place)) {
                continue;
            }
            if let Some(row) = (0..column.len()).find(|row| tuples.is_valid(*row) && column.is_valid(*row)) {
                let message = format!("the partition spec has no field {:?}", given.name());
                return Err(in_field(Error::new(ErrorKind::Argument, message).in_row(row), given.name()));
            }
        }
        Ok(())
    }
}

/// The position of a field of `spec`: by its name, else by its id, by which readers name a field without a
/// known name.
fn place_of(given: &Fields, field: &PartitionField, spec: &PartitionSpec) -> Option<usize> {
    let called = |name: &str| given.iter().position(|given| given.name() == name);
    called(&field.name).or_else(|| {
        let id = field.field_id.to_string();
        if spec.fields.iter().any(|known| known.name == id) { None } else { called(&id) }
    })
}

/// The type of a field without source, from the caller's column.
fn given_type(given: &Fields, field: &PartitionField, spec: &PartitionSpec) -> Result<Type> {
    let given = place_of(given, field, spec).and_then(|place| given.get(place));
    match given.map(|given| given.data_type()) {
        None | Some(DataType::Null) => Ok(Type::Unknown),
        Some(ty) => value::type_of(ty).map_err(|error| in_field(error, &field.name)),
    }
}

/// The values of one field at that position.
fn one(tuples: &StructArray, place: Option<usize>, field: &PartitionField, ty: &Type) -> Result<ArrayRef> {
    let column = match place.and_then(|place| tuples.columns().get(place)) {
        None if field.transform == Transform::Void => return Ok(new_null_array(&ty.arrow(), tuples.len())),
        None => {
            let message = format!("partition has no field {:?}, which the spec has", field.name);
            return Err(in_field(Error::new(ErrorKind::UnknownColumn, message), &field.name));
        }
        Some(column) => below(tuples, column)?,
    };
    let fitting = conform(&column, ty).and_then(|column| checked(column, ty));
    fitting.map_err(|error| in_field(error, &field.name))
}

/// Values that fit the Arrow type may still be out of range in Iceberg.
fn checked(column: ArrayRef, ty: &Type) -> Result<ArrayRef> {
    match ty {
        Type::Decimal { precision, .. } => {
            let mut values = typed::<Decimal128Array>(&column, PARTITION)?.iter().enumerate();
            match values.find(|(_, value)| value.is_some_and(|value| !fits(value, *precision))) {
                Some((row, _)) => {
                    let message = format!("a decimal has more than {precision} digits");
                    Err(Error::new(ErrorKind::Decimal, message).in_row(row))
                }
                None => Ok(column),
            }
        }
        _ => Ok(column),
    }
}

/// Values in the Arrow types that Avro's writer accepts: UUIDs as their bytes, and all timestamps as
/// instants, which is the meaning of Avro's `timestamp-micros` whatever `adjust-to-utc` is.
fn stored(column: ArrayRef, ty: &Type) -> Result<ArrayRef> {
    Ok(match column.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Arc::new(typed::<TimestampMicrosecondArray>(&column, PARTITION)?.clone().with_timezone("UTC"))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            Arc::new(typed::<TimestampNanosecondArray>(&column, PARTITION)?.clone().with_timezone("UTC"))
        }
        _ if *ty == Type::Uuid => Arc::new(value::encode(&column, ty)?),
        _ => column,
    })
}

fn in_field(error: Error, name: &str) -> Error {
    error.in_field(&format!("{PARTITION}.{name}"))
}
