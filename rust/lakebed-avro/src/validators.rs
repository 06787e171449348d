//! Names as the specification has them, checked without a lock.

use apache_avro::AvroResult;
use apache_avro::error::Details;
use apache_avro::validator::{
    EnumSymbolNameValidator, RecordFieldNameValidator, SchemaNameValidator, SchemaNamespaceValidator,
    set_enum_symbol_name_validator, set_record_field_name_validator, set_schema_name_validator,
    set_schema_namespace_validator,
};

use crate::names::is_name;

/// Has `apache-avro` check names without regular expressions, in the whole process: for a program that forks
/// while its threads read files, to call before it parses a schema.
///
/// Each expression has a lock. Where another thread has it when the process forks, the child waits for it
/// forever. The rules, those of the Avro specification ("Names"), and the errors stay the same; validators
/// that are set already stay too. O(1).
pub fn check_names_without_locks() {
    // Those that are set already are given back.
    let _ = set_schema_name_validator(Box::new(Specified));
    let _ = set_schema_namespace_validator(Box::new(Specified));
    let _ = set_enum_symbol_name_validator(Box::new(Specified));
    let _ = set_record_field_name_validator(Box::new(Specified));
}

struct Specified;

fn is_namespace(text: &str) -> bool {
    text.is_empty() || text.split('.').all(is_name)
}

impl SchemaNameValidator for Specified {
    fn validate(&self, full: &str) -> AvroResult<usize> {
        let (namespace, name) = full.rsplit_once('.').unwrap_or(("", full));
        if is_namespace(namespace) && is_name(name) {
            return Ok(full.len() - name.len());
        }
        Err(Details::InvalidSchemaName(full.to_owned(), SchemaNameValidator::regex(self).as_str()).into())
    }
}

impl SchemaNamespaceValidator for Specified {
    fn validate(&self, namespace: &str) -> AvroResult<()> {
        if is_namespace(namespace) {
            return Ok(());
        }
        Err(Details::InvalidNamespace(namespace.to_owned(), SchemaNamespaceValidator::regex(self).as_str())
            .into())
    }
}

impl EnumSymbolNameValidator for Specified {
    fn validate(&self, symbol: &str) -> AvroResult<()> {
        if is_name(symbol) { Ok(()) } else { Err(Details::EnumSymbolName(symbol.to_owned()).into()) }
    }
}

impl RecordFieldNameValidator for Specified {
    fn validate(&self, name: &str) -> AvroResult<()> {
        if is_name(name) { Ok(()) } else { Err(Details::FieldName(name.to_owned()).into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `apache-avro` checks by where no validator is set.
    struct Default;
    impl SchemaNameValidator for Default {}
    impl SchemaNamespaceValidator for Default {}
    impl EnumSymbolNameValidator for Default {}
    impl RecordFieldNameValidator for Default {}

    fn told<T>(found: AvroResult<T>) -> Result<T, String> {
        found.map_err(|error| error.to_string())
    }

    #[test]
    fn names_are_those_of_the_expressions() {
        let pieces = ["", ".", "a", "Z9", "_", "9", "é", "-", "$", "a\n", " ", "b_1"];
        for number in 0..pieces.len().pow(3) {
            let piece = |place: u32| pieces[number / pieces.len().pow(place) % pieces.len()];
            let text = [piece(0), piece(1), piece(2)].concat();
            macro_rules! same {
                ($($kind:ident),*) => {
                    $(assert_eq!(
                        told($kind::validate(&Specified, &text)),
                        told($kind::validate(&Default, &text)),
                        "{} of {text:?}",
                        stringify!($kind)
                    );)*
                };
            }
            same!(
                SchemaNameValidator,
                SchemaNamespaceValidator,
                EnumSymbolNameValidator,
                RecordFieldNameValidator
            );
        }
    }

    #[test]
    fn it_can_be_asked_for_again() {
        check_names_without_locks();
        check_names_without_locks();
        assert!(
            apache_avro::Schema::parse_str(r#"{"type": "enum", "name": "e", "symbols": ["a-b"]}"#).is_err()
        );
    }
}
