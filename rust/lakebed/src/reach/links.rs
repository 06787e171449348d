//! Links in local paths: one file may have several paths, of which metadata has one and a listing another.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// At most so many links are followed from one to the next, as in Linux.
const MOST_LINKS: usize = 40;

/// Folders, each resolved once, by their paths as they are written.
#[derive(Default)]
pub(super) struct Links(Mutex<HashMap<String, Arc<Folder>>>);

/// A folder.
#[derive(Debug)]
pub(super) struct Folder {
    /// Its path without links.
    path: String,
    /// The names of the links in it; `None` where it cannot be listed.
    links: OnceLock<Option<HashSet<String>>>,
}

/// The folder of the last path, as it was written and as it is: mostly the next file is in the same one.
pub(super) type LastFolder = Option<(String, Arc<Folder>)>;

impl Links {
    /// The path of a file whose folder has no links.
    pub(super) fn resolved<'p>(&self, path: Cow<'p, str>, last: &mut LastFolder) -> Cow<'p, str> {
        let Some((written, name)) = split(&path) else { return path };
        let folder = self.folder(written, last);
        if folder.path == written {
            return path;
        }
        Cow::Owned(format!("{}/{name}", folder.path.trim_end_matches('/')))
    }

    /// The paths that lead to the same file if it is a link: where it leads, from link to link. The last folders of
    /// their paths have no links.
    pub(super) fn targets(&self, path: &str, last: &mut LastFolder) -> Vec<String> {
        match split(path) {
            Some((folder, name)) if self.folder(folder, last).may_have_link(name) => targets(path),
            _ => Vec::new(),
        }
    }

    fn folder<'l>(&self, written: &str, last: &'l mut LastFolder) -> &'l Folder {
        if last.as_ref().is_none_or(|(last, _)| last != written) {
            *last = None;
        }
        &last.get_or_insert_with(|| (written.to_owned(), self.known(written))).1
    }

    fn known(&self, written: &str) -> Arc<Folder> {
        // Nothing panics while the lock is held.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = known.get(written) {
            return Arc::clone(folder);
        }
        let path = existing(Path::new(written)).and_then(text).unwrap_or_else(|| written.to_owned());
        let folder = Arc::new(Folder { path, links: OnceLock::new() });
        known.insert(written.to_owned(), Arc::clone(&folder));
        folder
    }
}

impl Folder {
    /// Whether a name in it may be a link. Lists the folder once: that takes less than asking for each file.
    fn may_have_link(&self, name: &str) -> bool {
        let links = self.links.get_or_init(|| match fs::read_dir(&self.path) {
            Ok(entries) => {
                let links =
                    entries.flatten().filter(|one| one.file_type().is_ok_and(|kind| kind.is_symlink()));
                Some(links.filter_map(|one| one.file_name().into_string().ok()).collect())
            }
            Err(error) if error.kind() == NotFound => Some(HashSet::new()),
            Err(_) => None,
        });
        links.as_ref().is_none_or(|links| links.contains(name))
    }
}

/// The folder and the name of a file.
fn split(path: &str) -> Option<(&str, &str)> {
    match path.rsplit_once('/') {
        Some(("", name)) => Some(("/", name)),
        Some(split) => Some(split),
        None if path.is_empty() => None,
        None => Some((".", path)),
    }
}

fn targets(path: &str) -> Vec<String> {
    let mut path = PathBuf::from(path);
    let mut found = Vec::new();
    while found.len() < MOST_LINKS
        && let Ok(target) = fs::read_link(&path)
    {
        let target = path.parent().unwrap_or(Path::new(".")).join(target);
        let folder = target.parent().and_then(existing);
        let Some((folder, name)) = folder.zip(target.file_name()) else { break };
        path = folder.join(name);
        found.extend(text(path.clone()));
    }
    found
}

/// The folder without links, as far as it exists.
fn existing(folder: &Path) -> Option<PathBuf> {
    let known = folder.ancestors().find_map(|above| {
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        fs::canonicalize(above).ok().map(|resolved| (above, resolved))
    });
    let (above, resolved) = known?;
    Some(match folder.strip_prefix(above) {
        Ok(rest) if !rest.as_os_str().is_empty() => resolved.join(rest),
        Ok(_) => resolved,
        // Below the current folder.
        Err(_) => resolved.join(folder),
    })
}

/// `None` for a path that is not UTF-8, which metadata cannot have.
fn text(path: PathBuf) -> Option<String> {
    path.into_os_string().into_string().ok()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A new folder, without links in its path.
    fn root(name: &str) -> PathBuf {
        let root = std::env::temp_dir().join(format!("lakebed-{name}-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        fs::canonicalize(root).unwrap()
    }

    #[test]
    fn a_file_has_one_path_whichever_links_lead_to_it() {
        let root = root("links");
        fs::create_dir_all(root.join("real/data")).unwrap();
        symlink(root.join("real"), root.join("link")).unwrap();
        let (links, mut last) = (Links::default(), None);
        for (path, expected) in [
            ("link/data/f", "real/data/f"),
            ("link/data/g", "real/data/g"),
            ("real/data/f", "real/data/f"),
            ("link/gone/deep/f", "real/gone/deep/f"),
            ("link", "link"),
        ] {
            let path = format!("{}/{path}", root.display());
            let expected = format!("{}/{expected}", root.display());
            assert_eq!(links.resolved(Cow::Owned(path), &mut last), expected);
        }
        let here = std::env::current_dir().unwrap();
        let here = format!("{}/no-such-folder/f", fs::canonicalize(here).unwrap().display());
        assert_eq!(links.resolved(Cow::Borrowed("no-such-folder/f"), &mut last), here);
        assert_eq!(links.resolved(Cow::Borrowed(""), &mut last), "");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_file_that_is_a_link_leads_to_others() {
        let root = root("targets");
        fs::create_dir_all(root.join("real/data")).unwrap();
        fs::write(root.join("real/data/f"), "").unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("../link/data/f", root.join("real/one")).unwrap();
        symlink(root.join("link/one"), root.join("two")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("gone/f", root.join("broken")).unwrap();
        let (links, mut last) = (Links::default(), None);
        for (path, expected) in [
            ("two", &["real/one", "real/data/f"][..]),
            ("real/one", &["real/data/f"]),
            ("real/data/f", &[]),
            ("none", &[]),
            ("gone/f", &[]),
            ("broken", &["gone/f"]),
            ("loop", &["loop"; MOST_LINKS]),
        ] {
            let found = links.targets(&format!("{}/{path}", root.display()), &mut last);
            let expected: Vec<String> =
                expected.iter().map(|path| format!("{}/{path}", root.display())).collect();
            assert_eq!(found, expected, "{path}");
        }
        fs::remove_dir_all(root).unwrap();
    }
}
