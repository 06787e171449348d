//! Groups of deletes, searched by group and sequence number.

use std::ops::Range;

/// A delete of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Member {
    pub(super) group: usize,
    pub(super) sequence: i64,
    pub(super) delete: i32,
}

/// The deletes of each group by sequence number; those with the same number keep their order.
#[derive(Debug, Default)]
pub(super) struct SequencedDeletes {
    /// The start of each group, and the end of the last.
    starts: Vec<usize>,
    sequences: Vec<i64>,
    deletes: Vec<i32>,
}

impl SequencedDeletes {
    /// Sorts `members`, which are in the first `groups` groups.
    pub(super) fn new(groups: usize, mut members: Vec<Member>) -> SequencedDeletes {
        members.sort_unstable();
        let start = |group| members.partition_point(|member| member.group < group);
        SequencedDeletes {
            starts: (0..=groups).map(start).collect(),
            sequences: members.iter().map(|member| member.sequence).collect(),
            deletes: members.iter().map(|member| member.delete).collect(),
        }
    }

    /// The deletes of a group with a sequence number of at least `least`.
    ///
    /// Cost: a binary search in the group.
    pub(super) fn since(&self, group: usize, least: i64) -> &[i32] {
        self.deletes.get(self.places_since(group, least)).unwrap_or_default()
    }

    /// The positions of those deletes among the deletes of all groups.
    pub(super) fn places_since(&self, group: usize, least: i64) -> Range<usize> {
        let Range { start, end } = self.places(group);
        let sequences = self.sequences.get(start..end).unwrap_or_default();
        start + sequences.partition_point(|sequence| *sequence < least)..end
    }

    /// The number of groups.
    pub(super) fn groups(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The positions of the deletes of a group.
    pub(super) fn places(&self, group: usize) -> Range<usize> {
        let range = self.starts.get(group).zip(self.starts.get(group + 1));
        range.map_or(0..0, |(start, end)| *start..*end)
    }

    /// The delete at a position.
    pub(super) fn at(&self, place: usize) -> Option<usize> {
        self.deletes.get(place).and_then(|delete| usize::try_from(*delete).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletes_of_a_group_since_a_number() {
        let member = |group, sequence, delete| Member { group, sequence, delete };
        let members = vec![member(2, 5, 0), member(0, 4, 1), member(0, 2, 2), member(0, 4, 3)];
        let deletes = SequencedDeletes::new(3, members);
        assert_eq!(deletes.since(0, 3), [1, 3]);
        assert_eq!(deletes.since(0, i64::MIN), [2, 1, 3]);
        assert_eq!(
            (deletes.since(1, 0).len(), deletes.since(2, 6).len(), deletes.since(9, 0).len()),
            (0, 0, 0)
        );
        assert!(SequencedDeletes::default().since(0, 0).is_empty());
    }
}
