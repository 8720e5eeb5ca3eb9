//! Reads the input of a command: a file, a folder, an address or standard input.

use std::borrow::Cow;
use std::io::{self, Read as _};
use std::sync::Arc;

use bytes::Bytes;
use lineside_fetch::fetch_source_once;
use lineside_model::{FeedConfig, FeedId, SourceLocation};
use lineside_quality::check::STDIN;
use lineside_sync::{Clock, RealClock};

use super::CommandFailure;

/// The addresses that may be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum AllowedAddresses {
    /// All addresses, including this machine and its network.
    Anywhere,
    /// Only addresses that are reachable from the whole internet.
    Public,
}

/// Returns the name of an input for reports and logs: an address without user, password and keys.
pub(in crate::cli) fn redacted_name(input: &str) -> Cow<'_, str> {
    match SourceLocation::parse(input) {
        Ok(address @ SourceLocation::Http(_)) => Cow::Owned(address.to_string()),
        _ => Cow::Borrowed(input),
    }
}

/// Reads an input of at most `input_max` bytes.
pub(super) async fn read_input(
    input: &str,
    input_max: u64,
    address_scope: AllowedAddresses,
) -> Result<Bytes, CommandFailure> {
    let unfinished =
        |reason: String| CommandFailure::Unfinished(message_with_input_name(input, &reason));
    if input == "-" {
        let read = tokio::task::spawn_blocking(move || {
            let mut body = Vec::new();
            let read_result = io::stdin().lock().take(input_max + 1).read_to_end(&mut body);
            read_result.map(|_| body)
        });
        let body = read.await.map_err(io::Error::other).and_then(|read| read);
        let body = body.map_err(|error| unfinished(error.to_string()))?;
        if body.len() as u64 > input_max {
            return Err(unfinished(format!("larger than {} MiB", input_max >> 20)));
        }
        return Ok(body.into());
    }
    let location =
        SourceLocation::parse(input).map_err(|error| CommandFailure::Usage(error.to_string()))?;
    fetch_input(location, input_max, address_scope).await.map_err(unfinished)
}

/// Returns the reason of a failure, preceded by the input's name unless the reason begins with that name.
fn message_with_input_name(input: &str, reason: &str) -> String {
    let name = if input == "-" { Cow::Borrowed(STDIN) } else { redacted_name(input) };
    if reason.starts_with(&*name) { reason.to_owned() } else { format!("{name}: {reason}") }
}

/// Fetches at most `input_max` bytes from a location.
pub(in crate::cli) async fn fetch_input(
    location: SourceLocation,
    input_max: u64,
    address_scope: AllowedAddresses,
) -> Result<Bytes, String> {
    let config = FeedConfig {
        public_only: address_scope == AllowedAddresses::Public,
        ..config_for_single_fetch(location, input_max)?
    };
    fetch_source_once(&config, real_clock()).await.map_err(|failure| failure.detail)
}

/// Returns the configuration for a single fetch from a location.
pub(in crate::cli) fn config_for_single_fetch(
    location: SourceLocation,
    input_max: u64,
) -> Result<FeedConfig, String> {
    let id = FeedId::new("input").map_err(|error| error.to_string())?;
    Ok(FeedConfig { max_bytes: input_max, ..FeedConfig::new(id, location) })
}

pub(in crate::cli) fn real_clock() -> Arc<dyn Clock> {
    Arc::new(RealClock::new())
}

#[cfg(test)]
mod tests {
    use super::{message_with_input_name, redacted_name};

    #[test]
    fn a_failure_message_names_the_input_once_and_without_secrets() {
        assert_eq!(
            message_with_input_name("bad.bin", "bad.bin cannot be read: x"),
            "bad.bin cannot be read: x"
        );
        assert_eq!(
            message_with_input_name("a.zip", "larger than 2 MiB"),
            "a.zip: larger than 2 MiB"
        );
        assert_eq!(
            message_with_input_name("-", "larger than 2 MiB"),
            "standard input: larger than 2 MiB"
        );
        assert_eq!(redacted_name("a?key=b.zip"), "a?key=b.zip");
        assert_eq!(
            message_with_input_name("http://a:b@h/a.zip?key=c", "no"),
            "http://***@h/a.zip?key=***: no"
        );
    }
}
