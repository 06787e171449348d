//! UnknownField fields of other writers, which no field table has. They are carried from the files that are read
//! to those that are written.
//!
//! In a batch they follow the known columns. Their names are [`PREFIX`] and the path in the record, and their
//! metadata has the field of the writer's schema. So filtering, taking and joining rows keeps them.

mod schema;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, ListArray, RecordBatch, RecordBatchOptions, StructArray, UInt32Array, new_null_array,
};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema as ArrowSchema};
use arrow_select::concat::{concat, concat_batches};
use arrow_select::take::take;
use lakebed_avro::{Blocks, Limits, Program, Projection, ReadOptions, Reader, Schema};
use serde_json::{Value, json};

use self::schema::{define, fields_at, inlined, nullable, rename, unknown};
use super::find;
use crate::columnar::ColumnarBatches;
use crate::error::{Error, ErrorKind, Result};
use crate::json::parse;

/// The prefix of the names of carried columns; no column of a field table has it.
const PREFIX: &str = "carried:";
/// The metadata key of a carried column with its Avro field, as JSON.
const AVRO_FIELD: &str = "avro-field";

/// Whether a format knows a field of a writer's schema.
pub(crate) enum Recognition {
    /// A known field, or one that nobody reads.
    Field,
    /// A record whose fields are checked one by one, with its name in written files.
    Record(String),
    /// A list of records whose fields are checked one by one, with its name in written files.
    List(String),
    /// UnknownField.
    No,
}

/// Whether a column is carried.
pub(crate) fn is_carried(field: &Field) -> bool {
    field.name().starts_with(PREFIX) && field.metadata().contains_key(AVRO_FIELD)
}

/// The name of the carried column for the field at a dotted path.
pub(crate) fn column_name(path: &str) -> String {
    format!("{PREFIX}{path}")
}

/// The fields of an Avro file that `known` does not know, as carried columns of all of its records; a batch
/// without columns where there are none.
///
/// `known` gets the path of the record in written files, and the field's JSON.
///
/// # Errors
/// Those of the container's layer; `Unsupported` for such a field in ORC or Parquet, see [`refuse_unknown`].
pub(crate) fn read(
    bytes: &Buffer,
    known: &dyn Fn(&str, &Value) -> Recognition,
    limits: Limits,
) -> Result<Option<RecordBatch>> {
    if let Some(file) = ColumnarBatches::open(bytes, &[], &limits.into()) {
        refuse_unknown(file?.schema().fields(), "", known)?;
        return Ok(None);
    }
    let (header, blocks) = Blocks::open(bytes.clone().into(), limits)?;
    let text = header.schema()?;
    let schema = Schema::parse(text, &limits)?;
    let json: Value = parse(text.as_bytes())?;
    let mut defined = HashMap::new();
    define(&json, &mut defined);
    let mut found = Vec::new();
    unknown(&inlined(&json, &defined), "", "", known, &mut found);
    if found.is_empty() {
        return Ok(None);
    }
    // Several such fields of a list have the same path.
    let paths: BTreeSet<&str> = found.iter().map(|field| field.stored.as_str()).collect();
    let paths = paths.into_iter().map(str::to_owned).collect();
    let program = Arc::new(Program::resolve(&schema, &Projection::Paths(paths), &[])?);
    let options = ReadOptions { limits, threads: 1, ..ReadOptions::default() };
    let reader = Reader::new(&header, blocks, program, None, options);
    let stored = Arc::clone(reader.schema());
    let batches = reader.collect::<Result<Vec<_>, _>>()?;
    let records = concat_batches(&stored, &batches)?;
    let columns = found.into_iter().map(|field| {
        let mut column = find(&records, &field.stored)?;
        if let Some(member) = &field.member {
            column = member_of(&column, member)?;
        }
        Ok((carried_field(&field.written, &column, &field.json), column))
    });
    with_columns(records.num_rows(), columns.collect::<Result<Vec<_>>>()?).map(Some)
}

