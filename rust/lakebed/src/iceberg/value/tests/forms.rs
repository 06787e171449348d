use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, LargeBinaryArray, TimestampMicrosecondArray};
use arrow_schema::{DataType, TimeUnit};

use crate::error::ErrorKind;
use crate::iceberg::value::{decode_values, encode_values};

fn round_trip(bytes: &[u8], to: &DataType) -> ArrayRef {
    let values: ArrayRef = Arc::new(BinaryArray::from(vec![Some(bytes), None]));
    let decoded = decode_values(&values, to).expect("values");
    assert_eq!(decoded.data_type(), to);
    assert!(decoded.is_null(1));
    assert_eq!(&encode_values(&decoded).expect("bytes"), values.as_binary::<i32>(), "{to}");
    let large: ArrayRef = Arc::new(values.as_binary::<i32>().iter().collect::<LargeBinaryArray>());
    assert_eq!(&decode_values(&large, to).expect("values"), &decoded);
    decoded
}

#[test]
fn values_are_read_as_the_named_type() {
    let long = 7_i64.to_le_bytes();
    for to in [
        DataType::Int64,
        DataType::Float64,
        DataType::Time64(TimeUnit::Microsecond),
        DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Berlin".into())),
        DataType::Utf8,
        DataType::LargeUtf8,
        DataType::Binary,
        DataType::LargeBinary,
        DataType::FixedSizeBinary(8),
    ] {
        round_trip(&long, &to);
    }
    round_trip(&[1], &DataType::Boolean);
    round_trip(&[0xff, 0x7f], &DataType::Decimal128(3, 2));
    let uuid = round_trip(&[9; 16], &DataType::FixedSizeBinary(16));
    assert_eq!(uuid.as_fixed_size_binary().value(0), [9; 16]);
}

#[test]
fn slices_are_read_from_where_they_begin() {
    let stamps = TimestampMicrosecondArray::from(vec![Some(1), None, Some(3)]).with_timezone("+02:00");
    let slice: ArrayRef = Arc::new(stamps.slice(1, 2));
    let bytes = encode_values(&slice).unwrap();
    let back = decode_values(&(Arc::new(bytes) as ArrayRef), slice.data_type()).unwrap();
    assert_eq!(&back, &slice);
}

#[test]
fn arrow_types_without_single_values() {
    let values: ArrayRef = Arc::new(BinaryArray::new_null(1));
    for to in [
        DataType::Int8,
        DataType::UInt32,
        DataType::Null,
        DataType::Date64,
        DataType::Timestamp(TimeUnit::Millisecond, None),
        DataType::new_list(DataType::Int32, true),
    ] {
        assert_eq!(decode_values(&values, &to).expect_err("refused").kind(), ErrorKind::Argument, "{to}");
        let nulls = arrow_array::new_null_array(&to, 1);
        assert_eq!(encode_values(&nulls).expect_err("refused").kind(), ErrorKind::Argument, "{to}");
    }
    let texts = arrow_array::new_null_array(&DataType::Utf8, 1);
    assert_eq!(decode_values(&texts, &DataType::Int32).expect_err("text").kind(), ErrorKind::Argument);
}
