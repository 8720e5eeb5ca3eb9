//! A program of the operator that converts or validates a feed's bytes.

use std::{fmt, time::Duration};

/// One of the operator's programs, and how much it may take.
#[derive(Clone, PartialEq, Eq)]
pub struct ExternalProgram {
    /// The program and its arguments, in which `{input}` and `{output}` stand for files. A name without a slash is looked
    /// for in `PATH`.
    pub command: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
    /// Address space that each of its processes may have, in bytes.
    pub memory: u64,
}

/// Arguments may be secrets.
impl fmt::Debug for ExternalProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalProgram").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl ExternalProgram {
    /// What it is called, without its arguments.
    pub fn name(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }
}
