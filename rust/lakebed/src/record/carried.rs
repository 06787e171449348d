//! Fields of another writer's that no field table has, carried from the files that are read to those that are
//! written.
//!
//! In a batch they stand behind the known columns, each under [`PREFIX`] and its path in the record, with its field of
//! the writer's schema as metadata: whatever takes, filters or joins rows takes them along.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, ListArray, RecordBatch, RecordBatchOptions, StructArray, UInt32Array, new_null_array,
};
use arrow_buffer::Buffer;
use arrow_schema::{Field, FieldRef, Schema as ArrowSchema};
use arrow_select::concat::{concat, concat_batches};
use arrow_select::take::take;
use lakebed_avro::{Blocks, Limits, Program, Projection, ReadOptions, Reader, Schema};
use serde_json::{Value, json};

use super::columnar::refuse_unknown;
use super::find;
use crate::columnar::ColumnarBatches;
use crate::error::{Error, ErrorKind, Result};
use crate::json::parse;

/// What the names of carried columns begin with, and no column of a field table does.
const PREFIX: &str = "carried:";
/// The metadata of a carried column that is its Avro field, in JSON.
const AVRO_FIELD: &str = "avro-field";

/// What a format knows of a field of a writer's schema.
pub(crate) enum Recognised {
    /// It is read, or nothing that anybody reads.
    Field,
    /// A record whose fields are looked at one by one, and what it is called where it is written.
    Record(String),
    /// A list of records whose fields are looked at one by one, and what it is called where it is written.
    List(String),
    /// Nothing.
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

/// The fields of an Avro file of which `known` knows nothing, as carried columns of all of its records; a batch
/// without columns where there are none.
///
/// `known` is asked with the path of the record, as it is written, and the field's JSON.
///
/// # Errors
/// Those of the container's layer; `Unsupported` for such a field in ORC or Parquet, as [`refuse_unknown`] has it.
pub(crate) fn read(
    bytes: &Buffer,
    known: &dyn Fn(&str, &Value) -> Recognised,
    limits: Limits,
) -> Result<Option<RecordBatch>> {
    if let Some(file) = ColumnarBatches::open(bytes, &[], limits) {
        refuse_unknown(file?.schema().fields(), "", known)?;
        return Ok(None);
    }
    let (header, blocks) = Blocks::open(bytes.clone().into(), limits)?;
    let text = header.schema()?;
    let schema = Schema::parse(text, &limits)?;
    let json: Value = parse(text.as_bytes())?;
    let mut found = Vec::new();
    unknown(&json, "", "", known, &mut found);
    if found.is_empty() {
        return Ok(None);
    }
    let mut defined = HashMap::new();
    define(&json, &mut defined);
    // Of a list with several such fields the path is the same.
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
        if let Some(item) = &field.item {
            column = of_items(&column, item)?;
        }
        let mut json = field.json;
        if let Some(ty) = json.get_mut("type") {
            *ty = inlined(ty, &defined);
        }
        Ok((carried_field(&field.written, &column, &json), column))
    });
    with_columns(records.num_rows(), columns.collect::<Result<Vec<_>>>()?).map(Some)
}

/// Rows with carried columns behind their own.
pub(crate) fn with(rows: &RecordBatch, carried: &RecordBatch) -> Result<RecordBatch> {
    let all = [rows, carried].into_iter().flat_map(|batch| {
        let fields = batch.schema_ref().fields().iter().cloned();
        fields.zip(batch.columns().iter().cloned()).collect::<Vec<_>>()
    });
    with_columns(rows.num_rows(), all.collect())
}

/// The columns of field tables, and the carried ones.
pub(crate) fn split(rows: &RecordBatch) -> Result<(RecordBatch, RecordBatch)> {
    let part = |carried: bool| -> Result<RecordBatch> {
        let fields = rows.schema_ref().fields().iter();
        let places = fields.enumerate().filter(|(_, field)| is_carried(field) == carried);
        Ok(rows.project(&places.map(|(place, _)| place).collect::<Vec<_>>())?)
    };
    Ok((part(false)?, part(true)?))
}

/// The carried columns whose fields stand in the record at a dotted path, with the fields' names.
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

/// Batches of the same known columns, one behind the other; what some of them carry is null in the others. Batches
/// without rows carry nothing, unless there are only such.
///
/// # Errors
/// `Unsupported` for a field of which two writers have different types, and for one without a null that some rows
/// would have to lack.
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

/// Rows with exactly these carried columns, null where the rows have none; `None` where that cannot be.
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

/// The text of a schema with carried fields behind those of their records, and the schema's own where there are none.
///
/// # Errors
/// `Json` for a text that is none; `Unsupported` for a record that the schema does not have.
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
            let message = format!("{path}, a field of another writer's, has no place in what is written");
            Error::new(ErrorKind::Unsupported, message).in_field(path)
        })?;
        fields.push(json);
    }
    Ok(schema.to_string())
}

