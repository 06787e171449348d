//! The columns that a program needs, with the numbers by which instructions refer to them.

use crate::plan::Leaf;

/// How many columns of each kind a program needs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pools {
    pub(super) booleans: u32,
    pub(super) ints: u32,
    pub(super) longs: u32,
    pub(super) floats: u32,
    pub(super) doubles: u32,
    pub(super) bytes: u32,
    /// The width of each fixed column.
    pub(super) fixed: Vec<u32>,
    /// The keys of each list's items that are kept, in order; `None` for all items.
    pub(super) lists: Vec<Option<Box<[i32]>>>,
    pub(super) valid: u32,
    /// The number of branches of each union.
    pub(super) unions: Vec<usize>,
}

impl Pools {
    pub(crate) fn add(&mut self, leaf: Leaf) -> u32 {
        let count = match leaf {
            Leaf::Boolean => &mut self.booleans,
            Leaf::Int => &mut self.ints,
            Leaf::Long | Leaf::Millis => &mut self.longs,
            Leaf::Float => &mut self.floats,
            Leaf::Double => &mut self.doubles,
            Leaf::Bytes => &mut self.bytes,
            Leaf::Fixed => return self.add_fixed(0),
            Leaf::Null => return 0,
        };
        next(count)
    }

    pub(crate) fn add_fixed(&mut self, width: u32) -> u32 {
        let number = self.fixed.len() as u32;
        self.fixed.push(width);
        number
    }

    /// A column of lists, whose items have any key, or only these keys.
    pub(crate) fn add_list(&mut self, keys: Option<&[i32]>) -> u32 {
        let number = self.lists.len() as u32;
        self.lists.push(keys.map(|keys| {
            let mut keys: Box<[i32]> = keys.into();
            keys.sort_unstable();
            keys
        }));
        number
    }

    /// The keys of a list's items that are kept, in order; `None` for all items.
    pub(crate) fn keys(&self, list: u32) -> Option<&[i32]> {
        self.lists.get(list as usize)?.as_deref()
    }

    pub(crate) fn add_valid(&mut self) -> u32 {
        next(&mut self.valid)
    }

    pub(crate) fn add_union(&mut self, branches: usize) -> u32 {
        let number = self.unions.len() as u32;
        self.unions.push(branches);
        number
    }

    /// Leaf columns, for the bound on cells.
    pub(crate) fn leaves(&self) -> u64 {
        let scalars = [self.booleans, self.ints, self.longs, self.floats, self.doubles, self.bytes];
        scalars.into_iter().map(u64::from).sum::<u64>().saturating_add(self.fixed.len() as u64)
    }
}

fn next(count: &mut u32) -> u32 {
    let number = *count;
    *count = number.saturating_add(1);
    number
}
