//! Parses paths.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};

use crate::credentials::{family, has_containers};
use crate::percent::decoded;

/// Why a path may not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Empty,
    Control,
    Backslash,
    Climbs,
    UserInfo,
    Host,
    LinkLocal,
    Scheme,
    Outside,
    Folder,
}

impl Fault {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Fault::Empty => "it is empty",
            Fault::Control => "it has control characters",
            Fault::Backslash => "it has a backslash",
            Fault::Climbs => "it has `.` or `..` for a folder",
            Fault::UserInfo => "it has credentials",
            Fault::Host => "its host is missing or malformed",
            Fault::LinkLocal => "its host is a link-local address",
            Fault::Scheme => "it is on another kind of storage",
            Fault::Outside => "it is not below an allowed prefix",
            Fault::Folder => "it ends in a slash, as a folder does",
        }
    }
}

/// A path with more levels of percent-encoding is refused.
const ENCODINGS: usize = 4;

/// The parts of a path.
#[derive(Debug)]
pub(super) struct PathParts<'p> {
    /// One name for all schemes of a kind: `s3` for `s3a`. `file` for paths without a scheme, empty for
    /// relative ones.
    family: Cow<'p, str>,
    /// Whether there is a scheme; a storage may interpret paths without one.
    has_scheme: bool,
    host: &'p str,
    folders: Vec<&'p str>,
}

impl<'p> PathParts<'p> {
    /// # Errors
    /// A fault that no path may have, wherever it leads.
    pub(super) fn of(path: &'p str) -> Result<PathParts<'p>, Fault> {
        if path.is_empty() {
            return Err(Fault::Empty);
        }
        if path.chars().any(char::is_control) {
            return Err(Fault::Control);
        }
        if path.contains('\\') {
            return Err(Fault::Backslash);
        }
        let (family, host, key) = match scheme(path) {
            Some((scheme, rest)) => {
                let family = family(scheme);
                let (host, key) = match rest.strip_prefix("//") {
                    Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
                    None => ("", rest),
                };
                let host = checked_host(scheme, &family, host)?;
                (Cow::Owned(family), host, key)
            }
            None if path.starts_with('/') => (Cow::Borrowed("file"), "", path),
            None => (Cow::Borrowed(""), "", path),
        };
        refuse_parent_segments(key)?;
        // In a file system `a//b` is `a/b`; in an object store it is another key.
        let collapses = is_server(&family);
        let key = key.strip_prefix('/').unwrap_or(key).trim_end_matches('/');
        let folders = key.split('/').filter(|name| !name.is_empty() || !(collapses || key.is_empty()));
        let folders = folders.collect();
        Ok(PathParts { family, has_scheme: scheme(path).is_some(), host, folders })
    }

    /// Whether it is on the local file system, by its spelling.
    pub(super) fn is_local(&self) -> bool {
        matches!(&*self.family, "" | "file")
    }

    /// Whether it is a plain name, which leads to the table's own folders.
    pub(super) fn is_name(&self) -> bool {
        self.family.is_empty() && self.folders.len() == 1
    }

    /// # Errors
    /// The fault of a place that is never allowed implicitly: the web, this machine's files.
    pub(super) fn on_storage(&self, local: bool) -> Result<(), Fault> {
        match &*self.family {
            "http" | "https" | "ftp" | "ftps" | "sftp" => Err(Fault::Scheme),
            "file" if self.has_scheme && !local => Err(Fault::Scheme),
            _ if is_link_local(self.host) => Err(Fault::LinkLocal),
            _ => Ok(()),
        }
    }

    /// # Errors
    /// The fault of a place that is not below any of `prefixes`.
    pub(super) fn below_any(&self, prefixes: &[PathParts<'_>]) -> Result<(), Fault> {
        let mut fault = Fault::Scheme;
        for prefix in prefixes {
            if prefix.family == self.family {
                fault = Fault::Outside;
                let any_host = is_server(&self.family) && (self.host.is_empty() || prefix.host.is_empty());
                if (any_host || prefix.host == self.host) && self.folders.starts_with(&prefix.folders) {
                    return Ok(());
                }
            }
        }
        Err(if is_link_local(self.host) { Fault::LinkLocal } else { fault })
    }
}

/// The scheme of a URI and what follows its colon. A scheme of one letter is a Windows drive.
pub(crate) fn scheme(path: &str) -> Option<(&str, &str)> {
    path.split_once(':').filter(|(scheme, rest)| is_scheme(scheme) && rest.starts_with('/'))
}

/// Whether a text may be a URI's scheme. One of one letter is a drive.
pub(crate) fn is_scheme(text: &str) -> bool {
    text.len() > 1 && is_scheme_or_drive(text)
}

/// Whether a text has a scheme's form: a letter, then letters, digits and `+-.`.
pub(crate) fn is_scheme_or_drive(text: &str) -> bool {
    let tail = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(tail)
}

/// Whether URIs of these schemes name a server, or leave it out.
fn is_server(family: &str) -> bool {
    matches!(family, "file" | "hdfs" | "viewfs")
}

fn checked_host<'p>(scheme: &str, family: &str, host: &'p str) -> Result<&'p str, Fault> {
    if let Some((container, account)) = host.split_once('@') {
        let names = has_containers(scheme) && !container.is_empty() && !account.is_empty();
        if !names || container.contains(':') || account.contains('@') {
            return Err(Fault::UserInfo);
        }
    }
    let odd = |letter: char| letter.is_whitespace() || "%?#\"<>".contains(letter);
    if host.contains(odd) || host.ends_with('.') || host.starts_with(':') {
        return Err(Fault::Host);
    }
    match (family, host) {
        ("file", "" | "localhost") => Ok(""),
        ("file", _) => Err(Fault::Host),
        (_, "") if !is_server(family) => Err(Fault::Host),
        _ => Ok(host),
    }
}

