//! What other programs say, without the secrets in it.
//!
//! Libraries of storages repeat what a server answered, and servers repeat what they were asked, with the
//! headers and queries that hold tokens and signatures. What a server says in words of its own is left out
//! where it can be told apart; in all else each form that secrets are written in.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex_lite::{Captures, Regex};

use super::without_credentials;

/// What is written where something was left out.
const LEFT_OUT: &str = "…";
/// Shorter values of options say nothing; those that are not longer than a word are parts of other words.
const SHORTEST: usize = 4;
const WORD: usize = 8;
/// Characters of what is left, and bytes of what is looked at.
const LONGEST: usize = 600;
const MOST_BYTES: usize = 1 << 16;

/// A library's words in one line, without the secrets in them: those in `known`, credentials and queries of
/// URIs, headers, tokens, signatures and keys by their names and forms, and the texts of servers' answers. Of
/// such an answer the status stays, and the server's own word for what is wrong.
pub fn without_secrets(text: &str, known: &[String]) -> String {
    let mut known: Vec<&str> =
        known.iter().map(String::as_str).filter(|secret| secret.chars().count() >= SHORTEST).collect();
    known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let mut text = known.iter().fold(text.to_owned(), |text, secret| without(&text, secret));
    // What obstore knows besides is below its sentence.
    text.truncate(text.find("\n\nDebug source").unwrap_or(text.len()));
    text.truncate(
        (0..=text.len().min(MOST_BYTES)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0),
    );
    for form in FORMS.iter() {
        text = form.replaced(text);
    }
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}{LEFT_OUT}", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

/// A text without a secret, wherever it is; without a short one where it is a word.
fn without(text: &str, secret: &str) -> String {
    if secret.len() > WORD {
        return text.replace(secret, LEFT_OUT);
    }
    let (mut left, mut end) = (String::with_capacity(text.len()), 0);
    for (start, found) in text.match_indices(secret) {
        let (before, behind) = text.split_at(start);
        let behind = behind.get(found.len()..).unwrap_or_default();
        let is_word = !before.ends_with(char::is_alphanumeric) && !behind.starts_with(char::is_alphanumeric);
        left.push_str(text.get(end..start).unwrap_or_default());
        left.push_str(if is_word { LEFT_OUT } else { found });
        end = start + found.len();
    }
    left.push_str(text.get(end..).unwrap_or_default());
    left
}

/// A text of lakebed's own, whose URIs are as [`without_credentials`] has them.
pub fn without_credentials_in(text: &str) -> Cow<'_, str> {
    match URIS.as_ref() {
        Some(uris) if text.contains("://") => uris.unlocked().replace_all(text, uris.replacement),
        _ => Cow::Borrowed(text),
    }
}

