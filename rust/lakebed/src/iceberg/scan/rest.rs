//! Scan tasks as the JSON of a REST catalog (Iceberg's REST specification, `ScanTasks`; `TableScanResponseParser.java`,
//! `ContentFileParser.java`).

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, ListArray, MapArray, RecordBatch, StringArray, StructArray,
};
use arrow_select::filter::{filter, filter_record_batch};
use serde_json::{Map, Value, json};

use super::Scan;
use super::tasks::{ScanTasks, TasksRequest};
use crate::error::{Error, ErrorKind, Result};
use crate::iceberg::fields::{EQUALITY_DELETES, PARTITION, POSITION_DELETES};
use crate::iceberg::partition::PartitionSpec;
use crate::iceberg::prune::Pruner;
use crate::iceberg::table::TableTypes;
use crate::iceberg::types::Type;
use crate::iceberg::value::to_json;
use crate::record::{column, find, typed};
use crate::scan::{DeletesAs, ExpressionForm, RESIDUAL};
use crate::view::View;

/// A key of a file in the answer, the column that it is read from, and the type of its values or items.
type Key = (&'static str, &'static str, Type);

const OF_BOTH: [Key; 5] = [
    ("file-path", "file_path", Type::String),
    ("spec-id", "spec_id", Type::Int),
    ("record-count", "record_count", Type::Long),
    ("file-size-in-bytes", "file_size_in_bytes", Type::Long),
    ("key-metadata", "key_metadata", Type::Binary),
];
const OF_DATA: [Key; 3] = [
    ("split-offsets", "split_offsets", Type::Long),
    ("sort-order-id", "sort_order_id", Type::Int),
    ("first-row-id", "first_row_id", Type::Long),
];
const OF_DELETES: [Key; 4] = [
    ("referenced-data-file", "referenced_data_file", Type::String),
    ("content-offset", "content_offset", Type::Long),
    ("content-size-in-bytes", "content_size_in_bytes", Type::Long),
    ("equality-ids", "equality_ids", Type::Int),
];
/// The metrics of columns: maps by the ids of fields.
const METRICS: [Key; 6] = [
    ("column-sizes", "column_sizes", Type::Long),
    ("value-counts", "value_counts", Type::Long),
    ("null-value-counts", "null_value_counts", Type::Long),
    ("nan-value-counts", "nan_value_counts", Type::Long),
    ("lower-bounds", "lower_bounds", Type::Binary),
    ("upper-bounds", "upper_bounds", Type::Binary),
];
const FILE_FORMAT: &str = "file_format";
const CONTENT: &str = "content";

/// The columns of a plan that the answer needs.
pub(super) fn plan_columns() -> Vec<&'static str> {
    columns_of(&OF_DATA, &[DeletesAs::Ids.column(), RESIDUAL])
}

/// The columns of deletes that the answer needs.
pub(super) fn delete_columns() -> Vec<&'static str> {
    columns_of(&OF_DELETES, &[CONTENT])
}

/// The columns of entries besides those of a plan, where metrics are wanted.
pub(super) fn metrics_columns() -> Vec<&'static str> {
    METRICS.map(|(_, column, _)| column).to_vec()
}

