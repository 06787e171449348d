//! Times Paimon's BinaryRows of 12 columns, decoded and encoded, in values: `cargo bench -p lakebed`.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array, Int64Array, StringArray,
    StructArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lakebed::paimon::binary_row::{decode_rows, encode_rows};

const ROWS: i64 = 10_000;

/// The columns of a common fact table, with a null in each but the first two.
fn rows() -> StructArray {
    fn each<T>(value: impl Fn(i64) -> T) -> impl Iterator<Item = Option<T>> {
        (0..ROWS).map(move |row| (row % 17 != 3).then(|| value(row * 7919 % 1_000_003)))
    }
    let text = |prefix: &str| -> ArrayRef {
        Arc::new(each(|value| format!("{prefix}-{value:012}")).collect::<StringArray>())
    };
    let columns: [(DataType, ArrayRef); 12] = [
        (
            DataType::Utf8,
            Arc::new(StringArray::from_iter_values((0..ROWS).map(|row| format!("dt-{row:08}")))),
        ),
        (DataType::Int64, Arc::new(Int64Array::from_iter_values(0..ROWS))),
        (DataType::Int32, Arc::new(each(|value| value as i32).collect::<Int32Array>())),
        (DataType::Utf8, text("customer-record")),
        (DataType::Float64, Arc::new(each(|value| value as f64 / 97.0).collect::<Float64Array>())),
        (
            DataType::Timestamp(TimeUnit::Microsecond, None),
            Arc::new(each(|value| 1_600_000_000_000_000 + value).collect::<TimestampMicrosecondArray>()),
        ),
        (DataType::Decimal128(18, 2), decimals(each(i128::from).collect(), 18, 2)),
        (DataType::Int64, Arc::new(each(|value| value << 20).collect::<Int64Array>())),
        (DataType::Utf8, text("k")),
        (DataType::Date32, Arc::new(each(|value| (value % 20_000) as i32).collect::<Date32Array>())),
        (DataType::Boolean, Arc::new(each(|value| value % 2 == 0).collect::<BooleanArray>())),
        (DataType::Decimal128(30, 4), decimals(each(|value| i128::from(value) << 40).collect(), 30, 4)),
    ];
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
        .into_iter()
        .enumerate()
        .map(|(number, (of, array))| (Field::new(format!("c{number}"), of, true), array))
        .unzip();
    StructArray::new(Fields::from(fields), arrays, None)
}

fn decimals(values: Decimal128Array, precision: u8, scale: i8) -> ArrayRef {
    Arc::new(values.with_precision_and_scale(precision, scale).expect("digits that fit"))
}

fn binary_row(criterion: &mut Criterion) {
    let rows = rows();
    let fields = rows.fields().clone();
    let encoded = encode_rows(&rows, &fields).expect("types that rows have");
    let mut group = criterion.benchmark_group("binary_row");
    group.throughput(Throughput::Elements(ROWS as u64 * 12));
    group.bench_function("decode", |bencher| {
        bencher.iter_with_large_drop(|| decode_rows(&encoded, &fields).expect("rows that were encoded"));
    });
    group.bench_function("encode", |bencher| {
        bencher.iter_with_large_drop(|| encode_rows(&rows, &fields).expect("rows that were encoded"));
    });
}

criterion_group!(benches, binary_row);
criterion_main!(benches);
