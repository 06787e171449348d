//! Arrays that are decoded in tight loops, compared with the general loop: it reads the same bytes with one more
//! field of no bytes in each item.

mod common;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use lakebed_avro::{Blocks, Error, Limits, Program, Projection, ReadOptions, Reader, Schema};

use common::hand::{self, bytes, long};
use common::memory;
use common::rng::Rng;

const NOTHING: &str = r#"{"name": "nothing", "type": {"type": "fixed", "name": "z", "size": 0}}"#;

/// The type of the items of an array.
#[derive(Debug, Clone, Copy)]
enum Items {
    /// An int and a value of this type.
    Pairs(&'static str),
    /// A nullable long, with the number of the null branch.
    Longs(u8),
}

const ALL: [Items; 5] =
    [Items::Pairs("long"), Items::Pairs("bytes"), Items::Pairs("string"), Items::Longs(0), Items::Longs(1)];

impl Items {
    /// The schema that is fused, and the one that is not.
    fn schemas(self) -> [String; 2] {
        let record = |fields: &str| format!(r#"{{"type": "record", "name": "item", "fields": [{fields}]}}"#);
        let (fused, general) = match self {
            Items::Pairs(value) => {
                let pair =
                    format!(r#"{{"name": "key", "type": "int"}}, {{"name": "value", "type": "{value}"}}"#);
                (record(&pair), record(&format!("{pair}, {NOTHING}")))
            }
            Items::Longs(null) => {
                let of = if null == 0 { r#"["null", "long"]"# } else { r#"["long", "null"]"# };
                let value = format!(r#"{{"name": "value", "type": {of}}}"#);
                (of.to_owned(), record(&format!("{value}, {NOTHING}")))
            }
        };
        [fused, general].map(|items| {
            let array = format!(r#"{{"type": "array", "items": {items}}}"#);
            hand::record(&[("before", r#""int""#), ("a", &array), ("behind", r#""int""#)])
        })
    }

    fn put(self, rng: &mut Rng, out: &mut Vec<u8>) {
        let number = |rng: &mut Rng| match rng.below(3) {
            0 => rng.below(128) as i64 - 64,
            1 => rng.below(1 << 22) as i64,
            _ => rng.long(),
        };
        match self {
            Items::Pairs(value) => {
                out.extend(long(i64::from(number(rng) as i32)));
                match value {
                    "long" => out.extend(long(number(rng))),
                    _ => {
                        let length = *rng.pick(&[0, 1, 4, 8, 16, 17, 32, 33, 63, 64, 200]);
                        out.extend(bytes(&vec![b'a' + rng.below(26) as u8; length]));
                    }
                }
            }
            Items::Longs(null) if rng.once_in(5) => out.extend(long(i64::from(null))),
            Items::Longs(null) => {
                out.extend(long(1 - i64::from(null)));
                out.extend(long(number(rng)));
            }
        }
    }

    /// A record: an int, runs of items with and without their size, an int.
    fn record(self, rng: &mut Rng) -> Vec<u8> {
        let mut record = long(rng.long() >> 32);
        for _ in 0..rng.below(3) {
            let count = rng.below(40) as i64 + 1;
            let mut run = Vec::new();
            (0..count).for_each(|_| self.put(rng, &mut run));
            record.extend(if rng.once_in(2) {
                long(count)
            } else {
                [long(-count), long(run.len() as i64)].concat()
            });
            record.extend(run);
        }
        [record, long(0), long(rng.long() >> 32)].concat()
    }
}

fn read(file: &[u8], projection: &Projection, limits: Limits) -> Result<Vec<RecordBatch>, Error> {
    let (header, blocks) = Blocks::open(memory(file), limits)?;
    let schema = Schema::parse(header.schema()?, &limits)?;
    let program = Arc::new(Program::resolve(&schema, projection, &[])?);
    let options = ReadOptions { limits, batch_rows: 7, ..ReadOptions::default() };
    Reader::new(&header, blocks, program, None, options).collect()
}

/// The offsets of a batch's lists and the columns of their items, without the field of no bytes.
fn items(batch: &RecordBatch) -> (Vec<i32>, Vec<ArrayRef>) {
    let list = batch.column_by_name("a").unwrap().as_list::<i32>();
    let columns = match list.values().as_struct_opt() {
        Some(record) => {
            ["key", "value"].iter().filter_map(|name| record.column_by_name(name).cloned()).collect()
        }
        None => vec![list.values().clone()],
    };
    (list.offsets().to_vec(), columns)
}

/// Kind, message and location. In the general schema a nullable long is a field of its item.
fn same_error(of: Items, fused: &Error, general: &Error) -> bool {
    let (place, other) = (fused.location(), general.location());
    let field = match (of, other.field.as_deref()) {
        (Items::Longs(_), Some("a.value")) => Some("a"),
        (_, field) => field,
    };
    (fused.kind(), fused.message()) == (general.kind(), general.message())
        && (place.block, place.record) == (other.block, other.record)
        && place.field.as_deref() == field
}

fn compare(of: Items, payload: &[u8], records: i64, limits: Limits) -> bool {
    let files = of.schemas().map(|schema| hand::file(&schema, &[(records, payload.to_vec())]));
    let all = files.each_ref().map(|file| read(file, &Projection::All, limits));
    let outer = Projection::Paths(vec!["before".to_owned(), "behind".to_owned()]);
    let skipped = files.each_ref().map(|file| read(file, &outer, limits));
    match &skipped {
        [Ok(fused), Ok(general)] => assert_eq!(fused, general, "{of:?}"),
        [Err(fused), Err(general)] => assert!(same_error(of, fused, general), "{of:?}: {fused}; {general}"),
        results => panic!("{of:?} skipped: {results:?}"),
    }
    match &all {
        [Ok(fused), Ok(general)] => {
            let found = fused.iter().map(items).collect::<Vec<_>>();
            assert_eq!(found, general.iter().map(items).collect::<Vec<_>>(), "{of:?}");
            assert!(skipped[0].is_ok(), "{of:?} decodes and cannot be skipped");
            true
        }
        [Err(fused), Err(general)] => {
            assert!(same_error(of, fused, general), "{of:?}: {fused}; {general}");
            false
        }
        results => panic!("{of:?}: {results:?}"),
    }
}

#[test]
fn tight_loops_accept_what_the_general_loop_accepts() {
    let (mut read, mut refused) = (0, 0);
    for seed in 0..common::files(150) {
        let mut rng = Rng::new(seed);
        let of = *rng.pick(&ALL);
        let records = rng.below(12) as i64;
        let payload: Vec<u8> = (0..records).flat_map(|_| of.record(&mut rng)).collect();
        assert!(compare(of, &payload, records, Limits::DEFAULT), "seed {seed}");
        let limits = Limits {
            max_value_bytes: *rng.pick(&[0, 8, 40, 1 << 20]),
            max_items: *rng.pick(&[5, 100, 1 << 20]),
            ..Limits::DEFAULT
        };
        compare(of, &payload, records, limits);
        for _ in 0..20 {
            let mut malformed = payload.clone();
            if let Some(at) = (rng.below(payload.len() as u64) as usize).checked_sub(1) {
                if rng.once_in(3) {
                    malformed.truncate(at);
                } else {
                    malformed[at] ^= (rng.below(255) + 1) as u8;
                }
            }
            if compare(of, &malformed, records, Limits::DEFAULT) { read += 1 } else { refused += 1 }
        }
    }
    assert!(read > 100 && refused > 100, "{read} read, {refused} refused");
}