/// The columns of what files of both kinds have, of these keys, and these.
fn columns_of(own: &[Key], more: &[&'static str]) -> Vec<&'static str> {
    let keys = OF_BOTH.iter().chain(own).map(|(_, column, _)| *column).collect::<Vec<_>>();
    [keys.as_slice(), &[FILE_FORMAT, PARTITION], more].concat()
}

impl Scan {
    /// The plan as the JSON text of a completed planning result.
    ///
    /// # Errors
    /// Those of its rows; `Argument` where the scan is not a plan; `Unsupported` for a filter that Iceberg's
    /// expressions cannot express.
    ///
    /// Cost: the plan and its deletes, and the text in memory.
    pub(super) fn answer(&self, form: ExpressionForm) -> Result<String> {
        if !matches!(self.view, View::Plan) {
            return Err(Error::new(ErrorKind::Argument, "only plans can be answers of a REST catalog"));
        }
        let request = TasksRequest {
            filter: self.options.table_filter.clone(),
            row_limit: self.options.row_limit,
            limit: self.options.limit,
            threads: self.options.threads,
            form,
            ..TasksRequest::default()
        };
        let tasks = ScanTasks::noting(self.table.clone(), request)?.text(None)?;
        Ok(format!("{{\"status\":\"completed\",{}", tasks.trim_start_matches('{')))
    }
}

/// The text of scan tasks, made row by row.
pub(super) struct TasksText<'a> {
    types: &'a TableTypes,
    stats: &'a [i32],
    residuals: Residuals<'a>,
    numbers: Numbers,
    tasks: String,
}

impl<'a> TasksText<'a> {
    /// No tasks yet; `stats` are the ids of the columns whose metrics files have.
    pub(super) fn new(types: &'a TableTypes, stats: &'a [i32], form: ExpressionForm) -> TasksText<'a> {
        let residuals = Residuals { types, form, known: HashMap::new() };
        TasksText { types, stats, residuals, numbers: Numbers::default(), tasks: String::new() }
    }

    /// Adds rows of a plan, with [`plan_columns`], and [`metrics_columns`] where metrics are wanted.
    ///
    /// # Errors
    /// `Unsupported` for what Iceberg's expressions or JSON cannot express, and for an unknown partition spec.
    pub(super) fn push(&mut self, rows: &RecordBatch) -> Result<()> {
        let mut files = files(rows, self.types, &OF_DATA)?;
        if !self.stats.is_empty() {
            put_metrics(&mut files, rows, self.stats)?;
        }
        let ids = column::<ListArray>(rows, DeletesAs::Ids.column())?;
        let texts = column::<StringArray>(rows, RESIDUAL)?;
        for (row, file) in files.into_iter().enumerate() {
            let deletes = ids.value(row);
            let deletes = self.numbers.of(typed::<Int32Array>(&deletes, DeletesAs::Ids.column())?.values());
            let residual = self.residuals.of(texts.is_valid(row).then(|| texts.value(row)))?;
            append(&mut self.tasks, &task(file, deletes, residual));
        }
        Ok(())
    }

    /// The text, given all deletes in the order of their numbers in the plan, with [`delete_columns`].
    ///
    /// # Errors
    /// As [`TasksText::push`].
    pub(super) fn finish(self, deletes: &[RecordBatch]) -> Result<String> {
        let found = self.delete_files(deletes)?;
        let mut text = String::new();
        found.iter().for_each(|file| append(&mut text, file));
        Ok(format!("{{\"delete-files\":[{text}],\"file-scan-tasks\":[{}]}}", self.tasks))
    }

    /// The deletes that files refer to, in the order of their numbers in the answer.
    fn delete_files(&self, deletes: &[RecordBatch]) -> Result<Vec<Value>> {
        let mut found = vec![Value::Null; self.numbers.0.len()];
        let mut first = 0_i32;
        for rows in deletes {
            let number = |row: usize| {
                let id = i32::try_from(row).ok().and_then(|row| first.checked_add(row));
                id.and_then(|id| self.numbers.0.get(&id)).copied()
            };
            let places: Vec<Option<usize>> = (0..rows.num_rows()).map(number).collect();
            let named: BooleanArray = places.iter().map(|place| Some(place.is_some())).collect();
            let named = files(&filter_record_batch(rows, &named)?, self.types, &OF_DELETES)?;
            for (place, file) in places.into_iter().flatten().zip(named) {
                if let Some(there) = found.get_mut(place) {
                    *there = Value::Object(file);
                }
            }
            // The index counted them before.
            first = first.saturating_add(i32::try_from(rows.num_rows()).unwrap_or(i32::MAX));
        }
        Ok(found)
    }
}

/// Adds an item to the text of a list.
fn append(list: &mut String, item: &Value) {
    if !list.is_empty() {
        list.push(',');
    }
    list.push_str(&item.to_string());
}

/// Puts metrics of columns beside the files of rows: for each kind that was recorded an object with the ids of fields
/// and their values.
fn put_metrics(files: &mut [Map<String, Value>], rows: &RecordBatch, ids: &[i32]) -> Result<()> {
    for (key, name, ty) in &METRICS {
        let maps = column::<MapArray>(rows, name)?;
        for (row, file) in files.iter_mut().enumerate().filter(|(row, _)| maps.is_valid(*row)) {
            let entries = maps.value(row);
            let known = typed::<Int32Array>(entries.column(0), name)?.values();
            let wanted: BooleanArray = known.iter().map(|id| Some(ids.contains(id))).collect();
            let of_wanted = |at, ty| to_json(&filter(entries.column(at), &wanted)?, ty);
            let metrics = json!({ "keys": of_wanted(0, &Type::Int)?, "values": of_wanted(1, ty)? });
            file.insert((*key).to_owned(), metrics);
        }
    }
    Ok(())
}

/// The number in the answer of each delete that files refer to, by its number in the plan.
#[derive(Default)]
struct Numbers(HashMap<i32, usize>);

impl Numbers {
    fn of(&mut self, ids: &[i32]) -> Vec<usize> {
        ids.iter()
            .map(|id| {
                let next = self.0.len();
                *self.0.entry(*id).or_insert(next)
            })
            .collect()
    }
}

