use super::*;

fn shown(text: &str) -> String {
    without_secrets(text, &[])
}

#[test]
fn a_password_may_have_what_ends_an_authority() {
    for (path, text) in [
        ("s3://AKID:c4n/4ry?x@bucket/t", "s3://bucket/t"),
        ("s3://AKID:c4n#4ry@bucket/t", "s3://bucket/t"),
        ("hdfs://nn:8020/t/a@b", "hdfs://nn:8020/t/a@b"),
        ("http://[::1]:9000/a@b", "http://[::1]:9000/a@b"),
        ("abfs://c:c4n/4ry@account/t", "abfs://c@account/t"),
    ] {
        assert_eq!(without_credentials(path), text);
    }
}

#[test]
fn a_location_is_without_its_authoritys_user_info_alone() {
    for (uri, location) in [
        ("s3://AKID:c4n4ry@bucket/t/a@b?x=c4n4ry#y", "s3://bucket/t/a@b"),
        (
            "s3://arn:aws:s3:us-west-2:1:accesspoint/ap/me@corp.com/t",
            "s3://arn:aws:s3:us-west-2:1:accesspoint/ap/me@corp.com/t",
        ),
        ("s3://tenant:bucket/me@corp.com/t", "s3://tenant:bucket/me@corp.com/t"),
        ("abfs://c:c4n4ry@account/a@b", "abfs://c@account/a@b"),
        ("/tmp/a@b?c", "/tmp/a@b?c"),
    ] {
        assert_eq!(location_of(uri), location);
        assert_eq!(location_of(location), location);
    }
    let arn = "s3://arn:aws:s3:us-west-2:1:accesspoint/ap/me@corp.com/t";
    assert_eq!(without_credentials(arn), arn);
}

#[test]
fn uris_in_texts_have_no_credentials() {
    let text = "no file \"s3://key:c4n'4ry@b/t?sig=c4n4ry\", nor 's3://b/t@1'; (https://h/p?q)";
    assert_eq!(without_credentials_in(text), "no file \"s3://b/t\", nor 's3://b/t@1'; (https://h/p");
    assert_eq!(without_credentials_in("a token: b://"), "a token: b://");
}

#[test]
fn answers_of_servers_are_their_status_and_their_code() {
    for (text, left) in [
        (
            "When listing objects in bucket 'b': AWS Error ACCESS_DENIED during ListObjectsV2 operation: for \
             c4n4ry AWS4-HMAC-SHA256 Credential=c4n4ry",
            "When listing objects in bucket 'b': AWS Error ACCESS_DENIED during ListObjectsV2 operation: …",
        ),
        (
            "AWS Error UNKNOWN (HTTP status 500) during HeadObject operation: No response body.",
            "AWS Error UNKNOWN (HTTP status 500) during HeadObject operation: No response body",
        ),
        (
            "AWS Error NETWORK_CONNECTION during GetObject operation: curlCode: 7, Couldn't connect to server",
            "AWS Error NETWORK_CONNECTION during GetObject operation: curlCode: 7, Couldn't connect to server",
        ),
        (
            "AWS Error UNKNOWN (HTTP status 301) during HeadBucket operation: c4n4ry Looks like the configured \
             region is 'eu-west-1' while the bucket is located in 'us-east-1'.",
            "AWS Error UNKNOWN (HTTP status 301) during HeadBucket operation: Looks like the configured region \
             is 'eu-west-1' while the bucket is located in 'us-east-1'",
        ),
        (
            "An error occurred (AccessDenied) when calling the ListObjectsV2 operation: c4n4ry",
            "An error occurred (AccessDenied) when calling the ListObjectsV2 operation",
        ),
        (
            "google::cloud::Status(UNAVAILABLE: Retry policy exhausted, with a last message of PerformWork() - \
             CURL error [7]=Couldn't connect to server error_info={reason=, metadata={token=c4n4ry}})",
            "google::cloud::Status(UNAVAILABLE: Retry policy exhausted CURL error [7]=Couldn't connect to \
             server error)",
        ),
        (
            "GetProperties failed for 'https://a.blob.core.windows.net/c/x?sig=c4n4ry'. Azure Error: \
             [AuthenticationFailed] 403 c4n4ry\nc4n4ry",
            "GetProperties failed for 'https://a.blob.core.windows.net/c/x'. Azure Error: \
             [AuthenticationFailed] 403",
        ),
        (
            "Server returned non-2xx status code: 403 Forbidden: {\"error\": \"access_denied\", \"t\": \"c4n4ry\"}",
            "Server returned non-2xx status code: 403 Forbidden: access_denied",
        ),
        ("oops <Error><Code>SlowDown</Code><Message>c4n4ry</Message></Error>", "oops SlowDown"),
        ("<!DOCTYPE html><p>c4n4ry", "…"),
    ] {
        assert_eq!(shown(text), left);
    }
}

