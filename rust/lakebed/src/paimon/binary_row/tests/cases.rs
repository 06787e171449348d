//! The shared case tables, where they exist: rows of other projects' tests, and hostile ones.

use super::*;
use crate::test_data::cases;

/// The fields of a case. Timestamps of precision 4 to 6 are read as nanoseconds, which are stored
/// in the same way: one case has more digits than its precision, and must be encoded to the same bytes.
fn case_fields(case: &Value) -> Fields {
    let names = case["fields"].as_array().unwrap().iter();
    let types = names.map(|name| match sql(name.as_str().unwrap()) {
        DataType::Timestamp(TimeUnit::Microsecond, zone) => DataType::Timestamp(TimeUnit::Nanosecond, zone),
        other => other,
    });
    fields(&types.collect::<Vec<_>>())
}

#[test]
fn rows_of_other_projects() {
    for case in cases("paimon_binary_row.json") {
        let (id, fields) = (&case["id"], case_fields(&case));
        let stored = bytes(case["bytes"].as_str().unwrap());
        let rows = decode_rows(&binary(std::slice::from_ref(&stored)), &fields).unwrap();
        let mut encoded = encode_rows(&rows, &fields).unwrap().value(0).to_vec();
        // Rows in metadata are all inserts; the kind is not a column.
        encoded[4] = case["row_kind"].as_u64().unwrap_or(0) as u8;
        assert_eq!(encoded, stored, "{id}");
        assert_eq!(values(rows)[0], case["row"], "{id}");
    }
}

#[test]
fn hostile_rows() {
    for case in cases("paimon_binary_row_hostile.json") {
        let (id, expect) = (&case["id"], &case["expect"]);
        let stored = bytes(case["bytes"].as_str().unwrap());
        match decode(&stored, &case_fields(&case)) {
            Ok(row) => assert!(row == expect["row"] || row == expect["row_or_error"], "{id}: {row}"),
            Err(error) => {
                let kinds = expect["error"].as_array().unwrap_or_else(|| panic!("{id}: {error}"));
                assert!(kinds.contains(&json!(error.kind().name())), "{id}: {error}");
            }
        }
    }
}