/// Rows followed by carried columns.
pub(crate) fn with<'c>(
    rows: &RecordBatch,
    carried: impl Into<Option<&'c RecordBatch>>,
) -> Result<RecordBatch> {
    let all = std::iter::once(rows).chain(carried.into()).flat_map(|batch| {
        let fields = batch.schema_ref().fields().iter().cloned();
        fields.zip(batch.columns().iter().cloned()).collect::<Vec<_>>()
    });
    with_columns(rows.num_rows(), all.collect())
}

/// Divides rows into the columns of field tables and the carried ones.
pub(crate) fn split(rows: &RecordBatch) -> Result<(RecordBatch, RecordBatch)> {
    let part = |carried: bool| -> Result<RecordBatch> {
        let fields = rows.schema_ref().fields().iter();
        let places = fields.enumerate().filter(|(_, field)| is_carried(field) == carried);
        Ok(rows.project(&places.map(|(place, _)| place).collect::<Vec<_>>())?)
    };
    Ok((part(false)?, part(true)?))
}

/// The carried columns whose fields are in the record at a dotted path, with the fields' names.
pub(crate) fn in_record<'r>(
    rows: &'r RecordBatch,
    record: &str,
) -> impl Iterator<Item = (&'r str, &'r ArrayRef)> {
    let columns = rows.schema_ref().fields().iter().zip(rows.columns());
    columns.filter_map(move |(field, column)| {
        let path = field.name().strip_prefix(PREFIX).filter(|_| is_carried(field))?;
        let (of, name) = path.rsplit_once('.').unwrap_or(("", path));
        (of == record).then_some((name, column))
    })
}

/// The fields of carried columns.
pub(crate) fn fields(schema: &ArrowSchema) -> Vec<FieldRef> {
    schema.fields().iter().filter(|field| is_carried(field)).cloned().collect()
}

/// Concatenates batches with the same known columns; a column that only some of them carry is null in the
/// others. Batches without rows carry nothing, unless all are without rows.
///
/// # Errors
/// `Unsupported` for a field that has different types from two writers, and for one that is not nullable and
/// that some rows lack.
pub(crate) fn joined(batches: &[RecordBatch]) -> Result<RecordBatch> {
    let Some(first) = batches.first() else {
        return Ok(RecordBatch::new_empty(Arc::new(ArrowSchema::empty())));
    };
    let carrying: Vec<&RecordBatch> = batches.iter().filter(|batch| batch.num_rows() > 0).collect();
    let mut union: Vec<FieldRef> = Vec::new();
    for field in carrying.iter().flat_map(|batch| fields(batch.schema_ref())) {
        if !union.iter().any(|known| known.name() == field.name()) {
            union.push(field);
        }
    }
    let own = first.schema_ref().fields().iter().filter(|field| !is_carried(field));
    let mut columns = Vec::new();
    for field in own {
        let parts = batches.iter().map(|batch| find_column(batch, field.name()));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        columns
            .push((Arc::clone(field), concat(&parts.iter().map(|part| part.as_ref()).collect::<Vec<_>>())?));
    }
    for field in union {
        columns.push(joined_column(&field, &carrying)?);
    }
    with_columns(batches.iter().map(RecordBatch::num_rows).sum(), columns)
}

/// Rows with exactly these carried columns, null where the rows lack them; `None` where that is not allowed.
pub(crate) fn padded(rows: &RecordBatch, wanted: &[FieldRef]) -> Result<Option<RecordBatch>> {
    let (own, carried) = split(rows)?;
    let same = |field: &FieldRef| wanted.iter().any(|wanted| wanted == field);
    if !carried.schema_ref().fields().iter().all(same) {
        return Ok(None);
    }
    let mut columns = Vec::new();
    for field in wanted {
        let column = match carried.column_by_name(field.name()) {
            Some(column) => Arc::clone(column),
            None if nullable(&avro_field(field)?)
                .is_some_and(|json| Some(&json) == avro_field(field).ok().as_ref()) =>
            {
                new_null_array(field.data_type(), rows.num_rows())
            }
            None => return Ok(None),
        };
        columns.push((Arc::clone(field), column));
    }
    with(&own, &with_columns(rows.num_rows(), columns)?).map(Some)
}

