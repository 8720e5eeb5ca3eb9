//! A program of the operator that converts or validates a feed's bytes.

use std::{fmt, time::Duration};

/// One of the operator's programs, with its limits.
#[derive(Clone, PartialEq, Eq)]
pub struct ExternalProgram {
    /// The program and its arguments, in which `{input}` and `{output}` are replaced with files. A name without a slash
    /// is searched in `PATH`.
    pub command: Vec<String>,
    /// The timeout of a run.
    pub timeout: Duration,
    /// Maximum address space of each of its processes, in bytes.
    pub memory: u64,
}

/// Arguments may be secrets.
impl fmt::Debug for ExternalProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalProgram").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl ExternalProgram {
    /// Returns the program's name, without its arguments.
    pub fn name(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }
}
