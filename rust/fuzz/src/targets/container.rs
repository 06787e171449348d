//! A whole object container file to batches: every way of reading gives the same rows, and the reference
//! decoder of `walk.rs` agrees on which files are valid and on every value in them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_select::concat::concat_batches;
use lakebed_avro::{
    Blocks, Codec, Error, ErrorKind, Header, Input, Program, Projection, ReadOptions, Reader, Result, Schema,
    WriteOptions, Writer,
};

use super::avro::{Frame, frames, walk};
use super::walk::Stop;
use super::{LIMITS, assert_message, assert_valid, sample};

pub fn run(input: &[u8]) {
    let file = match File::open(input) {
        Ok(file) => file,
        Err(error) => return assert_location(&error, input),
    };
    let options = ReadOptions { limits: LIMITS, ..ReadOptions::default() };
    let all = file.read(&file.program, options.clone());
    let frames = frames(input, &file.header);
    let reference = frames
        .as_deref()
        .map_err(|stop| *stop)
        .and_then(|frames| walk(&file.header, file.schema.root(), frames));
    match &all {
        Ok(batch) => {
            assert_valid(batch);
            assert_ne!(reference, Err(Stop::Wrong), "{} rows of an invalid file", batch.num_rows());
            if let Ok(frames) = &frames {
                assert_eq!(batch.num_rows() as u64, frames.iter().map(|frame| frame.count).sum::<u64>());
            }
        }
        Err(error) => {
            assert_location(error, input);
            assert!(
                reference.is_err() || is_beyond_encoding(error.kind()),
                "refused a file that the reference decoder reads: {error}"
            );
        }
    }
    match sample(input) % 4 {
        0 => file.otherwise(&all),
        1 => file.projected(&all),
        2 => frames.iter().for_each(|frames| file.cut(&all, frames)),
        _ => {
            if let (Ok(batch), Ok(sum)) = (&all, reference) {
                file.written_again(batch, sum);
            }
        }
    }
}

/// Errors that the reference decoder does not look for: those of logical types, and of limits.
fn is_beyond_encoding(kind: ErrorKind) -> bool {
    use ErrorKind::{Decimal, Limit, Schema, Timestamp, Unsupported};
    matches!(kind, Decimal | Timestamp | Unsupported | Schema | Limit)
}

/// The message of an error has a bounded length, and its location is inside the file.
fn assert_location(error: &Error, input: &[u8]) {
    assert_message(&error.to_string());
    let location = error.location();
    assert!(location.offset.is_none_or(|offset| offset <= input.len() as u64), "{location:?}");
    assert!(location.record.is_none() || location.block.is_some(), "{location:?}");
    let without = matches!(
        error.kind(),
        ErrorKind::Schema
            | ErrorKind::Unsupported
            | ErrorKind::Limit
            | ErrorKind::Depth
            | ErrorKind::UnknownCodec
            | ErrorKind::Duplicate
            | ErrorKind::Utf8
    );
    assert!(without || location.offset.is_some(), "{:?} without an offset: {error}", error.kind());
}

/// A file with its parsed header.
struct File<'f> {
    bytes: &'f [u8],
    header: Header,
    schema: Arc<Schema>,
    program: Arc<Program>,
}

type ResolvedSchemas = HashMap<String, (Arc<Schema>, Arc<Program>)>;

thread_local! {
    /// Schemas that were resolved before: most inputs have the schema of the input that they were made from.
    static KNOWN: RefCell<ResolvedSchemas> = RefCell::default();
}

fn resolved(text: &str) -> Result<(Arc<Schema>, Arc<Program>)> {
    KNOWN.with_borrow_mut(|known| {
        if let Some(found) = known.get(text) {
            return Ok(found.clone());
        }
        let schema = Schema::parse(text, &LIMITS)?;
        let program = Program::resolve(&schema, &Projection::All, &[])?;
        if known.len() >= 64 {
            known.clear();
        }
        let made = (Arc::new(schema), Arc::new(program));
        known.insert(text.to_owned(), made.clone());
        Ok(made)
    })
}

