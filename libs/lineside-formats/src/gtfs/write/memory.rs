//! Tables in memory, which the loader reads like files.

use std::{collections::BTreeMap, io::Read};

use super::{TableWriter, append_csv_row};
use crate::{Error, gtfs::FileSet};

/// Tables as text in memory: a [`TableWriter`] whose rows [`load_timetable`](crate::gtfs::load_timetable) reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InMemoryTables {
    tables: BTreeMap<&'static str, Vec<u8>>,
    current: &'static str,
}

impl InMemoryTables {
    /// Creates an empty set.
    pub fn new() -> InMemoryTables {
        InMemoryTables::default()
    }
}

impl TableWriter for InMemoryTables {
    fn begin_table(&mut self, table: &'static str, columns: &[&str]) -> Result<(), Error> {
        self.current = table;
        self.write_row(columns)
    }

    fn write_row(&mut self, cells: &[&str]) -> Result<(), Error> {
        append_csv_row(self.tables.entry(self.current).or_default(), cells);
        Ok(())
    }
}

impl FileSet for InMemoryTables {
    fn file_names(&mut self) -> Vec<String> {
        self.tables.keys().map(|&name| name.to_owned()).collect()
    }

    fn open_file<'a>(&'a mut self, name: &str) -> Result<Option<Box<dyn Read + 'a>>, Error> {
        Ok(self.tables.get(name).map(|bytes| Box::new(bytes.as_slice()) as Box<dyn Read>))
    }
}
