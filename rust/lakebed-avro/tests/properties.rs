//! Properties that hold for every file, whatever is in it.

mod common;

use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

use apache_avro::types::Value;
use arrow_array::RecordBatch;
use lakebed_avro::{
    Blocks, ErrorKind, Guard, GuardFactory, Input, Limits, Peek, Program, Projection, ReadOptions, Reader,
    Result, Schema, Slot,
};

use common::rng::Rng;
use common::{Sample, check, memory, sample};

/// Reads with a projection and, where the program can call it, a guard.
fn read(
    input: Input,
    projection: &Projection,
    guard: &[&str],
    factory: impl Fn(&[Slot]) -> Option<GuardFactory>,
    options: ReadOptions,
) -> Result<Vec<RecordBatch>> {
    let (header, blocks) = Blocks::open(input, options.limits)?;
    let schema = Schema::parse(header.schema()?, &options.limits)?;
    let program = Arc::new(Program::resolve(&schema, projection, guard)?);
    let factory = factory(program.slots());
    Reader::new(&header, blocks, program, factory, options).collect()
}

fn all(sample: &Sample) -> Vec<&Value> {
    sample.values.iter().collect()
}

fn assert_table(sample: &Sample, batches: Result<Vec<RecordBatch>>, values: &[&Value]) {
    let batches = batches.unwrap_or_else(|error| panic!("seed {}: {error}", sample.seed));
    if let Err(why) = check::table(&batches, values) {
        panic!("seed {}: {why}", sample.seed);
    }
}

/// Every path a projection may name.
fn paths(schema: &arrow_schema::Fields, prefix: &str, known: &Schema) -> Vec<String> {
    let mut found = Vec::new();
    for field in schema {
        let path = format!("{prefix}{}", field.name());
        if !known.has(&path) {
            continue;
        }
        if let arrow_schema::DataType::Struct(below) = field.data_type() {
            found.extend(paths(below, &format!("{path}."), known));
        }
        found.push(path);
    }
    found
}

fn writer_schema(sample: &Sample) -> Schema {
    let (header, _) = Blocks::open(memory(&sample.bytes), Limits::DEFAULT).unwrap();
    Schema::parse(header.schema().unwrap(), &Limits::DEFAULT).unwrap()
}

#[test]
fn a_projection_gives_the_same_values_as_reading_all() {
    let mut nested = 0;
    for seed in 0..common::files(500) {
        let sample = sample(seed, 20);
        let schema = writer_schema(&sample);
        let program = Program::resolve(&schema, &Projection::All, &[]).unwrap();
        let known = paths(program.schema().fields(), "", &schema);
        let mut rng = Rng::new(seed);
        for _ in 0..3 {
            let chosen: Vec<String> = known.iter().filter(|_| rng.once_in(3)).cloned().collect();
            nested += chosen.iter().filter(|path| path.contains('.')).count();
            let projection = Projection::Paths(chosen.clone());
            let batches =
                read(memory(&sample.bytes), &projection, &[], |_| None, ReadOptions::default()).unwrap();
            let has = |path: &String| batches.iter().all(|batch| holds(batch.schema().fields(), path));
            assert!(chosen.iter().all(has), "seed {seed}: {chosen:?}");
            assert_table(&sample, Ok(batches), &all(&sample));
        }
    }
    assert!(nested > 100, "{nested} nested paths");
}

fn holds(fields: &arrow_schema::Fields, path: &str) -> bool {
    let (head, rest) = path.split_once('.').map_or((path, None), |(head, rest)| (head, Some(rest)));
    fields.iter().filter(|field| field.name() == head).any(|field| match (rest, field.data_type()) {
        (None, _) => true,
        (Some(rest), arrow_schema::DataType::Struct(below)) => holds(below, rest),
        _ => false,
    })
}

