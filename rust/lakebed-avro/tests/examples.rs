//! What the program in `examples/` prints of a manifest.

#[allow(dead_code, reason = "its main")]
#[path = "../examples/decode_file.rs"]
mod decode_file;

const FILE: &str = "../../examples/sample_table/manifest/manifest-47ba5b7a-2fd0-4e2b-9fb7-fbc8addd55af-0";

fn printed(columns: &[&str]) -> Result<String, String> {
    let mut out = Vec::new();
    let columns = columns.iter().copied().map(str::to_owned).collect();
    decode_file::decode(FILE, columns, &mut out).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).unwrap())
}

#[test]
fn columns_are_printed_with_their_types() {
    let all = printed(&[]).unwrap();
    assert!(all.starts_with("6 rows\n_VERSION: Int32, 0 nulls, "), "{all}");
    assert_eq!(all.lines().count(), 7);
    let some = printed(&["_BUCKET"]).unwrap();
    assert_eq!(
        some.lines().map(|line| line.split(':').next().unwrap()).collect::<Vec<_>>(),
        ["6 rows", "_BUCKET"]
    );
    assert!(printed(&["absent"]).unwrap_err().contains("absent"));
}
