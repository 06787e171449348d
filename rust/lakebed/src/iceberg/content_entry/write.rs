//! Entries as manifests store them: the mirror of the reader, by the same table of fields.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, FixedSizeBinaryArray, ListArray, RecordBatch, RecordBatchOptions,
    StringArray, StructArray, make_array, new_null_array,
};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, Fields, Schema as ArrowSchema};

use super::columns::mistyped;
use super::fields::{
    CONTENT_TYPE, CONTENT_TYPES, DELETED_POSITIONS, DV, ENTRY, EntryField, FieldShape, LIVE, LOCATION, POS,
    REPLACED_POSITIONS, STATUS, STATUSES, TRACKING, TRACKING_ID,
};
use super::stats::ContentStats;
use super::{ContentEntryReader, EntryContext, MumblingBitmap, check};
use crate::columnar::{Codec, Decoding, Encoder, Format, PARQUET_FIELD_ID};
use crate::conform::conform;
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::partition::conform as conform_value;
use crate::iceberg::paths::relative_column;
use crate::iceberg::types::Type;
use crate::iceberg::value::text::parse_uuid;
use crate::iceberg::write::avro_name;
use crate::record::typed;
use crate::words::unknown;

/// A manifest in Parquet of entries with the columns of [`ContentEntryReader`], in the order given. `pos` and `live` are
/// not stored; other columns may be absent, which is null. Paths below the table's location are stored without it.
///
/// # Errors
/// `UnknownColumn` for a column or a part of one that entries do not have; `Required` for a value that must be there;
/// `Mismatch` for a status, content or bitmap that there is not; `Schema` and others for values of another type; those of
/// the encoder.
pub fn write_content_entries(
    rows: &RecordBatch,
    known: &EntryContext,
    encoder: &dyn Encoder,
    codec: Codec,
    decoding: &Decoding,
) -> Result<Buffer> {
    let bytes = encoder.encode(&stored_entries(rows, known)?, Format::Parquet, codec)?;
    // What could not be read back is not handed out.
    let known = EntryContext { listed: None, stats_of: None, ..known.clone() };
    let entries = ContentEntryReader::open(bytes.clone(), None, known, decoding, 1)?;
    let read = entries.map(|batch| batch.map(|batch| batch.num_rows())).sum::<Result<usize>>()?;
    if read != rows.num_rows() {
        let message = format!("of {} entries {read} were written", rows.num_rows());
        return Err(Error::new(ErrorKind::Internal, message));
    }
    Ok(bytes)
}

/// The records of a manifest.
fn stored_entries(rows: &RecordBatch, known: &EntryContext) -> Result<RecordBatch> {
    let layout = StoredLayout { known };
    let given = GivenFields::of_batch(rows);
    let names = TRACKING.iter().chain(&ENTRY).map(|field| field.name);
    given.check(names.chain([POS, LIVE]))?;
    let tracking = layout.fields(&TRACKING, &given)?;
    let mut columns = layout.fields(&ENTRY, &given)?;
    for (field, values) in tracking.iter().chain(&columns) {
        match field.name().as_str() {
            STATUS => check(typed(values, STATUS)?, STATUS, |status| STATUSES.contains(&status))?,
            CONTENT_TYPE => {
                check(typed(values, CONTENT_TYPE)?, CONTENT_TYPE, |content| {
                    CONTENT_TYPES.contains(&content)
                })?;
            }
            _ => {}
        }
    }
    let tracking = struct_of(tracking, None, rows.num_rows())?;
    columns.insert(0, (with_id("tracking", tracking.data_type(), true, TRACKING_ID), tracking));
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let schema = Arc::new(ArrowSchema::new(fields));
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}

/// A stored field and its values.
pub(super) type StoredColumn = (Field, ArrayRef);

/// How fields are stored.
struct StoredLayout<'k> {
    known: &'k EntryContext,
}

