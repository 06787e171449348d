//! Maps: their keys and values are two leaves with an entry for each item.
//!
//! The keys are read first. They say how many entries the values have, so that the values' repetition levels are not
//! decoded; and, where only items of some int keys are wanted, which entries stay: both leaves lose the others.

use lakebed_avro::{Error, ErrorKind, Result};

use super::leaf::Rows;
use super::levels::count;
use super::schema::{Column, Leaf, Nesting, Physical, Shape};
use super::values::Values;
use crate::arrays::room;
use crate::budget::Budget;

/// Keys below it have a place in a table, which answers sooner than a search.
const TABLE: usize = 1 << 12;

/// The keys whose items are wanted.
pub(super) struct WantedKeys {
    sorted: Vec<i32>,
    table: Vec<bool>,
}

impl WantedKeys {
    pub(super) fn of(mut sorted: Vec<i32>) -> WantedKeys {
        sorted.sort_unstable();
        let mut table = vec![false; TABLE];
        for key in sorted.iter().filter_map(|key| usize::try_from(*key).ok()) {
            if let Some(is_wanted) = table.get_mut(key) {
                *is_wanted = true;
            }
        }
        WantedKeys { sorted, table }
    }

    fn has(&self, key: i32) -> bool {
        let in_table = usize::try_from(key).ok().and_then(|key| self.table.get(key));
        in_table.copied().unwrap_or_else(|| self.sorted.binary_search(&key).is_ok())
    }
}

/// A map whose keys and values are one leaf each, and that is in no list or other map.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlainMap {
    /// The leaf of its keys; that of its values is the next one.
    pub(super) keys: Leaf,
    /// The definition level of a map without items.
    empty: u8,
}

impl Column {
    /// The plain maps in it.
    pub(super) fn plain_maps(&self, found: &mut Vec<PlainMap>) {
        match &self.shape {
            Shape::Struct(children) => children.iter().for_each(|child| child.plain_maps(found)),
            Shape::Map { items: Nesting { defined, repeated: 1 }, entries } => {
                if let [Column { shape: Shape::Leaf(keys), .. }, Column { shape: Shape::Leaf(_), .. }] =
                    entries.as_ref()
                {
                    found.push(PlainMap { keys: *keys, empty: defined.saturating_sub(1) });
                }
            }
            _ => {}
        }
    }
}

/// An entry that stays.
#[derive(Debug, Clone, Copy)]
struct KeptEntry {
    number: u32,
    /// Whether it is its row's first one.
    begins: bool,
    /// Whether it stays to say that the row's map has no items.
    is_empty: bool,
}

/// Which entries of some rows of a map stay.
pub(super) struct Items {
    kept: Vec<KeptEntry>,
    /// The levels and keys that say so. The maps of a file mostly have the same.
    repetition: Vec<u8>,
    definition: Vec<u8>,
    keys: Vec<i32>,
    empty: u8,
}

impl Items {
    /// Those of the rows of its keys, which lose the others; `None` for keys that are no ints, of which all stay. `before`
    /// is of another map of the same rows.
    pub(super) fn of(
        rows: &mut Rows,
        map: PlainMap,
        wanted: &WantedKeys,
        before: Option<Items>,
        budget: &mut Budget,
    ) -> Result<Option<Items>> {
        if map.keys.physical != Physical::Int32 {
            return Ok(None);
        }
        let Values::Int32(keys) = &rows.values else { return Err(differs()) };
        let is_same = |before: &Items| {
            let levels = (&before.repetition, &before.definition);
            levels == (&rows.repetition, &rows.definition)
                && before.keys == *keys
                && before.empty == map.empty
        };
        let items = match before.filter(is_same) {
            Some(before) => before,
            None => {
                budget.hold(rows.entries, size_of::<i32>().saturating_add(2))?;
                let kept = kept(rows, keys, map, wanted, budget)?;
                let (repetition, definition) = (rows.repetition.clone(), rows.definition.clone());
                Items { kept, repetition, definition, keys: keys.clone(), empty: map.empty }
            }
        };
        if let Values::Int32(keys) = &mut rows.values {
            keys.retain(|key| wanted.has(*key));
        }
        items.keep(rows)?;
        Ok(Some(items))
    }

    /// Of the entries from `start` on with these levels: the numbers of the values that stay, among those that are there,
    /// which are so many.
    pub(super) fn of_values(&self, start: usize, levels: &[u8], there: usize, leaf: Leaf) -> Vec<u32> {
        let first = self.kept.partition_point(|entry| (entry.number as usize) < start);
        let kept = self.kept.get(first..).unwrap_or_default().iter();
        let places = kept.map(|entry| ((entry.number as usize).saturating_sub(start), entry.is_empty));
        let places = places.take_while(|(place, _)| *place < levels.len());
        if there == levels.len() {
            return places.filter(|(_, is_empty)| !is_empty).map(|(place, _)| place as u32).collect();
        }
        let (mut at, mut values) = (0, 0_usize);
        let number = |(place, is_empty): (usize, bool)| {
            // Values are there only where levels say so.
            values = values.saturating_add(count(levels.get(at..place).unwrap_or_default(), leaf.defined));
            at = place;
            (levels.get(place) == Some(&leaf.defined) && !is_empty).then_some(values as u32)
        };
        places.filter_map(number).collect()
    }

    /// Takes away the levels of entries that do not stay.
    pub(super) fn keep(&self, rows: &mut Rows) -> Result<()> {
        if self.definition.len() != rows.entries {
            return Err(differs());
        }
        let level = |entry: &KeptEntry| match entry.is_empty {
            true => Ok(self.empty),
            false => rows.definition.get(entry.number as usize).copied().ok_or_else(differs),
        };
        rows.definition = self.kept.iter().map(level).collect::<Result<_>>()?;
        rows.repetition = self.kept.iter().map(|entry| u8::from(!entry.begins)).collect();
        rows.entries = self.kept.len();
        Ok(())
    }
}

fn kept(
    rows: &Rows,
    keys: &[i32],
    map: PlainMap,
    wanted: &WantedKeys,
    budget: &mut Budget,
) -> Result<Vec<KeptEntry>> {
    let mut kept: Vec<KeptEntry> = room(rows.entries, budget)?;
    let mut next = keys.iter();
    let (mut start, mut before) = (0_u32, 0);
    for (number, (repeated, defined)) in (0_u32..).zip(rows.repetition.iter().zip(&rows.definition)) {
        if *repeated == 0 {
            end_row(&mut kept, before, start, number);
            (start, before) = (number, kept.len());
        }
        // What is no item stays: it says of a row that it has none.
        if *defined < map.keys.defined || next.next().is_some_and(|key| wanted.has(*key)) {
            kept.push(KeptEntry { number, begins: kept.len() == before, is_empty: false });
        }
    }
    end_row(&mut kept, before, start, u32::try_from(rows.entries).map_err(|_| differs())?);
    Ok(kept)
}

/// Where no entry of a row stays, its first one says so.
fn end_row(kept: &mut Vec<KeptEntry>, before: usize, start: u32, end: u32) {
    if kept.len() == before && start < end {
        kept.push(KeptEntry { number: start, begins: true, is_empty: true });
    }
}

#[cold]
fn differs() -> Error {
    Error::new(ErrorKind::Count, "a map has other numbers of keys and of values")
}
