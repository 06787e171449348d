//! Which columns are wanted.

/// The fields wanted of a record.
pub(crate) enum FieldSelection {
    /// All that is there.
    All,
    /// Those of these names, and what is wanted of each.
    Fields(Vec<(String, FieldSelection)>),
}

impl FieldSelection {
    /// What dotted paths ask for; names in front of a dot are records.
    pub(crate) fn of(paths: &[String]) -> FieldSelection {
        let mut top = FieldSelection::Fields(Vec::new());
        for path in paths {
            top.add(path);
        }
        top
    }

    fn add(&mut self, path: &str) {
        let FieldSelection::Fields(fields) = self else { return };
        let (name, below) = path.split_once('.').map_or((path, None), |(name, below)| (name, Some(below)));
        let known = fields.iter().position(|(known, _)| known == name);
        let number = known.unwrap_or_else(|| {
            fields.push((name.to_owned(), FieldSelection::Fields(Vec::new())));
            fields.len().saturating_sub(1)
        });
        if let Some((_, wanted)) = fields.get_mut(number) {
            match below {
                Some(below) => wanted.add(below),
                None => *wanted = FieldSelection::All,
            }
        }
    }

    /// What is wanted of a field.
    pub(crate) fn field(&self, name: &str) -> Option<&FieldSelection> {
        match self {
            FieldSelection::All => Some(&FieldSelection::All),
            FieldSelection::Fields(fields) => {
                fields.iter().find(|(wanted, _)| wanted == name).map(|(_, wanted)| wanted)
            }
        }
    }

    /// Whether a value is wanted that is not a record.
    pub(crate) fn is_all(&self) -> bool {
        matches!(self, FieldSelection::All)
    }
}