impl StoredLayout<'_> {
    /// The stored fields of a struct, of the given ones by their names.
    fn fields(&self, fields: &[EntryField], given: &GivenFields<'_>) -> Result<Vec<StoredColumn>> {
        let stored = |field: &EntryField| {
            self.field(field, given).map_err(|error| error.within(field.name)).transpose()
        };
        fields.iter().filter_map(stored).collect()
    }

    /// `None` for a struct that would have no fields.
    fn field(&self, field: &EntryField, given: &GivenFields<'_>) -> Result<Option<StoredColumn>> {
        let Some(mut values) = self.values(&field.shape, given.child(field.name), given.rows)? else {
            return Ok(None);
        };
        if field.required && values.null_count() > 0 {
            let is_absent = |row: &usize| values.is_null(*row) && given.is_valid(*row);
            if let Some(row) = (0..values.len()).find(is_absent) {
                let message = format!("{} must have a value", field.name);
                return Err(Error::new(ErrorKind::Required, message).in_row(row));
            }
            // Where the struct around it is null, its value is none, and writers want it to be there.
            values = make_array(values.to_data().into_builder().nulls(None).build()?);
        }
        match (field.name, &self.known.location) {
            (LOCATION, Some(location)) => values = relative_column(&values, LOCATION, location)?,
            (DELETED_POSITIONS | REPLACED_POSITIONS | DV, _) => check_bitmaps(typed(&values, field.name)?)?,
            _ => {}
        }
        Ok(Some((with_id(field.name, values.data_type(), field.required, field.id), values)))
    }

    fn values(&self, shape: &FieldShape, given: Option<&ArrayRef>, rows: usize) -> Result<Option<ArrayRef>> {
        let given = given.filter(|given| *given.data_type() != DataType::Null);
        let fields = || GivenFields::of(given, rows);
        Ok(match shape {
            FieldShape::Value(data_type) => Some(match given {
                Some(given) => conform(given, &data_type())?,
                None => new_null_array(&data_type(), rows),
            }),
            FieldShape::List(item) => Some(self.list(item, given, rows)?),
            FieldShape::Struct(parts) => {
                let given = fields()?;
                given.check(parts.iter().map(|field| field.name))?;
                Some(struct_of(self.fields(parts, &given)?, given.nulls, rows)?)
            }
            FieldShape::Partition => some_struct(self.partition(&fields()?)?, fields()?.nulls, rows)?,
            FieldShape::ContentStats => {
                let schema = self.known.schema.as_deref().filter(|_| given.is_some());
                let stats = schema.map(|schema| ContentStats::of_schema(schema, None));
                let columns = stats.map(|stats| stats.stored(&fields()?)).transpose()?;
                some_struct(columns.unwrap_or_default(), fields()?.nulls, rows)?
            }
        })
    }

    fn list(&self, item: &EntryField, given: Option<&ArrayRef>, rows: usize) -> Result<ArrayRef> {
        let field =
            |values: &ArrayRef| Arc::new(with_id(item.name, values.data_type(), item.required, item.id));
        let made = |values: Option<&ArrayRef>, rows| {
            let made = self.values(&item.shape, values, rows)?;
            made.ok_or_else(|| Error::new(ErrorKind::Internal, "a list of structs without fields"))
        };
        let Some(given) = given else {
            let field = field(&made(None, 0)?);
            return Ok(new_null_array(&DataType::List(field), rows));
        };
        // As one type, whatever the width of its offsets.
        let whole =
            conform(given, &DataType::List(Arc::new(Field::new(item.name, item_type(given)?, true))))?;
        let list = typed::<ListArray>(&whole, item.name)?;
        if list.values().null_count() > 0 {
            return Err(Error::new(ErrorKind::Required, "an element of a list is null"));
        }
        let values = made(Some(list.values()), list.values().len())?;
        let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
        Ok(Arc::new(ListArray::try_new(field(&values), offsets, values, nulls)?))
    }

    /// The partition fields of all specs.
    fn partition(&self, given: &GivenFields<'_>) -> Result<Vec<StoredColumn>> {
        let fields = self.known.partition.iter().flat_map(|(_, partition)| &partition.fields);
        given.check(fields.clone().map(|unified| unified.field.name.as_str()))?;
        let stored = fields.map(|unified| {
            let (field, ty) = (&unified.field, &unified.ty);
            let values = match given.child(&field.name) {
                Some(values) => stored_values(values, ty).map_err(|error| error.in_field(&field.name))?,
                None => stored_values(&new_null_array(&ty.arrow(), given.rows), ty)?,
            };
            Ok((typed_with_id(&avro_name(&field.name), &values, ty, field.field_id), values))
        });
        // A field whose source no schema has is left out: it has no type.
        stored
            .filter(|stored| stored.as_ref().map_or(true, |(field, _)| *field.data_type() != DataType::Null))
            .collect()
    }
}

/// The fields of a struct, or of the rows themselves, by name.
pub(super) struct GivenFields<'g> {
    fields: Vec<(&'g str, &'g ArrayRef)>,
    nulls: Option<NullBuffer>,
    pub(super) rows: usize,
}

