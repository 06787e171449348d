#![doc = include_str!("../README.md")]
//!
//! Pure except for [`storage`] and [`mod@write`]: bytes and Arrow in, Arrow out, and no thread outlives a
//! call.
#![forbid(unsafe_code)]
// A panic that input can reach is a bug: code is written so that nothing needs to be unwrapped.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable))]

pub mod cache;
pub mod columnar;
mod conform;
mod credentials;
mod dangling;
pub mod deletion_vector;
mod diff;
pub mod distributed;
mod edges;
pub mod error;
pub mod field;
pub mod finding;
pub mod format;
mod grouping;
pub mod health;
mod history;
pub mod iceberg;
mod json;
mod local_path;
pub mod location;
mod murmur;
pub mod notes;
pub mod paimon;
mod percent;
mod pipeline;
pub mod predicate;
pub mod reach;
pub mod record;
pub mod relocate;
pub mod repair;
pub mod rewrite_paths;
pub mod scan;
pub mod separate_thread;
mod spill;
pub mod storage;
mod system;
pub mod table;
#[cfg(test)]
mod test_data;
mod text;
mod time;
#[cfg(any(test, feature = "toy"))]
mod toy;
mod verify;
pub mod view;
mod words;
pub mod write;

pub use error::{Error, ErrorKind, Location, Result};
pub use json::json_text;
pub use lakebed_avro::Limits;
