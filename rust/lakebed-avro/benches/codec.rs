//! Times decoding, inflating and encoding in bytes of inflated blocks: `cargo bench -p lakebed-avro`.

mod inputs;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use inputs::cases::CASES;
use inputs::{ICEBERG, PAIMON, WEATHER, work};
use lakebed_avro::Codec;

const CODECS: [Codec; 4] = [Codec::Null, Codec::Deflate, Codec::Snappy, Codec::Zstandard];

fn decode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    for case in &CASES {
        for codec in [Codec::Null, Codec::Zstandard] {
            let file = case.shape.file(case.rows, codec);
            group.throughput(Throughput::Bytes(file.inflated));
            group.bench_function(BenchmarkId::new(case.name, codec.name()), |bencher| {
                bencher.iter_with_large_drop(|| work::decode(&file.bytes, case.paths, case.guard));
            });
        }
    }
}

fn inflate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("inflate");
    for codec in CODECS {
        let file = ICEBERG.file(10_000, codec);
        group.throughput(Throughput::Bytes(file.inflated));
        group.bench_function(codec.name(), |bencher| bencher.iter(|| work::inflate(&file.bytes)));
    }
}

fn encode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("encode");
    for shape in [&ICEBERG, &PAIMON, &WEATHER] {
        let file = shape.file(10_000, Codec::Null);
        let batches = work::decode(&file.bytes, None, None);
        group.throughput(Throughput::Bytes(file.inflated));
        group.bench_function(shape.name, |bencher| {
            bencher.iter_with_large_drop(|| work::encode(&file.bytes, &batches));
        });
    }
}

criterion_group!(benches, decode, inflate, encode);
criterion_main!(benches);
