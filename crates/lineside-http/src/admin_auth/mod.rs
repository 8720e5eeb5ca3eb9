//! Authentication of admins: by the token itself, or by a session that began with the token.
//!
//! This module knows tokens, sessions and rate limits; `http` handles requests and replies.

mod attempts;
mod drafts;
mod sessions;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use lineside_config::secrets::random_secret;
use lineside_config::secrets::{SecretFingerprint, hash_secret};
use lineside_model::Secret;
use lineside_sync::Clock;
use subtle::ConstantTimeEq as _;

use self::attempts::FailedAttempts;
use self::drafts::FormSecretsStore;
use self::sessions::AdminSessions;

pub use self::drafts::FormSecrets;
pub use self::sessions::LIFETIME;

/// A shorter token or key can be guessed, so the operator is warned.
const TOKEN_CHARS_MIN: usize = 16;

/// The state of admin authentication.
pub struct AdminAuth {
    /// The token, if the server generated it and may print it.
    generated_token: Option<Secret>,
    fingerprint: SecretFingerprint,
    sessions: AdminSessions,
    attempts: FailedAttempts,
    /// Failed attempts with the key of `[api]`.
    key_attempts: FailedAttempts,
    drafts: FormSecretsStore,
    /// Real time, even if the data's clock runs faster.
    clock: Arc<dyn Clock>,
}

/// The credential of an admin's request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminCredential {
    /// The token itself.
    Token,
    /// A session, with the time until its end.
    Session(Duration),
}

/// The reason why a token or key is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminSecretRejection {
    /// It is not the right one.
    Wrong,
    /// The address showed too many wrong ones, and has to wait for this long.
    TooOften(Duration),
}

impl AdminAuth {
    /// Uses the configured token, or generates one.
    pub fn new(config: &lineside_config::AdminConfig, clock: Arc<dyn Clock>) -> Self {
        let (token, generated) = match &config.token {
            Some(token) => (token.clone(), None),
            None => {
                let token = Secret::new(random_secret());
                (token.clone(), Some(token))
            }
        };
        warn_if_secret_short("admin.token", &token);
        let fingerprint = hash_secret(token.reveal());
        let (sessions, drafts) = (AdminSessions::default(), FormSecretsStore::default());
        let (attempts, key_attempts) = (FailedAttempts::default(), FailedAttempts::default());
        Self {
            generated_token: generated,
            fingerprint,
            sessions,
            attempts,
            key_attempts,
            drafts,
            clock,
        }
    }

    /// Checks a key of the server API. The rate limit on failures works as for the token, with counts of its own.
    ///
    /// # Errors
    /// Returns an error if the key is wrong, or if the address has to wait.
    pub fn check_api_key(
        &self,
        shown: &[u8],
        key: &Secret,
        address: IpAddr,
    ) -> Result<(), AdminSecretRejection> {
        let now = self.clock.monotonic();
        self.key_attempts
            .check_address_not_blocked(address, now)
            .map_err(AdminSecretRejection::TooOften)?;
        if key.reveal().as_bytes().ct_eq(shown).into() {
            return Ok(());
        }
        self.key_attempts.count_failure(address, now);
        tracing::warn!(%address, "a request has a wrong [api] key");
        Err(AdminSecretRejection::Wrong)
    }

    /// Returns the generated token, if none is configured: it is printed at start, in a login link.
    pub fn generated_admin_token(&self) -> Option<&Secret> {
        self.generated_token.as_ref()
    }

    /// Checks a token. An address with too many failures is refused for a while, even with the right token.
    ///
    /// # Errors
    /// Returns an error if the token is wrong, or if the address has to wait.
    pub fn check_admin_token(
        &self,
        shown: &str,
        address: IpAddr,
    ) -> Result<(), AdminSecretRejection> {
        let now = self.clock.monotonic();
        self.attempts
            .check_address_not_blocked(address, now)
            .map_err(AdminSecretRejection::TooOften)?;
        if hash_secret(shown).ct_eq(&self.fingerprint).into() {
            return Ok(());
        }
        self.attempts.count_failure(address, now);
        tracing::warn!(%address, "a request has a wrong admin token");
        Err(AdminSecretRejection::Wrong)
    }

    /// Begins a session after a login; returns the id for the browser's cookie.
    pub fn begin_session(&self, address: IpAddr) -> String {
        tracing::info!(%address, "an admin logged in");
        self.sessions.begin_session(self.clock.monotonic())
    }

    /// Returns the session with this id, unless it has expired.
    pub fn find_session(&self, id: &str) -> Option<AdminCredential> {
        let now = self.clock.monotonic();
        self.sessions
            .session_expiry(id, now)
            .map(|ends| AdminCredential::Session(ends.saturating_sub(now)))
    }