#[test]
fn secrets_are_found_by_their_names_and_forms() {
    for text in [
        "Authorization: Bearer c4n4ry and c4n4ry",
        "{'Authorization': 'AWS4-HMAC-SHA256 Credential=c4n4ry, Signature=c4n4ry'}",
        "[('x-amz-security-token', 'c4n4ry c4n4ry'), (b'cookie', b'a=c4n4ry; c4n4ry')]",
        "{\"access_token\": \"c4n4ry\\\" c4n4ry\", \"expires_in\": 3600}",
        "body: \"{\\\"refresh_token\\\": \\\"c4n4ry\\\"}\"",
        "{\"client_secret\":\"c4n4ry",
        "X-Amz-Signature=c4n4ry&X-Amz-Credential=c4n4ry%2F2026",
        "/c/x?sv=2024&sig=c4n4ry%3D",
        "redirect=https%3A%2F%2Fh%2F%3FX-Amz-Signature%3Dc4n4ry",
        "AccountName=a;AccountKey=c4n4ry==;EndpointSuffix=core.windows.net",
        "fs.s3a.secret.key=c4n4ry, fs.azure.account.key.a.dfs.core.windows.net: c4n4ry",
        "Storage(key='AKID', secret='c4n4ry', password => c4n4ry)",
        "<SecretAccessKey>c4n4ry</SecretAccessKey><SessionToken>c4n4ry",
        "denied to Basic dTpjNG40cnk=c4n4ry",
        "denied to SharedKey account:c4n4ry",
        "denied to AWS AKID:c4n4ry",
        "got eyJhbGciOiJI.eyJzdWIiOiIx.c4n4ry-c4n4ry",
        "got ya29.c4n4ry-c4n4ry",
        "-----BEGIN RSA PRIVATE KEY-----\nc4n4ry\nc4n4ry\n-----END RSA PRIVATE KEY-----",
        "{\"key\": \"-----BEGIN PRIVATE KEY-----\\nc4n4ry\\n",
        "InvalidTokenError: token=c4n4ry",
        "CredentialsError: secret='c4n4ry'",
        "TokenError: password: \"c4n4ry\", MissingCredentialError: client_secret=c4n4ry",
        "InvalidToken: 'c4n4ry'",
        "{\"name\": \"x-api-key\", \"value\": \"c4n4ry\"}",
        "{'token': ['c4n4ry'], 'secret': ('c4n4ry',), \"token\": {\"value\": \"c4n4ry\"}}",
        "secret='''c4n4ry''' 'authorization': ['Bearer', 'c4n4ry']",
        "password=c4n(c4n4ry, password=c4n4ry,c4n4ry secret: |\n c4n4ry",
        "x-amz-security-token%3Ac4n4ry",
        "https://user:c4n4ry@h/x and s3://b/x?X-Amz-Signature=c4n4ry",
        "what a store of obstore says\n\nDebug source:\nc4n4ry",
    ] {
        let left = shown(text);
        assert!(!left.contains("c4n4ry"), "{left}");
        assert_eq!(shown(&left), left);
    }
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "ExpiredToken: the provided token has expired",
        "SignatureDoesNotMatch: compare the two",
        "bearer token is missing, basic authentication failed.",
        "Error opening 's3://b/t/a@1': [Errno 2] No such file",
        "KeyError: 'name'",
        "AWS region us-east-1, AWS profile 'x'; negotiate protocol version; digest mismatch",
        "no key 'wh/t' in bucket 'b'",
    ] {
        assert_eq!(shown(text), text);
    }
}

#[test]
fn known_secrets_are_left_out_wherever_they_are() {
    let known = ["c4n4ry".to_owned(), "c4n4ry-long".to_owned(), "wh".to_owned()];
    assert_eq!(without_secrets("of c4n4ry-long,\n c4n4ry wh", &known), "of …, … wh");
    let short = ["test".to_owned()];
    assert_eq!(without_secrets("latest-bucket of test: 'test'", &short), "latest-bucket of …: '…'");
}

#[test]
fn long_texts_are_cut() {
    let left = shown(&"é ".repeat(1 << 17));
    assert_eq!(left.chars().count(), 601);
    assert!(left.ends_with('…'));
}
