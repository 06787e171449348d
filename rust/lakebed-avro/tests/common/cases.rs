//! The table of hostile files, and how results are compared with it.

use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int32Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use lakebed_avro::{Error, Limits};
use serde_json::{Value as Json, json};

/// One file of the table.
pub struct Case {
    /// Its stable name.
    pub id: String,
    /// Its bytes.
    pub file: Vec<u8>,
    /// How it is read.
    pub limits: Limits,
    expect: Json,
}

/// `<shared root>/data/cases/<name>` where that exists, else the project's own copy.
fn path(name: &str) -> PathBuf {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = std::env::var_os("LAKEBED_SHARED").map_or_else(|| project.join("../shared"), PathBuf::from);
    let theirs = shared.join("data/cases").join(name);
    if theirs.exists() { theirs } else { project.join("tests/data/cases").join(name) }
}

/// The cases of a table of Avro files.
pub fn load(name: &str) -> Vec<Case> {
    let text = std::fs::read_to_string(path(name)).unwrap();
    let table: Json = serde_json::from_str(&text).unwrap();
    table["cases"].as_array().unwrap().iter().map(Case::new).collect()
}

impl Case {
    fn new(json: &Json) -> Case {
        let file = match (json["file_b64"].as_str(), json["file_zlib_b64"].as_str()) {
            (Some(text), _) => base64(text),
            (_, text) => unzip(&base64(text.unwrap()), json["bytes"].as_u64().unwrap() as usize),
        };
        let limit = |name: &str, usual: u64| json["limits"][name].as_u64().unwrap_or(usual);
        let usual = Limits::DEFAULT;
        let limits = Limits {
            max_block_bytes: limit("max_block_bytes", usual.max_block_bytes),
            max_rows: limit("max_rows", usual.max_rows),
            max_items: limit("max_items", usual.max_items),
            ..usual
        };
        Case { id: json["id"].as_str().unwrap().to_owned(), file, limits, expect: json["expect"].clone() }
    }

    /// Compares a result with the table. Returns the difference.
    pub fn judge(&self, result: &Result<Vec<RecordBatch>, Error>) -> Result<(), String> {
        let wanted = &self.expect;
        match result {
            Err(error) => {
                let kinds = wanted["error"].as_array().ok_or(format!("refused a good file: {error}"))?;
                let known = kinds.iter().any(|kind| kind == error.kind().name());
                known.then_some(()).ok_or(format!("{} is none of {kinds:?}: {error}", error.kind().name()))
            }
            Ok(_) if wanted["rows_or_error"] == "any" => Ok(()),
            Ok(batches) => {
                let rows = if wanted["rows"].is_null() { &wanted["rows_or_error"] } else { &wanted["rows"] };
                let found = Json::Array(batches.iter().flat_map(rows_of).collect());
                if *rows == found { Ok(()) } else { Err(format!("read {found}, expected {wanted}")) }
            }
        }
    }
}

/// The rows of a batch in the table's form: bytes in hex.
fn rows_of(batch: &RecordBatch) -> Vec<Json> {
    let schema = batch.schema();
    let names = || schema.fields().iter().map(|field| field.name().clone());
    let row = |row| names().zip(batch.columns()).map(|(name, column)| (name, value(column, row))).collect();
    (0..batch.num_rows()).map(|at| Json::Object(row(at))).collect()
}

fn value(array: &dyn Array, row: usize) -> Json {
    if array.is_null(row) {
        return Json::Null;
    }
    match array.data_type() {
        DataType::Null => Json::Null,
        DataType::Boolean => json!(array.as_boolean().value(row)),
        DataType::Int32 => json!(array.as_primitive::<Int32Type>().value(row)),
        DataType::Date32 => json!(array.as_primitive::<Date32Type>().value(row)),
        DataType::Int64 => json!(array.as_primitive::<Int64Type>().value(row)),
        DataType::Utf8 => json!(array.as_string::<i32>().value(row)),
        DataType::Binary => {
            json!(array.as_binary::<i32>().value(row).iter().map(|b| format!("{b:02x}")).collect::<String>())
        }
        DataType::List(_) => {
            let items = array.as_list::<i32>().value(row);
            (0..items.len()).map(|at| value(&items, at)).collect()
        }
        DataType::Map(_, _) => {
            let entries = array.as_map().value(row);
            let keys = entries.column(0).as_string::<i32>();
            let entry = |at| (keys.value(at).to_owned(), value(entries.column(1), at));
            Json::Object((0..entries.len()).map(entry).collect())
        }
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let named = fields.iter().zip(columns);
            Json::Object(named.map(|(field, column)| (field.name().clone(), value(column, row))).collect())
        }
        other => panic!("the table has no {other}"),
    }
}

fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |byte: &u8| ALPHABET.iter().position(|known| known == byte).map(|at| at as u32);
    let digits: Vec<u32> = text.as_bytes().iter().map_while(digit).collect();
    let group = |digits: &[u32]| {
        let bits = digits.iter().enumerate().fold(0, |bits, (i, digit)| bits | digit << (26 - 6 * i));
        bits.to_be_bytes()[..digits.len() * 6 / 8].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}

fn unzip(bytes: &[u8], length: usize) -> Vec<u8> {
    let mut out = vec![0; length];
    let found = libdeflater::Decompressor::new().zlib_decompress(bytes, &mut out).unwrap();
    assert_eq!(found, length);
    out
}
