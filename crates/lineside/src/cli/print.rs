//! The only place that writes to the terminal. A reader that went away is no failure.

use std::fmt::Display;
use std::io::{self, Write as _};

use super::Failure;

/// Writes a line for the person, or the program, that started us.
pub(crate) fn say(line: &dyn Display) -> bool {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).is_ok()
}

/// Writes what the command is asked for, where nothing less than all of it will do.
///
/// # Errors
/// If it cannot be written, as where a disk is full. A reader that went away wanted no more of it.
pub(crate) fn tell(line: &dyn Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Unfinished(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Whether what `say` writes may be colored: a terminal reads it, and nobody asked for plain text
/// (no-color.org).
pub(crate) fn in_colors() -> bool {
    colors_on(&io::stdout())
}

/// The same of any stream.
pub(crate) fn colors_on(stream: &impl io::IsTerminal) -> bool {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !plain
}

/// Writes a line about something that went wrong, or that is only for the person watching.
pub(crate) fn note(line: &dyn Display) {
    // Nobody is left to tell when standard error is gone.
    _ = writeln!(io::stderr().lock(), "{line}");
}

/// Writes why the command ends.
pub(crate) fn complain(reason: &str) {
    note(&format_args!("lineside: {reason}"));
}

/// Draws how far something got, over what was drawn before.
pub(crate) fn progress(part: Option<f64>) {
    const WIDTH: usize = 30;
    let line = match part {
        Some(part) => {
            let filled = (part * WIDTH as f64) as usize;
            format!("[{}{}] {:3.0} %", "#".repeat(filled), " ".repeat(WIDTH - filled), part * 100.0)
        }
        None => "reading …".to_owned(),
    };
    let mut err = io::stderr().lock();
    _ = write!(err, "\r{line}").and_then(|()| err.flush());
}

/// Takes away what was drawn.
pub(crate) fn progress_ends() {
    let mut err = io::stderr().lock();
    _ = write!(err, "\r\x1b[K").and_then(|()| err.flush());
}
