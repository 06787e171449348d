//! The order in which the engine prints options: that of a Java `HashMap`.

/// The order in which a `java.util.HashMap<String, …>` returns these pairs after they were inserted one by
/// one: by the slot of the key's hash. The table starts with 16 slots and doubles when it is three quarters
/// full.
pub(crate) fn hash_map_order(pairs: &[(String, String)]) -> Vec<&(String, String)> {
    let mut places: u32 = 16;
    while pairs.len() as u64 * 4 > u64::from(places) * 3 {
        places = places.saturating_mul(2);
    }
    let mut ordered: Vec<_> = pairs.iter().collect();
    ordered.sort_by_key(|(key, _)| spread(key) & (places - 1));
    ordered
}

/// `String.hashCode` with its upper half mixed into the lower, as `HashMap.hash` does.
fn spread(key: &str) -> u32 {
    let hash = key.encode_utf16().fold(0u32, |hash, unit| hash.wrapping_mul(31).wrapping_add(unit.into()));
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_in_the_order_of_a_java_hash_map() {
        let pairs: Vec<(String, String)> =
            ["merge-engine", "bucket", "fields.v.aggregate-function", "write-only"]
                .map(|key| (key.to_owned(), String::new()))
                .into();
        let keys: Vec<&str> = hash_map_order(&pairs).into_iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["bucket", "merge-engine", "write-only", "fields.v.aggregate-function"]);
        let letters: Vec<_> = ('a'..='z').rev().map(|key| (key.to_string(), String::new())).collect();
        let first = hash_map_order(&letters).first().map(|(key, _)| key.clone());
        assert_eq!(first.as_deref(), Some("a"), "97 is at place 33 of 64, after no other");
    }
}
