//! Values in slots and in the variable-length part: rows of real tables, byte for byte.

use arrow_array::*;

use super::*;

const NINE: &str = "DATE DECIMAL(10,2) DECIMAL(20,2) TIMESTAMP(3) TIMESTAMP(6) BOOLEAN TINYINT BIGINT STRING";

fn at(millis: i64, nanos: i64) -> Value {
    json!({"millis": millis, "nanos_of_milli": nanos})
}

#[test]
fn partitions() {
    both_ways(&sql_fields(""), "00000000 0000000000000000", json!([]));
    both_ways(&sql_fields("INT"), "00000001 0000000000000000 0a00000000000000", json!([10]));
    both_ways(
        &sql_fields("INT INT"),
        "00000002 0000000000000000 0000000000000000 0100000000000000",
        json!([0, 1]),
    );
    let string = sql_fields("STRING");
    both_ways(&string, "00000001 0001000000000000 0000000000000000", json!([null]));
    both_ways(&string, "00000001 0000000000000000 0000000000000080", json!([""]));
    both_ways(&string, "00000001 0000000000000000 2000000000000081", json!([" "]));
    both_ways(&string, "00000001 0000000000000000 3230323400000084", json!(["2024"]));
    both_ways(&string, "00000001 0000000000000000 0800000010000000 3230323430373235", json!(["20240725"]));
    both_ways(
        &sql_fields("STRING INT"),
        "00000002 0000000000000000 0a00000018000000 0a00000000000000 323032352d30342d 3134000000000000",
        json!(["2025-04-14", 10]),
    );
}

#[test]
fn partition_of_nine_types() {
    let nine = sql_fields(NINE);
    let first = "00000009 0000000000000000 464d000000000000 d204000000000000 0900000050000000
        2edb20c88c010000 88bf0d0060000000 0100000000000000 fb00000000000000 ffffffffffffffff
        73686f7274000085 ff76ef78471c48f3 4f00000000000000 2edb20c88c010000";
    let millis = 1_704_164_645_678;
    let row = json!([
        19782,
        "12.34",
        "-98765432109876543.21",
        at(millis, 0),
        at(millis, 901_000),
        true,
        -5,
        -1,
        "short"
    ]);
    both_ways(&nine, first, row);
    let second = "00000009 0000000000000000 ffffffff00000000 ffffffffffffffff 0100000050000000
        ffffffffffffffff 583e0f0060000000 0000000000000000 7f00000000000000 ffffffffffffff7f
        1400000068000000 0000000000000000 0000000000000000 ffffffffffffffff
        6c6f6e6765722074 68616e2073657665 6e20c3a900000000";
    let row =
        json!([-1, "-0.01", "0.00", at(-1, 0), at(-1, 999_000), false, 127, i64::MAX, "longer than seven é"]);
    both_ways(&nine, second, row);
}

#[test]
fn nulls_keep_their_place_in_java_and_need_not_elsewhere() {
    let nine = sql_fields(NINE);
    let nulls = json!([null, null, null, null, null, null, null, null, null]);
    let java = format!(
        "00000009 00ff010000000000 {zero}{zero} 0000000050000000 {zero} 0000000060000000 {zero}{zero}{zero}{zero}
        {zero}{zero}{zero}",
        zero = "0000000000000000"
    );
    both_ways(&nine, &java, nulls.clone());
    let python = format!("00000009 00ff010000000000 {}", "00".repeat(72));
    reads_as(&nine, &python, nulls);
}