/// How secrets are written, and what takes their place.
struct SecretForm {
    expression: Regex,
    replacement: fn(&Captures<'_>) -> String,
    /// Where what is replaced ends.
    end: fn(&Captures<'_>) -> usize,
}

impl SecretForm {
    /// The expression with a lock of its own: after a fork, that of the shared one may be another thread's forever.
    fn unlocked(&self) -> Regex {
        self.expression.clone()
    }

    fn replaced(&self, text: String) -> String {
        let (expression, mut left, mut at) = (self.unlocked(), String::new(), 0);
        while let Some(found) = expression.captures_at(&text, at) {
            let start = found.get(0).map_or(at, |whole| whole.start());
            left.push_str(text.get(at..start).unwrap_or_default());
            left.push_str(&(self.replacement)(&found));
            at = (self.end)(&found);
        }
        if at == 0 {
            return text;
        }
        left.push_str(text.get(at..).unwrap_or_default());
        left
    }
}

/// The tests of this file use every form, so that none of them is no expression.
fn form(expression: &str, replacement: fn(&Captures<'_>) -> String) -> Option<SecretForm> {
    let end = |found: &Captures<'_>| found.get(0).map_or(usize::MAX, |whole| whole.end());
    Regex::new(expression).ok().map(|expression| SecretForm { expression, replacement, end })
}

/// A URI, whose password may have quotes in it.
const URI: &str = r#"[A-Za-z][A-Za-z0-9+.-]*://(?:[^\s/@]*@)?[^\s'"<>`]+"#;

static URIS: LazyLock<Option<SecretForm>> = LazyLock::new(|| form(URI, of_uri));

/// Answers of servers are first, which may have all others in them.
static FORMS: LazyLock<Vec<SecretForm>> = LazyLock::new(|| {
    let element = format!(r"(?i)<(?P<name>{NAME})\b[^>]*>[^<]*");
    let value = format!(r"(?i)(?P<name>\b{NAME})(?P<sign>{SIGN})(?P<value>{VALUE})");
    let forms = [
        // Keys in PEM, also with their line ends written out.
        form(r"(?s)-----BEGIN [^-]{1,40}-----.*?(?:-----END [^-]{1,40}-----|$)", left_out),
        // AWS's client in C++, which pyarrow has, and its client in Python.
        form(r"(?s)(?P<head>AWS Error .{1,160}? operation): (?P<words>.*)", of_aws),
        form(r"(?s)(?P<head>An error occurred \([\w.]{1,64}\) when calling the \w{1,64} operation).*", head),
        // Google's client in C++ and Azure's, which pyarrow has.
        form(r"(?s)(?P<head>google::cloud::Status\(\w{1,64}): (?P<words>.*)", of_google),
        form(r"(?s)(?P<head>Azure Error: \[\w{0,64}\](?: \d{3}\b)?).*", head),
        // obstore, whatever form the answer has; then the forms that answers have elsewhere.
        form(
            r"(?is)(?P<status>\bstatus code: \d{3}[^:<{]*): .*|<(?:\?xml|!doctype|html|error)\b.*",
            of_answer,
        ),
        form(URI, of_uri),
        // A name and its value: of elements, of headers that have blanks in them, of all others.
        form(&element, of_element),
        form(
            r#"(?i)(?P<name>\b(?:[\w-]*authorization|(?:set-)?cookie))(?P<sign>\s*[:=]\s*)[^\s"'\\][^\r\n"'\\]*"#,
            of_value,
        ),
        form(&value, of_value).map(|form| SecretForm { end: end_of_value, ..form }),
        // Credentials behind the name of their scheme; JSON web tokens and Google's.
        form(
            r#"(?i)\b(?P<name>bearer|basic|negotiate|digest|sharedkey(?:lite)?|aws4?-hmac-sha256|aws|goog4-[\w-]+) +(?P<value>[^\s,;'"]{4,})"#,
            of_scheme,
        ),
        form(r"\b(?:eyJ[\w-]{6,}\.[\w-]+(?:\.[\w-]*)?|ya29\.[\w-]+)", left_out),
    ];
    forms.into_iter().flatten().collect()
});

/// Names of what is secret.
const NAME: &str = r"(?:[\w.-]*(?:secret|token|passw(?:or)?d|passphrase|credential|signature|authorization|cookie|(?:api|access|account|private|shared|client|encryption|customer|sas)[-_.]?key|connection[-_.]?string|assertion)[\w.-]*|x-(?:amz|goog|ms)-[\w-]+|x-api-key|sig|sas|pwd)";

/// What is between a name and its value, which may have a name of its own: `{"name": "token", "value": "…"}`.
const SIGN: &str =
    r#"(?:\\*["']?\s*(?:=>|[:=]|%3d|%3a)\s*(?:\|\s*)?|\\*["'],\s*)(?:["']value["']\s*[:=]\s*)?b?"#;

/// Some values in brackets; a value in quotes, also in those of a text that is quoted itself or cut; or a word.
const VALUE: &str = r#"[\[({][^\])}]*|'{3}.*?(?:'{3}|$)|"{3}.*?(?:"{3}|$)|\\+["'][^"'\\]*|"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|[^\s,;&'"<>(){}\[\]\\]+(?:[,(]+[^\s,;&'"<>(){}\[\]\\]+)*"#;

fn group<'t>(found: &Captures<'t>, name: &str) -> &'t str {
    found.name(name).map_or("", |part| part.as_str())
}

fn left_out(_: &Captures<'_>) -> String {
    LEFT_OUT.to_owned()
}

fn head(found: &Captures<'_>) -> String {
    group(found, "head").to_owned()
}

/// The head of an answer, with what the client itself says, of connections and regions.
fn with_own_words(found: &Captures<'_>, own: &str) -> String {
    let own = Regex::new(own).ok();
    let said = own.iter().flat_map(|own| own.find_iter(group(found, "words")));
    let said: Vec<&str> = said.map(|words| words.as_str().trim_end()).collect();
    let words = if said.is_empty() { LEFT_OUT.to_owned() } else { said.join(" ") };
    format!("{}: {words}", group(found, "head"))
}

fn of_aws(found: &Captures<'_>) -> String {
    let region = r"'[a-z]{2}-[a-z-]{4,24}-\d'";
    let regions =
        format!("Looks like the configured region is {region} while the bucket is located in {region}");
    with_own_words(found, &format!(r"^curlCode: \d+, [A-Za-z' ]+|^No response body\b|{regions}"))
}

fn of_google(found: &Captures<'_>) -> String {
    let own = r"^Permanent error|^Retry policy exhausted|\bCURL error \[\d+\]=[A-Za-z' ]+";
    format!("{})", with_own_words(found, own))
}

/// The status of an answer, if it is known, and the server's own word for what is wrong.
fn of_answer(found: &Captures<'_>) -> String {
    let code = Regex::new(r#"<Code>(\w{1,64})</Code>|"(?:code|error)": *"([A-Za-z_]{1,64})""#).ok();
    let code = code.as_ref().and_then(|code| code.captures(found.get(0)?.as_str()));
    let word = code.and_then(|code| code.get(1).or(code.get(2))).map_or(LEFT_OUT, |word| word.as_str());
    match group(found, "status") {
        "" => word.to_owned(),
        status => format!("{status}: {word}"),
    }
}

fn whole<'t>(found: &Captures<'t>) -> &'t str {
    found.get(0).map_or("", |whole| whole.as_str())
}

