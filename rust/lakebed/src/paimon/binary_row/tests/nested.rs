//! Values within values.

use std::collections::HashMap;

use arrow_array::builder::*;
use arrow_array::*;

use super::*;

fn list(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("element", element, true)))
}

fn map(key: DataType, value: DataType) -> DataType {
    let pair = vec![Field::new("key", key, false), Field::new("value", value, true)];
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(pair.into()), false)), false)
}

fn row(types: &[DataType]) -> DataType {
    DataType::Struct(fields(types))
}

fn vector(element: DataType, size: i32) -> DataType {
    DataType::FixedSizeList(Arc::new(Field::new("element", element, true)), size)
}

fn variant() -> Fields {
    let parts =
        vec![Field::new("value", DataType::Binary, false), Field::new("metadata", DataType::Binary, false)];
    let marked = HashMap::from([("paimon.type".to_owned(), "VARIANT".to_owned())]);
    vec![Field::new("f0", DataType::Struct(parts.into()), true).with_metadata(marked)].into()
}

/// A row whose only field is the nested value `hex` of `size` bytes.
fn holder(size: &str, hex: &str) -> String {
    format!("00000001 0000000000000000 {size}000000 10000000 {hex}")
}

#[test]
fn arrays() {
    both_ways(
        &fields(&[list(DataType::Int32)]),
        &holder("10", "01000000 00000000 00000000 00000000"),
        json!([[0]]),
    );
    both_ways(
        &fields(&[list(DataType::Utf8)]),
        &holder("18", "02000000 00000000 6578747261310086 6578747261320086"),
        json!([["extra1", "extra2"]]),
    );
    both_ways(
        &fields(&[list(DataType::Int64)]),
        &holder(
            "28",
            "04000000 00000000 0f00000000000000 6400000000000000 9600000000000000 c800000000000000",
        ),
        json!([[15, 100, 150, 200]]),
    );
    both_ways(&fields(&[list(DataType::Int8)]), &holder("08", "0000000000000000"), json!([[]]));
    both_ways(
        &fields(&[list(DataType::Int8)]),
        &holder("10", "03000000 02000000 ff 00 07 0000000000"),
        json!([[-1, null, 7]]),
    );
    both_ways(
        &fields(&[list(DataType::Boolean), DataType::Int8]),
        "00000002 0000000000000000 1000000018000000 0900000000000000 02000000 00000000 0001000000000000",
        json!([[false, true], 9]),
    );
}

#[test]
fn nulls_in_arrays_take_no_place() {
    both_ways(
        &fields(&[list(DataType::Decimal128(20, 0))]),
        &holder("28", "02000000 01000000 0000000000000000 0100000018000000 07000000000000000000000000000000"),
        json!([[null, "7"]]),
    );
    both_ways(
        &fields(&[list(timestamp(TimeUnit::Nanosecond))]),
        &holder("20", "02000000 01000000 0000000000000000 0500000018000000 0100000000000000"),
        json!([[null, {"millis": 1, "nanos_of_milli": 5}]]),
    );
}

#[test]
fn maps() {
    let hex = "10000000 01000000 00000000 01000000 00000000 01000000 00000000 0a000000 00000000 00000000";
    both_ways(&fields(&[map(DataType::Int32, DataType::Int32)]), &holder("24", hex), json!([[[1, 10]]]));
    let empty = "08000000 0000000000000000 0000000000000000 00000000";
    both_ways(&fields(&[map(DataType::Utf8, row(&[]))]), &holder("14", empty), json!([[]]));
}

#[test]
fn rows_within_rows() {
    let type_ = row(&[row(&[DataType::Int32])]);
    let hex = "0000000000000000 1000000010000000 0000000000000000 0500000000000000";
    both_ways(&fields(&[type_]), &holder("20", hex), json!([[[5]]]));
    // A null has its bytes in the variable-length part here too.
    let hex = "0001000000000000 0000000010000000 0000000000000000";
    let type_ = row(&[timestamp(TimeUnit::Microsecond)]);
    both_ways(&fields(&[type_]), &holder("18", hex), json!([[null]]));
}