/// The text of a schema with the carried fields appended to their records; unchanged without carried fields.
///
/// # Errors
/// `Json` for a malformed text; `Unsupported` for a record that the schema does not have.
pub(crate) fn extended(text: &str, carried: &[FieldRef]) -> Result<String> {
    if carried.is_empty() {
        return Ok(text.to_owned());
    }
    let mut schema: Value = parse(text.as_bytes())?;
    let mut defined = HashMap::new();
    define(&schema, &mut defined);
    let mut taken: HashSet<String> = defined.into_keys().collect();
    for field in carried {
        let mut json = avro_field(field)?;
        if let Some(ty) = json.get_mut("type") {
            rename(ty, &mut taken);
        }
        let path = field.name().strip_prefix(PREFIX).unwrap_or_default();
        let parents = path.rsplit_once('.').map_or("", |(parents, _)| parents);
        let fields = fields_at(&mut schema, parents).ok_or_else(|| {
            let message = format!("{path}, a field of another writer, cannot be kept in what is written");
            Error::new(ErrorKind::Unsupported, message).in_field(path)
        })?;
        fields.push(json);
    }
    Ok(schema.to_string())
}

/// A field of records, or of the records in lists, then as lists of that field.
fn member_of(column: &ArrayRef, name: &str) -> Result<ArrayRef> {
    let absent = || Error::new(ErrorKind::Required, format!("{name} is not a field of the records"));
    let Some(lists) = column.as_list_opt::<i32>() else {
        let records = column.as_struct_opt().ok_or_else(absent)?;
        let member = records.column_by_name(name).ok_or_else(absent)?;
        return Ok(Arc::clone(member));
    };
    let members = member_of(lists.values(), name)?;
    let item = Arc::new(Field::new("item", members.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(item, lists.offsets().clone(), members, lists.nulls().cloned())?))
}

/// Records, or lists of records, with the carried columns of the record at `path` as further fields, null
/// where a row has none; `called` gives their names.
///
/// # Errors
/// `Internal` for another number of values than records.
pub(crate) fn with_members(
    column: &ArrayRef,
    rows: &RecordBatch,
    path: &str,
    called: fn(&str) -> String,
) -> Result<ArrayRef> {
    let odd = || Error::new(ErrorKind::Internal, "not as many values as records").in_field(path);
    let carried: Vec<_> = in_record(rows, path).collect();
    if carried.is_empty() {
        return Ok(Arc::clone(column));
    }
    let lists = column.as_list_opt::<i32>();
    let records = lists.map_or(column, ListArray::values).as_struct_opt().ok_or_else(odd)?;
    let mut fields = records.fields().to_vec();
    let mut columns = records.columns().to_vec();
    for (name, column) in carried {
        let values = match lists {
            Some(lists) => items_of(column, lists).ok_or_else(odd)??,
            None => Arc::clone(column),
        };
        fields.push(Arc::new(Field::new(called(name), values.data_type().clone(), true)));
        columns.push(values);
    }
    let records = StructArray::try_new(fields.into(), columns, records.nulls().cloned())?;
    let Some(lists) = lists else { return Ok(Arc::new(records)) };
    let item = Arc::new(Field::new("item", records.data_type().clone(), true));
    let lists = ListArray::try_new(item, lists.offsets().clone(), Arc::new(records), lists.nulls().cloned())?;
    Ok(Arc::new(lists))
}