fn of_uri(found: &Captures<'_>) -> String {
    without_credentials(whole(found)).into_owned()
}

fn of_element(found: &Captures<'_>) -> String {
    format!("<{}>{LEFT_OUT}", group(found, "name"))
}

fn of_value(found: &Captures<'_>) -> String {
    let (name, value) = (group(found, "name"), group(found, "value"));
    let quote = value.trim_start_matches('\\').get(..1).filter(|quote| ["\"", "'"].contains(quote));
    let sign = group(found, "sign");
    if is_fault(found) {
        return format!("{name}{sign}");
    }
    let quote = quote.unwrap_or_default();
    format!("{name}{sign}{quote}{LEFT_OUT}{quote}")
}

/// Whether this is the name of a fault, as in `ExpiredToken: …`: words are behind it, which may have names and values.
fn is_fault(found: &Captures<'_>) -> bool {
    let (name, value) = (group(found, "name"), group(found, "value"));
    let is_named_so =
        ["Invalid", "Expired", "Missing", "Malformed"].iter().any(|word| name.starts_with(word))
            || name.ends_with("DoesNotMatch")
            || name.ends_with("Error");
    is_named_so && !value.starts_with(['"', '\'', '\\'])
}

fn end_of_value(found: &Captures<'_>) -> usize {
    let value = found.name("value");
    value.map_or(usize::MAX, |value| if is_fault(found) { value.start() } else { value.end() })
}

fn of_scheme(found: &Captures<'_>) -> String {
    let (name, value) = (group(found, "name"), group(found, "value"));
    // Prose has a word there. What is encoded has characters that no word has, and names are before a colon.
    let is_word =
        value.trim_end_matches(['.', ':']).chars().all(|one| one.is_ascii_lowercase() || one == '-');
    let is_secret = match name.to_ascii_lowercase().as_str() {
        "aws" => value.contains(':'),
        _ => !is_word,
    };
    if is_secret { format!("{name} {LEFT_OUT}") } else { whole(found).to_owned() }
}
