use super::*;

fn text(write: impl FnOnce(&mut String) -> fmt::Result) -> String {
    let mut out = String::new();
    write(&mut out).expect("a text");
    out
}

#[test]
fn doubles_print_as_in_java() {
    let cases = [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (-1.5, "-1.5"),
        (10.0, "10.0"),
        (123_456.789, "123456.789"),
        (9_999_999.0, "9999999.0"),
        (9_999_999.5, "9999999.5"),
        (1e7, "1.0E7"),
        (12_345_678.0, "1.2345678E7"),
        (1e10, "1.0E10"),
        (1e23, "1.0E23"),
        (2e23, "2.0E23"),
        (0.1, "0.1"),
        (0.05, "0.05"),
        (0.001, "0.001"),
        (0.001_234, "0.001234"),
        (0.000_999, "9.99E-4"),
        (1e-5, "1.0E-5"),
        (f64::MIN_POSITIVE, "2.2250738585072014E-308"),
        (f64::from_bits(1), "4.9E-324"),
        (f64::from_bits(2), "9.9E-324"),
        (f64::MAX, "1.7976931348623157E308"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "Infinity"),
        (f64::NEG_INFINITY, "-Infinity"),
    ];
    for (value, expected) in cases {
        assert_eq!(text(|out| write_float(out, value)), expected);
    }
}

#[test]
fn floats_print_as_in_java() {
    let cases = [
        (1.5f32, "1.5"),
        (0.1, "0.1"),
        (1e10, "1.0E10"),
        (16_777_216.0, "1.6777216E7"),
        (3.4e38, "3.4E38"),
        (f32::MAX, "3.4028235E38"),
        (f32::from_bits(1), "1.4E-45"),
        (f32::NAN, "NaN"),
        (-0.0, "-0.0"),
    ];
    for (value, expected) in cases {
        assert_eq!(text(|out| write_float(out, value)), expected);
    }
}

#[test]
fn decimals_print_plainly() {
    let cases = [
        (1230, 2, "12.30"),
        (-5, 2, "-0.05"),
        (0, 0, "0"),
        (0, 3, "0.000"),
        (-7, 0, "-7"),
        (i128::MIN, 0, "-170141183460469231731687303715884105728"),
    ];
    for (unscaled, scale, expected) in cases {
        assert_eq!(text(|out| write_decimal(out, unscaled, scale)), expected);
    }
}

#[test]
fn dates_are_converted_both_ways() {
    for (days, expected) in [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (19_782, "2024-02-29"),
        (-719_528, "0000-01-01"),
        (-719_529, "-0001-12-31"),
        (2_932_896, "9999-12-31"),
        (2_932_897, "+10000-01-01"),
    ] {
        assert_eq!(text(|out| write_date(out, days)), expected);
    }
    for days in (-800_000..800_000).step_by(37) {
        let (year, month, day) = civil_from_days(days);
        assert_eq!(days_from_civil(year, month, day), days);
    }
}

#[test]
fn wall_clocks_print_as_in_java() {
    let at = |value| WallClock::from_epoch(value, 1_000_000_000);
    let base = 1_704_164_640_000_000_000;
    for (nanos, iso, cast) in [
        (0, "2024-01-02T03:04", "2024-01-02 03:04:00.000"),
        (5_000_000_000, "2024-01-02T03:04:05", "2024-01-02 03:04:05.000"),
        (5_678_000_000, "2024-01-02T03:04:05.678", "2024-01-02 03:04:05.678"),
        (5_678_900_000, "2024-01-02T03:04:05.678900", "2024-01-02 03:04:05.6789"),
        (5_678_901_234, "2024-01-02T03:04:05.678901234", "2024-01-02 03:04:05.678901234"),
        (1, "2024-01-02T03:04:00.000000001", "2024-01-02 03:04:00.000000001"),
    ] {
        assert_eq!(text(|out| at(base + nanos).write_iso(out)), iso);
        assert_eq!(text(|out| at(base + nanos).write(out, ' ', 3)), cast);
    }
    let whole = WallClock::from_epoch(-1, 1);
    assert_eq!(text(|out| whole.write_iso(out)), "1969-12-31T23:59:59");
    assert_eq!(text(|out| whole.write(out, ' ', 0)), "1969-12-31 23:59:59");
    for extreme in [i64::MIN, i64::MAX] {
        text(|out| WallClock::from_epoch(extreme, 1).write_iso(out));
    }
}

#[test]
fn times_of_day_print_as_paimon_casts_them() {
    for (millis, precision, expected) in [
        (36_000_000, 0, "10:00:00"),
        (36_000_123, 0, "10:00:00"),
        (36_000_000, 3, "10:00:00.0"),
        (3_723_004, 3, "01:02:03.004"),
        (3_723_450, 9, "01:02:03.45"),
        (3_723_456, 1, "01:02:03.4"),
        (-1, 3, "23:59:59.999"),
    ] {
        assert_eq!(text(|out| write_time(out, millis, precision)), expected);
    }
}

#[test]
fn durations_print_as_in_java() {
    for (seconds, nanos, text) in [
        (0, 0, "PT0S"),
        (86_400, 0, "PT24H"),
        (3_661, 0, "PT1H1M1S"),
        (60, 500_000_000, "PT1M0.5S"),
        (3_600, 1, "PT1H0.000000001S"),
        (59, 0, "PT59S"),
    ] {
        assert_eq!(duration_text(Duration::new(seconds, nanos)), text);
    }
}
