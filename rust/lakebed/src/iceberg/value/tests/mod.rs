mod binary;
mod forms;
mod json;

use super::*;

#[test]
fn minimal_bytes_of_decimals() {
    for (value, bytes) in [
        (0, "00"),
        (127, "7f"),
        (128, "0080"),
        (-1, "ff"),
        (-128, "80"),
        (-129, "ff7f"),
        (1420, "058c"),
        (-996_953, "f0c9a7"),
        (i128::MAX, "7fffffffffffffffffffffffffffffff"),
        (i128::MIN, "80000000000000000000000000000000"),
    ] {
        let mut text = String::new();
        text::write_hex(&mut text, decimal::minimal(&value.to_be_bytes())).unwrap();
        assert_eq!(text, bytes);
        assert_eq!(decimal::from_bytes(&text::parse_hex(bytes).unwrap()), Some(value));
    }
}

#[test]
fn overlong_decimals_are_their_value() {
    for (bytes, value) in [
        ("0000000000000000000000000000000000000001", Some(1)),
        ("ffffffffffffffffffffffffffffffffffffff80", Some(-128)),
        ("0080000000000000000000000000000000", None),
        ("ff7fffffffffffffffffffffffffffffff", None),
        ("0100000000000000000000000000000000", None),
        ("007fffffffffffffffffffffffffffffff", Some(i128::MAX)),
        ("", None),
    ] {
        assert_eq!(decimal::from_bytes(&text::parse_hex(bytes).unwrap()), value, "{bytes}");
    }
    assert!(decimal::fits(-99, 2) && !decimal::fits(100, 2) && decimal::fits(i128::MIN, 39));
}

#[test]
fn uuids_of_text() {
    let bytes = text::parse_hex("f79c3e09677c4bbda4793f349cb785e7").unwrap();
    for text in ["f79c3e09-677c-4bbd-a479-3f349cb785e7", "F79C3E09677C4BBDA4793F349CB785E7"] {
        assert_eq!(text::parse_uuid(text).map(Vec::from), Some(bytes.clone()));
    }
    for text in [
        "",
        "f79c3e09-677c-4bbd-a479-3f349cb785e",
        "f79c3e096-77c-4bbd-a479-3f349cb785e7",
        "f79c3e09-677c-4bbd-a479-3f349cb785-7",
        "+79c3e09-677c-4bbd-a479-3f349cb785e7",
        "üüüüüüüüüüüüüüüü",
    ] {
        assert_eq!(text::parse_uuid(text), None, "{text}");
    }
    assert_eq!(text::parse_hex("111ff"), None);
}
