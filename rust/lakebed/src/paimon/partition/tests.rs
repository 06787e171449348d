use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, StringArray, Time32MillisecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampNanosecondArray,
};
use arrow_schema::{Field, Fields};
use serde_json::{Value, json};

use super::*;
use crate::paimon::schema::TableSchema;
use crate::paimon::types::DataType;
use crate::test_data;
use crate::text::days_from_civil;

fn field(name: &str, ty: &str) -> DataField {
    let ty = DataType::from_json(&json!(ty)).expect("a type");
    DataField { id: 0, name: name.to_owned(), ty, description: None, default_value: None }
}

fn folders(columns: Vec<(DataField, ArrayRef)>, legacy: bool) -> Result<Vec<String>> {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let arrow = fields.iter().zip(&arrays).map(|(field, array): (&DataField, &ArrayRef)| {
        Field::new(field.name.as_str(), array.data_type().clone(), true)
    });
    let rows = StructArray::new(arrow.collect::<Fields>(), arrays, None);
    partition_folders(&rows, &fields, DEFAULT_PARTITION, legacy)
}

fn one(ty: &str, array: impl Array + 'static, legacy: bool) -> Vec<String> {
    folders(vec![(field("p", ty), Arc::new(array))], legacy).expect("folders")
}

#[test]
fn escaping_is_reversible() {
    for (plain, escaped) in [
        ("a/b=c%d", "a%2Fb%3Dc%25d"),
        ("\"#%'*/:=?\\{}[]^", "%22%23%25%27%2A%2F%3A%3D%3F%5C%7B%7D%5B%5D%5E"),
        ("\0\u{1f}\u{7f}", "%00%1F%7F"),
        ("a b+é,&~日", "a b+é,&~日"),
        ("", ""),
    ] {
        assert_eq!(escape(plain), escaped);
        assert_eq!(unescape(escaped), plain);
    }
    for kept in ["%", "%2", "%zz", "%é", "100%", "%+1"] {
        assert_eq!(unescape(kept), kept);
    }
    assert_eq!(unescape("%2f%%41"), "/%A");
}

#[test]
fn null_empty_and_blank_share_a_folder() {
    let values = StringArray::from(vec![None, Some(""), Some(" \t\u{1c}"), Some("\u{a0}"), Some("x")]);
    let default = "p=__DEFAULT_PARTITION__/";
    assert_eq!(one("STRING", values, true), [default, default, default, "p=\u{a0}/", "p=x/"]);
}

#[test]
fn legacy_and_cast_texts() {
    let date = || Date32Array::from(vec![19_782]);
    assert_eq!(
        (one("DATE", date(), true), one("DATE", date(), false)),
        (vec!["p=19782/".into()], vec!["p=2024-02-29/".into()])
    );
    let time = || Time32MillisecondArray::from(vec![3_723_004]);
    assert_eq!(one("TIME(3)", time(), true), ["p=3723004/"]);
    assert_eq!(one("TIME(3)", time(), false), ["p=01%3A02%3A03.004/"]);
    let nanos = || TimestampNanosecondArray::from(vec![1_500_000_000]);
    assert_eq!(one("TIMESTAMP(7)", nanos(), true), ["p=1970-01-01T00%3A00%3A01.500/"]);
    assert_eq!(one("TIMESTAMP(7)", nanos(), false), ["p=1970-01-01 00%3A00%3A01.5000000/"]);
    assert_eq!(one("BYTES", BinaryArray::from_vec(vec![b"a\xff"]), false), ["p=a\u{fffd}/"]);
    assert_eq!(one("BYTES", BinaryArray::from(vec![None::<&[u8]>]), true), ["p=__DEFAULT_PARTITION__/"]);
    assert_eq!(one("DOUBLE", Float64Array::from(vec![f64::NAN, 1e10]), true), ["p=NaN/", "p=1.0E10/"]);
}

#[test]
fn values_that_cannot_be_partitions_are_refused() {
    let bytes = || Arc::new(BinaryArray::from_vec(vec![b"a"])) as ArrayRef;
    let kind = |ty: &str, array, legacy| folders(vec![(field("p", ty), array)], legacy).expect_err(ty).kind();
    assert_eq!(kind("BYTES", bytes(), true), ErrorKind::Unsupported);
    assert_eq!(kind("BLOB", bytes(), false), ErrorKind::Unsupported);
    assert_eq!(kind("INT", bytes(), true), ErrorKind::Argument);
    let rows = StructArray::new_empty_fields(2, None);
    assert_eq!(partition_folders(&rows, &[], DEFAULT_PARTITION, true).expect("none"), ["", ""]);
    let error = partition_folders(&rows, &[field("p", "INT")], DEFAULT_PARTITION, true);
    assert_eq!(error.expect_err("a column too few").kind(), ErrorKind::Argument);
}

/// Days, and nanoseconds of the day, of `YYYY-MM-DD`, `HH:MM:SS.f` or both with a `T` between.
fn instant(text: &str) -> (i64, i64) {
    let text = text.trim_end_matches('Z');
    let (date, time) =
        text.split_once('T').unwrap_or(if text.contains(':') { ("", text) } else { (text, "") });
    let number = |part: Option<&str>| part.map_or(0, |part| part.parse().expect("a number"));
    let mut parts = date.rsplitn(3, '-');
    let (day, month, year) =
        (number(parts.next().filter(|part| !part.is_empty())), parts.next(), parts.next());
    let days = if date.is_empty() { 0 } else { days_from_civil(number(year), number(month), day) };
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let clock = clock.split(':').filter(|part| !part.is_empty());
    let seconds: i64 = clock.fold(0, |sum, part| sum * 60 + number(Some(part)));
    let seconds = seconds * if time.is_empty() { 0 } else { 1 };
    (days, seconds * 1_000_000_000 + number(Some(&format!("{fraction:0<9}"))))
}

