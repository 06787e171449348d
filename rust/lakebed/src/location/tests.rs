use super::*;

#[test]
fn messages_show_no_credentials() {
    for (path, text) in [
        ("s3://key:secret@b/t?token=secret#secret", "s3://b/t"),
        ("s3://b/t", "s3://b/t"),
        ("hdfs://user@nn:8020/t", "hdfs://nn:8020/t"),
        ("abfs://c:secret@account/t?sig=secret", "abfs://c@account/t"),
        ("abfss://c@account/t", "abfss://c@account/t"),
        ("s3://key:secret@b", "s3://b"),
        ("/local/a@b?c://d@e", "/local/a@b?c://d@e"),
        ("a@b?c#d", "a@b?c#d"),
    ] {
        assert_eq!(without_credentials(path), text);
    }
}

#[test]
fn schemes_of_a_kind_of_storage_are_one() {
    for (storage, schemes) in [
        ("s3", &["S3", "s3a", "s3n"][..]),
        ("gs", &["gcs"]),
        ("abfs", &["abfss", "wasb", "wasbs", "az"]),
        ("hdfs", &["HDFS"]),
    ] {
        for scheme in schemes {
            assert_eq!(family(scheme), storage);
            let prefix = AllowedPlaces::below([format!("{storage}://b/t")]).unwrap();
            assert!(prefix.check(&format!("{scheme}://b/t/x")).is_ok(), "{scheme}");
        }
    }
    // `az` has the container where the others have a host.
    let prefix = AllowedPlaces::below(["az://c/t".to_owned()]).unwrap();
    assert_eq!(prefix.check("az://c@account/t/x").unwrap_err().kind(), ErrorKind::Location);
    assert_eq!(without_credentials("az://key@c/t"), "az://c/t");
}

#[test]
fn names_in_a_tables_own_folders_are_fine_and_links_out_of_them_are_not() {
    let storage: std::sync::Arc<dyn crate::storage::Storage> = std::sync::Arc::new(crate::storage::Local);
    let guarded =
        |prefixes| GuardedStorage::of_table(storage.clone(), "../t", ["/copy/..".to_owned()], prefixes);
    use crate::storage::Storage;
    let closed = guarded(Some(Vec::new())).unwrap();
    for (path, kind) in [
        ("../t/manifest/m", ErrorKind::Missing),
        ("/copy/../m", ErrorKind::Missing),
        ("../t/../m", ErrorKind::Location),
        ("../t/%2e%2e/m", ErrorKind::Location),
        ("../t2/m", ErrorKind::Location),
        ("/copy/m", ErrorKind::Location),
    ] {
        assert_eq!(closed.read(path).unwrap_err().kind(), kind, "{path}");
        assert_eq!(closed.read_range(path, 1, 1).unwrap_err().kind(), kind, "{path}");
        // Engines do not get such paths either.
        assert_eq!(closed.place(path).is_err(), kind == ErrorKind::Location, "{path}");
    }
    let open = guarded(None).unwrap();
    assert_eq!(open.read("/no/such").unwrap_err().kind(), ErrorKind::Missing);
    assert_eq!(open.read("http://host/x").unwrap_err().kind(), ErrorKind::Location);
    assert_eq!(guarded(Some(vec!["/a/../b".to_owned()])).err().unwrap().kind(), ErrorKind::Argument);
}
