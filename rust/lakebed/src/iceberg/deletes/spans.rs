//! Searches many equality deletes of one group by the range of the values that they delete.

use std::ops::Range;

/// The deletes of a group whose range of values is known, as a tree: a file is compared with the deletes
/// whose range may overlap its own, not with all.
#[derive(Debug)]
pub(super) struct SpanTree {
    /// Sorted by lowest value: that value, and the position of the delete in the group.
    lowest: Vec<i128>,
    places: Vec<usize>,
    /// For each inner node and leaf the highest value below it. Node `n` has the children `2n` and `2n + 1`;
    /// the leaves are after the `leaves` inner nodes.
    highest: Vec<i128>,
    leaves: usize,
}

impl SpanTree {
    /// A tree of (lowest value, highest value, position in the group).
    pub(super) fn new(mut spans: Vec<(i128, i128, usize)>) -> SpanTree {
        spans.sort_unstable();
        let leaves = spans.len().next_power_of_two();
        let mut highest = vec![i128::MIN; 2 * leaves];
        for (leaf, (_, high, _)) in highest.iter_mut().skip(leaves).zip(&spans) {
            *leaf = *high;
        }
        for node in (1..leaves).rev() {
            let below = [highest.get(2 * node), highest.get(2 * node + 1)];
            let high = below.into_iter().flatten().copied().max();
            if let (Some(node), Some(high)) = (highest.get_mut(node), high) {
                *node = high;
            }
        }
        SpanTree {
            lowest: spans.iter().map(|(low, ..)| *low).collect(),
            places: spans.iter().map(|(.., place)| *place).collect(),
            highest,
            leaves,
        }
    }

    /// Adds the positions of the deletes whose range overlaps `low..=high`, in any order.
    ///
    /// Cost: the height of the tree for each delete found.
    pub(super) fn meeting(&self, low: i128, high: i128, found: &mut Vec<usize>) {
        let end = self.lowest.partition_point(|lowest| *lowest <= high);
        self.visit(1, 0..self.leaves, end, low, found);
    }

    /// The same for the leaves below a node; leaves from `end` on begin too high. Recursion is as deep as the
    /// tree is high.
    fn visit(&self, node: usize, leaves: Range<usize>, end: usize, low: i128, found: &mut Vec<usize>) {
        if leaves.start >= end || self.highest.get(node).is_none_or(|highest| *highest < low) {
            return;
        }
        if leaves.len() == 1 {
            found.extend(self.places.get(leaves.start));
            return;
        }
        let middle = leaves.start.midpoint(leaves.end);
        self.visit(2 * node, leaves.start..middle, end, low, found);
        self.visit(2 * node + 1, middle..leaves.end, end, low, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::Random;

    #[test]
    fn the_overlapping_spans_are_found() {
        let mut random = Random(7);
        for count in [0, 1, 2, 3, 17, 64, 100] {
            let mut number = || random.below(50) as i128;
            let spans: Vec<_> = (0..count).map(|place| (number(), number() + 5, place)).collect();
            let tree = SpanTree::new(spans.clone());
            for (low, high) in [(0, 3), (20, 20), (54, 60), (55, 90), (-5, -1), (0, 60)] {
                let meets = |(lowest, highest, _): &&(i128, i128, usize)| *lowest <= high && low <= *highest;
                let expected: Vec<usize> = spans.iter().filter(meets).map(|(.., place)| *place).collect();
                let mut found = Vec::new();
                tree.meeting(low, high, &mut found);
                found.sort_unstable();
                assert_eq!(found, expected, "{count} {low} {high}");
            }
        }
    }
}
