//! A program of the operator that converts or validates a feed's bytes.

use std::{
    env, ffi::OsString, fmt, fs, os::unix::fs::PermissionsExt as _, path::PathBuf, time::Duration,
};

use crate::source::Secret;

/// The placeholder in an argument for the input file. Without it the input is written to the standard input.
pub const INPUT_PLACEHOLDER: &str = "{input}";
/// The placeholder in an argument for the output file. Without it the result is read from the standard output.
pub const OUTPUT_PLACEHOLDER: &str = "{output}";
/// Search path for programs if this process has no `PATH`.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

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
        f.debug_struct("ExternalProgram")
            .field("name", &self.program_name())
            .finish_non_exhaustive()
    }
}

impl ExternalProgram {
    /// Returns the program's name, without its arguments.
    pub fn program_name(&self) -> &str {
        self.command.first().map_or("", String::as_str)
    }

    /// Returns the arguments and their values, which may be secrets.
    pub fn argument_secrets(&self) -> Vec<Secret> {
        let is_own = |it: &&String| {
            ![INPUT_PLACEHOLDER, OUTPUT_PLACEHOLDER].iter().any(|name| it.contains(name))
        };
        let arguments = self.command.iter().skip(1).filter(is_own);
        let and_value = |argument: &String| {
            let value = argument.split_once('=').map(|(_, value)| value.to_owned());
            [Some(argument.clone()), value]
        };
        arguments.flat_map(and_value).flatten().map(Secret::new).collect()
    }

    /// Returns the reason why the program could not be started on this machine; `None` if it could. Reads the file
    /// system.
    pub fn find_start_problem(&self) -> Option<String> {
        self.find_executable().err()
    }

    /// Returns the path of the executable.
    ///
    /// # Errors
    /// Returns the reason why there is none.
    pub fn find_executable(&self) -> Result<PathBuf, String> {
        let name = self.program_name();
        if name.contains('/') {
            let path = PathBuf::from(name);
            return match fs::metadata(&path) {
                Ok(found) if is_program(&found) => Ok(path),
                Ok(_) => Err(format!("{name:?} is not executable")),
                Err(error) => Err(format!("{name:?} cannot be run: {error}")),
            };
        }
        let folders = executable_search_path();
        let mut found = env::split_paths(&folders).map(|folder| folder.join(name));
        found
            .find(|path| fs::metadata(path).is_ok_and(|found| is_program(&found)))
            .ok_or_else(|| format!("there is no program {name:?} in the PATH of this server"))
    }

    /// Returns true if an argument contains the placeholder.
    pub fn uses_placeholder(&self, placeholder: &str) -> bool {
        self.command.iter().any(|argument| argument.contains(placeholder))
    }
}

fn is_program(found: &fs::Metadata) -> bool {
    found.is_file() && found.permissions().mode() & 0o111 != 0
}

/// Returns the folders in which programs are searched.
pub fn executable_search_path() -> OsString {
    env::var_os("PATH").unwrap_or_else(|| PATH_DEFAULT.into())
}
