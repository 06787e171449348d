//! The work that the benches of this crate time and count.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use lakebed_avro::{
    Blocks, Guard, GuardFactory, Inflater, Limits, Peek, Program, Projection, ReadOptions, Reader, Schema,
    Slot, WriteOptions, Writer,
};

/// Keeps one bucket of a hundred.
struct OneBucket(Option<Slot>);

impl Guard for OneBucket {
    fn keep(&mut self, record: Peek<'_>) -> bool {
        self.0.and_then(|slot| record.number(slot)) == Some(7)
    }
}

/// All columns, or those below the paths; with `guard`, the name of a field, only where that is 7.
pub fn decode(file: &Buffer, paths: Option<&[&str]>, guard: Option<&str>) -> Vec<RecordBatch> {
    let (header, blocks) = Blocks::open(file.clone().into(), Limits::DEFAULT).expect("a header");
    let schema = Schema::parse(header.schema().expect("a schema"), &Limits::DEFAULT).expect("a schema");
    let projection = match paths {
        None => Projection::All,
        Some(paths) => Projection::Paths(paths.iter().map(|path| (*path).to_owned()).collect()),
    };
    let program = Program::resolve(&schema, &projection, guard.as_slice()).expect("paths of the schema");
    let slot = program.slots().first().copied();
    let factory = guard.map(|_| -> GuardFactory { Arc::new(move || Box::new(OneBucket(slot))) });
    let reader = Reader::new(&header, blocks, Arc::new(program), factory, ReadOptions::default());
    reader.collect::<Result<_, _>>().expect("a whole file")
}

/// Only inflates every block. Returns the total bytes.
pub fn inflate(file: &Buffer) -> usize {
    let (header, blocks) = Blocks::open(file.clone().into(), Limits::DEFAULT).expect("a header");
    let mut inflater = Inflater::new(header.codec, &Limits::DEFAULT, header.sync);
    blocks.map(|block| inflater.inflate(&block.expect("a block").payload).expect("its bytes").len()).sum()
}

/// Writes batches again, with the schema and codec of their file.
pub fn encode(file: &Buffer, batches: &[RecordBatch]) -> Vec<u8> {
    let (header, _) = Blocks::open(file.clone().into(), Limits::DEFAULT).expect("a header");
    let options = WriteOptions { codec: header.codec, ..WriteOptions::new([7; 16]) };
    let schema = batches.first().expect("a batch").schema();
    let mut writer =
        Writer::new(Vec::new(), header.schema().expect("a schema"), &schema, options).expect("a schema");
    batches.iter().for_each(|batch| writer.write(batch).expect("rows that were read"));
    writer.finish().expect("a whole file")
}
