//! A program run once for whoever has no feed.

use bytes::Bytes;
use lineside_sync::Clock;

use super::{Program, run};
use crate::fetch::Hidden;

/// Why a program made nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotMade {
    /// In words that say what the program did, such as `ended with exit code 1`.
    pub why: String,
    /// What it wrote to its standard error, at most its beginning and its end.
    pub said: String,
}

/// Runs a program over these bytes. Its result may have `output_max` bytes at most; `about` is what it is told it works for.
///
/// # Errors
/// Why there is no result. None of its processes is left then, nor any of its files.
///
/// Cancel safety: dropped, it ends the program and takes its folder away.
pub async fn run_program(
    program: &Program,
    input: Bytes,
    output_max: u64,
    about: &str,
    clock: &dyn Clock,
) -> Result<Bytes, NotMade> {
    match run(program, input, output_max, about, clock).await {
        Ok(ran) => Ok(ran.output),
        Err(not) => Err(NotMade { why: not.why, said: not.said.shown(&Hidden::default()) }),
    }
}
