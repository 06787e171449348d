//! Maps, however a writer has stored them: Avro only has maps with string keys.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, Int32Array, MapArray, StructArray, UInt32Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, FieldRef};
use arrow_select::take::take;

use super::{built, conform, mismatch};
use crate::error::Result;

/// A map, or a list of structs with two fields, as a map with entries `entries`; key and value are matched by
/// position.
///
/// Entries that are null or have a null value are left out, and of those with the same int key the last one
/// counts.
pub(super) fn conform_map(array: &ArrayRef, entries: &FieldRef) -> Result<ArrayRef> {
    let maps = array.as_map_opt().map(|maps| (maps.offsets(), maps.entries()));
    let lists = || {
        array.as_list_opt::<i32>().and_then(|lists| Some((lists.offsets(), lists.values().as_struct_opt()?)))
    };
    let (DataType::Struct(wanted), Some((offsets, items))) = (entries.data_type(), maps.or_else(lists))
    else {
        return Err(mismatch("a map is not of keys and values".to_owned()));
    };
    let [keys, values] = items.columns() else {
        return Err(mismatch("the entries of a map are not keys and values".to_owned()));
    };
    let conformed = [keys, values].into_iter().zip(wanted.iter());
    let mut columns = conformed.map(|(column, field)| conform(column, field.data_type()));
    let (Some(keys), Some(values)) = (columns.next().transpose()?, columns.next().transpose()?) else {
        return Err(mismatch("a map is not of keys and values".to_owned()));
    };
    let valid = NullBuffer::union(items.nulls(), values.nulls());
    let (offsets, columns) = match kept(offsets, keys.as_primitive_opt::<Int32Type>(), valid.as_ref()) {
        None => (offsets.clone(), vec![keys, values]),
        Some((offsets, indices)) => {
            let taken = [keys, values].into_iter().map(|column| take(&column, &indices, None));
            (offsets, taken.collect::<Result<_, _>>().map_err(|error| mismatch(error.to_string()))?)
        }
    };
    let structs = StructArray::try_new(wanted.clone(), columns, None);
    let structs = structs.map_err(|error| mismatch(error.to_string()))?;
    built(MapArray::try_new(Arc::clone(entries), offsets, structs, array.nulls().cloned(), false))
}

/// Which entries are kept, and the offset of each map among them; `None` if all are kept.
fn kept(
    offsets: &OffsetBuffer<i32>,
    keys: Option<&Int32Array>,
    valid: Option<&NullBuffer>,
) -> Option<(OffsetBuffer<i32>, UInt32Array)> {
    let whole = valid.is_none_or(|valid| valid.null_count() == 0);
    let ranges = || offsets.windows(2).map(|pair| pair[0] as usize..pair[1] as usize);
    let ascending = |keys: &Int32Array| {
        let keys = keys.values();
        ranges().all(|range| keys.get(range).is_none_or(|keys| keys.windows(2).all(|pair| pair[0] < pair[1])))
    };
    if whole && keys.is_none_or(ascending) {
        return None;
    }
    let (mut ends, mut indices) = (vec![0i32], Vec::with_capacity(offsets.last() as usize));
    let mut last = HashMap::new();
    for range in ranges() {
        last.clear();
        if let Some(keys) = keys {
            last.extend(range.clone().map(|entry| (keys.value(entry), entry)));
        }
        let counts = |entry: &usize| keys.is_none_or(|keys| last.get(&keys.value(*entry)) == Some(entry));
        let stays = |entry: &usize| valid.is_none_or(|valid| valid.is_valid(*entry)) && counts(entry);
        indices.extend(range.filter(stays).map(|entry| entry as u32));
        ends.push(indices.len() as i32);
    }
    Some((OffsetBuffer::new(ends.into()), indices.into()))
}

#[cfg(test)]
mod tests {
    use arrow_array::Int64Array;
    use arrow_array::builder::{Int32Builder, Int64Builder, ListBuilder, StructBuilder};
    use arrow_schema::{Field, Fields};

    use super::*;
    use crate::record::typed;

    type Row<'r> = Option<&'r [Option<(i32, Option<i64>)>]>;

    fn list(rows: &[Row<'_>]) -> ArrayRef {
        let fields = vec![Field::new("k", DataType::Int32, true), Field::new("v", DataType::Int64, true)];
        let mut lists = ListBuilder::new(StructBuilder::from_fields(fields, 0));
        for row in rows {
            for item in row.unwrap_or_default() {
                let items = lists.values();
                items.field_builder::<Int32Builder>(0).unwrap().append_option(item.map(|(key, _)| key));
                let value = item.and_then(|(_, value)| value);
                items.field_builder::<Int64Builder>(1).unwrap().append_option(value);
                items.append(item.is_some());
            }
            lists.append(row.is_some());
        }
        Arc::new(lists.finish())
    }

    fn conformed(rows: &[Row<'_>]) -> Vec<Option<Vec<(i32, i64)>>> {
        let entry = Fields::from(vec![
            Field::new("key", DataType::Int32, false),
            Field::new("value", DataType::Int64, true),
        ]);
        let to = DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entry), false)), false);
        let map = conform(&list(rows), &to).unwrap();
        assert_eq!(map.data_type(), &to);
        let row = |entries: StructArray| {
            let keys = typed::<Int32Array>(entries.column(0), "keys").unwrap();
            let values = typed::<Int64Array>(entries.column(1), "values").unwrap();
            keys.values().iter().copied().zip(values.iter().map(Option::unwrap)).collect()
        };
        let map = typed::<MapArray>(&map, "map").unwrap();
        (0..map.len()).map(|at| map.is_valid(at).then(|| row(map.value(at)))).collect()
    }

    #[test]
    fn maps_become_lists_of_pairs() {
        let rows = conformed(&[Some(&[Some((1, Some(10))), Some((7, Some(70)))]), None, Some(&[])]);
        assert_eq!(rows, [Some(vec![(1, 10), (7, 70)]), None, Some(vec![])]);
    }

    #[test]
    fn null_values_are_left_out_and_the_last_of_a_key_is_used() {
        let rows = conformed(&[
            Some(&[Some((1, None)), None, Some((2, Some(20)))]),
            Some(&[Some((2, Some(1))), Some((1, Some(2))), Some((2, Some(3)))]),
            Some(&[Some((3, Some(4))), Some((3, None))]),
        ]);
        assert_eq!(rows, [Some(vec![(2, 20)]), Some(vec![(1, 2), (2, 3)]), Some(vec![])]);
    }
}