impl<'g> GivenFields<'g> {
    /// Of a struct; of one that is absent, nothing but nulls.
    pub(super) fn of(given: Option<&'g ArrayRef>, rows: usize) -> Result<GivenFields<'g>> {
        let Some(given) = given else {
            return Ok(GivenFields { fields: Vec::new(), nulls: Some(NullBuffer::new_null(rows)), rows });
        };
        let parent = given.as_struct_opt().ok_or_else(|| mistyped(given, "a struct"))?;
        let names = parent.fields().iter().map(|field| field.name().as_str());
        let nulls = parent.nulls().cloned();
        Ok(GivenFields { fields: names.zip(parent.columns()).collect(), nulls, rows: parent.len() })
    }

    fn of_batch(rows: &'g RecordBatch) -> GivenFields<'g> {
        let names = rows.schema_ref().fields().iter().map(|field| field.name().as_str());
        GivenFields { fields: names.zip(rows.columns()).collect(), nulls: None, rows: rows.num_rows() }
    }

    pub(super) fn child(&self, name: &str) -> Option<&'g ArrayRef> {
        let named = self.fields.iter().find(|(known, _)| *known == name).map(|(_, values)| *values);
        named.filter(|values| *values.data_type() != DataType::Null)
    }

    pub(super) fn nulls(&self) -> Option<NullBuffer> {
        self.nulls.clone()
    }

    fn is_valid(&self, row: usize) -> bool {
        self.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
    }

    /// Refuses a part that has none of these names.
    pub(super) fn check<'n>(&self, names: impl Iterator<Item = &'n str>) -> Result<()> {
        let names: Vec<&str> = names.collect();
        match self.fields.iter().find(|(name, _)| !names.contains(name)) {
            Some((name, _)) => {
                let message = unknown("column", name, names);
                Err(Error::new(ErrorKind::UnknownColumn, message).in_field(name))
            }
            None => Ok(()),
        }
    }
}

/// A field with its id, as Parquet's writers are told it.
pub(super) fn with_id(name: &str, data_type: &DataType, required: bool, id: i32) -> Field {
    let metadata = HashMap::from([(PARQUET_FIELD_ID.to_owned(), id.to_string())]);
    Field::new(name, data_type.clone(), !required).with_metadata(metadata)
}

/// The same of values of a type. Iceberg's Java library reads UUIDs only where they are called so.
pub(super) fn typed_with_id(name: &str, values: &ArrayRef, ty: &Type, id: i32) -> Field {
    let mut field = with_id(name, values.data_type(), false, id);
    if *ty == Type::Uuid {
        let of_uuid = [(EXTENSION_TYPE_NAME_KEY, "arrow.uuid"), (EXTENSION_TYPE_METADATA_KEY, "")];
        field.metadata_mut().extend(of_uuid.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
    field
}

pub(super) fn struct_of(
    columns: Vec<StoredColumn>,
    nulls: Option<NullBuffer>,
    rows: usize,
) -> Result<ArrayRef> {
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    Ok(Arc::new(StructArray::try_new_with_length(Fields::from(fields), columns, nulls, rows)?))
}

/// `None` for a struct without fields, which Parquet does not have.
fn some_struct(
    columns: Vec<StoredColumn>,
    nulls: Option<NullBuffer>,
    rows: usize,
) -> Result<Option<ArrayRef>> {
    if columns.is_empty() { Ok(None) } else { struct_of(columns, nulls, rows).map(Some) }
}

fn item_type(list: &ArrayRef) -> Result<DataType> {
    match list.data_type() {
        DataType::List(item) | DataType::LargeList(item) => Ok(item.data_type().clone()),
        _ => Err(mistyped(list, "a list")),
    }
}

/// Values of a type, as files store them: UUIDs and values of a fixed length in as many bytes.
pub(super) fn stored_values(values: &ArrayRef, ty: &Type) -> Result<ArrayRef> {
    let values = conform_value(values, ty)?;
    let bytes: Vec<Option<Vec<u8>>> = match ty {
        Type::Uuid => {
            let texts = typed::<StringArray>(&values, "values")?.iter();
            texts.map(|text| text.and_then(parse_uuid).map(|uuid| uuid.to_vec())).collect()
        }
        Type::Fixed(_) => {
            typed::<BinaryArray>(&values, "values")?.iter().map(|value| value.map(<[u8]>::to_vec)).collect()
        }
        _ => return Ok(values),
    };
    let length = if let Type::Fixed(length) = ty { i32::try_from(*length).unwrap_or(i32::MAX) } else { 16 };
    Ok(Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes.into_iter(), length)?))
}

/// Refuses bytes that are no bitmap.
fn check_bitmaps(values: &BinaryArray) -> Result<()> {
    let bitmaps = values.iter().enumerate().filter_map(|(row, value)| Some((row, value?)));
    for (row, value) in bitmaps {
        MumblingBitmap::decode(value).map_err(|error| {
            let message = format!("not a Mumbling bitmap: {}", error.message());
            Error::new(ErrorKind::Mismatch, message).in_row(row)
        })?;
    }
    Ok(())
}