fn nanos(text: &str) -> i64 {
    let (days, nanos) = instant(text);
    days * 86_400_000_000_000 + nanos
}

/// One value in the canonical text of the golden tables, as an array of its storage type.
fn storage(kind: &TypeKind, text: Option<&str>) -> Option<ArrayRef> {
    fn parsed<T: std::str::FromStr>(text: &str) -> T {
        text.parse().ok().expect("a value")
    }
    Some(match kind {
        TypeKind::Boolean => Arc::new(BooleanArray::from(vec![text.map(parsed)])),
        TypeKind::TinyInt => Arc::new(Int8Array::from(vec![text.map(parsed)])),
        TypeKind::SmallInt => Arc::new(Int16Array::from(vec![text.map(parsed)])),
        TypeKind::Int => Arc::new(Int32Array::from(vec![text.map(parsed)])),
        TypeKind::BigInt => Arc::new(Int64Array::from(vec![text.map(parsed)])),
        TypeKind::Float => Arc::new(Float32Array::from(vec![text.map(parsed)])),
        TypeKind::Double => Arc::new(Float64Array::from(vec![text.map(parsed)])),
        TypeKind::Char(_) | TypeKind::VarChar(_) => Arc::new(StringArray::from(vec![text])),
        TypeKind::Decimal { precision, scale } => {
            let unscaled = text.map(|text| parsed(&text.replace('.', "")));
            let array = Decimal128Array::from(vec![unscaled]);
            Arc::new(array.with_precision_and_scale(*precision, *scale).expect("a decimal"))
        }
        TypeKind::Date => {
            let days = |text| i32::try_from(instant(text).0).expect("a day");
            Arc::new(Date32Array::from(vec![text.map(days)]))
        }
        TypeKind::Time(_) => {
            let millis = |text| i32::try_from(instant(text).1 / 1_000_000).expect("a time");
            Arc::new(Time32MillisecondArray::from(vec![text.map(millis)]))
        }
        TypeKind::Timestamp(precision) | TypeKind::LocalZonedTimestamp(precision) => {
            let zone = matches!(kind, TypeKind::LocalZonedTimestamp(_)).then_some("UTC");
            let in_unit = |unit: i64| vec![text.map(|text| nanos(text).div_euclid(unit))];
            match precision {
                0..=3 => {
                    Arc::new(TimestampMillisecondArray::from(in_unit(1_000_000)).with_timezone_opt(zone))
                }
                4..=6 => Arc::new(TimestampMicrosecondArray::from(in_unit(1_000)).with_timezone_opt(zone)),
                _ => Arc::new(TimestampNanosecondArray::from(in_unit(1)).with_timezone_opt(zone)),
            }
        }
        _ => return None,
    })
}

fn lines(path: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The engine's file paths of one golden table against folders computed from its entries.
fn check_table(table: &std::path::Path, expected: &std::path::Path) -> usize {
    let Ok(bytes) = fs::read(table.join("schema/schema-0")) else { return 0 };
    let schema = TableSchema::from_json(&bytes).expect("a schema");
    let fields: Vec<DataField> = schema.partition_fields().into_iter().cloned().collect();
    if fields.is_empty() {
        return 0;
    }
    let legacy = schema.option("partition.legacy-name") != Some("false");
    let default = schema.option("partition.default-name").unwrap_or(DEFAULT_PARTITION);
    let mut folders = HashMap::new();
    for entry in lines(&expected.join("entries.jsonl")) {
        let values = fields.iter().map(|field| {
            let array = storage(&field.ty.kind, entry["partition"][&field.name].as_str()).expect("a type");
            (Arc::new(field.ty.storage_field(&field.name).with_nullable(true)), array)
        });
        let rows = StructArray::from(values.collect::<Vec<_>>());
        let folder = partition_folders(&rows, &fields, default, legacy).expect("folders").remove(0);
        folders.insert(entry["file_name"].as_str().expect("a name").to_owned(), folder);
    }
    let mut checked = 0;
    for file in lines(&expected.join("sys/files.jsonl")) {
        let path = file["file_path"].as_str().expect("a path");
        let (_, name) = path.rsplit_once('/').expect("a name");
        let wanted =
            format!("/{}bucket-{}/{name}", folders[name], file["bucket"].as_str().expect("a bucket"));
        assert!(path.ends_with(&wanted), "{path} does not end with {wanted}");
        checked += 1;
    }
    checked
}

#[test]
fn folders_are_those_of_the_engine() {
    let Some(root) = test_data::shared().map(|root| root.join("data/golden/paimon")) else { return };
    let mut checked = 0;
    for table in fs::read_dir(&root).into_iter().flatten().flatten() {
        checked += check_table(&table.path(), &root.join("expected").join(table.file_name()));
    }
    assert!(checked > 0 || !root.is_dir(), "no partitioned table was found");
}
