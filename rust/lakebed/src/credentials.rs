//! Paths without credentials, for messages, and how URI schemes affect them.

use std::borrow::Cow;

/// A path for messages: a URI without user-info, query and fragment, where credentials may be.
pub fn without_credentials(path: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = path.split_once("://") else { return Cow::Borrowed(path) };
    if scheme.contains('/') {
        return Cow::Borrowed(path);
    }
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (authority, key) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = match authority.rsplit_once('@') {
        // Here it is the name of a container.
        Some((user, host)) if has_containers(scheme) => {
            Cow::Owned(format!("{}@{host}", user.split(':').next().unwrap_or_default()))
        }
        Some((_, host)) => Cow::Borrowed(host),
        None => Cow::Borrowed(authority),
    };
    if scheme.len() + 3 + host.len() + key.len() == path.len() {
        return Cow::Borrowed(path);
    }
    Cow::Owned(format!("{scheme}://{host}{key}"))
}

/// Whether the part before `@` is a container's name in URIs of this scheme.
fn has_containers(scheme: &str) -> bool {
    family(scheme) == "abfs"
}

pub(crate) fn family(scheme: &str) -> String {
    let lower = scheme.to_ascii_lowercase();
    match lower.as_str() {
        "s3a" | "s3n" => "s3".to_owned(),
        "gcs" => "gs".to_owned(),
        "abfss" | "wasb" | "wasbs" => "abfs".to_owned(),
        _ => lower,
    }
}
