//! Questions about many levels at once, eight in a word: a release is optimised for size in the end, which compares bytes
//! one by one.

/// A word with this byte in all places.
const fn all(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

const HIGHEST: u64 = all(0x80);

/// How many levels are this one.
pub(super) fn count(levels: &[u8], wanted: u8) -> usize {
    let (words, rest) = levels.as_chunks::<8>();
    let of_word = |word: &[u8; 8]| {
        let differs = u64::from_ne_bytes(*word) ^ all(wanted);
        // The highest bit of each byte that is not 0.
        let is_other = (differs & !HIGHEST).wrapping_add(!HIGHEST) | differs;
        (!is_other & HIGHEST).count_ones() as usize
    };
    let of_rest = rest.iter().filter(|level| **level == wanted).count();
    words.iter().fold(of_rest, |sum, word| sum.saturating_add(of_word(word)))
}

/// Whether some level is below this one.
pub(super) fn any_below(levels: &[u8], least: u8) -> bool {
    let (words, rest) = levels.as_chunks::<8>();
    if least > 0x7f {
        return levels.iter().any(|level| *level < least);
    }
    // The highest bit of each byte is left unless the byte is below.
    let of_word = |word: &[u8; 8]| {
        let word = u64::from_ne_bytes(*word);
        ((word | HIGHEST).wrapping_sub(all(least)) | word) & HIGHEST
    };
    let left = words.iter().fold(HIGHEST, |left, word| left & of_word(word));
    left != HIGHEST || rest.iter().any(|level| *level < least)
}

/// Whether some level is above this one.
pub(super) fn any_above(levels: &[u8], most: u8) -> bool {
    let (words, rest) = levels.as_chunks::<8>();
    if most >= 0x7f {
        return levels.iter().any(|level| *level > most);
    }
    let room = all(0x7f_u8.wrapping_sub(most));
    // The highest bit is that of the byte, or of the sum of the others.
    let of_word = |word: &[u8; 8]| {
        let word = u64::from_ne_bytes(*word);
        ((word & !HIGHEST).wrapping_add(room) | word) & HIGHEST
    };
    let above = words.iter().fold(0, |above, word| above | of_word(word));
    above != 0 || rest.iter().any(|level| *level > most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_answer_as_bytes_do() {
        let edges = [0, 1, 2, 3, 0x7e, 0x7f, 0x80, 0x81, 0xfe, 0xff];
        for length in [0, 1, 8, 9, 24] {
            for (background, other) in edges.iter().flat_map(|one| edges.map(|other| (*one, other))) {
                for place in 0..=length {
                    let mut levels = vec![background; length];
                    levels.iter_mut().skip(place).take(1).for_each(|level| *level = other);
                    for asked in edges {
                        let counted = levels.iter().filter(|level| **level == asked).count();
                        assert_eq!(count(&levels, asked), counted, "{levels:?} {asked}");
                        let below = levels.iter().any(|level| *level < asked);
                        assert_eq!(any_below(&levels, asked), below, "{levels:?} {asked}");
                        let above = levels.iter().any(|level| *level > asked);
                        assert_eq!(any_above(&levels, asked), above, "{levels:?} {asked}");
                    }
                }
            }
        }
    }
}