/// Residuals as expressions; equal residuals are converted once.
struct Residuals<'a> {
    types: &'a TableTypes,
    form: ExpressionForm,
    known: HashMap<String, Value>,
}

impl Residuals<'_> {
    fn of(&mut self, text: Option<&str>) -> Result<Value> {
        let Some(text) = text else { return Ok(Value::Bool(true)) };
        if let Some(known) = self.known.get(text) {
            return Ok(known.clone());
        }
        let expression = Pruner::new(text, self.types)?.filter.expression(&self.types.schema, self.form)?;
        self.known.insert(text.to_owned(), expression.clone());
        Ok(expression)
    }
}

fn task(file: Map<String, Value>, deletes: Vec<usize>, residual: Value) -> Value {
    let mut task = Map::from_iter([("data-file".to_owned(), Value::Object(file))]);
    if !deletes.is_empty() {
        task.insert("delete-file-references".to_owned(), json!(deletes));
    }
    task.insert("residual-filter".to_owned(), residual);
    Value::Object(task)
}

/// Files in the form of the answer; null values of the keys `own` are left out.
fn files(rows: &RecordBatch, types: &TableTypes, own: &[Key]) -> Result<Vec<Map<String, Value>>> {
    let mut files = vec![Map::new(); rows.num_rows()];
    let mut put = |key: &str, values: Vec<Value>| {
        for (file, value) in files.iter_mut().zip(values) {
            if !value.is_null() {
                file.insert(key.to_owned(), value);
            }
        }
    };
    put("content", contents(rows)?);
    let formats = to_json(&find(rows, FILE_FORMAT)?, &Type::String)?;
    let lower = |format: Value| format.as_str().map_or(Value::Null, |text| json!(text.to_lowercase()));
    put("file-format", formats.into_iter().map(lower).collect());
    put("partition", tuples(rows, types)?);
    for (key, column, ty) in OF_BOTH.iter().chain(own) {
        put(key, values(&find(rows, column)?, ty)?);
    }
    Ok(files)
}

fn contents(rows: &RecordBatch) -> Result<Vec<Value>> {
    // A plan has only data files, and no column of contents.
    let Some(column) = rows.column_by_name(CONTENT) else { return Ok(vec![json!("data"); rows.num_rows()]) };
    let word = |content: Option<i32>| match content {
        Some(POSITION_DELETES) => json!("position-deletes"),
        Some(EQUALITY_DELETES) => json!("equality-deletes"),
        _ => json!("data"),
    };
    Ok(typed::<Int32Array>(column, CONTENT)?.iter().map(word).collect())
}

fn values(array: &ArrayRef, ty: &Type) -> Result<Vec<Value>> {
    let Some(lists) = array.as_list_opt::<i32>() else { return to_json(array, ty) };
    let list = |row| match lists.is_valid(row) {
        true => to_json(&lists.value(row), ty).map(Value::Array),
        false => Ok(Value::Null),
    };
    (0..lists.len()).map(list).collect()
}

/// The partition of each file: the values of its spec's fields, in order.
fn tuples(rows: &RecordBatch, types: &TableTypes) -> Result<Vec<Value>> {
    let spec_ids = column::<Int32Array>(rows, "spec_id")?.values();
    let columns = types.partition.fields.iter().zip(column::<StructArray>(rows, PARTITION)?.columns());
    let columns = columns.map(|(unified, column)| {
        // JSON has no NaN and no infinities.
        let unsupported = |error| {
            let message = format!("a REST catalog's answer cannot hold a partition: {error}");
            Error::new(ErrorKind::Unsupported, message).in_field(&unified.field.name)
        };
        to_json(column, &unified.ty).map_err(unsupported)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let tuple = |(row, spec_id): (usize, &i32)| {
        let spec =
            types.specs.iter().find(|spec| spec.spec_id == *spec_id).ok_or_else(|| unknown(*spec_id))?;
        Ok(tuple(row, spec, types, &columns))
    };
    spec_ids.iter().enumerate().map(tuple).collect()
}

fn tuple(row: usize, spec: &PartitionSpec, types: &TableTypes, columns: &[Vec<Value>]) -> Value {
    let mut tuple = vec![Value::Null; spec.fields.len()];
    for (position, values) in columns.iter().enumerate() {
        let place = types.partition.position_in(position, spec).and_then(|at| tuple.get_mut(at));
        if let (Some(place), Some(value)) = (place, values.get(row)) {
            *place = value.clone();
        }
    }
    Value::Array(tuple)
}

#[cold]
fn unknown(spec_id: i32) -> Error {
    let message = format!("the table's metadata has no partition spec {spec_id}, which files have");
    Error::new(ErrorKind::Unsupported, message)
}