#[test]
fn vectors() {
    let pair = fields(&[vector(DataType::Float32, 2)]);
    both_ways(&pair, &holder("0c", "02000000 0000803f 00000040 00000000"), json!([[1.0, 2.0]]));
    assert_eq!(
        refusal(&bytes(&holder("08", "01000000 0000803f")), &pair),
        ErrorKind::Length,
        "another length than the type's"
    );
    let mut builder = FixedSizeListBuilder::new(Int16Builder::new(), 2).with_field(Field::new(
        "element",
        DataType::Int16,
        true,
    ));
    for value in [Some([1, 2]), None, Some([3, 4])] {
        builder.values().append_slice(&value.unwrap_or_default());
        builder.append(value.is_some());
    }
    let rows = struct_of(Arc::new(builder.finish()));
    let fields = rows.fields().clone();
    let stored = encode_rows(&rows, &fields).unwrap();
    let expected = [json!([[1, 2]]), json!([null]), json!([[3, 4]])];
    assert_eq!(values(decode_rows(&stored, &fields).unwrap()), expected);
}

#[test]
fn nulls_of_long_vectors_are_bounded() {
    let long = fields(&[vector(DataType::Float64, i32::MAX)]);
    let null = bytes("00000001 0001000000000000 0000000000000000");
    assert_eq!(refusal(&null, &long), ErrorKind::Length);
}

#[test]
fn variants() {
    both_ways(&variant(), &holder("09", "02000000 0c05 010000 00000000000000"), json!([["0c05", "010000"]]));
    both_ways(&variant(), "00000001 0001000000000000 0000000000000000", json!([null]));
    assert_eq!(refusal(&bytes(&holder("08", "05000000 0c050100")), &variant()), ErrorKind::Length);

    let halves: Vec<(_, ArrayRef)> = vec![
        ("value", Arc::new(BinaryArray::from(vec![Some(b"v".as_ref()), None]))),
        ("metadata", Arc::new(BinaryArray::from(vec![b"m".as_ref(), b"m"]))),
    ];
    let rows = struct_of(Arc::new(StructArray::try_from(halves).unwrap()));
    let error = encode_rows(&rows, &variant()).unwrap_err();
    assert_eq!((error.kind(), error.location().record), (ErrorKind::Required, Some(1)));

    let text: ArrayRef = Arc::new(StringArray::from(vec!["v"]));
    let halves = vec![("value", text.clone()), ("metadata", text)];
    let rows = struct_of(Arc::new(StructArray::try_from(halves).unwrap()));
    let error = encode_rows(&rows, &variant()).unwrap_err();
    assert_eq!((error.kind(), error.location().field.as_deref()), (ErrorKind::Argument, Some("f0")));
}

#[test]
fn not_a_number_is_canonical_in_arrays_alone() {
    let floats = [f32::from_bits(0x7fc0_0001), f32::from_bits(0xffc0_0000)];
    let mut arrays = ListBuilder::new(Float32Builder::new());
    arrays.values().append_slice(&floats);
    arrays.append(true);
    let mut vectors = FixedSizeListBuilder::new(Float32Builder::new(), 2);
    vectors.values().append_slice(&floats);
    vectors.append(true);
    let rows = struct_of(Arc::new(arrays.finish()));
    let stored = encode_rows(&rows, rows.fields()).unwrap();
    assert_eq!(stored.value(0)[28..], bytes("0000c07f 0000c07f"));
    let rows = struct_of(Arc::new(vectors.finish()));
    let stored = encode_rows(&rows, rows.fields()).unwrap();
    assert_eq!(stored.value(0)[24..], bytes("0100c07f 0000c0ff 00000000"));
}

#[test]
fn counts_and_lengths_are_checked() {
    let ints = fields(&[list(DataType::Int32)]);
    let strings = fields(&[list(DataType::Utf8)]);
    let pairs = fields(&[map(DataType::Int32, DataType::Int32)]);
    let inner = fields(&[row(&[DataType::Int32, DataType::Int32])]);
    let cases = [
        (&ints, "08", "ffffffff 00000000", ErrorKind::Length, "negative count"),
        (&ints, "08", "ffffff7f 00000000", ErrorKind::RowTruncated, "count beyond the bytes"),
        (&ints, "02", "0100 000000000000", ErrorKind::RowTruncated, "half a count"),
        (&strings, "10", "01000000 00000000 1000000000000000", ErrorKind::Offset, "element in the header"),
        (&strings, "10", "01000000 00000000 0800000010000000", ErrorKind::Offset, "element past the array"),
        (&pairs, "08", "ffffffff 00000000", ErrorKind::Length, "negative key length"),
        (&pairs, "08", "05000000 00000000", ErrorKind::Length, "keys longer than the map"),
        (
            &pairs,
            "20",
            "10000000 01000000 00000000 01000000 00000000 00000000 00000000 00000000",
            ErrorKind::Length,
            "a key without a value",
        ),
        (&inner, "10", "0000000000000000 0000000000000000", ErrorKind::RowTruncated, "a row too short"),
        (
            &inner,
            "18",
            "0400000000000000 0000000000000000 0000000000000000",
            ErrorKind::RowKind,
            "row kind 4",
        ),
    ];
    for (fields, size, hex, kind, why) in cases {
        let error = decode(&bytes(&holder(size, hex)), fields).unwrap_err();
        assert_eq!(error.kind(), kind, "{why}");
        assert_eq!(error.location().record, Some(0), "{why}");
        let field = error.location().field.as_deref().unwrap();
        assert!(field.starts_with("f0"), "{why}: {field}");
    }
}

