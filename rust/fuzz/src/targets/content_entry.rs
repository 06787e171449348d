//! Iceberg's manifests of content entries, and the bitmaps in them, which begin with a byte 1.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_select::concat::concat_batches;
use lakebed::Result;
use lakebed::iceberg::content_entry::{ContentEntryReader, EntryContext, ListedLeaf, MumblingBitmap};
use lakebed::iceberg::partition::{PartitionSpec, PartitionType};
use lakebed::iceberg::types::Schema;
use lakebed_avro::Limits;
use serde_json::json;

use super::{LIMITS, assert_message, assert_valid, sample};

pub fn run(input: &[u8]) {
    match input.first() {
        Some(1) => bitmap(input),
        _ => entries(input),
    }
}

/// What is read is written and read again.
fn bitmap(input: &[u8]) {
    let bitmap = match MumblingBitmap::decode(input) {
        Ok(bitmap) => bitmap,
        Err(error) => return assert_message(&error.to_string()),
    };
    let positions = bitmap.positions(&Limits::DEFAULT).expect("fewer positions than rows");
    assert!(positions.values().is_sorted_by(|one, next| one < next));
    assert_eq!(positions.len(), bitmap.cardinality() as usize);
    assert!(positions.values().iter().all(|position| bitmap.has(*position as u64)));
    let again = MumblingBitmap::of(positions.values().iter().copied()).expect("positions of a bitmap");
    let again = MumblingBitmap::decode(&again.encode()).expect("a bitmap that was written");
    assert_eq!(again.positions(&Limits::DEFAULT).expect("as many positions"), positions);
}

fn read(input: &[u8], columns: Option<&[String]>, known: EntryContext) -> Result<RecordBatch> {
    let reader = ContentEntryReader::open(input.into(), columns, known, &LIMITS.into(), 1)?;
    let schema = Arc::clone(reader.schema());
    let batches = reader.collect::<Result<Vec<_>>>()?;
    Ok(concat_batches(&schema, &batches).expect("batches of one schema"))
}

fn entries(input: &[u8]) {
    let all = match read(input, None, EntryContext::default()) {
        Ok(all) => all,
        Err(error) => return assert_message(&error.to_string()),
    };
    assert_valid(&all);
    match sample(input) % 3 {
        0 => some(input, &all),
        1 => listed(input, &all),
        _ => typed(input, &all),
    }
}

/// Columns alone are what they are among all.
fn some(input: &[u8], all: &RecordBatch) {
    let names = ["location", "live", "first_row_id", "content_stats"].map(str::to_owned);
    let some = read(input, Some(&names), EntryContext::default()).expect("columns of entries that are read");
    for name in &names {
        assert_eq!(some.column_by_name(name), all.column_by_name(name), "{name}");
    }
}

/// What a root lists is inherited, where row ids do not overflow.
fn listed(input: &[u8], all: &RecordBatch) {
    let leaf = ListedLeaf {
        snapshot_id: Some(7),
        sequence_number: Some(0),
        first_row_id: Some(0),
        record_count: i64::try_from(all.num_rows()).ok(),
        dv: MumblingBitmap::of((all.num_rows() > 0).then_some(0)).ok(),
    };
    match read(input, None, EntryContext { listed: Some(leaf), ..EntryContext::default() }) {
        Ok(inherited) => {
            assert_valid(&inherited);
            let ids = inherited.column_by_name("snapshot_id").expect("all columns");
            assert_eq!(ids.null_count(), 0);
            let live = inherited.column_by_name("live").expect("all columns").as_boolean();
            assert!(all.num_rows() == 0 || !live.value(0));
        }
        Err(error) => assert_message(&error.to_string()),
    }
}

/// By the types of a table there are as many entries, or an error.
fn typed(input: &[u8], all: &RecordBatch) {
    let names = [
        "boolean",
        "int",
        "long",
        "double",
        "decimal(9, 2)",
        "date",
        "timestamp",
        "string",
        "uuid",
        "fixed[4]",
    ];
    let field = |(id, ty): (usize, &&str)| json!({"id": id, "name": ty, "required": false, "type": ty});
    let fields: Vec<_> = names.iter().enumerate().map(field).collect();
    let schema = Schema::from_json(&json!({"type": "struct", "fields": fields})).expect("a schema");
    let spec = json!([{"name": "p", "transform": "identity", "source-id": 7, "field-id": 1000}]);
    let specs = [PartitionSpec::from_fields(0, &spec).expect("a spec")];
    let partition = Arc::new(PartitionType::unify(&specs, &[&schema]));
    let known = EntryContext {
        partition: Some((specs.into(), partition)),
        schema: Some(Arc::new(schema)),
        location: Some("s3://b/t".to_owned()),
        ..EntryContext::default()
    };
    match read(input, None, known) {
        Ok(typed) => {
            assert_valid(&typed);
            assert_eq!(typed.num_rows(), all.num_rows());
        }
        Err(error) => assert_message(&error.to_string()),
    }
}
