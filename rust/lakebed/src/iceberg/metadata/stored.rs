//! Values that writers store in different forms.

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::error::{Error, ErrorKind, Result};

/// The value of `key`; an error if it is missing.
pub(super) fn required<T>(value: Option<T>, key: &str) -> Result<T> {
    value.ok_or_else(|| Error::new(ErrorKind::Required, format!("there is no `{key}`")).in_field(key))
}

/// An integer that may be in quotes, as in the specification's own example of a `schema-id`.
pub(super) fn quotable_int<'de, D: Deserializer<'de>>(from: D) -> Result<Option<i32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "an integer of 32 bits")]
    enum WrittenValue {
        Number(i32),
        Text(String),
    }
    Ok(match Option::deserialize(from)? {
        Some(WrittenValue::Number(number)) => Some(number),
        Some(WrittenValue::Text(text)) => Some(text.parse().map_err(D::Error::custom)?),
        None => None,
    })
}

/// The strings of an object, if there is one.
pub(super) fn strings<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, String)>, D::Error> {
    Ok(Option::<Strings>::deserialize(from)?.unwrap_or_default().0)
}

/// An object of strings in its order; numbers and booleans count as their text, nulls as absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Strings(pub(super) Vec<(String, String)>);

impl<'de> Deserialize<'de> for Strings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Strings;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Strings, A::Error> {
                let mut pairs = Vec::new();
                while let Some(key) = map.next_key()? {
                    if let Some(Text(text)) = map.next_value()? {
                        pairs.push((key, text));
                    }
                }
                Ok(Strings(pairs))
            }
        }
        from.deserialize_map(Object)
    }
}

/// A string, or the text of a number or boolean that should have been one.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Text;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }

            fn visit_bool<E>(self, value: bool) -> Result<Text, E> {
                Ok(Text(value.to_string()))
            }

            fn visit_i64<E>(self, value: i64) -> Result<Text, E> {
                Ok(Text(value.to_string()))
            }

            fn visit_u64<E>(self, value: u64) -> Result<Text, E> {
                Ok(Text(value.to_string()))
            }

            fn visit_f64<E>(self, value: f64) -> Result<Text, E> {
                Ok(Text(value.to_string()))
            }
        }
        from.deserialize_any(Any)
    }
}