#[test]
fn skipping_consumes_what_decoding_consumes() {
    for seed in 0..common::files(120) {
        let sample = sample(seed, 20);
        let schema = writer_schema(&sample);
        let program = Program::resolve(&schema, &Projection::All, &[]).unwrap();
        // The check for bytes after the records of a block passes only if every skip ends where it must.
        for field in program.schema().fields() {
            let one = Projection::Paths(vec![field.name().clone()]);
            let batches = read(memory(&sample.bytes), &one, &[], |_| None, ReadOptions::default());
            assert_table(&sample, batches, &all(&sample));
        }
        let none = Projection::Paths(Vec::new());
        let batches = read(memory(&sample.bytes), &none, &[], |_| None, ReadOptions::default());
        assert_table(&sample, batches, &all(&sample));
    }
}

#[test]
fn threads_and_batch_sizes_change_nothing() {
    for seed in 0..common::files(80) {
        let sample = sample(seed, 60);
        for threads in [1, 2, 5] {
            for (batch_rows, batch_bytes) in [(1 << 16, 32 << 20), (1, 32 << 20), (7, 32 << 20), (1 << 16, 1)]
            {
                let options = ReadOptions { threads, batch_rows, batch_bytes, ..ReadOptions::default() };
                assert_table(&sample, common::read(memory(&sample.bytes), options), &all(&sample));
            }
        }
    }
}

