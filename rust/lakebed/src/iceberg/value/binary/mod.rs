//! Binary single values (Iceberg specification, appendix D; `Conversions.java`), in which bounds of files and
//! of manifests are stored.
//!
//! | type | bytes |
//! |---|---|
//! | boolean | 1, 0 for false |
//! | int, date, float | 4, little-endian |
//! | long, time, timestamps, double | 8, little-endian |
//! | decimal | the unscaled value in two's complement, big-endian, in as few bytes as possible |
//! | string, uuid | UTF-8; 16, big-endian |
//! | fixed, binary, variant, geometry, geography | unchanged |

mod decode;
mod encode;

pub use decode::{decode, decode_bounds};
pub use encode::encode;
