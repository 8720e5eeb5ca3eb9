//! The sessions of logged-in browsers. They live in memory: a restart logs everyone out.

use std::time::Duration;

use lineside_config::secrets::{SecretFingerprint, hash_secret, random_secret};
use parking_lot::Mutex;
use subtle::ConstantTimeEq as _;

/// Lifetime of a session, regardless of activity.
pub const LIFETIME: Duration = Duration::from_secs(12 * 3_600);
/// Largest number of sessions; one more ends the oldest.
const SESSIONS_MAX: usize = 64;

/// The sessions in the order of their start, and so of their end.
#[derive(Debug, Default)]
pub(super) struct AdminSessions(Mutex<Vec<AdminSession>>);

#[derive(Debug)]
struct AdminSession {
    /// Hash of the session id; the id itself is not stored.
    fingerprint: SecretFingerprint,
    expires_at: Duration,
}

impl AdminSessions {
    /// Begins a session; returns the id for the browser's cookie.
    pub(super) fn begin_session(&self, now: Duration) -> String {
        let id = random_secret();
        let mut sessions = self.0.lock();
        sessions.retain(|session| session.expires_at > now);
        if sessions.len() >= SESSIONS_MAX {
            sessions.remove(0);
        }
        sessions.push(AdminSession { fingerprint: hash_secret(&id), expires_at: now + LIFETIME });
        id
    }

    /// Returns the end of a session, on the clock of `now`; `None` if no session has this id or it has expired.
    pub(super) fn session_expiry(&self, id: &str, now: Duration) -> Option<Duration> {
        let shown = hash_secret(id);
        let sessions = self.0.lock();
        let found = sessions.iter().find(|session| shown.ct_eq(&session.fingerprint).into());
        found.map(|session| session.expires_at).filter(|ends| *ends > now)
    }

    pub(super) fn end_session(&self, id: &str) {
        let shown = hash_secret(id);
        self.0.lock().retain(|session| !bool::from(shown.ct_eq(&session.fingerprint)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_by_expiry_or_by_logout() {
        let (sessions, start) = (AdminSessions::default(), Duration::from_secs(5));
        let (one, other) = (sessions.begin_session(start), sessions.begin_session(start));
        assert_ne!(one, other);
        assert_eq!(sessions.session_expiry(&one, start), Some(start + LIFETIME));
        assert_eq!(sessions.session_expiry(&one, start + LIFETIME), None);
        sessions.end_session(&one);
        assert_eq!(sessions.session_expiry(&one, start), None);
        assert!(sessions.session_expiry(&other, start).is_some());
        assert_eq!(sessions.session_expiry("", start), None);
    }

    #[test]
    fn the_oldest_session_ends_beyond_the_limit() {
        let (sessions, now) = (AdminSessions::default(), Duration::ZERO);
        let ids: Vec<String> = (0..=SESSIONS_MAX).map(|_| sessions.begin_session(now)).collect();
        assert_eq!(sessions.session_expiry(&ids[0], now), None);
        assert!(ids[1..].iter().all(|id| sessions.session_expiry(id, now).is_some()));
    }
}
