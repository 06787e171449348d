use super::*;

#[test]
fn folders_and_names() {
    assert_eq!(branch_root("main") + &snapshot_file(3), "snapshot/snapshot-3");
    assert_eq!(branch_root("b1") + &schema_file(0), "branch/branch-b1/schema/schema-0");
    assert_eq!(tag_file("v1.0"), "tag/tag-v1.0");
    assert_eq!(changelog_file(4), "changelog/changelog-4");
    assert_eq!(manifest_file("m"), "manifest/m");
    assert_eq!(statistics_file("s"), "statistics/s");
    assert_eq!(index_file("i"), "index/i");
    let mut path = "t/".to_owned();
    push_bucket_folder(&mut path, -2);
    push_bucket_folder(&mut path, 7);
    assert_eq!(path, "t/bucket-postpone/bucket-7/");
}

#[test]
fn names_with_a_path_are_refused() {
    for name in ["", ".", "..", "a/b", "../x", "a\\b", "a\0", "a\n"] {
        assert!(!is_file_name(name), "{name:?}");
    }
    for name in ["manifest-1", "...", "data é.orc", "a b"] {
        assert!(is_file_name(name), "{name:?}");
    }
}

#[test]
fn data_files_are_below_the_table_or_a_folder_of_it() {
    assert_eq!(data_root("/t/", None), "/t/");
    assert_eq!(data_root("s3://b/t", Some("data")), "s3://b/t/data/");
    assert_eq!(data_root("/t", Some("/a/b/")), "/t/a/b/");
    assert_eq!(data_root("/t", Some("")), "/t/");
}

#[test]
fn ids_of_a_listing() {
    let names = [
        "snapshot-2",
        "LATEST",
        "snapshot-10",
        "/t/snapshot/snapshot-3",
        "snapshot-1a0b.tmp",
        "snapshot-",
        "snapshot--1",
        "snapshot-+4",
        "snapshot-007",
        "snapshot-99999999999999999999",
        "schema-0",
        "snapshot-2",
    ];
    assert_eq!(snapshot_ids(&names), [2, 3, 10]);
    assert_eq!(schema_ids(&names), [0]);
    assert!(changelog_ids(&names).is_empty() && snapshot_ids::<String>(&[]).is_empty());
}

#[test]
fn tags_branches_and_consumers_have_names() {
    let unfinished = "tag-v1b5f3a1e0-0b1c-4d7e-9f00-0123456789ab.tmp";
    let names = ["tag-v1", "t/tag/tag-2024-01-02", "tag-", unfinished, "tag-my.tmp", "branch-x", "EARLIEST"];
    assert_eq!(tag_names(&names), ["2024-01-02", "my.tmp", "v1"]);
    assert_eq!(branch_names(&names), ["x"]);
    assert_eq!(consumer_ids(&["consumer-job-1"]), ["job-1"]);
}
