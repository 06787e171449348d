//! Paths and other programs' words without credentials, for messages, and how URI schemes affect paths.

#[cfg(test)]
mod tests;
mod words;

use std::borrow::Cow;

pub use words::{without_credentials_in, without_secrets};

/// A path for messages: a URI without user-info, query and fragment, where credentials may be.
pub fn without_credentials(path: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = path.split_once("://") else { return Cow::Borrowed(path) };
    if scheme.contains('/') {
        return Cow::Borrowed(path);
    }
    let (user, rest) = user_info(rest);
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    // Of these schemes it is the name of a container.
    let container = match user {
        Some(user) if has_containers(scheme) => user.split(':').next().unwrap_or_default(),
        _ => "",
    };
    let at = if container.is_empty() { "" } else { "@" };
    if scheme.len() + 3 + container.len() + at.len() + rest.len() == path.len() {
        return Cow::Borrowed(path);
    }
    Cow::Owned(format!("{scheme}://{container}{at}{rest}"))
}

/// What stands before the `@` of an authority, and all behind it.
fn user_info(rest: &str) -> (Option<&str>, &str) {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, _) = rest.split_at(end);
    // A password as it is written by hand may have what ends an authority; a port has only digits.
    let is_cut = !authority.starts_with('[')
        && authority
            .split_once(':')
            .is_some_and(|(_, port)| !port.bytes().all(|digit| digit.is_ascii_digit()));
    let searched = if is_cut && !authority.contains('@') { rest } else { authority };
    match searched.rfind('@') {
        Some(at) => (rest.get(..at), rest.get(at + 1..).unwrap_or_default()),
        None => (None, rest),
    }
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
