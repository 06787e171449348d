#![doc = include_str!("../README.md")]
//!
//! # How
//!
//! [`Blocks::open`] reads the header and frames the blocks, [`Program::resolve`] turns the writer's
//! [`Schema`] and a [`Projection`] into a flat decode program, and [`Reader`] runs it over the blocks: bytes
//! → blocks → program → Arrow columns, without a value tree in between. `apache-avro` parses schemas, and the
//! tests compare every decoded value with it.
//!
//! # Arrow forms
//!
//! | Avro | Arrow |
//! |---|---|
//! | null, boolean, int, long, float, double | Null, Boolean, Int32, Int64, Float32, Float64 |
//! | bytes, string, enum, fixed | Binary, Utf8, Utf8, Binary |
//! | array, map, record | List, Map, Struct |
//! | array of key-value records with `logicalType: map` | Map |
//! | union of null and one type | that type, nullable |
//! | any other union | dense Union with one child a branch: `member0`, `member1`, … |
//! | decimal of up to 38, 76 digits | Decimal128, Decimal256; wider ones stay bytes |
//! | date, time-millis, time-micros | Date32, Time32(ms), Time64(µs) |
//! | timestamp-millis, -micros, -nanos | Timestamp(µs, µs, ns) with zone UTC |
//! | local-timestamp-millis, -micros, -nanos | Timestamp(µs, µs, ns) without zone |
//! | duration, uuid | Interval(MonthDayNano), the type below it |
//! | a top-level type that is not a record | one column named `value` |
//! | a recursive schema | refused: [`ErrorKind::Unsupported`] |
//!
//! A union of null and a record at the top is that record; a null in its place is refused.
#![forbid(unsafe_code)]
// A panic that input can reach is a bug: code is written so that nothing needs to be unwrapped.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

mod codec;
mod container;
mod cursor;
mod decode;
mod encode;
mod error;
mod limits;
mod names;
mod plan;
mod reader;
pub mod schema;
mod threads;
mod unit;
mod validators;
#[cfg(test)]
#[path = "../tests/common/varint.rs"]
mod varint;
mod writer;

pub use codec::{CODECS, Codec, Compressor, Inflater, ZSTANDARD_NO_ROOM};
pub use container::{Block, Blocks, Header, Input};
pub use decode::{Guard, Peek};
pub use error::{Error, ErrorKind, Location, Result};
pub use limits::{Limits, reserve};
pub use plan::{Program, Projection, Slot};
pub use reader::{GuardFactory, ReadOptions, Reader};
pub use schema::Schema;
pub use validators::check_names_without_locks;
pub use writer::{WriteOptions, Writer};
