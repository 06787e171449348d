mod bounds;
mod pairs;

use std::sync::Arc;

use arrow_array::StringArray;
use serde_json::json;

use super::*;
use crate::paimon::text::{TextForm, texts};

fn data_type(text: &str) -> DataType {
    DataType::from_json(&json!(text)).expect("a type")
}

/// Values of a type from texts, which are parsed as in a cast.
fn values(ty: &str, given: &[Option<&str>]) -> ArrayRef {
    let array: ArrayRef = Arc::new(StringArray::from(given.to_vec()));
    let values = cast(&array, &data_type("STRING"), &data_type(ty)).expect("values");
    assert_eq!(values.null_count(), given.iter().filter(|text| text.is_none()).count(), "{given:?} as {ty}");
    values
}

/// The values as text in the form of Java.
fn printed(array: &ArrayRef, ty: &str) -> Vec<Option<String>> {
    let texts = texts(array, &data_type(ty), TextForm::Java).expect("texts");
    texts.iter().map(|text| text.map(str::to_owned)).collect()
}