/// # Errors
/// `Climbs` for a path with `.` or `..` as a segment, also in percent-encoded form.
fn refuse_parent_segments(key: &str) -> Result<(), Fault> {
    let mut key = Cow::Borrowed(key.as_bytes());
    for _ in 0..ENCODINGS {
        if key.split(|byte| b"/\\".contains(byte)).any(|name| name == b"." || name == b"..") {
            return Err(Fault::Climbs);
        }
        if key.contains(&0) {
            return Err(Fault::Control);
        }
        let once = decoded(&key).into_owned();
        if once == *key {
            return Ok(());
        }
        key = Cow::Owned(once);
    }
    Err(Fault::Climbs)
}

/// Whether a host is in 169.254.0.0/16 or fe80::/10, however the address is written.
fn is_link_local(host: &str) -> bool {
    let host = host.rsplit('@').next().unwrap_or_default();
    let address = match host.strip_prefix('[') {
        Some(inner) => inner.split([']', '%']).next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let v4 = |ip: Ipv4Addr| ip.is_link_local();
    match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => v4(ip),
        Ok(IpAddr::V6(ip)) => ip.is_unicast_link_local() || ip.to_ipv4().is_some_and(v4),
        Err(_) => number(address).is_some_and(v4),
    }
}

/// An IPv4 address as C libraries accept it: one to four numbers, decimal, octal or hexadecimal.
fn number(address: &str) -> Option<Ipv4Addr> {
    let parts: Vec<u32> = address.split('.').map(part).collect::<Option<_>>()?;
    let (&last, heads) = parts.split_last()?;
    let mut bits = 0u32;
    for (index, &head) in heads.iter().enumerate() {
        let shift = 24u32.checked_sub(8 * u32::try_from(index).ok()?)?;
        bits |= u32::from(u8::try_from(head).ok()?).checked_shl(shift)?;
    }
    Some(Ipv4Addr::from_bits(bits | last))
}

fn part(text: &str) -> Option<u32> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u32::from_str_radix(hex, 16).ok();
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let radix = if text.len() > 1 && text.starts_with('0') { 8 } else { 10 };
    digits.then(|| u32::from_str_radix(text, radix).ok())?
}
