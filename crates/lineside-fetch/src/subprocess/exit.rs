//! Descriptions of a program's exit status.

use std::{os::unix::process::ExitStatusExt as _, process::ExitStatus};

use nix::sys::signal::Signal;

/// Describes an unsuccessful exit; `None` if the program succeeded.
pub(super) fn describe_exit_failure(status: ExitStatus) -> Option<String> {
    if status.success() {
        return None;
    }
    let signal = status.signal().and_then(|number| Signal::try_from(number).ok());
    Some(match (status.code(), signal) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(Signal::SIGXFSZ)) => "wrote a file larger than allowed".to_owned(),
        (None, Some(Signal::SIGKILL)) => {
            "was killed by SIGKILL: the system may have run out of memory".to_owned()
        }
        (None, Some(signal)) => format!("was killed by {signal}"),
        (None, None) => format!("ended with {status}"),
    })
}