#[test]
fn values_that_overlap_are_refused() {
    // Many elements that refer to the same many bytes: a small input with a large output.
    let (count, payload) = (64_usize, 4096_usize);
    let fixed = 4 + 8 + 8 * count;
    let mut array = (count as u32).to_le_bytes().to_vec();
    array.resize(12, 0);
    for _ in 0..count {
        array.extend_from_slice(&(payload as u32).to_le_bytes());
        array.extend_from_slice(&(fixed as u32).to_le_bytes());
    }
    array.resize(fixed + payload, b'a');
    let mut stored = bytes("00000001 0000000000000000");
    stored.extend_from_slice(&(array.len() as u32).to_le_bytes());
    stored.extend_from_slice(&16_u32.to_le_bytes());
    stored.extend_from_slice(&array);
    let error = decode(&stored, &fields(&[list(DataType::Utf8)])).unwrap_err();
    assert_eq!((error.kind(), error.location().field.as_deref()), (ErrorKind::Length, Some("f0.element")));
}

#[test]
fn errors_name_row_and_path() {
    let deep = fields(&[row(&[list(DataType::Boolean)])]);
    let rows = [0, 2].map(|flag| {
        let hex = format!(
            "00000001 0000000000000000 2000000010000000
            0000000000000000 1000000010000000 01000000 00000000 0{flag}00000000000000"
        );
        bytes(&hex)
    });
    let error = decode_rows(&binary(&rows), &deep).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Boolean);
    assert_eq!(error.location().record, Some(1));
    assert_eq!(error.location().field.as_deref(), Some("f0.f0.element"));
}

#[test]
fn members_that_must_not_be_null() {
    let pair = vec![Field::new("a", DataType::Int32, false)];
    let optional: Fields = vec![Field::new("r", DataType::Struct(pair.into()), true)].into();
    // Where the row itself is null, its fields need no values.
    both_ways(&optional, "00000001 0001000000000000 0000000000000000", json!([null]));
    let inner = holder("10", "0001000000000000 0000000000000000");
    let error = decode(&bytes(&inner), &optional).unwrap_err();
    assert_eq!((error.kind(), error.location().field.as_deref()), (ErrorKind::Required, Some("r.a")));
    let keys = "10000000 01000000 01000000 00000000 00000000 01000000 00000000 00000000 00000000 00000000";
    let error = decode(&bytes(&holder("24", keys)), &fields(&[map(DataType::Int32, DataType::Int32)]));
    let error = error.unwrap_err();
    assert_eq!((error.kind(), error.location().field.as_deref()), (ErrorKind::Required, Some("f0.key")));
}

#[test]
fn unknown_types_are_named_at_any_depth() {
    let types = [
        list(DataType::UInt32),
        row(&[list(DataType::Null)]),
        vector(DataType::Utf8, 2),
        DataType::LargeUtf8,
        DataType::Time32(TimeUnit::Second),
        DataType::Decimal128(99, 0),
    ];
    for data_type in types {
        let none = BinaryArray::from_iter_values(std::iter::empty::<&[u8]>());
        let error = decode_rows(&none, &fields(std::slice::from_ref(&data_type))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{data_type}");
        assert!(error.location().field.as_deref().unwrap().starts_with("f0"), "{data_type}");
    }
}

fn struct_of(column: ArrayRef) -> StructArray {
    let fields = fields(&[column.data_type().clone()]);
    StructArray::try_new(fields, vec![column], None).unwrap()
}
