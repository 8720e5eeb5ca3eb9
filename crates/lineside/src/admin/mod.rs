//! Who may change how the server runs: whoever shows the token, by itself or once, for a session.
//!
//! It knows tokens, sessions and how often each address may be wrong; requests and replies it leaves to the HTTP
//! room.

mod attempts;
mod drafts;
mod secrets;
mod sessions;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use lineside_ingest::Secret;
use lineside_sync::Clock;
use subtle::ConstantTimeEq as _;

use self::attempts::FailedAttempts;
use self::drafts::SecretDrafts;
pub(crate) use self::secrets::random_secret as random_text;
use self::secrets::{Fingerprint, hash_secret};
use self::sessions::AdminSessions;
use crate::config;

pub(crate) use self::drafts::Draft;
pub(crate) use self::sessions::LIFETIME;

/// A token or key shorter than this can be guessed: the operator is warned.
const TOKEN_CHARS_MIN: usize = 16;

/// What an admin is known by.
pub(crate) struct AdminAuth {
    /// The token, where it is our own and may be printed.
    made: Option<Secret>,
    fingerprint: Fingerprint,
    sessions: AdminSessions,
    attempts: FailedAttempts,
    /// The same for the key of `[api]`.
    key_attempts: FailedAttempts,
    drafts: SecretDrafts,
    /// Real time, also where the data's runs faster.
    clock: Arc<dyn Clock>,
}

/// How an admin showed who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdminCredential {
    /// With the token itself.
    Token,
    /// With a session that ends so long from now.
    Session(Duration),
}

/// Why a token is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenRejection {
    /// It is another one.
    Wrong,
    /// Its address has been wrong too often, and has to wait so long.
    TooOften(Duration),
}

impl AdminAuth {
    /// Takes the configured token, or makes one.
    pub(crate) fn new(config: &config::AdminConfig, clock: Arc<dyn Clock>) -> Self {
        let (token, made) = match &config.token {
            Some(token) => (token.clone(), None),
            None => {
                let token = Secret::new(secrets::random_secret());
                (token.clone(), Some(token))
            }
        };
        warn_if_short("the admin's token", &token);
        let fingerprint = hash_secret(token.reveal());
        let (sessions, drafts) = (AdminSessions::default(), SecretDrafts::default());
        let (attempts, key_attempts) = (FailedAttempts::default(), FailedAttempts::default());
        Self { made, fingerprint, sessions, attempts, key_attempts, drafts, clock }
    }

    /// Whether this is the key of the server API. An address that is wrong too often has to wait, as with the token.
    ///
    /// # Errors
    /// When it is another one, or was not looked at.
    pub(crate) fn check_api_key(
        &self,
        shown: &[u8],
        key: &Secret,
        address: IpAddr,
    ) -> Result<(), TokenRejection> {
        let now = self.clock.monotonic();
        self.key_attempts.check_address(address, now).map_err(TokenRejection::TooOften)?;
        if key.reveal().as_bytes().ct_eq(shown).into() {
            return Ok(());
        }
        self.key_attempts.count_failure(address, now);
        tracing::warn!(%address, "a wrong key of [api] was shown");
        Err(TokenRejection::Wrong)
    }

    /// The token, where nobody has configured one: it is printed at start, in a link that logs in.
    pub(crate) fn generated_token(&self) -> Option<&Secret> {
        self.made.as_ref()
    }

    /// Whether this is the token. An address that is wrong too often is not asked any more for a while, not even for the
    /// right one.
    ///
    /// # Errors
    /// When it is another one, or was not looked at.
    pub(crate) fn check_token(&self, shown: &str, address: IpAddr) -> Result<(), TokenRejection> {
        let now = self.clock.monotonic();
        self.attempts.check_address(address, now).map_err(TokenRejection::TooOften)?;
        if hash_secret(shown).ct_eq(&self.fingerprint).into() {
            return Ok(());
        }
        self.attempts.count_failure(address, now);
        tracing::warn!(%address, "somebody showed a token that is not the admin's");
        Err(TokenRejection::Wrong)
    }

    /// Begins a session for who has shown the token; gives what the browser is to keep.
    pub(crate) fn begin_session(&self, address: IpAddr) -> String {
        tracing::info!(%address, "an admin logged in");
        self.sessions.begin_session(self.clock.monotonic())
    }

