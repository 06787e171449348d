//! Avro schemas of Iceberg types (Iceberg specification, "Avro"; Iceberg's `TypeToSchema.java`).

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::iceberg::types::{FieldRef, NestedField, Type};

/// The schema of a record named `name`, with the ids of its fields.
pub(super) fn record_schema(name: &str, fields: &[FieldRef]) -> Value {
    Names::default().record(name, fields)
}

/// The named types written so far: a second use is a reference.
#[derive(Default)]
struct Names(HashSet<String>);

impl Names {
    fn record(&mut self, name: &str, fields: &[FieldRef]) -> Value {
        let fields: Vec<Value> = fields.iter().map(|field| self.field(field)).collect();
        json!({ "type": "record", "name": name, "fields": fields })
    }

    fn field(&mut self, field: &NestedField) -> Value {
        let name = avro_name(&field.name);
        let mut json = Map::new();
        json.insert("name".to_owned(), name.clone().into());
        json.insert("type".to_owned(), self.value(field));
        if !field.required {
            json.insert("default".to_owned(), Value::Null);
        }
        if name != field.name {
            json.insert("iceberg-field-name".to_owned(), field.name.clone().into());
        }
        json.insert("field-id".to_owned(), field.id.into());
        Value::Object(json)
    }

    /// The type of a field, a union with null where it is optional.
    fn value(&mut self, field: &NestedField) -> Value {
        let of = self.of(&field.ty, field.id);
        // The type of a column that is always null is null already.
        if field.required || field.ty == Type::Unknown { of } else { json!(["null", of]) }
    }

    /// The type of the field with that id, after which records are named.
    fn of(&mut self, ty: &Type, id: i32) -> Value {
        let logical = |of: &str, name: &str| json!({ "type": of, "logicalType": name });
        let timestamp =
            |name: &str, utc: bool| json!({ "type": "long", "logicalType": name, "adjust-to-utc": utc });
        match ty {
            Type::Boolean => json!("boolean"),
            Type::Int => json!("int"),
            Type::Long => json!("long"),
            Type::Float => json!("float"),
            Type::Double => json!("double"),
            Type::Date => logical("int", "date"),
            Type::Time => logical("long", "time-micros"),
            Type::Timestamp => timestamp("timestamp-micros", false),
            Type::Timestamptz => timestamp("timestamp-micros", true),
            Type::TimestampNs => timestamp("timestamp-nanos", false),
            Type::TimestamptzNs => timestamp("timestamp-nanos", true),
            Type::String => json!("string"),
            Type::Unknown => json!("null"),
            Type::Binary | Type::Variant | Type::Geometry { .. } | Type::Geography { .. } => json!("bytes"),
            Type::Uuid => self.fixed("uuid_fixed".to_owned(), 16, &json!({ "logicalType": "uuid" })),
            Type::Fixed(length) => self.fixed(format!("fixed_{length}"), *length, &json!({})),
            Type::Decimal { precision, scale } => {
                let logical = json!({ "logicalType": "decimal", "precision": precision, "scale": scale });
                self.fixed(format!("decimal_{precision}_{scale}"), least_bytes(*precision), &logical)
            }
            Type::Struct(fields) => self.record(&format!("r{id}"), fields),
            Type::List(element) => {
                json!({ "type": "array", "items": self.value(element), "element-id": element.id })
            }
            Type::Map(key, value) => {
                let name = format!("k{}_v{}", key.id, value.id);
                let entries = [key, value].map(std::sync::Arc::clone);
                json!({ "type": "array", "items": self.record(&name, &entries), "logicalType": "map" })
            }
        }
    }

    fn fixed(&mut self, name: String, size: u32, more: &Value) -> Value {
        if !self.0.insert(name.clone()) {
            return Value::String(name);
        }
        let mut json = json!({ "type": "fixed", "name": name, "size": size });
        if let (Value::Object(json), Value::Object(more)) = (&mut json, more) {
            json.extend(more.clone());
        }
        json
    }
}

/// The number of bytes that every decimal of this many digits fits in.
fn least_bytes(precision: u8) -> u32 {
    let most = 10_i128.checked_pow(precision.into()).map_or(i128::MAX, |power| power - 1);
    // One more bit for the sign.
    (i128::BITS - most.leading_zeros() + 1).div_ceil(8)
}

/// A name that Avro allows: other characters are written in hexadecimal, by UTF-16 units as in Java.
pub(in crate::iceberg) fn avro_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (place, char) in name.chars().enumerate() {
        match char {
            '0'..='9' if place == 0 => out.extend(['_', char]),
            '_' => out.push(char),
            char if is_letter_or_digit(char) => out.push(char),
            char => {
                let mut units = [0; 2];
                for unit in char.encode_utf16(&mut units) {
                    out.push_str(&format!("_x{unit:X}"));
                }
            }
        }
    }
    out
}

/// Whether Java considers a character a letter or digit, for scripts in which that is simple to decide; other
/// letters are written in hexadecimal, which readers accept for the same name.
fn is_letter_or_digit(char: char) -> bool {
    match char {
        '\u{0345}' => false,
        '\0'..'\u{2000}' => {
            char.is_ascii_alphanumeric() || (!char.is_ascii() && (char.is_lowercase() || char.is_uppercase()))
        }
        // Kana, Han and Hangul.
        '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_take_the_fewest_bytes() {
        // Iceberg specification, "Avro": the bytes by precision.
        let table =
            [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (6, 3), (7, 4), (9, 4), (10, 5), (11, 5), (12, 6)];
        let long = [
            (14, 6),
            (15, 7),
            (16, 7),
            (17, 8),
            (18, 8),
            (19, 9),
            (21, 9),
            (22, 10),
            (35, 15),
            (36, 16),
            (37, 16),
            (38, 16),
        ];
        for (precision, bytes) in table.into_iter().chain(long) {
            assert_eq!(least_bytes(precision), bytes, "precision {precision}");
        }
    }

    #[test]
    fn names_are_spelled_as_java_does() {
        let names = [
            ("a.b", "a_x2Eb"),
            ("9 a.b", "_9_x20a_x2Eb"),
            ("x-y t", "x_x2Dy_x20t"),
            ("😎 m", "_xD83D_xDE0E_x20m"),
            ("é", "é"),
            ("城市", "城市"),
            ("a1_", "a1_"),
        ];
        for (name, spelled) in names {
            assert_eq!(avro_name(name), spelled);
        }
    }

    #[test]
    fn the_second_use_of_a_fixed_is_its_name() {
        let decimal = Type::Decimal { precision: 9, scale: 2 };
        let fields: Vec<FieldRef> = [(1, "a"), (2, "b")]
            .map(|(id, name)| NestedField::new(id, name, false, decimal.clone()).into())
            .into();
        let schema = record_schema("r", &fields);
        assert_eq!(schema["fields"][1]["type"], json!(["null", "decimal_9_2"]));
        assert_eq!(schema["fields"][0]["type"][1]["size"], 4);
    }
}
