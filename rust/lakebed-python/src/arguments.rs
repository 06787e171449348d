//! Objects of Python for structs and enums of the core.

use lakebed::reach::ReviewedRemovals;
use pyo3::prelude::*;

/// A struct whose fields are the attributes of a Python object with the same names, and after `;` those with other
/// values.
macro_rules! of_attributes {
    ($object:expr, $($struct:ident)::+ { $($name:ident),+ $(; $($others:tt)+)? }) => {
        $($struct)::+ { $($name: $object.getattr(stringify!($name))?.extract()?,)+ $($($others)+)? }
    };
}

/// A class whose only objects are constants, the values of an enum.
macro_rules! constants {
    ($(#[$documentation:meta])+ $class:ident($enum:ty) { $($constant:ident = $value:ident),+ }) => {
        $(#[$documentation])+
        #[pyclass(frozen, module = "lakebed._native")]
        pub struct $class($enum);

        #[pymethods]
        impl $class {
            $(#[classattr] const $constant: $class = $class(<$enum>::$value);)+
        }
    };
}

pub(crate) use {constants, of_attributes};

/// A snapshot by its number, or what has a name: a tag, or a file.
#[derive(FromPyObject)]
pub enum IdOrName {
    Id(i64),
    Name(String),
}

/// The attributes of Python's `lakebed.cleaning.rows.Reviewed`.
pub struct Reviewed(pub ReviewedRemovals);

impl FromPyObject<'_, '_> for Reviewed {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Reviewed> {
        Ok(Reviewed(of_attributes!(given, ReviewedRemovals { snapshots, changelogs, refs })))
    }
}

/// The bounds of a `lakebed.Limits`, lowered to the hard caps.
#[derive(Clone, Copy)]
pub struct Limits(pub lakebed::Limits);

impl FromPyObject<'_, '_> for Limits {
    type Error = PyErr;

    fn extract(given: Borrowed<'_, '_, PyAny>) -> PyResult<Limits> {
        let limits = of_attributes!(
            given,
            lakebed::Limits {
                max_header_bytes,
                max_schema_depth,
                max_schema_nodes,
                max_block_bytes,
                max_file_bytes,
                max_rows,
                max_items,
                max_zero_width_items,
                max_cells,
                max_value_bytes
            }
        );
        Ok(Limits(limits.capped()))
    }
}