/// A field that nothing is known of.
struct Unknown {
    /// Its path in the file that is read.
    stored: String,
    /// Its name in the records of the list that stands there.
    item: Option<String>,
    /// Its path where it is written.
    written: String,
    json: Value,
}

fn unknown(
    schema: &Value,
    stored: &str,
    written: &str,
    known: &dyn Fn(&str, &Value) -> Recognised,
    found: &mut Vec<Unknown>,
) {
    let Some(fields) = record(schema).and_then(|record| record.get("fields")?.as_array()) else { return };
    for field in fields {
        let Some(name) = field.get("name").and_then(Value::as_str) else { continue };
        let path =
            |record: &str| if record.is_empty() { name.to_owned() } else { format!("{record}.{name}") };
        match known(written, field) {
            Recognised::Field => {}
            Recognised::Record(called) => {
                let inner = field.get("type").unwrap_or(&Value::Null);
                unknown(inner, &path(stored), &called, known, found);
            }
            Recognised::List(called) => {
                let of_items = field.get("type").and_then(items).and_then(record);
                let of_items = of_items.and_then(|record| record.get("fields")?.as_array());
                for json in of_items.into_iter().flatten() {
                    let Some(item) = json.get("name").and_then(Value::as_str) else { continue };
                    if matches!(known(&called, json), Recognised::No) {
                        let (written, item) = (format!("{called}.{item}"), Some(item.to_owned()));
                        found.push(Unknown { stored: path(stored), item, written, json: json.clone() });
                    }
                }
            }
            Recognised::No => {
                let (stored, written) = (path(stored), path(written));
                found.push(Unknown { stored, item: None, written, json: field.clone() });
            }
        }
    }
}

/// The record that a schema is, or is beside null.
fn record(schema: &Value) -> Option<&Value> {
    match schema {
        Value::Array(branches) => branches.iter().find_map(record),
        Value::Object(object) if object.get("type")?.as_str() == Some("record") => Some(schema),
        Value::Object(object) => object.get("type").filter(|ty| !ty.is_string()).and_then(record),
        _ => None,
    }
}

/// The items of the list that a schema is, or is beside null.
fn items(schema: &Value) -> Option<&Value> {
    match schema {
        Value::Array(branches) => branches.iter().find_map(items),
        Value::Object(object) if object.get("type")?.as_str() == Some("array") => object.get("items"),
        Value::Object(object) => object.get("type").filter(|ty| !ty.is_string()).and_then(items),
        _ => None,
    }
}

/// A field of the records in lists, as lists of its own.
fn of_items(lists: &ArrayRef, name: &str) -> Result<ArrayRef> {
    let absent = || Error::new(ErrorKind::Required, format!("{name} is not a field of the list's records"));
    let lists = lists.as_list_opt::<i32>().ok_or_else(absent)?;
    let column = lists.values().as_struct_opt().and_then(|items| items.column_by_name(name));
    let column = Arc::clone(column.ok_or_else(absent)?);
    let item = Arc::new(Field::new("item", column.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(item, lists.offsets().clone(), column, lists.nulls().cloned())?))
}

/// Lists of records with the carried columns of the list at `path` as more fields, null where a row has none.
///
/// # Errors
/// `Internal` for what are not as many values as records.
pub(crate) fn with_items(lists: &ArrayRef, rows: &RecordBatch, path: &str) -> Result<ArrayRef> {
    let odd = || Error::new(ErrorKind::Internal, "not as many values as records").in_field(path);
    let carried: Vec<_> = in_record(rows, path).collect();
    if carried.is_empty() {
        return Ok(Arc::clone(lists));
    }
    let lists = lists.as_list_opt::<i32>().ok_or_else(odd)?;
    let records = lists.values().as_struct_opt().ok_or_else(odd)?;
    let mut fields = records.fields().to_vec();
    let mut columns = records.columns().to_vec();
    for (name, column) in carried {
        let values = column.as_list_opt::<i32>().ok_or_else(odd)?;
        let mut places = vec![None; records.len()];
        for (row, (to, from)) in lists.offsets().windows(2).zip(values.offsets().windows(2)).enumerate() {
            let (&[to, to_end], &[from, from_end]) = (to, from) else { return Err(odd()) };
            if values.is_null(row) {
                continue;
            }
            let places = places.get_mut(to as usize..to_end as usize).ok_or_else(odd)?;
            if places.len() != (from_end - from) as usize {
                return Err(odd());
            }
            places.iter_mut().zip(from as u32..).for_each(|(place, at)| *place = Some(at));
        }
        fields.push(Arc::new(Field::new(name, values.value_type(), true)));
        columns.push(take(values.values(), &UInt32Array::from(places), None)?);
    }
    let records = StructArray::try_new(fields.into(), columns, records.nulls().cloned())?;
    let item = Arc::new(Field::new("item", records.data_type().clone(), true));
    let lists = ListArray::try_new(item, lists.offsets().clone(), Arc::new(records), lists.nulls().cloned())?;
    Ok(Arc::new(lists))
}

