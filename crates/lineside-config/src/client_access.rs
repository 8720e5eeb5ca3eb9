//! `[token]`, `[api]`, `[admin]` and `[[namespace]]`: authentication and permissions of clients.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use jsonwebtoken::{Algorithm, DecodingKey};
use lineside_hub::{
    APP_PREFIX, AccessPolicy, CHANNEL_BYTES_MAX, HISTORY_SIZE_MAX, HistoryOptions, Namespace,
};
use lineside_model::Secret;
use serde::Deserialize;
use toml::Spanned;

use super::config_checker::{ConfigChecker, expected_message};
use super::value::{CountText, DurationText, SecretText};
use super::{AdminConfig, ApiConfig, TokenConfig, TokenKey};

/// Maximum number of namespaces: each is compared with a channel's name.
const NAMESPACES_MAX: usize = 64;
const HISTORY_TTL: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(7 * 86_400);
const HISTORY_SIZE: RangeInclusive<u64> = 1..=HISTORY_SIZE_MAX as u64;
/// The history's default time to live in a namespace with only a size.
const HISTORY_TTL_DEFAULT: Duration = Duration::from_secs(300);
/// The history's default size in a namespace with only a time to live.
const HISTORY_SIZE_DEFAULT: usize = 100;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TokenTable {
    pub(super) hmac: Option<Spanned<SecretText>>,
    pub(super) public_key: Option<Spanned<SecretText>>,
    pub(super) issuer: Option<Spanned<String>>,
    pub(super) audience: Option<Spanned<String>>,
    pub(super) anonymous: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ApiTable {
    pub(super) key: Option<Spanned<SecretText>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct AdminTable {
    pub(super) token: Option<Spanned<SecretText>>,
    pub(super) public_ops: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a [[namespace]] table")]
pub(super) struct NamespaceTable {
    pub(super) prefix: Spanned<String>,
    pub(super) history_size: Option<Spanned<CountText>>,
    pub(super) history_ttl: Option<Spanned<DurationText>>,
    #[serde(default)]
    pub(super) presence: bool,
    #[serde(default)]
    pub(super) join_leave: bool,
    pub(super) subscribe: Option<AccessPolicyText>,
    pub(super) publish: Option<AccessPolicyText>,
}

/// The clients that may do something without a token for the channel.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum AccessPolicyText {
    Anyone,
    Users,
    Nobody,
}

impl ConfigChecker<'_> {
    pub(super) fn check_token_table(&mut self, table: Spanned<TokenTable>) -> Option<TokenConfig> {
        let span = table.span();
        let table = table.into_inner();
        let key = match (table.hmac, table.public_key) {
            (Some(secret), None) => self.check_secret("token.hmac", &secret).map(TokenKey::Hmac),
            (None, Some(pem)) => self.check_public_key(&pem),
            (Some(_), Some(pem)) => {
                let reason = "expected either hmac or public_key, not both";
                self.add_error(&pem, "token.public_key", reason);
                None
            }
            (None, None) => {
                let reason = "missing hmac, the secret that signs tokens, or public_key";
                self.add_error(&Spanned::new(span, ()), "token", reason);
                None
            }
        };
        let issuer = self.check_short_text("token.issuer", table.issuer);
        let audience = self.check_short_text("token.audience", table.audience);
        Some(TokenConfig { key: key?, issuer, audience, anonymous: table.anonymous })
    }

    fn check_public_key(&mut self, text: &Spanned<SecretText>) -> Option<TokenKey> {
        let pem = self.check_secret("token.public_key", text)?;
        if parse_public_key(pem.reveal().as_bytes()).is_none() {
            let reason = "expected the public key of an RSA or P-256 key pair, in PEM";
            self.add_error(text, "token.public_key", reason);
        }
        Some(TokenKey::PublicKey(pem))
    }

    pub(super) fn check_api_table(&mut self, table: ApiTable) -> ApiConfig {
        ApiConfig { key: table.key.and_then(|key| self.check_secret("api.key", &key)) }
    }

    pub(super) fn check_admin_table(&mut self, table: AdminTable) -> AdminConfig {
        AdminConfig {
            token: table.token.and_then(|token| self.check_secret("admin.token", &token)),
            public_ops: table.public_ops,
        }
    }

    pub(super) fn check_secret(&mut self, key: &str, text: &Spanned<SecretText>) -> Option<Secret> {
        match text.get_ref().resolve_secret(self.base) {
            Ok(secret) if secret.is_empty() => {
                self.add_error(text, key, "expected a secret, not empty text");
                None
            }
            Ok(secret) => Some(Secret::new(secret)),
            Err(reason) => {
                self.add_error(text, key, reason);
                None
            }
        }
    }

    pub(super) fn check_namespaces(
        &mut self,
        tables: Vec<NamespaceTable>,
        numbers: &[usize],
    ) -> Vec<Namespace> {
        if let Some(extra) = tables.get(NAMESPACES_MAX) {
            let reason = format!("more than {NAMESPACES_MAX} namespaces");
            self.add_error(&extra.prefix, "namespace", reason);
        }
        let mut seen = HashSet::new();
        let mut namespaces = Vec::new();
        for (number, table) in numbers.iter().zip(tables) {
            let key = format!("namespace[{number}]");
            let prefix = self.check_namespace_prefix(&format!("{key}.prefix"), &table.prefix);
            if !seen.insert(prefix.clone()) {
                let reason = format!("{prefix:?} is already the prefix of another namespace");
                self.add_error(&table.prefix, &format!("{key}.prefix"), reason);
            }
            let history = self.check_namespace_history(&key, &table);
            let parse_policy = |text: Option<AccessPolicyText>, default_policy| match text {
                None => default_policy,
                Some(AccessPolicyText::Anyone) => AccessPolicy::Anyone,
                Some(AccessPolicyText::Users) => AccessPolicy::Users,
                Some(AccessPolicyText::Nobody) => AccessPolicy::Nobody,
            };
            let defaults = Namespace::default();
            namespaces.push(Namespace {
                prefix,
                history,
                presence: table.presence,
                join_leave: table.join_leave,
                subscribe: parse_policy(table.subscribe, defaults.subscribe),
                publish: parse_policy(table.publish, defaults.publish),
            });
        }
        namespaces
    }

    fn check_namespace_prefix(&mut self, key: &str, text: &Spanned<String>) -> String {
        let written = text.get_ref();
        // The documentation writes such prefixes with an ellipsis.
        let prefix = written.strip_suffix('…').unwrap_or(written);
        if !prefix.starts_with(APP_PREFIX) || prefix.len() > CHANNEL_BYTES_MAX {
            let wanted = "a channel prefix such as \"app/\" or \"app/chat/\"";
            self.add_error(text, key, expected_message(wanted, written));
        }
        prefix.to_owned()
    }

    /// Checks a history. Either of its two keys enables it.
    fn check_namespace_history(
        &mut self,
        key: &str,
        table: &NamespaceTable,
    ) -> Option<HistoryOptions> {
        let size =
            self.check_count(&format!("{key}.history_size"), &table.history_size, HISTORY_SIZE);
        let ttl = self.check_duration(
            &format!("{key}.history_ttl"),
            table.history_ttl.clone(),
            HISTORY_TTL,
        );
        (size.is_some() || ttl.is_some()).then(|| HistoryOptions {
            size: size.unwrap_or(HISTORY_SIZE_DEFAULT),
            ttl: ttl.unwrap_or(HISTORY_TTL_DEFAULT),
        })
    }
}

/// Parses a public key in PEM and finds its algorithm; returns `None` if it is neither RSA nor P-256.
pub fn parse_public_key(pem: &[u8]) -> Option<(DecodingKey, Algorithm)> {
    // The key itself contains its type, so each parser refuses the other's keys.
    let rsa = DecodingKey::from_rsa_pem(pem).map(|key| (key, Algorithm::RS256));
    rsa.or_else(|_| DecodingKey::from_ec_pem(pem).map(|key| (key, Algorithm::ES256))).ok()
}