#[test]
fn statistics() {
    let types = "INT INT DATE TIMESTAMP(9) DECIMAL(23,5) BYTES";
    both_ways(
        &sql_fields(types),
        "00000006 0020000000000000 1400000000000000 0100000000000000 2efbffff00000000 e903000038000000
        0a00000040000000 0000000000000000 41028756f6fdffff fd62bd4958d56238 f8f2000000000000",
        json!([20, 1, -1234, at(-2_240_521_239_999, 1001), "-123456789987654321.45678", null]),
    );
    both_ways(
        &sql_fields(types),
        "00000006 | 0028000000000000 | 1400000000000000 | 0000000000000000 | 9cffffff00000000 |
        0000000038000000 | 0100000040000000 | 0000000000000000 | 0000000000000000 |
        0000000000000000 0000000000000000",
        json!([20, 0, -100, null, "0.00000", null]),
    );
    both_ways(
        &sql_fields(
            "TIMESTAMP(0) TIMESTAMP(3) TIMESTAMP(6) TIMESTAMP(9)
            TIMESTAMP_LTZ(0) TIMESTAMP_LTZ(3) TIMESTAMP_LTZ(6) TIMESTAMP_LTZ(9)",
        ),
        &format!(
            "00000008 | 0088000000000000 | e803000000000000 | 0100000000000000 | e803000048000000 |
            0000000050000000 | d007000000000000 | 0200000000000000 | d007000058000000 | 0000000060000000 | {}",
            "00".repeat(32)
        ),
        json!([at(1000, 0), at(1, 0), at(0, 1000), null, at(2000, 0), at(2, 0), at(0, 2000), null]),
    );
    both_ways(
        &sql_fields("INT INT STRING TIMESTAMP(9) DECIMAL(5,2) STRING DATE INT"),
        "00000008 | 0008000000000000 | 0000000000000000 | 0100000000000000 | 3132300000000083 |
        0000000048000000 | ae08000000000000 | 6e4f000000000082 | bc01000000000000 | 2300000000000000 |
        0000000000000000",
        json!([0, 1, "120", null, "22.22", "nO", 444, 35]),
    );
    // A C++ writer: the null timestamp has no bytes in the variable-length part.
    reads_as(
        &sql_fields(
            "BOOLEAN TINYINT SMALLINT INT BIGINT FLOAT DOUBLE STRING BYTES TIMESTAMP(9) DECIMAL(2,2) DATE",
        ),
        "0000000c | 0000030000000000 | 0000000000000000 | 1f00000000000000 | 2e01000000000000 |
        e193040000000000 | 015ed0b200000000 | 6666464000000000 | b844000000c07240 | 7333310000000083 |
        0000000000000000 | 0000000000000000 | 5100000000000000 | 5b00000000000000",
        json!([
            false,
            31,
            302,
            300_001,
            3_000_000_001_i64,
            f64::from(3.1_f32),
            300.000_000_001,
            "s31",
            null,
            null,
            "0.81",
            91
        ]),
    );
}

#[test]
fn keys() {
    let pair = sql_fields("STRING INT");
    let words = "Two roads diverged in a wood, and I took the one less traveled by, ".repeat(2);
    let words = &words[..104];
    let hex: String = words.bytes().map(|byte| format!("{byte:02x}")).collect();
    let stored = format!("00000002 0000000000000000 6800000018000000 0100000000000000 {hex}");
    both_ways(&pair, &stored, json!([words, 1]));
    assert_eq!(bytes(&stored).len(), 132);
    both_ways(
        &pair,
        "00000002 0000000000000000 1000000018000000 0100000000000000 54776f20726f6164 7320646976657268",
        json!(["Two roads diverh", 1]),
    );
    both_ways(
        &sql_fields("STRING"),
        "00000001 0000000000000000 0900000010000000 6d696e5f76616c75 6500000000000000",
        json!(["min_value"]),
    );
    both_ways(&sql_fields("STRING"), "00000001 0000000000000000 6d795f66696c6587", json!(["my_file"]));
    both_ways(&pair, "00000002 0000000000000000 416c696365000085 0100000000000000", json!(["Alice", 1]));
    both_ways(
        &sql_fields("STRING INT INT DOUBLE"),
        "00000004 0000000000000000 416c696365000085 0a00000000000000 0100000000000000 0000000000002640",
        json!(["Alice", 10, 1, 11.0]),
    );
}

#[test]
fn null_bits_grow_by_whole_slots() {
    for (arity, header) in [(0, 8), (56, 8), (57, 16), (64, 16), (120, 16), (121, 24)] {
        let fields = fields(&vec![DataType::Int32; arity]);
        let columns: Vec<ArrayRef> = (0..arity)
            .map(|index| Arc::new(Int32Array::from(vec![Some(index as i32), None])) as ArrayRef)
            .collect();
        let rows = StructArray::try_new_with_length(fields.clone(), columns, None, 2).unwrap();
        let stored = encode_rows(&rows, &fields).unwrap();
        assert_eq!(stored.value(0).len(), 4 + header + 8 * arity, "arity {arity}");
        assert_eq!(super::arity(stored.value(0)).unwrap(), arity);
        let set: u32 = stored.value(1)[4..4 + header].iter().map(|byte| byte.count_ones()).sum();
        assert_eq!((stored.value(1)[4], set as usize), (0, arity), "arity {arity}");
        assert_eq!(decode_rows(&stored, &fields).unwrap(), rows, "arity {arity}");
    }
}