    /// Stores the secrets of a form that is shown again; returns the id to find them by.
    pub fn store_form_secrets(&self, draft: FormSecrets) -> String {
        self.drafts.store_form_secrets(draft, self.clock.monotonic())
    }

    /// Returns the secrets of a form, unless they have expired.
    pub fn find_form_secrets(&self, name: &str) -> Option<FormSecrets> {
        self.drafts.find_form_secrets(name, self.clock.monotonic())
    }

    pub fn end_session(&self, id: &str) {
        self.sessions.end_session(id);
    }
}

/// Warns if the secret of a configuration key is short enough to be guessed.
pub fn warn_if_secret_short(key: &str, secret: &Secret) {
    if secret.reveal().chars().count() < TOKEN_CHARS_MIN {
        tracing::warn!(
            key,
            "the secret is short and can be guessed: use {TOKEN_CHARS_MIN} random characters or more"
        );
    }
}

impl fmt::Debug for AdminAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminAuth").field("made", &self.generated_token).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use lineside_sync::{SimulatedClock, UnixMillis};

    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn admin(token: Option<&str>) -> (AdminAuth, Arc<SimulatedClock>) {
        let clock = Arc::new(SimulatedClock::new(UnixMillis(0)));
        let config =
            lineside_config::AdminConfig { token: token.map(Secret::new), public_ops: false };
        (AdminAuth::new(&config, Arc::<SimulatedClock>::clone(&clock)), clock)
    }

    #[test]
    fn only_the_exact_token_is_accepted() {
        let (admin, _) = admin(Some("a token of the tests"));
        assert_eq!(admin.check_admin_token("a token of the tests", ADDRESS), Ok(()));
        for wrong in ["", "a token of the test", "a token of the tests!", "A token of the tests"] {
            assert_eq!(
                admin.check_admin_token(wrong, ADDRESS),
                Err(AdminSecretRejection::Wrong),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_token_is_generated_randomly_if_none_is_configured() {
        let ((one, _), (other, _)) = (admin(None), admin(None));
        let token = one.generated_admin_token().unwrap();
        assert_eq!(one.check_admin_token(token.reveal(), ADDRESS), Ok(()));
        assert_eq!(
            other.check_admin_token(token.reveal(), ADDRESS),
            Err(AdminSecretRejection::Wrong)
        );
        assert_eq!(one.check_admin_token("", ADDRESS), Err(AdminSecretRejection::Wrong));
        assert!(!format!("{one:?}").contains(token.reveal()));
        assert!(admin(Some("x")).0.generated_admin_token().is_none());
    }

    #[test]
    fn too_many_wrong_tokens_block_the_address_for_a_while() {
        let (admin, clock) = admin(Some("a token of the tests"));
        let last =
            std::iter::repeat_with(|| admin.check_admin_token("x", ADDRESS)).take(100).last();
        let Some(Err(AdminSecretRejection::TooOften(wait))) = last else { panic!("{last:?}") };
        assert_eq!(admin.check_admin_token("a token of the tests", ADDRESS), last.unwrap());
        clock.advance_time(wait);
        assert_eq!(admin.check_admin_token("a token of the tests", ADDRESS), Ok(()));
    }

    #[test]
    fn too_many_wrong_api_keys_block_the_address_for_a_while() {
        let (admin, clock) = admin(None);
        let key = Secret::new("the key");
        let check = |shown: &str| admin.check_api_key(shown.as_bytes(), &key, ADDRESS);
        assert_eq!(check("the key"), Ok(()));
        let last = std::iter::repeat_with(|| check("x")).take(100).last();
        let Some(Err(AdminSecretRejection::TooOften(wait))) = last else { panic!("{last:?}") };
        assert_eq!(check("the key"), last.unwrap());
        assert_eq!(
            admin.check_admin_token("x", ADDRESS),
            Err(AdminSecretRejection::Wrong),
            "tokens and keys are counted separately"
        );
        clock.advance_time(wait);
        assert_eq!(check("the key"), Ok(()));
    }

    #[test]
    fn a_session_expires_after_its_lifetime() {
        let (admin, clock) = admin(None);
        let id = admin.begin_session(ADDRESS);
        clock.advance_time(Duration::from_secs(60));
        let left = LIFETIME.saturating_sub(Duration::from_secs(60));
        assert_eq!(admin.find_session(&id), Some(AdminCredential::Session(left)));
        clock.advance_time(LIFETIME);
        assert_eq!(admin.find_session(&id), None);
    }
}