    /// The session with this id, while it lasts.
    pub(crate) fn find_session(&self, id: &str) -> Option<AdminCredential> {
        let now = self.clock.monotonic();
        self.sessions
            .session_expiry(id, now)
            .map(|ends| AdminCredential::Session(ends.saturating_sub(now)))
    }

    /// Keeps the secrets of a form that is shown once more; gives the name that they are found by.
    pub(crate) fn store_draft(&self, draft: Draft) -> String {
        self.drafts.store_draft(draft, self.clock.monotonic())
    }

    /// The secrets that were kept by this name, unless it is too long ago.
    pub(crate) fn find_draft(&self, name: &str) -> Option<Draft> {
        self.drafts.find_draft(name, self.clock.monotonic())
    }

    pub(crate) fn end_session(&self, id: &str) {
        self.sessions.end_session(id);
    }
}

/// Warns of a secret that can be guessed. `name` says which.
pub(crate) fn warn_if_short(name: &str, secret: &Secret) {
    if secret.reveal().chars().count() < TOKEN_CHARS_MIN {
        tracing::warn!(
            "{name} is short and can be guessed: use {TOKEN_CHARS_MIN} random characters or more"
        );
    }
}

impl fmt::Debug for AdminAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admin").field("made", &self.made).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use lineside_sync::{SimulatedClock, UnixMillis};

    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn admin(token: Option<&str>) -> (AdminAuth, Arc<SimulatedClock>) {
        let clock = Arc::new(SimulatedClock::new(UnixMillis(0)));
        let config = config::AdminConfig { token: token.map(Secret::new), public_ops: false };
        (AdminAuth::new(&config, Arc::<SimulatedClock>::clone(&clock)), clock)
    }

    #[test]
    fn only_the_token_is_taken() {
        let (admin, _) = admin(Some("a token of the tests"));
        assert_eq!(admin.check_token("a token of the tests", ADDRESS), Ok(()));
        for wrong in ["", "a token of the test", "a token of the tests!", "A token of the tests"] {
            assert_eq!(admin.check_token(wrong, ADDRESS), Err(TokenRejection::Wrong), "{wrong}");
        }
    }

    #[test]
    fn a_token_that_nobody_configured_is_random() {
        let ((one, _), (other, _)) = (admin(None), admin(None));
        let token = one.generated_token().unwrap();
        assert_eq!(one.check_token(token.reveal(), ADDRESS), Ok(()));
        assert_eq!(other.check_token(token.reveal(), ADDRESS), Err(TokenRejection::Wrong));
        assert_eq!(one.check_token("", ADDRESS), Err(TokenRejection::Wrong));
        assert!(!format!("{one:?}").contains(token.reveal()));
        assert!(admin(Some("x")).0.generated_token().is_none());
    }

    #[test]
    fn who_is_wrong_too_often_is_not_asked_for_a_while() {
        let (admin, clock) = admin(Some("a token of the tests"));
        let last = std::iter::repeat_with(|| admin.check_token("x", ADDRESS)).take(100).last();
        let Some(Err(TokenRejection::TooOften(wait))) = last else { panic!("{last:?}") };
        assert_eq!(admin.check_token("a token of the tests", ADDRESS), last.unwrap());
        clock.advance(wait);
        assert_eq!(admin.check_token("a token of the tests", ADDRESS), Ok(()));
    }

    #[test]
    fn the_api_key_cannot_be_guessed_either() {
        let (admin, clock) = admin(None);
        let key = Secret::new("the key");
        let check = |shown: &str| admin.check_api_key(shown.as_bytes(), &key, ADDRESS);
        assert_eq!(check("the key"), Ok(()));
        let last = std::iter::repeat_with(|| check("x")).take(100).last();
        let Some(Err(TokenRejection::TooOften(wait))) = last else { panic!("{last:?}") };
        assert_eq!(check("the key"), last.unwrap());
        assert_eq!(
            admin.check_token("x", ADDRESS),
            Err(TokenRejection::Wrong),
            "that is another count"
        );
        clock.advance(wait);
        assert_eq!(check("the key"), Ok(()));
    }

    #[test]
    fn a_session_lasts_its_time() {
        let (admin, clock) = admin(None);
        let id = admin.begin_session(ADDRESS);
        clock.advance(Duration::from_secs(60));
        let left = LIFETIME.saturating_sub(Duration::from_secs(60));
        assert_eq!(admin.find_session(&id), Some(AdminCredential::Session(left)));
        clock.advance(LIFETIME);
        assert_eq!(admin.find_session(&id), None);
    }
}
