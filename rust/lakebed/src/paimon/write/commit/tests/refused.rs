//! What a commit does not take.

use arrow_array::Float64Array;

use super::*;

#[test]
fn columns_of_other_types_are_refused_by_name() {
    let folder = Folder::new("types");
    let table = created(&folder, &[]);
    let given = files(Some(1), &["a"]);
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.5]));
    for name in
        ["file_path", "record_count", "partition", "bucket", "level", "extra_files", "write_cols", "stats"]
    {
        let mut columns: Vec<(&str, ArrayRef)> = vec![(name, Arc::clone(&floats))];
        for (field, column) in given.schema_ref().fields().iter().zip(given.columns()) {
            if field.name() != name {
                columns.push((field.name().as_str(), Arc::clone(column)));
            }
        }
        let files = RecordBatch::try_from_iter(columns).expect("columns");
        let error = refused(&table, &[Change::AppendFiles { files, changelog: None, check: true }]);
        assert_eq!(error.kind(), ErrorKind::Argument, "{name}: {error}");
        assert_eq!(error.location().field.as_deref(), Some(name), "{error}");
    }
}

#[test]
fn an_offset_of_the_wall_clock_that_does_not_fit_is_an_error() {
    let folder = Folder::new("clock");
    let table = created(&folder, &[]);
    let options = CommitOptions { zone_offset_millis: i64::MAX, ..options(7) };
    let error = commit(&table, &[added(Some(1), &["a"])], &options).err().expect("an error");
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::Mismatch, "the wall-clock time does not fit 64 bits")
    );
}
