//! Links in local paths: one file may have several paths, of which metadata has one and a listing another.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Folders without links, each resolved once.
#[derive(Default)]
pub(super) struct Links(Mutex<HashMap<String, String>>);

impl Links {
    /// The path of a file whose folder has no links. `last` is the folder of the path before.
    pub(super) fn resolved<'p>(
        &self,
        path: Cow<'p, str>,
        last: &mut Option<(String, String)>,
    ) -> Cow<'p, str> {
        let (folder, name) = match path.rsplit_once('/') {
            Some(("", name)) => ("/", name),
            Some(split) => split,
            None if path.is_empty() => return path,
            None => (".", &*path),
        };
        let resolved = match last {
            Some((last, resolved)) if last == folder => &*resolved,
            _ => &*last.insert((folder.to_owned(), self.folder(folder))).1,
        };
        if resolved == folder {
            return path;
        }
        Cow::Owned(format!("{}/{name}", resolved.trim_end_matches('/')))
    }

    fn folder(&self, folder: &str) -> String {
        // Nothing panics while the lock is held.
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(resolved) = known.get(folder) {
            return resolved.clone();
        }
        let resolved = existing(Path::new(folder));
        let resolved = resolved.and_then(|path| path.into_os_string().into_string().ok());
        let resolved = resolved.unwrap_or_else(|| folder.to_owned());
        known.insert(folder.to_owned(), resolved.clone());
        resolved
    }
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_one_path_whichever_links_lead_to_it() {
        let root = std::env::temp_dir().join(format!("lakebed-links-{}", std::process::id()));
        fs::create_dir_all(root.join("real/data")).unwrap();
        std::os::unix::fs::symlink(root.join("real"), root.join("link")).unwrap();
        let real = fs::canonicalize(&root).unwrap();
        let (links, mut last) = (Links::default(), None);
        for (path, expected) in [
            ("link/data/f", "real/data/f"),
            ("link/data/g", "real/data/g"),
            ("real/data/f", "real/data/f"),
            ("link/gone/deep/f", "real/gone/deep/f"),
            ("link", "link"),
        ] {
            let path = format!("{}/{path}", root.display());
            let expected = format!("{}/{expected}", real.display());
            assert_eq!(links.resolved(Cow::Owned(path), &mut last), expected);
        }
        let here = std::env::current_dir().unwrap();
        let here = format!("{}/no-such-folder/f", fs::canonicalize(here).unwrap().display());
        assert_eq!(links.resolved(Cow::Borrowed("no-such-folder/f"), &mut last), here);
        assert_eq!(links.resolved(Cow::Borrowed(""), &mut last), "");
        fs::remove_dir_all(root).unwrap();
    }
}