#[test]
fn null_rows_stay_null_and_slices_keep_their_place() {
    let fields = sql_fields("INT STRING");
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![Some(1), Some(2), None, Some(4)])),
        Arc::new(StringArray::from(vec![Some("one"), None, Some("a third value"), Some("four")])),
    ];
    let nulls = vec![true, false, true, true].into();
    let rows = StructArray::try_new(fields.clone(), columns, Some(nulls)).unwrap();
    let stored = encode_rows(&rows, &fields).unwrap();
    assert_eq!(stored.null_count(), 1);
    let expected = [json!([1, "one"]), json!(null), json!([null, "a third value"]), json!([4, "four"])];
    assert_eq!(values(decode_rows(&stored, &fields).unwrap()), expected);
    assert_eq!(values(decode_rows(&stored.slice(1, 3), &fields).unwrap()), expected[1..]);
    assert_eq!(encode_rows(&rows.slice(1, 3), &fields).unwrap(), stored.slice(1, 3));
    let none = decode_rows(&stored.slice(0, 0), &fields).unwrap();
    assert_eq!((none.len(), none.fields()), (0, &fields));
}

#[test]
fn columns_of_rows_of_many_arities() {
    let rows = binary(&[
        bytes("00000001 0000000000000000 0a00000000000000"),
        bytes("00000002 0002000000000000 0b00000000000000 0000000000000000"),
        Vec::new(),
        bytes("00000002 0000000000000000 0000000000000000 0c00000000000000"),
    ]);
    let field = Field::new("n", DataType::Int32, true);
    let places = [Some(0), Some(1), None, Some(1)];
    let column = decode_column(&rows, |row| places[row], &field).unwrap();
    assert_eq!(column.as_primitive::<Int32Type>(), &Int32Array::from(vec![Some(10), None, None, Some(12)]));

    let error = decode_column(&rows, |row| (row == 0).then_some(1), &field).unwrap_err();
    assert_eq!((error.kind(), error.location().record), (ErrorKind::Arity, Some(0)));
    assert_eq!(error.location().field.as_deref(), Some("n"));
    let error = decode_column(&rows, |row| (row != 2).then_some(0), &field.with_nullable(false)).unwrap_err();
    assert_eq!((error.kind(), error.location().record), (ErrorKind::Required, Some(2)));
}

#[test]
fn time_of_day() {
    let time = fields(&[DataType::Time32(TimeUnit::Millisecond)]);
    both_ways(&time, "00000001 0000000000000000 ff5b260500000000", json!([86_399_999]));
}

#[test]
fn seconds_are_whole_and_sums_do_not_wrap() {
    let seconds = fields(&[timestamp(TimeUnit::Second)]);
    both_ways(&seconds, "00000001 0000000000000000 18fcffffffffffff", json!([-1]));
    assert_eq!(refusal(&bytes("00000001 0000000000000000 0100000000000000"), &seconds), ErrorKind::Timestamp);
    let huge: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX / 999]));
    assert_eq!(encode_error(&seconds, huge), ErrorKind::Timestamp);

    let nanos = fields(&[timestamp(TimeUnit::Nanosecond)]);
    let ends: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![i64::MIN, i64::MAX, -1, 0]));
    let rows = StructArray::try_new(nanos.clone(), vec![ends], None).unwrap();
    let stored = encode_rows(&rows, &nanos).unwrap();
    assert_eq!(decode_rows(&stored, &nanos).unwrap(), rows);
    let mut past = stored.value(1).to_vec();
    past[20] += 1;
    assert_eq!(refusal(&past, &nanos), ErrorKind::Timestamp);
    let micros = fields(&[timestamp(TimeUnit::Microsecond)]);
    assert_eq!(refusal(stored.value(1), &micros), ErrorKind::Timestamp, "finer than microseconds");
}

#[test]
fn not_a_number_keeps_its_bits() {
    both_ways_bits("00000001 0000000000000000 0100c07f00000000", "FLOAT");
    both_ways_bits("00000001 0000000000000000 010000000000f8ff", "DOUBLE");
}

