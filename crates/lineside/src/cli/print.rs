//! The only place that writes to the terminal. A reader that went away is no failure.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write as _};
use std::pin::pin;
use std::time::Duration;

use lineside_sync::Clock;

use super::CommandFailure;
use crate::check::escape_control_chars;

/// How often what is under way is drawn anew.
const DRAWN_EVERY: Duration = Duration::from_millis(100);

/// Writes a line for the person, or the program, that started us.
pub(crate) fn print_line(line: &dyn Display) -> bool {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).is_ok()
}

/// Writes what the command is asked for, where nothing less than all of it will do.
///
/// # Errors
/// If it cannot be written, as where a disk is full. A reader that went away wanted no more of it.
pub(crate) fn print_output(line: &dyn Display) -> Result<(), CommandFailure> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(CommandFailure::Unfinished(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}

/// Whether what `say` writes may be colored: a terminal reads it, and nobody asked for plain text
/// (no-color.org).
pub(crate) fn stdout_uses_colors() -> bool {
    uses_colors(&io::stdout())
}

/// The same of any stream.
pub(crate) fn uses_colors(stream: &impl io::IsTerminal) -> bool {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stream.is_terminal() && !plain
}

/// Writes one line about something that went wrong, or that is only for the person watching. What is named in it may have
/// been named by strangers, and begins no line of its own: a build would take that for a word to itself.
pub(crate) fn print_note(line: &dyn Display) {
    // Nobody is left to tell when standard error is gone.
    _ = writeln!(io::stderr().lock(), "{}", escape_control_chars(&line.to_string()));
}

/// Writes why the command ends, in a line.
pub(crate) fn print_failure(reason: &str) {
    print_note(&format_args!("lineside: {reason}"));
}

/// How far something got, as a bar; `None` where that is not known yet.
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

/// Waits for what is under way, and draws where it stands while somebody waits at a terminal; `line` is given for how long
/// it has been under way.
pub(crate) async fn show_progress<T>(
    clock: &impl Clock,
    line: impl Fn(Duration) -> String,
    work: impl Future<Output = T>,
) -> T {
    if !io::stderr().is_terminal() {
        return work.await;
    }
    let begun = clock.monotonic();
    let (mut work, mut is_drawn) = (pin!(work), false);
    loop {
        tokio::select! {
            done = &mut work => {
                if is_drawn {
                    draw_line("");
                }
                return done;
            }
            () = clock.sleep(DRAWN_EVERY) => {
                draw_line(&line(clock.monotonic() - begun));
                is_drawn = true;
            }
        }
    }
}

/// Draws a line over what was drawn before.
fn draw_line(line: &str) {
    let mut err = io::stderr().lock();
    _ = write!(err, "\r{line}\x1b[K").and_then(|()| err.flush());
}