impl<'f> File<'f> {
    fn open(bytes: &'f [u8]) -> Result<File<'f>> {
        let (header, _) = Blocks::open(memory(bytes), LIMITS)?;
        let (schema, program) = resolved(header.schema()?)?;
        Ok(File { bytes, header, schema, program })
    }

    fn read(&self, program: &Arc<Program>, options: ReadOptions) -> Result<RecordBatch> {
        self.read_from(memory(self.bytes), program, options)
    }

    fn read_from(&self, input: Input, program: &Arc<Program>, options: ReadOptions) -> Result<RecordBatch> {
        let (header, blocks) = Blocks::open(input, LIMITS)?;
        let batches = Reader::new(&header, blocks, Arc::clone(program), None, options);
        let batches = batches.collect::<Result<Vec<_>>>()?;
        Ok(concat_batches(program.schema(), &batches).expect("batches of one schema"))
    }

    /// Reads the file as a stream, and in small batches on several threads.
    fn otherwise(&self, all: &Result<RecordBatch>) {
        let stream = Input::stream(Box::new(std::io::Cursor::new(self.bytes.to_vec())));
        let options = ReadOptions { limits: LIMITS, ..ReadOptions::default() };
        assert_same(&self.read_from(stream, &self.program, options.clone()), all);
        for threads in [1, 3] {
            let options = ReadOptions { threads, batch_rows: 2, ..options.clone() };
            assert_same(&self.read(&self.program, options), all);
        }
    }

    /// Each column read alone equals the same column read with the others, and no columns can be read where all can.
    fn projected(&self, all: &Result<RecordBatch>) {
        let fields = self.program.schema().fields().iter().take(6);
        let names = fields.map(|field| vec![field.name().clone()]).chain([Vec::new()]);
        for names in names.filter(|names| names.iter().all(|name| self.schema.has(name))) {
            let projection = Projection::Paths(names.clone());
            let program = Program::resolve(&self.schema, &projection, &[]).expect("columns that are there");
            let some =
                self.read(&Arc::new(program), ReadOptions { limits: LIMITS, ..ReadOptions::default() });
            match (all, some) {
                (Ok(all), Ok(some)) => {
                    assert_eq!(all.num_rows(), some.num_rows(), "{names:?}");
                    for name in &names {
                        assert_eq!(all.column_by_name(name), some.column_by_name(name), "{name}");
                    }
                }
                (Ok(_), Err(error)) => panic!("all columns can be read, but {names:?} alone cannot: {error}"),
                (Err(_), _) => {}
            }
        }
    }

    /// A truncated file is refused, or ends with a block.
    fn cut(&self, all: &Result<RecordBatch>, frames: &[Frame<'_>]) {
        let at = sample(self.bytes) as usize / 4 % self.bytes.len().max(1);
        let Some(bytes) = self.bytes.get(..at) else { return };
        let cut = File::open(bytes)
            .and_then(|cut| cut.read(&cut.program, ReadOptions { limits: LIMITS, ..ReadOptions::default() }));
        let whole = frames.iter().filter(|frame| frame.end <= at);
        let ends = at as u64 == self.header.length || frames.iter().any(|frame| frame.end == at);
        match cut {
            Ok(batch) => {
                assert!(ends, "truncated at byte {at}, and {} rows are read", batch.num_rows());
                assert_eq!(batch.num_rows() as u64, whole.map(|frame| frame.count).sum::<u64>());
            }
            Err(error) => {
                assert_location(&error, bytes);
                assert!(!ends || all.is_err(), "complete blocks are refused: {error}");
            }
        }
    }

    /// The rows can be written in the schema of their file, and have the same values for the reference decoder.
    fn written_again(&self, batch: &RecordBatch, sum: u64) {
        let text = self.header.schema().expect("it was parsed");
        let options = WriteOptions { codec: Codec::Null, limits: LIMITS, ..WriteOptions::new([7; 16]) };
        let write = || {
            let mut writer = Writer::new(Vec::new(), text, batch.schema_ref(), options)?;
            writer.write(batch)?;
            writer.finish()
        };
        match write() {
            Ok(bytes) => {
                let again = File::open(&bytes).expect("a header that was written");
                let frames = frames(&bytes, &again.header).expect("frames that were written");
                let walked = walk(&again.header, again.schema.root(), &frames);
                assert_eq!(walked, Ok(sum), "values differ after they were written again");
            }
            Err(error) => {
                assert!(is_beyond_encoding(error.kind()), "rows that were read cannot be written: {error}")
            }
        }
    }
}

fn memory(bytes: &[u8]) -> Input {
    Buffer::from(bytes).into()
}

/// Errors that are found when batches are assembled, later than other errors: where a file has several errors, the
/// one that is first depends on where batches end.
fn is_found_late(kind: ErrorKind) -> bool {
    use ErrorKind::{Decimal, Limit, Schema, Timestamp, Utf8};
    matches!(kind, Decimal | Timestamp | Utf8 | Schema | Limit)
}

/// The same rows, or the same error at the same place.
fn assert_same(found: &Result<RecordBatch>, expected: &Result<RecordBatch>) {
    match (found, expected) {
        (Ok(found), Ok(expected)) => assert_eq!(found, expected),
        (Err(found), Err(expected)) if is_found_late(found.kind()) || is_found_late(expected.kind()) => {}
        (Err(found), Err(expected)) => {
            assert_eq!((found.kind(), found.location()), (expected.kind(), expected.location()));
        }
        _ => panic!("{found:?}, and {expected:?}"),
    }
}
