//! Views over entries of manifests: most of their columns are made alike for every format, the others by the format.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};

use super::batch;
use crate::error::Result;
use crate::field::FieldSpec;
use crate::record::find;

/// Name of the column with the identity of a file, by which it is merged and compared elsewhere.
pub(crate) const IDENTITY_COLUMN: &str = "_identity";

/// How a column of a view is made from entries.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ColumnRecipe<O> {
    /// The entry's own column of this name.
    Copy(&'static str),
    /// A column that the scan adds to the entries under this name.
    Given(&'static str, fn() -> DataType),
    /// Null: the format has no such field.
    Absent(fn() -> DataType),
    /// The path of the manifest.
    Manifest,
    /// The format makes it.
    Own(O),
}

/// A column of a view over entries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ViewColumn<O> {
    /// Its name in the view.
    pub(crate) name: &'static str,
    /// How it is made.
    pub(crate) make: ColumnRecipe<O>,
}

/// A column of a view, as tables of columns write it.
pub(crate) const fn column<O: Copy>(name: &'static str, make: ColumnRecipe<O>) -> ViewColumn<O> {
    ViewColumn { name, make }
}

/// A column that has the name that it has in entries.
pub(crate) const fn copy<O: Copy>(name: &'static str) -> ViewColumn<O> {
    column(name, ColumnRecipe::Copy(name))
}

/// A column that the scan adds to the entries under the name that it has in the view.
pub(crate) const fn given<O: Copy>(name: &'static str, data_type: fn() -> DataType) -> ViewColumn<O> {
    column(name, ColumnRecipe::Given(name, data_type))
}

/// The columns that a format makes itself, and what it makes them of besides entries.
pub(crate) trait OwnColumns {
    /// One of them.
    type Own: Copy;
    /// What several columns of a batch are made of, computed for the first one that needs it.
    type Cache: Default;

    /// The type of a column.
    fn data_type(&self, own: Self::Own) -> DataType;

    /// The columns of entries of which a column is made.
    fn input(&self, own: Self::Own) -> Vec<&'static str>;

    /// Makes a column.
    ///
    /// # Errors
    /// `Required` for a missing column of entries; those of decoding values.
    fn build(&self, own: Self::Own, entries: &RecordBatch, shared: &mut Self::Cache) -> Result<ArrayRef>;
}

/// One view over entries, compiled: the columns of entries that it needs, and how its columns are made.
pub(crate) struct EntryView<C: OwnColumns> {
    columns: Vec<ViewColumn<C::Own>>,
    raw: Vec<String>,
    schema: SchemaRef,
    own: C,
}

impl<C: OwnColumns> EntryView<C> {
    /// The view with these columns of entries with these fields, of which it also needs those that are `needed`.
    pub(crate) fn new(
        fields: &[FieldSpec],
        own: C,
        columns: Vec<ViewColumn<C::Own>>,
        needed: &[&str],
    ) -> EntryView<C> {
        let data_type = |column: &ViewColumn<C::Own>| match column.make {
            ColumnRecipe::Copy(name) => fields
                .iter()
                .find(|spec| spec.column == name)
                .map_or(DataType::Null, |spec| (spec.data_type)()),
            ColumnRecipe::Absent(data_type) | ColumnRecipe::Given(_, data_type) => data_type(),
            ColumnRecipe::Manifest => DataType::Utf8,
            ColumnRecipe::Own(made) => own.data_type(made),
        };
        let schema: Vec<_> =
            columns.iter().map(|column| Field::new(column.name, data_type(column), true)).collect();
        let made_of = |column: &ViewColumn<C::Own>| match column.make {
            ColumnRecipe::Copy(name) => vec![name],
            ColumnRecipe::Absent(_) | ColumnRecipe::Given(..) | ColumnRecipe::Manifest => Vec::new(),
            ColumnRecipe::Own(made) => own.input(made),
        };
        let inputs: Vec<&str> = columns.iter().flat_map(made_of).chain(needed.iter().copied()).collect();
        let raw =
            fields.iter().map(|spec| spec.column).filter(|name| inputs.contains(name)).map(str::to_owned);
        EntryView { raw: raw.collect(), schema: Arc::new(ArrowSchema::new(schema)), columns, own }
    }

    /// The schema of the view's batches.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Its columns.
    pub(crate) fn columns(&self) -> &[ViewColumn<C::Own>] {
        &self.columns
    }

    /// What makes the format's own columns.
    pub(crate) fn own(&self) -> &C {
        &self.own
    }

    /// Whether it has a column of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.columns.iter().any(|column| column.name == name)
    }

    /// The columns of entries that the view needs, in the order of their fields.
    pub(crate) fn raw(&self) -> &[String] {
        &self.raw
    }

    /// Makes the view's rows from entries of one manifest.
    ///
    /// # Errors
    /// Those of [`OwnColumns::build`], with the column; `Required` for a missing column of entries.
    pub(crate) fn build(&self, entries: &RecordBatch, manifest: &str) -> Result<RecordBatch> {
        let rows = entries.num_rows();
        let mut shared = C::Cache::default();
        let columns = self.columns.iter().zip(self.schema.fields()).map(|(column, field)| {
            let array = match column.make {
                ColumnRecipe::Copy(name) | ColumnRecipe::Given(name, _) => find(entries, name),
                ColumnRecipe::Absent(_) => Ok(new_null_array(field.data_type(), rows)),
                ColumnRecipe::Manifest => Ok(Arc::new(StringArray::new_repeated(manifest, rows)) as ArrayRef),
                ColumnRecipe::Own(made) => self.own.build(made, entries, &mut shared),
            };
            array.map_err(|error| error.in_field(column.name))
        });
        batch(&self.schema, columns.collect::<Result<_>>()?, rows)
    }
}
