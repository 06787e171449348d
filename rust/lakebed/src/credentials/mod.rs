//! Paths and other programs' words without credentials, for messages, and how URI schemes affect paths.

#[cfg(test)]
mod tests;
mod words;

use std::borrow::Cow;

pub use words::{without_credentials_in, without_secrets};

/// A path for messages: a URI without user-info, query and fragment, where credentials may be.
///
/// A password that is written by hand may have what ends an authority, so all up to an `@` is left out where what
/// is before it may be one. This is no path to open: a bucket may be called `tenant:name`, and a folder `a@b`.
pub fn without_credentials(path: &str) -> Cow<'_, str> {
    without_user_info(path, user_info_by_hand)
}

/// Where a URI says that files are: without user-info, query and fragment.
pub fn location_of(path: &str) -> Cow<'_, str> {
    without_user_info(path, user_info)
}

fn without_user_info(path: &str, user_info: fn(&str) -> (Option<&str>, &str)) -> Cow<'_, str> {
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

/// What is before the `@` of an authority, and all behind it.
fn user_info(rest: &str) -> (Option<&str>, &str) {
    split_user_info(rest, authority(rest))
}

/// The same of a URI whose password may have what ends an authority. A port has only digits, and the names of
/// Amazon's resources have no password.
fn user_info_by_hand(rest: &str) -> (Option<&str>, &str) {
    let authority = authority(rest);
    let is_cut = !authority.starts_with('[')
        && !authority.starts_with("arn:")
        && authority
            .split_once(':')
            .is_some_and(|(_, port)| !port.bytes().all(|digit| digit.is_ascii_digit()));
    split_user_info(rest, if is_cut && !authority.contains('@') { rest } else { authority })
}

fn authority(rest: &str) -> &str {
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

fn split_user_info<'a>(rest: &'a str, searched: &str) -> (Option<&'a str>, &'a str) {
    match searched.rfind('@') {
        Some(at) => (rest.get(..at), rest.get(at + 1..).unwrap_or_default()),
        None => (None, rest),
    }
}

/// Whether the part before `@` is a container's name in URIs of this scheme. In those of `az` all of the host is.
pub(crate) fn has_containers(scheme: &str) -> bool {
    family(scheme) == "abfs" && !scheme.eq_ignore_ascii_case("az")
}

/// One name for the schemes of a kind of storage, in any case: `s3` for `s3a`. Other schemes are their own.
pub fn family(scheme: &str) -> String {
    let lower = scheme.to_ascii_lowercase();
    match lower.as_str() {
        "s3a" | "s3n" => "s3".to_owned(),
        "gcs" => "gs".to_owned(),
        "abfss" | "wasb" | "wasbs" | "az" => "abfs".to_owned(),
        _ => lower,
    }
}
