//! Reasons of failures: their counts, and advice on what to do.

use crate::limits::{REASON_CHARS_MAX, REASONS_MAX};

/// Counts a reason; further distinct reasons are counted together.
pub(crate) fn count_failure_reason(reasons: &mut Vec<(String, u64)>, reason: &str, times: u64) {
    if times == 0 {
        return;
    }
    let short = &reason[..reason.floor_char_boundary(REASON_CHARS_MAX)];
    let short = if reasons.len() + 1 < REASONS_MAX { short } else { "other reasons" };
    match reasons.iter_mut().find(|(known, _)| known == reason || known == short) {
        Some((_, count)) => *count += times,
        None => reasons.push((short.to_owned(), times)),
    }
}

pub(crate) fn failure_advice(why: &str) -> &'static str {
    let all = |words: &[&str]| words.iter().all(|word| why.contains(word));
    if all(&["listens"]) {
        "start the server, or correct the URL"
    } else if all(&["certificate"]) {
        "set SSL_CERT_FILE to a file with trusted certificates"
    } else if all(&["404", "Not Found"]) {
        "check the URL, the channel and --transport"
    } else if all(&["the server refused"]) {
        "correct the channel, or allow everyone to subscribe to it"
    } else {
        "check the server's log"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_matches_the_failure() {
        let refused =
            failure_advice("the server refused feed/nowhere with code 102 (unknown channel)");
        assert!(refused.starts_with("correct the channel"), "{refused}");
        assert_eq!(
            failure_advice("connection refused: no server listens there"),
            "start the server, or correct the URL"
        );
        assert_eq!(failure_advice("another error"), "check the server's log");
    }
}