/// The list of the fields of the record at a path, through lists.
fn fields_at<'s>(schema: &'s mut Value, path: &str) -> Option<&'s mut Vec<Value>> {
    let record = match schema {
        Value::Array(branches) => {
            branches.iter_mut().find(|branch| record(branch).is_some() || items(branch).is_some())?
        }
        other => other,
    };
    let is_list = items(record).is_some();
    let record = if is_list { record.get_mut("items")? } else { record };
    let fields = record.get_mut("fields")?.as_array_mut()?;
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    if name.is_empty() {
        return Some(fields);
    }
    let field = fields.iter_mut().find(|field| field.get("name").and_then(Value::as_str) == Some(name))?;
    fields_at(field.get_mut("type")?, rest)
}

/// The named types of a schema.
fn define(schema: &Value, defined: &mut HashMap<String, Value>) {
    match schema {
        Value::Array(branches) => branches.iter().for_each(|branch| define(branch, defined)),
        Value::Object(object) => {
            if let Some(name) = object.get("name").and_then(Value::as_str).filter(|_| is_named(schema)) {
                defined.insert(name.to_owned(), schema.clone());
            }
            for key in ["type", "items", "values"] {
                object.get(key).into_iter().for_each(|inner| define(inner, defined));
            }
            for field in object.get("fields").and_then(Value::as_array).into_iter().flatten() {
                field.get("type").into_iter().for_each(|inner| define(inner, defined));
            }
        }
        _ => {}
    }
}

fn is_named(schema: &Value) -> bool {
    matches!(schema.get("type").and_then(Value::as_str), Some("record" | "error" | "enum" | "fixed"))
}

/// A type in which every name is spelt out. The schema was parsed before: none contains itself.
fn inlined(ty: &Value, defined: &HashMap<String, Value>) -> Value {
    match ty {
        Value::String(name) => {
            let simple = name.rsplit('.').next().unwrap_or(name);
            defined
                .get(name)
                .or_else(|| defined.get(simple))
                .map_or_else(|| ty.clone(), |ty| inlined(ty, defined))
        }
        Value::Array(branches) => branches.iter().map(|branch| inlined(branch, defined)).collect(),
        Value::Object(_) => {
            let mut ty = ty.clone();
            each_type(&mut ty, &mut |inner| *inner = inlined(inner, defined));
            ty
        }
        _ => ty.clone(),
    }
}

/// Gives named types names of their own.
fn rename(ty: &mut Value, taken: &mut HashSet<String>) {
    if let Value::Array(branches) = ty {
        branches.iter_mut().for_each(|branch| rename(branch, taken));
        return;
    }
    if is_named(ty)
        && let Some(Value::String(name)) = ty.get_mut("name")
    {
        let free = |number: &u32| !taken.contains(&format!("{name}_{number}"));
        if taken.contains(name.as_str())
            && let Some(number) = (2..).find(free)
        {
            *name = format!("{name}_{number}");
        }
        taken.insert(name.clone());
    }
    each_type(ty, &mut |inner| rename(inner, taken));
}

/// The types that a type is made of.
fn each_type(ty: &mut Value, change: &mut dyn FnMut(&mut Value)) {
    let Value::Object(object) = ty else { return };
    if let Some(inner) = object.get_mut("type").filter(|inner| !inner.is_string()) {
        change(inner);
    }
    for key in ["items", "values"] {
        object.get_mut(key).into_iter().for_each(&mut *change);
    }
    for field in object.get_mut("fields").and_then(Value::as_array_mut).into_iter().flatten() {
        field.get_mut("type").into_iter().for_each(&mut *change);
    }
}

/// The field with null among its values; `None` for a union of others.
fn nullable(field: &Value) -> Option<Value> {
    let mut field = field.clone();
    let ty = field.get_mut("type")?;
    match ty {
        Value::Array(branches) if branches.iter().any(|branch| branch == "null") => {}
        Value::Array(_) => return None,
        Value::String(name) if name == "null" => {}
        other => {
            *other = json!(["null", other]);
            field.as_object_mut()?.insert("default".to_owned(), Value::Null);
        }
    }
    Some(field)
}

fn joined_column(field: &FieldRef, batches: &[&RecordBatch]) -> Result<(FieldRef, ArrayRef)> {
    let path = field.name().strip_prefix(PREFIX).unwrap_or_default();
    let refused = |message: &str| {
        Error::new(ErrorKind::Unsupported, format!("{path}, a field of another writer's, {message}"))
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
