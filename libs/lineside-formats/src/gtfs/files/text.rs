//! A dataset written as one text, for tests and documentation.

use std::{collections::BTreeMap, io::Read};

use super::FileSet;
use crate::Error;

/// Tables from one text in sections: a line `# stops.txt` begins a file, and the following lines are its rows.
///
/// ```
/// use lineside_formats::gtfs::{FileSet, TextFiles};
///
/// let mut files = TextFiles::from_sections("
///     ## stops.txt
///     stop_id,stop_name
///     a,North
/// ");
/// assert_eq!(files.file_names(), ["stops.txt"]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct TextFiles {
    files: BTreeMap<String, Vec<u8>>,
}

impl TextFiles {
    /// Creates an empty set.
    pub fn new() -> TextFiles {
        TextFiles::default()
    }

    /// Parses the sections. White space around lines, empty lines and text before the first section are ignored.
    pub fn from_sections(text: &str) -> TextFiles {
        let mut files = TextFiles::new();
        let mut current = None;
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(name) = line.strip_prefix("# ") {
                current = Some(name.to_owned());
                files.files.entry(name.to_owned()).or_default();
            } else if let Some(file) = current.as_ref().and_then(|name| files.files.get_mut(name)) {
                file.extend_from_slice(line.as_bytes());
                file.push(b'\n');
            }
        }
        files
    }

    /// Adds a file with exactly these bytes, or replaces the one with that name.
    #[must_use]
    pub fn with_file(mut self, name: &str, bytes: impl Into<Vec<u8>>) -> TextFiles {
        self.files.insert(name.to_owned(), bytes.into());
        self
    }

    /// Removes a file.
    #[must_use]
    pub fn without_file(mut self, name: &str) -> TextFiles {
        self.files.remove(name);
        self
    }
}

impl FileSet for TextFiles {
    fn file_names(&mut self) -> Vec<String> {
        self.files.keys().cloned().collect()
    }

    fn open_file<'a>(&'a mut self, name: &str) -> Result<Option<Box<dyn Read + 'a>>, Error> {
        Ok(self.files.get(name).map(|bytes| Box::new(bytes.as_slice()) as Box<dyn Read>))
    }
}
