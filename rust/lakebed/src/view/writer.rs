//! Who made a commit, as far as the commit says.

/// A commit's own notes: names and values.
type Summary<'a> = Option<&'a [(String, String)]>;

/// Engines that are known by the names of what they note, where they do not name themselves.
const ENGINES: [(&str, &str); 4] =
    [("trino_", "trino"), ("flink.", "flink"), ("kafka.connect.", "kafka-connect"), ("spark.", "spark")];

/// The engine that made it: Iceberg's `EnvironmentContext.java`, or what only one engine notes.
pub(crate) fn engine(summary: Summary<'_>) -> Option<&str> {
    let known = |(prefix, name): &(&str, &'static str)| {
        summary?.iter().any(|(key, _)| key.starts_with(prefix)).then_some(*name)
    };
    noted(summary, &["engine-name"]).or_else(|| ENGINES.iter().find_map(known))
}

/// The version of that engine.
pub(crate) fn engine_version(summary: Summary<'_>) -> Option<&str> {
    noted(summary, &["engine-version"])
}

/// The application, job or query, by its name where it has one, else by its id.
pub(crate) fn application(summary: Summary<'_>) -> Option<&str> {
    noted(summary, &["app-name", "app-id", "spark.app.id", "flink.job-id", "trino_query_id"])
}

/// The user.
pub(crate) fn user(summary: Summary<'_>) -> Option<&str> {
    noted(summary, &["user", "trino_user", "commit-user"])
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
        assert_eq!(
            (engine(notes), application(notes), user(notes)),
            (Some("trino"), Some("2026_1"), Some("ann"))
        );
        let flink = summary(&[("flink.job-id", "ab")]);
        assert_eq!(engine(Some(&flink)), Some("flink"));
        assert_eq!((engine(None), user(Some(&[]))), (None, None));
    }
}
