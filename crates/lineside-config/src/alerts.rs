//! `[[alert]]` and `[smtp]`: notifications about feeds and their targets.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use lettre::message::Mailbox;
use lineside_model::Secret;
use serde::Deserialize;
use toml::Spanned;
use url::Url;

use super::config_checker::{ConfigChecker, expected_message};
use super::value::{CountText, DurationText, SecretText};

/// Maximum number of targets: each is checked for each feed, every second.
const ALERTS_MAX: usize = 64;
/// Maximum number of patterns of one alert.
const PATTERNS_MAX: usize = 1_000;
/// A longer quiet time would hide a whole day.
const QUIET_PERIOD: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(86_400);
const QUIET_PERIOD_DEFAULT: Duration = Duration::from_secs(15 * 60);
/// The prefix of a secret in base64 (standardwebhooks.com, 1.0).
const KEY_PREFIX: &str = "whsec_";
/// Together with the time for sending, a change is reported within two minutes.
const DELAY: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_secs(90);
const DELAY_DEFAULT: Duration = Duration::from_secs(30);
const PORT: RangeInclusive<u64> = 1..=65_535;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an [[alert]] table")]
pub(super) struct AlertTable {
    to: Spanned<SecretText>,
    feeds: Option<Vec<Spanned<String>>>,
    on: Option<Vec<Spanned<AlertEventText>>>,
    quiet: Option<Spanned<DurationText>>,
    after: Option<Spanned<DurationText>>,
    secret: Option<Spanned<SecretText>>,
}

/// The events that a target is notified of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AlertEventText {
    State,
    Expiry,
    Findings,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "an [smtp] table")]
pub(super) struct SmtpTable {
    host: Spanned<String>,
    port: Option<Spanned<CountText>>,
    security: Option<SmtpSecurityText>,
    user: Option<Spanned<String>>,
    password: Option<Spanned<SecretText>>,
    from: Spanned<String>,
}

/// The encryption of the connection to the mail server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SmtpSecurityText {
    Starttls,
    Tls,
    None,
}

/// `[[alert]]`: a target with its feeds, its events and the intervals of its messages.
#[derive(Debug, Clone, PartialEq)]
pub struct AlertConfig {
    pub target: AlertTarget,
    /// The feeds: ids, in which `*` matches any characters. Empty means all.
    pub feeds: Vec<String>,
    /// True if the target is notified of changes of a feed's state.
    pub on_state: bool,
    /// True if the target is notified of schedules that expire.
    pub on_expiry: bool,
    /// True if the target is notified of errors in new data that earlier data did not have.
    pub on_findings: bool,
    /// Time after a message in which no further trouble of the same feed is sent.
    pub quiet: Duration,
    /// Time that a state must last before it is reported.
    pub after: Duration,
}

/// The receiver of messages.
#[derive(Debug, Clone, PartialEq)]
pub enum AlertTarget {
    /// An address that accepts JSON by POST. The address often contains a secret.
    Webhook {
        /// The address.
        url: Secret,
        /// The key that signs messages.
        key: Option<SigningKey>,
    },
    Mail(Mailbox),
}

/// The key that signs messages to a webhook.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey(Box<[u8]>);

impl SigningKey {
    /// Decodes the key of a secret: base64 after the prefix `whsec_`, otherwise the bytes of the secret. Returns `None`
    /// if the base64 is invalid, because receivers would reject messages signed with another key.
    pub fn from_secret(secret: &Secret) -> Option<Self> {
        let bytes = match secret.reveal().strip_prefix(KEY_PREFIX) {
            Some(coded) => BASE64_STANDARD.decode(coded).ok()?,
            None => secret.reveal().as_bytes().to_vec(),
        };
        (!bytes.is_empty()).then(|| Self(bytes.into()))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// `[smtp]`: the mail server that messages are sent through.
#[derive(Debug, Clone, PartialEq)]
pub struct SmtpConfig {
    /// The host name.
    pub host: String,
    pub port: u16,
    /// The encryption of the connection.
    pub security: SmtpSecurity,
    /// The user and the password, if the server requires them.
    pub login: Option<(String, Secret)>,
    /// The sender.
    pub from: Mailbox,
}

/// The encryption of the connection to a mail server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmtpSecurity {
    /// STARTTLS: the connection is encrypted before any message is sent; it fails if the server does not offer that.
    StartTls,
    /// TLS from the first byte.
    Tls,
    /// No encryption, for a server on the same machine.
    None,
}

impl AlertTarget {
    /// Returns true if both have the same address but different signing keys.
    fn has_other_signing_key(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Webhook { url, key }, Self::Webhook { url: same, key: other }) => {
                url == same && key != other
            }
            _ => false,
        }
    }
}