/// The items of carried lists, one for each item of `lists`; `None` where their numbers differ.
fn items_of(carried: &ArrayRef, lists: &ListArray) -> Option<Result<ArrayRef>> {
    let carried = carried.as_list_opt::<i32>()?;
    let mut places = vec![None; lists.values().len()];
    for (row, (to, from)) in lists.offsets().windows(2).zip(carried.offsets().windows(2)).enumerate() {
        let (&[to, to_end], &[from, from_end]) = (to, from) else { return None };
        if carried.is_null(row) {
            continue;
        }
        let places = places.get_mut(to as usize..to_end as usize)?;
        if places.len() != (from_end - from) as usize {
            return None;
        }
        places.iter_mut().zip(from as u32..).for_each(|(place, at)| *place = Some(at));
    }
    Some(take(carried.values(), &UInt32Array::from(places), None).map_err(Into::into))
}

fn joined_column(field: &FieldRef, batches: &[&RecordBatch]) -> Result<(FieldRef, ArrayRef)> {
    let path = field.name().strip_prefix(PREFIX).unwrap_or_default();
    let refused = |message: &str| {
        Error::new(ErrorKind::Unsupported, format!("{path}, a field of another writer, {message}"))
            .in_field(path)
    };
    let mut avro = avro_field(field)?;
    let mut parts = Vec::with_capacity(batches.len());
    for batch in batches {
        let found = batch.schema_ref().column_with_name(field.name());
        let same = match found {
            Some((_, found)) if found.data_type() != field.data_type() => {
                return Err(refused("is of two types"));
            }
            Some((_, found)) => avro_field(found)? == avro,
            None => false,
        };
        if !same {
            avro = nullable(&avro).ok_or_else(|| refused("has no null, and not all rows have it"))?;
        }
        parts.push(match batch.column_by_name(field.name()) {
            Some(column) => Arc::clone(column),
            None => new_null_array(field.data_type(), batch.num_rows()),
        });
    }
    let column = concat(&parts.iter().map(|part| part.as_ref()).collect::<Vec<_>>())?;
    Ok((carried_field(path, &column, &avro), column))
}

fn find_column(batch: &RecordBatch, name: &str) -> Result<ArrayRef> {
    let absent = || Error::new(ErrorKind::Required, format!("{name} is not a column of the records"));
    batch.column_by_name(name).cloned().ok_or_else(absent)
}

fn carried_field(path: &str, column: &ArrayRef, json: &Value) -> FieldRef {
    let metadata = HashMap::from([(AVRO_FIELD.to_owned(), json.to_string())]);
    Arc::new(Field::new(column_name(path), column.data_type().clone(), true).with_metadata(metadata))
}

fn avro_field(field: &Field) -> Result<Value> {
    parse(field.metadata().get(AVRO_FIELD).map(String::as_bytes).unwrap_or_default())
}

fn with_columns(rows: usize, columns: Vec<(FieldRef, ArrayRef)>) -> Result<RecordBatch> {
    let (fields, columns): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), columns, &options)?)
}

/// Refuses fields that `known` does not know: only fields of Avro, whose types are known, are carried. They
/// would be lost.
///
/// # Errors
/// `Unsupported` for the first of them, with its path.
fn refuse_unknown(fields: &Fields, record: &str, known: &dyn Fn(&str, &Value) -> Recognition) -> Result<()> {
    for field in fields {
        match known(record, &json!({ "name": field.name() })) {
            Recognition::Field => {}
            Recognition::Record(called) | Recognition::List(called) => {
                let inner = match field.data_type() {
                    DataType::List(item) => item.data_type(),
                    other => other,
                };
                if let DataType::Struct(inner) = inner {
                    refuse_unknown(inner, &called, known)?;
                }
            }
            Recognition::No => {
                let path = if record.is_empty() {
                    field.name().clone()
                } else {
                    format!("{record}.{}", field.name())
                };
                let message = "another writer's field in ORC or Parquet cannot be kept by a commit: commit \
                               with what wrote it";
                return Err(Error::new(ErrorKind::Unsupported, message).in_field(&path));
            }
        }
    }
    Ok(())
}
