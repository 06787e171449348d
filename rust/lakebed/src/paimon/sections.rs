//! Ranges of keys or row ids that overlap (Paimon's `IntervalPartition.java`).

/// Groups ranges that overlap, also by way of others. `places` must be in the order of their starts, which groups keep.
/// `range` gives the start and the end of one, which belongs to it; an end of `None` is not known, and all later ranges are
/// of its group.
pub(super) fn sections<K: Ord + Copy>(
    places: Vec<usize>,
    range: impl Fn(usize) -> (K, Option<K>),
) -> Vec<Vec<usize>> {
    let mut sections: Vec<Vec<usize>> = Vec::new();
    // The end of the last section.
    let mut end = None;
    for place in places {
        let (start, own) = range(place);
        match sections.last_mut() {
            Some(section) if end.is_none_or(|end| start <= end) => {
                section.push(place);
                end = end.zip(own).map(|(end, own)| end.max(own));
            }
            _ => {
                sections.push(vec![place]);
                end = own;
            }
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_together_where_they_overlap() {
        let of = |ranges: &[(i32, Option<i32>)]| {
            let mut places: Vec<usize> = (0..ranges.len()).collect();
            places.sort_by_key(|place| ranges[*place].0);
            sections(places, |place| ranges[place])
        };
        assert_eq!(of(&[]), Vec::<Vec<usize>>::new());
        assert_eq!(of(&[(5, Some(6)), (1, Some(2)), (3, Some(4))]), [[1], [2], [0]]);
        assert_eq!(of(&[(3, Some(4)), (1, Some(3)), (5, Some(6))]), [vec![1, 0], vec![2]]);
        // One reaches over all, though the one after it ends early.
        assert_eq!(of(&[(1, Some(9)), (2, Some(3)), (4, Some(5)), (10, Some(10))]), [vec![0, 1, 2], vec![3]]);
        assert_eq!(of(&[(5, Some(6)), (3, None), (1, Some(2))]), [vec![2], vec![1, 0]]);
    }
}
