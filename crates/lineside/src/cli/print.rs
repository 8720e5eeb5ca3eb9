//! The only module that writes to the terminal. A closed pipe is not an error.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::pin::pin;
use std::time::Duration;

use lineside_quality::check::escape_control_chars;
use lineside_sync::Clock;

use super::CommandFailure;

/// Interval at which the progress line is redrawn.
const DRAWN_EVERY: Duration = Duration::from_millis(100);

/// Writes a line to standard output. Returns false if it could not be written.
pub(crate) fn print_line_to_stdout(line: &dyn Display) -> bool {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).is_ok()
}

/// Writes the output of a command that must be complete.
///
/// # Errors
/// Returns an error if standard output cannot be written, for example because a disk is full. A closed pipe is not an
/// error.
pub(crate) fn print_required_output(line: &dyn Display) -> Result<(), CommandFailure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandFailure::Unfinished(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Returns true if standard output is a terminal and `NO_COLOR` (no-color.org) is not set.
pub(crate) fn stdout_uses_colors() -> bool {
    uses_colors(&io::stdout())
}

/// Returns true if the stream is a terminal and `NO_COLOR` is not set.
pub(crate) fn uses_colors(stream: &impl io::IsTerminal) -> bool {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !plain
}

/// Writes a one-line warning or progress note to standard error. Names in the line may come from strangers, so control
/// characters are escaped: a CI job may interpret a separate line as a command.
pub(crate) fn print_to_stderr(line: &dyn Display) {
    // A failure to write to standard error cannot be reported.
    _ = writeln!(io::stderr().lock(), "{}", escape_control_chars(&line.to_string()));
}

/// Writes the reason why the command ends, in one line.
pub(crate) fn print_failure_reason(reason: &str) {
    print_to_stderr(&format_args!("lineside: {reason}"));
}

/// Returns a progress bar; `None` if the progress is not known yet.
pub(crate) fn progress_bar(part: Option<f64>) -> String {
    const WIDTH: usize = 30;
    match part {
        Some(part) => {
            let filled = (part * WIDTH as f64) as usize;
            format!("[{}{}] {:3.0} %", "#".repeat(filled), " ".repeat(WIDTH - filled), part * 100.0)
        }
        None => "reading …".to_owned(),
    }
}

/// Awaits `work`, and redraws a progress line if standard error is a terminal; `line` gets the elapsed time.
pub(crate) async fn run_with_progress_line<T>(
    clock: &impl Clock,
    line: impl Fn(Duration) -> String,
    work: impl Future<Output = T>,
) -> T {
    if !io::stderr().is_terminal() {
        return work.await;
    }
    let started_at = clock.monotonic();
    let (mut work, mut is_drawn) = (pin!(work), false);
    loop {
        tokio::select! {
            done = &mut work => {
                if is_drawn {
                    redraw_stderr_line("");
                }
                return done;
            }
            () = clock.sleep(DRAWN_EVERY) => {
                redraw_stderr_line(&line(clock.monotonic() - started_at));
                is_drawn = true;
            }
        }
    }
}

/// Draws a line over the previous one.
fn redraw_stderr_line(line: &str) {
    let mut err = io::stderr().lock();
    _ = write!(err, "\r{line}\x1b[K").and_then(|()| err.flush());
}
