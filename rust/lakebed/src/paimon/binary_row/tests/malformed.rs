//! Rows truncated and changed everywhere: an error or other values, never a panic.

use super::*;

/// Types and one row of each kind of value, with `null` where a null is.
fn samples() -> Vec<(Fields, Vec<u8>)> {
    let string = Field::new("element", DataType::Utf8, true);
    let pair = vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Int64, true)];
    let entries = Field::new("entries", DataType::Struct(pair.into()), false);
    let vector = DataType::FixedSizeList(Arc::new(Field::new("element", DataType::Float32, true)), 2);
    let row = DataType::Struct(fields(&[DataType::Utf8, DataType::List(Arc::new(string.clone()))]));
    let samples = [
        (
            sql_fields("STRING DECIMAL(20,2) TIMESTAMP(9) BOOLEAN INT"),
            "00000005 0000000000000000 0900000030000000 0200000040000000 0500000050000000 0100000000000000
            0a00000000000000 6d696e5f76616c75 6500000000000000 012c000000000000 0000000000000000
            0a00000000000000",
        ),
        (
            fields(&[DataType::List(Arc::new(string))]),
            "00000001 0000000000000000 2800000010000000 02000000 00000000 6578747261310086 0a00000018000000
            6c6f6e6765722074 6861000000000000",
        ),
        (
            fields(&[DataType::Map(Arc::new(entries), false), vector]),
            "00000002 0000000000000000 2400000018000000 0c00000040000000
            10000000 01000000 00000000 6100000000000081 01000000 00000000 0a00000000000000 00000000
            02000000 0000803f 00000040 00000000",
        ),
        (
            fields(&[row]),
            "00000001 0000000000000000 2800000010000000
            0000000000000000 6100000000000081 1000000018000000 01000000 00000000 6200000000000081",
        ),
    ];
    samples.map(|(fields, hex)| (fields, bytes(hex))).to_vec()
}

#[test]
fn every_prefix_is_refused() {
    for (fields, row) in samples() {
        decode(&row, &fields).unwrap();
        // Padding at the very end is not checked; everything else is.
        let needed = row.len() - row.iter().rev().take_while(|byte| **byte == 0).count();
        for length in 0..row.len() {
            match decode(&row[..length], &fields) {
                Err(error) => assert_eq!(error.location().record, Some(0), "{length}: {error}"),
                Ok(_) => assert!(length >= needed, "{length} of {} bytes: {fields:?}", row.len()),
            }
        }
    }
}

#[test]
fn bent_rows_do_not_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as usize
    };
    for (fields, row) in samples() {
        let mut refused = 0;
        for _ in 0..20_000 {
            let mut bent = row.clone();
            for _ in 0..1 + random() % 3 {
                let at = random() % bent.len();
                bent[at] ^= 1 << (random() % 8);
            }
            match decode_rows(&binary(&[row.clone(), bent]), &fields) {
                // Rows that can be read can be written, and read again.
                Ok(rows) => {
                    let stored = encode_rows(&rows, &fields).unwrap();
                    assert_eq!(decode_rows(&stored, &fields).unwrap(), rows);
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.location().record, Some(1), "{error}");
                }
            }
        }
        assert!(refused > 1000, "{refused} refused: {fields:?}");
    }
}

#[test]
fn malformed_headers() {
    let int = sql_fields("INT");
    let row = |hex| bytes(hex);
    assert_eq!(refusal(&row("ffffffff 0000000000000000 0000000000000000"), &int), ErrorKind::Arity);
    assert_eq!(refusal(&row("7fffffff 0000000000000000 0000000000000000"), &int), ErrorKind::Arity);
    let huge = binary(&[row("7fffffff 0000000000000000 0000000000000000")]);
    let error = decode_column(&huge, |_| Some(0), &int[0]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RowTruncated, "here the row's own arity counts");
    assert_eq!(refusal(&row("00000001 0400000000000000 0000000000000000"), &int), ErrorKind::RowKind);
    reads_as(&int, "00000001 0300000000000000 0100000000000000", json!([1]));
    assert_eq!(arity(&[0, 0, 0]).unwrap_err().kind(), ErrorKind::RowTruncated);
    assert_eq!(arity(&[0x80, 0, 0, 0]).unwrap_err().kind(), ErrorKind::Arity);
}
