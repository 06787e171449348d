//! Text is parsed correctly, and errors point at their position.

use super::super::{MAX_DEPTH, MAX_TEXT_BYTES, Operator, byte_count};
use super::*;

/// The canonical text of a predicate shows how it was parsed.
#[test]
fn every_form_reads_as_its_canonical_text() {
    let forms = [
        ("a = 5", r#""a" = 5"#),
        ("a == 5", r#""a" = 5"#),
        ("a != 5", r#""a" <> 5"#),
        ("a <> -5", r#""a" <> -5"#),
        ("a < +1.50e3", r#""a" < 1.50e3"#),
        ("5 < a", r#""a" > 5"#),
        ("a < 1MB OR a >= 1.5 kib", r#""a" < 1000000 OR "a" >= 1536"#),
        ("a IN (2kB, -3 GiB, 4tb)", r#""a" IN (2000, -3221225472, 4000000000000)"#),
        ("5 >= a", r#""a" <= 5"#),
        ("NULL <=> a", r#""a" <=> NULL"#),
        ("a IS NOT DISTINCT FROM 5", r#""a" <=> 5"#),
        ("NOT a <=> 5", r#""a" IS DISTINCT FROM 5"#),
        ("a in (1, NULL, 'x')", r#""a" IN (1, NULL, 'x')"#),
        ("a not in (1)", r#""a" NOT IN (1)"#),
        ("a is null", r#""a" IS NULL"#),
        ("a IS NOT NULL", r#""a" IS NOT NULL"#),
        ("is_nan(a)", r#"is_nan("a")"#),
        ("NOT IS_NAN(a)", r#"NOT is_nan("a")"#),
        ("starts_with(a, 'x')", r#"starts_with("a", 'x')"#),
        ("not starts_with(a, 'x')", r#"NOT starts_with("a", 'x')"#),
        (r"a LIKE 'x\_%'", r#""a" LIKE 'x\_%'"#),
        ("a NOT LIKE 'x!_%' ESCAPE '!'", r#""a" NOT LIKE 'x!_%' ESCAPE '!'"#),
        ("a BETWEEN 1 AND 2 AND b = 3", r#""a" BETWEEN 1 AND 2 AND "b" = 3"#),
        ("NOT a BETWEEN 1 AND 2", r#""a" NOT BETWEEN 1 AND 2"#),
        ("a NOT BETWEEN 1 AND 2", r#""a" NOT BETWEEN 1 AND 2"#),
        ("TRUE or false", "TRUE OR FALSE"),
        ("flag AND NOT other", r#""flag" = TRUE AND "other" <> TRUE"#),
        ("a = 1 OR b = 2 AND c = 3", r#""a" = 1 OR ("b" = 2 AND "c" = 3)"#),
        ("(a = 1 OR b = 2) AND c = 3", r#"("a" = 1 OR "b" = 2) AND "c" = 3"#),
        ("NOT (a = 1 OR b < 2)", r#""a" <> 1 AND "b" >= 2"#),
        ("NOT NOT a = 1", r#""a" = 1"#),
        (r#""a b"."c""d" = 'it''s'"#, r#""a b.c""d" = 'it''s'"#),
        ("a.b.c > X'00fF'", r#""a.b.c" > X'00ff'"#),
        ("date = DATE '2026-01-01'", r#""date" = DATE '2026-01-01'"#),
        ("time < TIME '10:00'", r#""time" < TIME '10:00'"#),
        ("timestamp = timestamp '2026-01-01 10:00'", r#""timestamp" = TIMESTAMP '2026-01-01 10:00'"#),
        ("größe = UUID 'x'", r#""größe" = UUID 'x'"#),
        (r#""and" = 1"#, r#""and" = 1"#),
        ("NOT (FALSE)", "TRUE"),
        (r#""c" > 1e+300"#, r#""c" > 1e+300"#),
        ("bucket = 3", r#""bucket" = 3"#),
    ];
    for (text, canonical) in forms {
        assert_eq!(parse(text).to_string(), canonical, "{text}");
        assert_eq!(parse(canonical), parse(text));
    }
}

#[test]
fn an_error_shows_its_place() {
    let shown = |text: &str| {
        let error = Predicate::parse(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Predicate);
        error.message().to_owned()
    };
    assert_eq!(shown("a = "), "expected a column or a literal, the text ends\n  a = \n     ^");
    assert_eq!(shown("a = 1\nAND b ! 2").lines().skip(1).collect::<Vec<_>>(), ["  AND b ! 2", "        ^"]);
    assert_eq!(shown("a = 'it''s' \"b'c\"").lines().nth(1), Some("  a = '··''·' \"b'c\""), "no values");
    assert_eq!(shown("a = 'open").lines().nth(1), Some("  a = '····"));
    let places = [
        ("", 0, "the text ends"),
        ("a = b", 4, "expected a literal"),
        ("a = 1 b = 2", 6, "AND, OR or the end"),
        ("a = 0.1 KiB", 8, "AND, OR or the end"),
        ("a = 1 \"MB\"", 6, "AND, OR or the end"),
        ("a = 1 -- and b = 2", 6, "comments"),
        ("(a = 1", 6, "\")\""),
        ("a IN ()", 6, "a column or a literal"),
        ("a IS 5", 5, "NULL, NAN or DISTINCT FROM"),
        ("a NOT 5", 6, "IN, BETWEEN or LIKE"),
        ("a = X'0'", 4, "pairs of hexadecimal"),
        ("a = 'open", 4, "Unterminated"),
        ("5", 0, "a literal alone"),
        ("NULL", 0, "a literal alone"),
        ("AND a = 1", 0, "a column or a literal"),
        ("a = - 'x'", 6, "a number"),
        ("bucket(0, id) = 3", 7, "a whole number above 0"),
        ("bucket(id) = 3", 7, "a whole number above 0"),
        ("day(day(ts)) = 3", 4, "a transform takes a column"),
        ("day(5) = 3", 4, "expected a column"),
        ("upper(a) = 'X'", 0, "unknown function upper"),
        ("is_nan(5)", 7, "expected a column"),
    ];
    for (text, place, message) in places {
        let shown = shown(text);
        let caret = shown.lines().last().unwrap();
        assert!(shown.contains(message), "{text}: {shown}");
        assert_eq!(caret.find('^').unwrap() - 2, place, "{text}: {shown}");
    }
}

#[test]
fn transforms_are_called_like_functions() {
    for (text, read) in [
        ("BUCKET(16, id) = 3", r#"bucket(16, "id") = 3"#),
        ("3 = bucket(16, id)", r#"bucket(16, "id") = 3"#),
        ("days(a.ts) IN ('2026-01-01')", r#"day("a.ts") IN ('2026-01-01')"#),
        ("starts_with(truncate(2, s), 'ab')", r#"starts_with(truncate(2, "s"), 'ab')"#),
        ("NOT hour(ts) IS NULL", r#"hour("ts") IS NOT NULL"#),
        ("a IN (-Infinity, +infinity, NaN)", r#""a" IN (-Infinity, infinity, NaN)"#),
        ("NaN = 1", r#""NaN" = 1"#),
        ("a IS NOT NAN AND a IS NAN", r#"NOT is_nan("a") AND is_nan("a")"#),
        // Names of functions are names of columns where nothing is called.
        ("day > 3 AND \"bucket\" = 1", r#""day" > 3 AND "bucket" = 1"#),
    ] {
        assert_eq!(parse(text).to_string(), read);
    }
    let error = parse("day(c0) = '2026-01-01'").bind(&schema(&[DataType::Date32])).unwrap_err();
    assert!(error.message().contains("transforms only apply to columns of Iceberg tables"), "{error}");
}

#[test]
fn a_long_line_is_shown_around_the_place() {
    let error = Predicate::parse(&format!("{}a = ?", "a = 1 AND ".repeat(1000))).unwrap_err();
    let lines: Vec<_> = error.message().lines().collect();
    assert!(lines[1].len() < 130);
    assert_eq!(lines[1].chars().nth(lines[2].find('^').unwrap()), Some('?'));
}

#[test]
fn size_and_depth_are_bounded() {
    let nested = |depth: usize| format!("{}a = 1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(Predicate::parse(&nested(MAX_DEPTH)).is_ok());
    assert!(Predicate::parse(&nested(MAX_DEPTH + 1)).unwrap_err().message().contains("nested deeper"));
    assert!(Predicate::parse(&"(".repeat(MAX_TEXT_BYTES)).is_err());
    assert!(Predicate::parse(&" ".repeat(MAX_TEXT_BYTES + 1)).unwrap_err().message().contains("at most"));
    // A long filter need not be deeply nested.
    let Predicate::Or(terms) = parse(&vec!["a=1"; 100_000].join(" OR ")) else { panic!("not a disjunction") };
    assert_eq!(terms.len(), 100_000);
    let negated = format!("{}a = 1", "NOT ".repeat(100_001));
    assert_eq!(parse(&negated), Predicate::leaf("a", Operator::NotEq, vec![Literal::Number("1".into())]));
}

#[test]
fn columns_and_conjuncts_are_listed() {
    let predicate = parse("a = 1 AND (b = 2 OR a = 3) AND (c = 4 AND TRUE)");
    assert_eq!(predicate.columns().into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(predicate.split_conjuncts().len(), 4);
    assert_eq!(parse("a = 1 OR b = 2").split_conjuncts().len(), 1);
}

#[test]
fn numbers_of_bytes_are_read_as_in_filters() {
    for (text, bytes) in
        [("2000", "2000"), (" 1.5 MB ", "1500000"), ("32mib", "33554432"), ("7 B", "7"), ("7b", "7")]
    {
        assert_eq!(byte_count(text).as_deref(), Some(bytes), "{text}");
    }
    assert_eq!(byte_count(&"9".repeat(400)), Some("9".repeat(400)));
    for text in [
        "",
        "MB",
        "1.5",
        "0.1 KiB",
        "-1 MB",
        "1 XB",
        "1 MB 2",
        "1 MB B",
        "1.5 B",
        "1e3",
        "1 MB -- x",
        "'1'",
        "'",
    ] {
        assert_eq!(byte_count(text), None, "{text}");
    }
}