/// A file of less than the usual share of one thread is divided among all of them, as is the end of a longer one.
#[test]
fn threads_share_what_is_left() {
    let text = common::hand::record(&[("a", r#""bytes""#)]);
    let blocks = vec![(1, common::hand::bytes(&[7; 10_000])); 40];
    let file = common::hand::file(&text, &blocks);
    for (threads, shares) in [(1, 1), (2, 2), (4, 4)] {
        let options = ReadOptions { threads, ..ReadOptions::default() };
        let batches = common::read(memory(&file), options).unwrap();
        assert_eq!(batches.len(), shares);
        assert_eq!(batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 40);
    }
}

#[test]
fn threads_change_no_limit() {
    let list = common::hand::record(&[("a", r#"{"type": "array", "items": "int"}"#)]);
    let blocks: Vec<_> = (0..10).map(|_| (1, vec![8, 0, 0, 0, 0, 0])).collect();
    let file = common::hand::file(&list, &blocks);
    for threads in [1, 2, 5, 20] {
        let read = |limits| {
            // Each block is a thread's work of its own.
            let options = ReadOptions { threads, batch_rows: 1, limits, ..ReadOptions::default() };
            common::read(memory(&file), options).map(|batches| batches.len()).map_err(|error| error.kind())
        };
        let items = |max_items| Limits { max_items, ..Limits::DEFAULT };
        let inflated = |max_file_bytes| Limits { max_file_bytes, ..Limits::DEFAULT };
        assert_eq!(read(items(40)), Ok(10));
        assert_eq!(read(items(39)), Err(ErrorKind::Limit));
        assert_eq!(read(inflated(60)), Ok(10));
        assert_eq!(read(inflated(59)), Err(ErrorKind::Limit));
    }
}

/// Gives one to seven bytes at a time.
struct Dribble {
    bytes: std::io::Cursor<Vec<u8>>,
    rng: Rng,
}

impl Read for Dribble {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.rng.once_in(10) {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let most = out.len().min(1 + self.rng.below(7) as usize);
        self.bytes.read(&mut out[..most])
    }
}

fn dribble(bytes: &[u8], seed: u64) -> Input {
    let bytes = std::io::Cursor::new(bytes.to_vec());
    Input::stream(Box::new(Dribble { bytes, rng: Rng::new(seed) }))
}

#[test]
fn a_stream_is_read_like_memory() {
    for seed in 0..common::files(120) {
        let sample = sample(seed, 40);
        assert_table(
            &sample,
            common::read(dribble(&sample.bytes, seed), ReadOptions::default()),
            &all(&sample),
        );
    }
}

#[test]
fn blocks_larger_than_the_read_ahead_are_read_whole_from_a_stream() {
    let schema = common::hand::record(&[("a", r#""bytes""#)]);
    let sizes = [10, 65_535, 65_536, 65_537, 200_000, 1, 65_500, 1_000_000, 0, 70_000];
    let value = |size: usize| common::hand::bytes(&Rng::new(size as u64).bytes(size));
    let blocks: Vec<_> = sizes.iter().map(|size| (1, value(*size))).collect();
    let file = common::hand::file(&schema, &blocks);
    let fast = Input::stream(Box::new(std::io::Cursor::new(file.clone())));
    for input in [memory(&file), fast, dribble(&file, 1)] {
        let batches = common::read(input, ReadOptions::default()).unwrap();
        let found: Vec<Vec<u8>> = batches
            .iter()
            .flat_map(|batch| {
                let column = arrow_array::cast::AsArray::as_binary::<i32>(batch.column(0));
                column.iter().map(|value| value.unwrap_or_default().to_vec()).collect::<Vec<_>>()
            })
            .collect();
        let expected: Vec<Vec<u8>> = sizes.iter().map(|size| Rng::new(*size as u64).bytes(*size)).collect();
        assert!(found == expected);
    }
}

/// Keeps the records whose guarded value hashes to an even number.
struct Even(Slot);

fn even(value: &[u8]) -> bool {
    value.iter().fold(0u8, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte)) % 2 == 0
}

impl Guard for Even {
    fn keep(&mut self, record: Peek<'_>) -> bool {
        match (record.number(self.0), record.bytes(self.0)) {
            (Some(number), _) => even(&number.to_le_bytes()),
            (None, Some(bytes)) => even(bytes),
            (None, None) => panic!("a guard was given a slot that is neither number nor bytes"),
        }
    }
}

/// A value in the form that the guard gets; `None` if it is not a scalar that a guard can read.
fn seen(value: &Value) -> Option<bool> {
    Some(match value {
        Value::Int(value) | Value::Date(value) | Value::TimeMillis(value) => {
            even(&i64::from(*value).to_le_bytes())
        }
        Value::Long(value) | Value::TimeMicros(value) | Value::TimestampMicros(value) => {
            even(&value.to_le_bytes())
        }
        Value::Bytes(value) => even(value),
        Value::String(value) => even(value.as_bytes()),
        _ => return None,
    })
}

#[test]
fn a_guard_drops_what_a_filter_would() {
    let mut asked = 0;
    for seed in 0..common::files(400) {
        let sample = sample(seed, 30);
        let Some(Value::Record(fields)) = sample.values.first() else { continue };
        let schema = writer_schema(&sample);
        for (at, (name, value)) in fields.iter().enumerate() {
            let program = Program::resolve(&schema, &Projection::All, &[name]);
            if seen(value).is_none() || !program.is_ok_and(|program| program.guards()) {
                continue;
            }
            asked += 1;
            let kept = |record: &&Value| {
                let Value::Record(fields) = record else { return false };
                seen(&fields[at].1) == Some(true)
            };
            let values: Vec<&Value> = sample.values.iter().filter(kept).collect();
            let last = Projection::Paths(vec![fields[fields.len() - 1].0.clone()]);
            for projection in [Projection::All, last] {
                for threads in [1, 3] {
                    let options = ReadOptions { threads, batch_rows: 5, ..ReadOptions::default() };
                    let factory = |slots: &[Slot]| -> Option<GuardFactory> {
                        let slot = slots[0];
                        Some(Arc::new(move || Box::new(Even(slot))))
                    };
                    let batches = read(memory(&sample.bytes), &projection, &[name], factory, options);
                    assert_table(&sample, batches, &values);
                }
            }
        }
    }
    assert!(asked > 100, "{asked} guards");
}

/// Keeps the records whose nested value is null or hashes to an even number.
struct NullOrEven(Slot);

impl Guard for NullOrEven {
    fn keep(&mut self, record: Peek<'_>) -> bool {
        record.is_null(self.0) || Even(self.0).keep(record)
    }
}

/// A value in the form that this guard gets.
fn seen_nested(value: &Value) -> Option<bool> {
    match value {
        Value::Union(_, value) if **value == Value::Null => Some(true),
        Value::Union(_, value) => seen(value),
        value => seen(value),
    }
}

/// The value of a field of a record in a record.
fn nested(record: &Value, at: [usize; 2]) -> Option<(&str, &str, &Value)> {
    let Value::Record(fields) = record else { return None };
    let (name, Value::Record(fields)) = fields.get(at[0])? else { return None };
    let (child, value) = fields.get(at[1])?;
    Some((name, child, value))
}

#[test]
fn a_guard_on_a_nested_field_drops_what_a_filter_would() {
    let mut asked = 0;
    for seed in 0..common::files(800) {
        let sample = sample(seed, 30);
        let Some(first) = sample.values.first() else { continue };
        let schema = writer_schema(&sample);
        for at in (0..8).flat_map(|field| (0..8).map(move |child| [field, child])) {
            let Some((name, child, _)) = nested(first, at) else { continue };
            let path = format!("{name}.{child}");
            let projections = [Projection::All, Projection::Paths(vec![path.clone()])];
            for projection in projections {
                let program = Program::resolve(&schema, &projection, &[&path]).unwrap();
                let Some(slot) = program.slot(&[name, child]) else { continue };
                let seen = |record: &Value| nested(record, at).and_then(|(.., value)| seen_nested(value));
                if sample.values.iter().any(|record| seen(record).is_none()) {
                    continue;
                }
                asked += 1;
                let kept = |record: &&Value| seen(record) == Some(true);
                let values: Vec<&Value> = sample.values.iter().filter(kept).collect();
                let factory = |_: &[Slot]| -> Option<GuardFactory> {
                    Some(Arc::new(move || Box::new(NullOrEven(slot))))
                };
                let options = ReadOptions { batch_rows: 5, ..ReadOptions::default() };
                let batches = read(memory(&sample.bytes), &projection, &[&path], factory, options);
                assert_table(&sample, batches, &values);
            }
        }
    }
    assert!(asked > 50, "{asked} guards");
}

#[test]
fn every_prefix_is_refused_or_ends_at_a_block() {
    for seed in 0..common::files(20) {
        let sample = sample(seed, 15);
        let (header, blocks) = Blocks::open(memory(&sample.bytes), Limits::DEFAULT).unwrap();
        let mut ends = vec![(header.length as usize, 0)];
        for block in blocks {
            let block = block.unwrap();
            let end = block.offset as usize + block.payload.len() + 16;
            ends.push((end, (block.first_record + block.count) as usize));
        }
        for cut in 0..sample.bytes.len() {
            let prefix = &sample.bytes[..cut];
            let input = if cut % 2 == 0 { memory(prefix) } else { dribble(prefix, seed) };
            let result = common::read(input, ReadOptions::default());
            match ends.iter().find(|(end, _)| *end == cut) {
                Some((_, rows)) => assert_table(&sample, result, &all(&sample)[..*rows]),
                None => assert!(result.is_err(), "seed {seed}: cut at {cut}"),
            }
        }
    }
}

#[test]
fn every_flipped_byte_ends_in_time() {
    for seed in 0..common::files(20) {
        let sample = sample(seed, 15);
        let mut rng = Rng::new(seed);
        for at in 0..sample.bytes.len() {
            let mut bytes = sample.bytes.clone();
            bytes[at] ^= (rng.below(255) + 1) as u8;
            let options = ReadOptions { threads: 1 + at % 2, ..ReadOptions::default() };
            let in_time = || {
                let start = Instant::now();
                // Rows and an error are both right: most flips cannot be detected.
                let _ = common::read(memory(&bytes), options.clone());
                start.elapsed() / common::slowdown() < Duration::from_secs(2)
            };
            // What takes long takes long again; a machine with other work may have been elsewhere.
            assert!((0..3).any(|_| in_time()), "seed {seed}: flip at {at}");
        }
    }
}
