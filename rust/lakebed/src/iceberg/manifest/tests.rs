//! Manifests of many writers, read in all ways.

use std::fs;

use arrow_array::StructArray;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_schema::DataType;
use arrow_select::concat::concat_batches;

use super::*;
use crate::predicate::{Literal, Operator, Predicate};
use crate::test_data::{Random, paths};

fn manifests() -> Vec<Buffer> {
    let is_manifest =
        |name: &str| name.ends_with(".avro") && !name.starts_with("snap-") && !name.contains("list");
    let files = paths("iceberg", &is_manifest).into_iter();
    files.map(|path| Buffer::from_vec(fs::read(path).expect("a readable file"))).collect()
}

/// The entries of a manifest, with the context of a list of version 1 with row ids.
fn read(bytes: &Buffer, names: Option<&[String]>, statuses: Statuses, threads: usize) -> Result<RecordBatch> {
    let columns = Arc::new(EntryColumns::new(names)?);
    let (avro, _) = lakebed_avro::Blocks::open(bytes.clone().into(), lakebed_avro::Limits::DEFAULT)?;
    let content = i32::from(avro.get("content") == Some(b"deletes"));
    let header = ManifestHeader::read(bytes, &lakebed_avro::Limits::DEFAULT.into())?;
    let manifest = ManifestFile {
        content,
        spec_id: header.spec_id.unwrap_or(0),
        added_snapshot_id: Some(7),
        first_row_id: Some(1000),
        ..ManifestFile::default()
    };
    let known = ManifestContext {
        manifest: Some(manifest),
        partition: header.partition,
        ..ManifestContext::default()
    };
    let decoding = Decoding::from(lakebed_avro::Limits::DEFAULT);
    let reader = EntryReader::open(bytes.clone(), &columns, known, statuses, &decoding, threads)?;
    let schema = Arc::clone(reader.schema());
    concat_batches(&schema, &reader.collect::<Result<Vec<_>>>()?).map_err(malformed)
}

#[test]
fn entries_are_the_same_whichever_are_left_out() {
    for bytes in manifests() {
        let all = read(&bytes, None, Statuses::ALL, 1).unwrap();
        assert_eq!(read(&bytes, None, Statuses::ALL, 2).unwrap(), all);
        let status = column::<Int32Array>(&all, "status").unwrap();
        let only_added = Statuses { existing: false, added: true, deleted: false };
        let only_deleted = Statuses { existing: false, added: false, deleted: true };
        for wanted in [Statuses::LIVE, only_added, only_deleted] {
            let keep: BooleanArray = status.values().iter().map(|status| Some(wanted.has(*status))).collect();
            let expected = filter_record_batch(&all, &keep).unwrap();
            assert_eq!(read(&bytes, None, wanted, 1).unwrap(), expected, "{wanted:?}");
        }
    }
}

/// Filters on one field of the tuples each: whether it is null, and whether it equals that of the first tuple.
fn filters(tuples: &StructArray) -> Vec<BoundPredicate> {
    let literal = |column: &ArrayRef| match column.data_type() {
        DataType::Int32 => Some(Literal::Number(column.as_primitive::<Int32Type>().value(0).to_string())),
        DataType::Int64 => Some(Literal::Number(column.as_primitive::<Int64Type>().value(0).to_string())),
        DataType::Utf8 => Some(Literal::String(column.as_string::<i32>().value(0).to_owned())),
        _ => None,
    };
    let schema = arrow_schema::Schema::new(tuples.fields().clone());
    let of_field = |(field, column): (&arrow_schema::FieldRef, &ArrayRef)| {
        let leaf = |operator, literals| Predicate::leaf(field.name().clone(), operator, literals);
        let equal = (column.is_valid(0)).then(|| literal(column)).flatten();
        let equal = equal.into_iter().flat_map(|literal| {
            [leaf(Operator::Eq, vec![literal.clone()]), leaf(Operator::NotEq, vec![literal])]
        });
        let there = [leaf(Operator::IsNull, Vec::new()), leaf(Operator::IsNotNull, Vec::new())];
        there.into_iter().chain(equal).filter_map(|leaf| leaf.bind(&schema).ok()).collect::<Vec<_>>()
    };
    tuples.fields().iter().zip(tuples.columns()).flat_map(of_field).collect()
}

#[test]
fn a_filter_on_tuples_drops_only_entries_that_do_not_match() {
    let (mut left_out, mut too_many) = (0, 0);
    for bytes in manifests() {
        let header = ManifestHeader::read(&bytes, &lakebed_avro::Limits::DEFAULT.into()).unwrap();
        let columns = Arc::new(EntryColumns::new(None).unwrap());
        let read = |filter: Option<&BoundPredicate>| {
            let filter = filter.cloned().map(Arc::new);
            let known =
                ManifestContext { partition: header.partition.clone(), filter, ..ManifestContext::default() };
            let decoding = Decoding::from(lakebed_avro::Limits::DEFAULT);
            let reader =
                EntryReader::open(bytes.clone(), &columns, known, Statuses::LIVE, &decoding, 1).unwrap();
            let schema = Arc::clone(reader.schema());
            concat_batches(&schema, &reader.collect::<Result<Vec<_>>>().unwrap()).unwrap()
        };
        let all = read(None);
        if all.num_rows() == 0 {
            continue;
        }
        let matching = |entries: &RecordBatch, filter: &BoundPredicate| {
            let tuples = column::<StructArray>(entries, PARTITION).unwrap();
            let matching = filter.evaluate(tuples.columns(), entries.num_rows()).unwrap();
            filter_record_batch(entries, &matching.into()).unwrap()
        };
        for filter in filters(column(&all, PARTITION).unwrap()) {
            let (some, expected) = (read(Some(&filter)), matching(&all, &filter));
            assert_eq!(matching(&some, &filter), expected, "{filter:?}");
            left_out += all.num_rows() - some.num_rows();
            too_many += some.num_rows() - expected.num_rows();
        }
    }
    assert!(left_out > too_many || manifests().is_empty(), "{left_out} left out, {too_many} too many");
}

#[test]
fn columns_are_the_same_whichever_are_wanted() {
    for bytes in manifests() {
        let all = read(&bytes, None, Statuses::LIVE, 1).unwrap();
        for names in
            [&["first_row_id", "partition"][..], &["upper_bounds"], &["status", "spec_id", "file_path"], &[]]
        {
            let wanted: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let some = read(&bytes, Some(&wanted), Statuses::LIVE, 1).unwrap();
            assert_eq!((some.num_rows(), some.num_columns()), (all.num_rows(), names.len()));
            for name in names {
                assert_eq!(&some[*name], &all[*name], "{name}");
            }
        }
    }
}

#[test]
fn malformed_manifests_are_refused_or_read() {
    let mut random = Random(7);
    let mut refused = 0;
    for bytes in manifests().into_iter().step_by(5) {
        for _ in 0..20 {
            let malformed = Buffer::from_vec(random.mutate(&bytes));
            refused += usize::from(read(&malformed, None, Statuses::LIVE, 1).is_err());
        }
    }
    assert!(refused > 0 || manifests().is_empty());
}

#[test]
fn every_cut_is_refused_or_ends_at_a_block() {
    let Some(bytes) = manifests().into_iter().min_by_key(Buffer::len) else { return };
    let all = read(&bytes, None, Statuses::ALL, 1).unwrap();
    for cut in 0..bytes.len() {
        if let Ok(read) = read(&bytes.slice_with_length(0, cut), None, Statuses::ALL, 1) {
            assert!(read.num_rows() < all.num_rows(), "{cut}");
        }
    }
}
