//! Who made a commit, as far as the commit says.

/// A commit's own notes: names and values.
type Summary<'a> = Option<&'a [(String, String)]>;

/// Engines that are known by what they alone note, where they do not name themselves: the beginning of a name.
const ENGINES: [(&str, &str); 6] = [
    ("trino_query_id", "Trino"),
    ("flink.job-id", "Flink"),
    ("kafka.connect.commit-id", "Kafka Connect"),
    ("dremio-job-id", "Dremio"),
    ("spark.app.id", "Spark"),
    ("snowflake.operation.", "Snowflake"),
];

/// What Java's library calls itself, before its version.
const LIBRARY: &str = "Apache Iceberg";

/// The engine that made it: as Iceberg's `EnvironmentContext.java` names it, or by what one engine alone notes, or else
/// the library.
pub(crate) fn engine(summary: Summary<'_>) -> Option<&str> {
    let known = |(prefix, name): &(&str, &'static str)| {
        summary?.iter().any(|(key, _)| key.starts_with(prefix)).then_some(*name)
    };
    let library = || library_version(summary).map(|_| LIBRARY);
    noted(summary, &["engine-name"]).or_else(|| ENGINES.iter().find_map(known)).or_else(library)
}

/// The version of that engine.
pub(crate) fn engine_version(summary: Summary<'_>) -> Option<&str> {
    let is_library = engine(summary) == Some(LIBRARY);
    noted(summary, &["engine-version"]).or_else(|| library_version(summary).filter(|_| is_library))
}

/// The application or job, by its name where it has one, else by its id; the id of one query is none.
pub(crate) fn application(summary: Summary<'_>) -> Option<&str> {
    noted(summary, &["app-name", "app-id", "spark.app.id", "flink.job-id"])
}

/// The user.
pub(crate) fn user(summary: Summary<'_>) -> Option<&str> {
    noted(summary, &["user", "trino_user", "commit-user"])
}

/// A commit user of Paimon's without what is random in it: all of it, where nobody chose a prefix
/// (`commit.user-prefix`).
pub(crate) fn chosen_user(commit_user: &str) -> Option<&str> {
    let is_random = |id: &str| {
        id.len() == 36
            && id.bytes().enumerate().all(|(at, byte)| match at {
                8 | 13 | 18 | 23 => byte == b'-',
                _ => byte.is_ascii_hexdigit(),
            })
    };
    let start = commit_user.len().checked_sub(36).filter(|start| commit_user.is_char_boundary(*start));
    let (prefix, id) = start.map_or((commit_user, ""), |start| commit_user.split_at(start));
    let chosen = if is_random(id) { prefix.strip_suffix('_').unwrap_or(prefix) } else { commit_user };
    Some(chosen).filter(|chosen| !chosen.is_empty())
}

/// The version in `Apache Iceberg 1.11.0 (commit 6976e020…)`.
fn library_version(summary: Summary<'_>) -> Option<&str> {
    let version = noted(summary, &["iceberg-version"])?.strip_prefix(LIBRARY)?.trim_start();
    version.split_once(' ').map_or(Some(version), |(version, _)| Some(version))
}

/// The value of the first of these names that is noted.
fn noted<'a>(summary: Summary<'a>, names: &[&str]) -> Option<&'a str> {
    let of = |name: &&str| summary?.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    names.iter().find_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(notes: &[(&str, &str)]) -> Vec<(String, String)> {
        notes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn engines_name_themselves_or_are_known_by_what_they_note() {
        let spark = summary(&[
            ("spark.app.id", "local-1"),
            ("engine-name", "spark"),
            ("engine-version", "4.0.1"),
            ("app-name", "load"),
        ]);
        let notes = Some(spark.as_slice());
        assert_eq!((engine(notes), engine_version(notes)), (Some("spark"), Some("4.0.1")));
        assert_eq!((application(notes), user(notes)), (Some("load"), None));
        let trino = summary(&[("trino_query_id", "2026_1"), ("trino_user", "ann")]);
        let notes = Some(trino.as_slice());
        assert_eq!((engine(notes), application(notes), user(notes)), (Some("Trino"), None, Some("ann")));
        let flink = summary(&[("flink.job-id", "ab")]);
        assert_eq!(engine(Some(&flink)), Some("Flink"));
        let java = summary(&[("iceberg-version", "Apache Iceberg 1.11.0 (commit 6976e020)")]);
        let notes = Some(java.as_slice());
        assert_eq!((engine(notes), engine_version(notes)), (Some("Apache Iceberg"), Some("1.11.0")));
        assert_eq!((engine(None), user(Some(&[]))), (None, None));
    }

    #[test]
    fn random_users_of_paimon_are_nobody() {
        let random = "f1cef25a-720e-4d8f-a1ef-9fd7f8769090";
        assert_eq!(chosen_user(random), None);
        assert_eq!(chosen_user(&format!("etl_{random}")), Some("etl"));
        assert_eq!(chosen_user("stream-user"), Some("stream-user"));
        assert_eq!(
            chosen_user("ä72345678-1234-1234-1234-123456789012x"),
            Some("ä72345678-1234-1234-1234-123456789012x")
        );
        assert_eq!(chosen_user(""), None);
    }
}
