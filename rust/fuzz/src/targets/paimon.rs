//! Paimon: manifest lists, manifests, index manifests, JSON files, rows and bitmaps.

use std::cell::OnceCell;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int8Type;
use arrow_array::{Array, BinaryArray, BooleanArray, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::{DataType as ArrowType, Fields};
use arrow_select::concat::concat_batches;
use arrow_select::filter::filter_record_batch;
use lakebed::deletion_vector::VectorRange;
use lakebed::paimon::binary_row::{decode_column, decode_rows, encode_rows};
use lakebed::paimon::deletion_vector::decode_vector;
use lakebed::paimon::index_manifest::read_index_manifest;
use lakebed::paimon::manifest::{ADD, EntryFilter, EntryReader, entry_columns};
use lakebed::paimon::manifest_list::{ManifestFile, manifest_files, read_manifest_list};
use lakebed::paimon::schema::TableSchema;
use lakebed::paimon::snapshot::{Snapshot, Tag};
use lakebed::paimon::types::DataType;
use lakebed::record::RecordResolver;
use lakebed::{ErrorKind, Result};
use lakebed_avro::Blocks;
use serde_json::Value;

use super::{LIMITS, assert_message, assert_valid, sample};

pub fn run(input: &[u8]) {
    match input {
        [b'O', b'b', b'j', ..] => avro(input),
        [b'{', ..] => json(input),
        [b'#', bitmap @ ..] => vector(bitmap),
        _ => rows(input),
    }
}

fn avro(input: &[u8]) {
    let opened = Blocks::open(Buffer::from(input).into(), LIMITS);
    let Ok((header, blocks)) = opened else { return };
    let counts = blocks.map(|block| Some(block.ok()?.count)).collect::<Option<Vec<_>>>();
    let declared = counts.map(|counts| counts.iter().sum::<u64>());
    let Ok(schema) = header.schema() else { return };
    let read = if schema.contains("_NUM_ADDED_FILES") {
        read_manifest_list(input.into(), None, &LIMITS.into()).inspect(|list| {
            if let Ok(files) = manifest_files(list) {
                assert_eq!(files.len(), list.num_rows());
            }
        })
    } else if schema.contains("_INDEX_TYPE") {
        read_index_manifest(input.into(), None, &LIMITS.into())
    } else {
        return manifest(input, declared);
    };
    match read {
        Ok(batch) => {
            assert_valid(&batch);
            assert_eq!(Some(batch.num_rows() as u64), declared);
        }
        Err(error) => assert_message(&error.to_string()),
    }
}

thread_local! {
    /// The resolved columns: all of them.
    static COLUMNS: OnceCell<Arc<RecordResolver>> = const { OnceCell::new() };
}

/// The entries of a manifest, and the numbers of entries that add and that delete a file.
fn entries(
    input: &[u8],
    kind: Option<i8>,
    expected: Option<ManifestFile>,
) -> Result<(RecordBatch, (u64, u64))> {
    let columns = COLUMNS.with(|columns| {
        Arc::clone(columns.get_or_init(|| Arc::new(entry_columns(None).expect("all columns"))))
    });
    let mut filter = EntryFilter::default();
    filter.kind = kind;
    let mut reader = EntryReader::open(input.into(), &columns, filter, expected, &LIMITS.into(), 1)?;
    let batches = reader.by_ref().collect::<Result<Vec<_>>>()?;
    Ok((concat_batches(reader.schema(), &batches).expect("batches of one schema"), reader.seen()))
}

fn manifest(input: &[u8], declared: Option<u64>) {
    let (batch, seen) = match entries(input, None, None) {
        Ok(found) => found,
        Err(error) => return assert_message(&error.to_string()),
    };
    assert_valid(&batch);
    assert_eq!(Some(batch.num_rows() as u64), declared);
    assert_eq!(batch.num_rows() as u64, seen.0 + seen.1);
    if sample(input).is_multiple_of(2) {
        let kinds = batch.column_by_name("kind").expect("all columns").as_primitive::<Int8Type>();
        let keep: BooleanArray = kinds.values().iter().map(|kind| Some(*kind == ADD)).collect();
        let (added, again) = entries(input, Some(ADD), None).expect("fewer entries");
        assert_eq!(again, seen);
        assert_eq!(filter_record_batch(&batch, &keep).expect("as many flags as rows"), added);
    } else {
        let file_size = input.len() as u64;
        let mut expected = ManifestFile {
            file_name: String::new(),
            file_size,
            added: seen.0,
            deleted: seen.1,
            total_buckets: None,
            sidecar: None,
        };
        entries(input, None, Some(expected.clone())).expect("the counts that are there");
        expected.deleted += 1;
        let differing = entries(input, None, Some(expected)).expect_err("a count that differs");
        assert_eq!(differing.kind(), ErrorKind::Mismatch);
    }
}

fn json(input: &[u8]) {
    // Values of unknown keys are skipped, not parsed; input that is not JSON as a whole is not checked here.
    let Ok(json) = serde_json::from_slice::<Value>(input) else { return };
    let pretty = serde_json::to_vec_pretty(&json).expect("it was parsed");
    match Snapshot::from_json(input) {
        Ok(snapshot) => assert_eq!(Snapshot::from_json(&pretty).ok(), Some(snapshot)),
        Err(error) => assert_message(&error.to_string()),
    }
    if let Ok(tag) = Tag::from_json(input) {
        assert_eq!(Tag::from_json(&pretty).ok(), Some(tag));
    }
    let schema = match TableSchema::from_json(input) {
        Ok(schema) => schema,
        Err(error) => return assert_message(&error.to_string()),
    };
    assert_eq!(TableSchema::from_json(&pretty).ok().as_ref(), Some(&schema));
    for field in &schema.fields {
        typed(&field.ty);
        assert_eq!(schema.field_by_id(field.id).map(|found| found.id), Some(field.id));
    }
    assert!(schema.partition_fields().len() == schema.partition_keys.len());
}

/// A type is printed as JSON that parses to the same type.
fn typed(ty: &DataType) {
    assert_eq!(DataType::from_json(&ty.to_json()).expect("a type that was printed"), *ty);
}

/// Rows of the types in front of a zero byte, separated by new lines: `INT\nSTRING\0…`.
fn rows(input: &[u8]) {
    let Some(end) = input.iter().position(|byte| *byte == 0) else { return };
    let (text, row) = (&input[..end], &input[end + 1..]);
    let Ok(text) = std::str::from_utf8(text) else { return };
    let types = text.split('\n').take(16).map(|text| DataType::from_json(&Value::String(text.to_owned())));
    let Ok(types) = types.collect::<Result<Vec<_>>>() else { return };
    types.iter().for_each(typed);
    let fields: Fields =
        types.iter().enumerate().map(|(at, ty)| ty.storage_field(&format!("f{at}"))).collect();
    let stored = BinaryArray::from(vec![Some(row), None, Some(row)]);
    let nullable = fields.iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    let rows = match decode_rows(&stored, &nullable) {
        Ok(rows) => rows,
        Err(error) => {
            assert!(error.location().record == Some(0) || error.kind() == ErrorKind::Argument, "{error:?}");
            return assert_message(&error.to_string());
        }
    };
    rows.to_data().validate_full().unwrap_or_else(|error| panic!("{error}"));
    assert_framed(row, &nullable);
    assert!(rows.len() == 3 && rows.is_null(1) && !rows.is_null(0));
    for (at, (field, column)) in nullable.iter().zip(rows.columns()).enumerate() {
        let alone =
            decode_column(&stored, |_| Some(at), field).expect("a column that can be read with the others");
        assert_eq!(&alone, column, "{field}");
    }
    match encode_rows(&rows, &nullable) {
        Ok(encoded) => {
            let again = decode_rows(&encoded, &nullable).expect("rows that were encoded");
            assert_eq!(again, rows);
        }
        Err(error) => panic!("rows that were decoded cannot be encoded: {error}"),
    }
}

/// Checks the frame of a row that was read: its arity, and that texts are after the fixed-length part.
fn assert_framed(row: &[u8], fields: &Fields) {
    let number = |bytes: &[u8], at: usize| {
        u64::from_le_bytes(bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().expect("a slot"))
    };
    let (arity, row) = row.split_first_chunk::<4>().expect("an arity");
    assert_eq!(u32::from_be_bytes(*arity) as usize, fields.len());
    let header = (fields.len() + 8).div_ceil(64) * 8;
    let fixed = (header + 8 * fields.len()) as u64;
    for (at, field) in fields.iter().enumerate() {
        let is_null = row[(at + 8) / 8] >> (at % 8) & 1 != 0;
        let slot = number(row, header + 8 * at);
        let is_text = matches!(field.data_type(), ArrowType::Utf8 | ArrowType::Binary);
        if is_text && !is_null && slot >> 63 == 0 {
            let (offset, length) = (slot >> 32, slot & 0xffff_ffff);
            assert!(offset >= fixed && offset + length <= row.len() as u64, "{field}: {length} at {offset}");
        }
    }
}

/// A bitmap after its magic number, in a frame with the right size and checksum.
fn vector(framed: &[u8]) {
    const MAGIC_64: [u8; 4] = 1_681_511_377u32.to_le_bytes();
    let size = framed.len() as u64;
    let sum = crc32fast::hash(framed).to_be_bytes();
    let file = [&(size as u32).to_be_bytes()[..], framed, &sum].concat();
    let length = if framed.starts_with(&MAGIC_64) { size + 8 } else { size };
    match decode_vector(&file, VectorRange { offset: 1, length }) {
        Ok(vector) => {
            let Ok(positions) = vector.positions(&LIMITS) else { return };
            assert_eq!(positions.len() as u64, vector.cardinality());
            assert!(positions.values().is_sorted_by(|left, right| left < right), "not ascending");
        }
        Err(error) => {
            assert!(error.location().offset.is_some(), "{error:?}");
            assert_message(&error.to_string());
        }
    }
}