fn both_ways_bits(hex: &str, name: &str) {
    let rows = decode_rows(&binary(&[bytes(hex)]), &sql_fields(name)).unwrap();
    assert_eq!(encode_rows(&rows, &sql_fields(name)).unwrap().value(0), bytes(hex));
}

#[test]
fn every_form_of_strings_encodes_alike() {
    let texts = ["", "seven__", "eight___", "longer than seven é"];
    let string = sql_fields("STRING");
    let binary = sql_fields("BYTES");
    let forms: [(&Fields, ArrayRef); 5] = [
        (&string, Arc::new(LargeStringArray::from(texts.to_vec()))),
        (&string, Arc::new(StringViewArray::from(texts.to_vec()))),
        (&binary, Arc::new(LargeBinaryArray::from_iter_values(texts))),
        (&binary, Arc::new(BinaryViewArray::from_iter_values(texts))),
        (&binary, Arc::new(BinaryArray::from_iter_values(texts))),
    ];
    let plain: ArrayRef = Arc::new(StringArray::from(texts.to_vec()));
    let wanted = encode_rows(&StructArray::from(vec![(string[0].clone(), plain)]), &string).unwrap();
    for (fields, form) in forms {
        let own: Fields = vec![Field::new("f0", form.data_type().clone(), true)].into();
        let rows = StructArray::try_new(own.clone(), vec![form], None).unwrap();
        assert_eq!(encode_rows(&rows, fields).unwrap(), wanted);
        assert_eq!(encode_rows(&rows, &own).unwrap(), wanted);
    }
    let fixed: ArrayRef =
        Arc::new(FixedSizeBinaryArray::try_from_iter([b"abcd", b"efgh"].into_iter()).unwrap());
    let rows = StructArray::try_from(vec![("f0", fixed)]).unwrap();
    let stored = encode_rows(&rows, &binary).unwrap();
    assert_eq!(values(decode_rows(&stored, &binary).unwrap()), [json!(["61626364"]), json!(["65666768"])]);
}

#[track_caller]
fn encode_error(fields: &Fields, column: ArrayRef) -> ErrorKind {
    let own: Fields = vec![Field::new("f0", column.data_type().clone(), true)].into();
    let rows = StructArray::try_new(own, vec![column], None).unwrap();
    let error = encode_rows(&rows, fields).unwrap_err();
    assert_eq!(error.location().field.as_deref(), Some("f0"), "{error}");
    error.kind()
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let wide = |precision, value| -> ArrayRef {
        let array = Decimal128Array::from(vec![value]).with_precision_and_scale(precision, 0);
        Arc::new(array.unwrap())
    };
    let decimal = |precision| fields(&[DataType::Decimal128(precision, 0)]);
    assert_eq!(encode_error(&decimal(2), wide(2, 100)), ErrorKind::Decimal);
    assert_eq!(encode_error(&decimal(19), wide(19, -10_i128.pow(19))), ErrorKind::Decimal);
    assert_eq!(encode_error(&decimal(3), wide(2, 1)), ErrorKind::Argument);
    assert_eq!(encode_error(&sql_fields("BIGINT"), Arc::new(Int32Array::from(vec![1]))), ErrorKind::Argument);
    let zoned = TimestampMillisecondArray::from(vec![1]).with_timezone("UTC");
    assert_eq!(encode_error(&sql_fields("TIMESTAMP(3)"), Arc::new(zoned)), ErrorKind::Argument);
    let unsigned = fields(&[DataType::UInt8]);
    assert_eq!(encode_error(&unsigned, Arc::new(UInt8Array::from(vec![1]))), ErrorKind::Argument);
    let required: Fields = vec![Field::new("f0", DataType::Int32, false)].into();
    assert_eq!(encode_error(&required, Arc::new(Int32Array::from(vec![None]))), ErrorKind::Required);

    let null = bytes("00000001 0001000000000000 0000000000000000");
    for (fields, kind) in [(required, ErrorKind::Required), (unsigned, ErrorKind::Argument)] {
        let error = decode(&null, &fields).unwrap_err();
        assert_eq!((error.kind(), error.location().field.as_deref()), (kind, Some("f0")));
    }
    let none = StructArray::new_empty_fields(1, None);
    assert_eq!(encode_rows(&none, &sql_fields("INT")).unwrap_err().kind(), ErrorKind::Argument);
}
