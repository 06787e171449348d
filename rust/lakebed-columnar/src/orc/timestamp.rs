//! Timestamps: seconds since 2015 by the writer's clock, and nanoseconds without their trailing zeros.
//!
//! Source: ORC specification, "Timestamp Columns"; `TreeReaderFactory.TimestampTreeReader` of ORC's Java.

use lakebed_avro::{Error, ErrorKind, Result};
use tz::TimeZone;

/// 2015-01-01T00:00:00Z, in seconds.
const EPOCH: i64 = 1_420_070_400;
/// The folders in which systems have the time zone database.
const DATABASES: [&str; 3] = ["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/etc/zoneinfo"];

/// The clock of a stripe's writer.
pub(super) struct Clock {
    /// The zone, and its base for 2015; `None` for UTC.
    zone: Option<(TimeZone, i64)>,
}

impl Clock {
    /// For instants, and for writers without a zone.
    pub(super) const UTC: Clock = Clock { zone: None };

    /// The clock with the zone that a stripe's footer names.
    ///
    /// # Errors
    /// `Unsupported` for a zone that this system does not have.
    pub(super) fn of(name: &str) -> Result<Clock> {
        if matches!(name, "" | "UTC" | "GMT" | "Z" | "Etc/UTC" | "Etc/GMT") {
            return Ok(Clock::UTC);
        }
        let unknown = || {
            let message = format!("timestamps in the time zone {name:?}, which this system does not know");
            Error::new(ErrorKind::Unsupported, message)
        };
        let zone = zone(name).ok_or_else(unknown)?;
        let offset = zone.find_local_time_type(EPOCH).map_err(|_| unknown())?.ut_offset();
        Ok(Clock { zone: Some((zone, EPOCH.saturating_sub(i64::from(offset)))) })
    }

    /// The microseconds of a wall-clock time, or of an instant for UTC.
    pub(super) fn micros(&self, stored: i64, nanos: i64) -> Result<i64> {
        let wall = match &self.zone {
            None => stored.checked_add(EPOCH),
            Some((zone, base)) => stored.checked_add(*base).and_then(|instant| {
                instant.checked_add(i64::from(zone.find_local_time_type(instant).ok()?.ut_offset()))
            }),
        };
        let (zeros, digits) = (nanos & 7, nanos.cast_unsigned() >> 3);
        // One to seven stand for two to eight zeros.
        let scale = 10_u64.pow(zeros.cast_unsigned() as u32);
        let nanos =
            digits.checked_mul(scale).and_then(|nanos| nanos.checked_mul(if zeros == 0 { 1 } else { 10 }));
        let nanos = nanos.filter(|nanos| *nanos < 1_000_000_000);
        let (Some(mut wall), Some(nanos)) = (wall, nanos) else { return Err(out_of_range()) };
        // Writers round seconds towards 1970, so that times before it are one second too late.
        if wall < 0 && nanos > 999_999 {
            wall = wall.checked_sub(1).ok_or_else(out_of_range)?;
        }
        let micros = wall.checked_mul(1_000_000);
        let micros = micros.and_then(|micros| micros.checked_add((nanos / 1000).cast_signed()));
        micros.ok_or_else(out_of_range)
    }
}

/// A zone of the system's database. The name must be that of a file there.
fn zone(name: &str) -> Option<TimeZone> {
    let part = |part: &str| {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'+');
        !part.is_empty() && part.bytes().all(known)
    };
    if name.len() > 64 || !name.split('/').all(part) {
        return None;
    }
    let files = DATABASES.iter().map(|folder| std::path::Path::new(folder).join(name));
    let mut found = files.filter(|file| file.is_file()).filter_map(|file| std::fs::read(file).ok());
    TimeZone::from_tz_data(&found.next()?).ok()
}

#[cold]
fn out_of_range() -> Error {
    Error::new(ErrorKind::Timestamp, "a timestamp that is out of range")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_get_their_zeros_back() {
        // 1000 ns are 1 and three zeros: code 2.
        assert_eq!(Clock::UTC.micros(0, 1 << 3 | 2).unwrap(), EPOCH * 1_000_000 + 1);
        assert_eq!(Clock::UTC.micros(-EPOCH, 999_999_999 << 3).unwrap(), 999_999);
        assert!(Clock::UTC.micros(0, 1_000_000_000 << 3).is_err());
        assert!(Clock::UTC.micros(i64::MAX, 0).is_err());
        assert!(Clock::UTC.micros(0, -1).is_err());
    }

    #[test]
    fn before_1970_seconds_are_one_too_late() {
        assert_eq!(Clock::UTC.micros(-EPOCH - 1, 5 << 3 | 7).unwrap(), -1_500_000);
    }

    #[test]
    fn a_zone_is_a_name_of_the_database() {
        for name in ["../../etc/passwd", "/etc/localtime", "Europe/../UTC", "a//b", "No/Where", "\0"] {
            assert!(Clock::of(name).is_err(), "{name}");
        }
    }
}