impl AlertConfig {
    /// Returns true if the alert covers the feed with this id.
    #[must_use]
    pub fn covers_feed(&self, id: &str) -> bool {
        self.feeds.is_empty() || self.feeds.iter().any(|pattern| matches_feed_pattern(pattern, id))
    }

    /// Returns the ids in the alert that no feed has.
    pub fn unknown_feed_ids(&self, is_known: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
        let names = self.feeds.iter().map(String::as_str).filter(|pattern| !pattern.contains('*'));
        names.filter(move |id| !is_known(id))
    }
}

/// Returns true if an id matches a pattern in which each `*` matches any number of characters.
fn matches_feed_pattern(pattern: &str, id: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == id };
    let Some(mut left) = id.strip_prefix(head) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        let Some(at) = left.find(part) else { return false };
        left = &left[at + part.len()..];
    }
    true
}

impl ConfigChecker<'_> {
    pub(super) fn check_smtp(&mut self, table: SmtpTable) -> Option<SmtpConfig> {
        let security = match table.security {
            None | Some(SmtpSecurityText::Starttls) => SmtpSecurity::StartTls,
            Some(SmtpSecurityText::Tls) => SmtpSecurity::Tls,
            Some(SmtpSecurityText::None) => SmtpSecurity::None,
        };
        let default_port = match security {
            SmtpSecurity::StartTls => 587,
            SmtpSecurity::Tls => 465,
            SmtpSecurity::None => 25,
        };
        let port = self.check_count("smtp.port", &table.port, PORT);
        let password = table.password.and_then(|text| self.check_secret("smtp.password", &text));
        let login = match (table.user, password) {
            (Some(user), Some(password)) => {
                Some((self.check_short_text("smtp.user", Some(user)).unwrap_or_default(), password))
            }
            (None, None) => None,
            (Some(user), None) => {
                self.add_error(&user, "smtp.user", "requires smtp.password");
                None
            }
            (None, Some(_)) => {
                self.add_error(&table.host, "smtp.password", "requires smtp.user");
                None
            }
        };
        if table.host.get_ref().is_empty() {
            self.add_error(
                &table.host,
                "smtp.host",
                expected_message("the name of a mail server", ""),
            );
        }
        let from = self.check_mailbox("smtp.from", &table.from)?;
        let host = self.check_short_text("smtp.host", Some(table.host))?;
        let port = port.and_then(|port| u16::try_from(port).ok()).unwrap_or(default_port);
        Some(SmtpConfig { host, port, security, login, from })
    }

    fn check_mailbox(&mut self, key: &str, text: &Spanned<String>) -> Option<Mailbox> {
        let mailbox = text.get_ref().parse().ok();
        if mailbox.is_none() {
            let what = "an address such as \"Lineside <lineside@example.org>\"";
            self.add_error(text, key, expected_message(what, text.get_ref()));
        }
        mailbox
    }

    /// Checks the alerts. `has_smtp` is true if mail can be sent.
    pub(super) fn check_alerts(
        &mut self,
        tables: Vec<AlertTable>,
        numbers: &[usize],
        has_smtp: bool,
    ) -> Vec<AlertConfig> {
        if let Some(extra) = tables.get(ALERTS_MAX) {
            self.add_error(&extra.to, "alert", format!("more than {ALERTS_MAX} alerts"));
        }
        let mut alerts: Vec<AlertConfig> = Vec::new();
        for (number, table) in numbers.iter().zip(tables) {
            let key = format!("alert[{number}]");
            let secret_key = format!("{key}.secret");
            let signing =
                table.secret.as_ref().and_then(|it| self.check_signing_key(&secret_key, it));
            let target =
                self.check_alert_target(&format!("{key}.to"), &table.to, signing, has_smtp);
            if let (Some(secret), Some(AlertTarget::Mail(_))) = (&table.secret, &target) {
                self.add_error(secret, &secret_key, "a mail target has no secret: remove it");
            }
            let is_other = |alert: &AlertConfig| {
                target.as_ref().is_some_and(|it| it.has_other_signing_key(&alert.target))
            };
            if alerts.iter().any(is_other) {
                let reason = "an earlier alert has another secret for the same address";
                self.add_error(&table.to, &secret_key, reason);
            }
            let patterns = table.feeds.unwrap_or_default();
            if let Some(extra) = patterns.get(PATTERNS_MAX) {
                let reason = format!("more than {PATTERNS_MAX} feeds");
                self.add_error(extra, &format!("{key}.feeds"), reason);
            }
            let is_on = |what| {
                let on = table.on.as_ref();
                on.is_none_or(|on| on.iter().any(|text| *text.get_ref() == what))
            };
            let quiet = self.check_duration(&format!("{key}.quiet"), table.quiet, QUIET_PERIOD);
            let after = self.check_duration(&format!("{key}.after"), table.after, DELAY);
            alerts.extend(target.map(|target| AlertConfig {
                target,
                feeds: patterns.into_iter().map(Spanned::into_inner).collect(),
                on_state: is_on(AlertEventText::State),
                on_expiry: is_on(AlertEventText::Expiry),
                on_findings: is_on(AlertEventText::Findings),
                quiet: quiet.unwrap_or(QUIET_PERIOD_DEFAULT),
                after: after.unwrap_or(DELAY_DEFAULT),
            }));
        }
        alerts
    }

    fn check_signing_key(&mut self, key: &str, text: &Spanned<SecretText>) -> Option<SigningKey> {
        let secret = self.check_secret(key, text)?;
        let signing = SigningKey::from_secret(&secret);
        if signing.is_none() {
            // The message omits the value, because it is a secret.
            let reason = format!("expected base64 with its padding after {KEY_PREFIX}");
            self.add_error(text, key, reason);
        }
        signing
    }

    fn check_alert_target(
        &mut self,
        key: &str,
        text: &Spanned<SecretText>,
        signing: Option<SigningKey>,
        has_smtp: bool,
    ) -> Option<AlertTarget> {
        let url = self.check_secret(key, text)?;
        if let Some(address) = url.reveal().strip_prefix("mailto:") {
            let mailbox = address.parse().ok();
            match (&mailbox, has_smtp) {
                (None, _) => {
                    let reason = "expected an address such as \"mailto:control@example.org\"";
                    self.add_error(text, key, reason);
                }
                (_, false) => {
                    self.add_error(text, key, "a mail target requires [smtp], the mail server")
                }
                _ => {}
            }
            return mailbox.map(AlertTarget::Mail);
        }
        let parsed = Url::parse(url.reveal()).ok();
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        if !parsed.as_ref().is_some_and(is_web) {
            // The message omits the value, because it may contain a secret.
            self.add_error(
                text,
                key,
                "expected an address that begins with https://, http:// or mailto:",
            );
            return None;
        }
        Some(AlertTarget::Webhook { url, key: signing })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Config;
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(Path::new("lineside.toml"), text).map_err(|errors| errors.to_string())
    }

    #[test]
    fn alert_targets_are_read_with_their_defaults() {
        let config = parse(
            "[smtp]\nhost = \"mail.example.org\"\nfrom = \"Lineside <l@example.org>\"\n\
             [[alert]]\nto = \"mailto:control@example.org\"\n\
             [[alert]]\nto = \"https://hooks.example.org/T0/secret\"\nsecret = \"x\"\non = [\"expiry\"]\n\
             quiet = \"1h\"\nafter = \"0s\"\nfeeds = [\"city-*\"]\n",
        )
        .unwrap();
        let smtp = config.smtp.as_ref().unwrap();
        assert_eq!(
            (smtp.port, smtp.security, smtp.login.is_none()),
            (587, SmtpSecurity::StartTls, true)
        );
        let [mail, hook] = config.alerts.as_slice() else { panic!("{:?}", config.alerts) };
        assert!(
            matches!(&mail.target, AlertTarget::Mail(to) if to.email.to_string() == "control@example.org")
        );
        assert_eq!((mail.on_state, mail.on_expiry, mail.quiet), (true, true, QUIET_PERIOD_DEFAULT));
        assert!(mail.on_findings && !hook.on_findings);
        assert!(matches!(&hook.target, AlertTarget::Webhook { key: Some(_), .. }));
        assert_eq!((hook.on_state, hook.on_expiry, hook.after), (false, true, Duration::ZERO));
        assert!(hook.covers_feed("city-vehicles") && !hook.covers_feed("town"));
        let shown = format!("{config:?}");
        assert!(
            !shown.contains("hooks.example.org"),
            "the Debug output must not have the secret: {shown}"
        );
    }

    #[test]
    fn a_star_in_a_pattern_matches_any_characters() {
        for (pattern, id, is_match) in [
            ("city", "city", true),
            ("city", "city-2", false),
            ("*", "anything", true),
            ("city-*", "city-", true),
            ("*-vehicles", "city-vehicles", true),
            ("*-vehicles", "city-vehicles-2", false),
            ("c*-v*s", "city-vehicles", true),
            ("c*x*s", "city-vehicles", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(matches_feed_pattern(pattern, id), is_match, "{pattern} {id}");
        }
    }

    #[test]
    fn unknown_feeds_of_an_alert_are_listed() {
        let text =
            "[[alert]]\nto = \"https://a.example\"\nfeeds = [\"city\", \"town\", \"rail-*\"]\n";
        let config = parse(text).unwrap();
        let unknown: Vec<&str> = config.alerts[0].unknown_feed_ids(|id| id == "city").collect();
        assert_eq!(unknown, ["town"]);
    }

    #[track_caller]
    fn check_refused(text: &str, expected_message: &str) {
        assert_eq!(parse(text).unwrap_err(), format!("lineside.toml {expected_message}"), "{text}");
    }

    #[test]
    fn an_alert_that_cannot_be_sent_is_refused_when_read() {
        check_refused(
            "[[alert]]\nto = \"mailto:a@example.org\"\n",
            "line 2, alert[0].to: a mail target requires [smtp], the mail server",
        );
        check_refused(
            "[[alert]]\nto = \"ftp://a.example/token\"\n",
            "line 2, alert[0].to: expected an address that begins with https://, http:// or mailto:",
        );
        for no_base64 in
            ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw=", "whsec_a-_a", "whsec_YQ", "whsec_"]
        {
            check_refused(
                &format!("[[alert]]\nto = \"https://a.example\"\nsecret = \"{no_base64}\"\n"),
                "line 3, alert[0].secret: expected base64 with its padding after whsec_",
            );
        }
        check_refused(
            "[[alert]]\nto = \"https://a.example\"\nsecret = \"x\"\n[[alert]]\nto = \"https://a.example\"\n",
            "line 5, alert[1].secret: an earlier alert has another secret for the same address",
        );
        check_refused(
            "[[alert]]\nto = \"https://a.example\"\nafter = \"1h\"\n",
            "line 3, alert[0].after: 1h is out of range: expected 0s to 1m30s",
        );
        check_refused(
            "[smtp]\nhost = \"mail\"\nfrom = \"nobody\"\n",
            "line 3, smtp.from: expected an address such as \"Lineside <lineside@example.org>\", not \"nobody\"",
        );
        check_refused(
            "[smtp]\nhost = \"mail\"\nfrom = \"a@example.org\"\nuser = \"a\"\n",
            "line 4, smtp.user: requires smtp.password",
        );
    }
}
