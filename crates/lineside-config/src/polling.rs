//! The keys of a `[[feed]]` on its requests: rate, credentials and user agent.

use lineside_model::{BasicAuth, OAuth2Client, RequestRate};
use serde::Deserialize;
use toml::Spanned;

use super::config_checker::{ConfigChecker, expected_message};
use super::value::SecretText;

/// `basic = { user, password }`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "{ user = \"…\", password = \"…\" }")]
pub(super) struct BasicAuthTable {
    user: Spanned<String>,
    password: Spanned<SecretText>,
}

/// `oauth2 = { token_url, client_id, client_secret, scope, audience }`.
#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "{ token_url = \"…\", client_id = \"…\", client_secret = \"…\" }"
)]
pub(super) struct OAuth2Table {
    token_url: Spanned<String>,
    client_id: Spanned<String>,
    client_secret: Spanned<SecretText>,
    scope: Option<Spanned<String>>,
    audience: Option<Spanned<String>>,
}

impl ConfigChecker<'_> {
    pub(super) fn check_rate_limit(
        &mut self,
        key: &str,
        text: Option<Spanned<String>>,
    ) -> Option<RequestRate> {
        let text = text?;
        match RequestRate::parse(text.get_ref()) {
            Ok(rate) => Some(rate),
            Err(error) => {
                self.add_error(&text, key, format!("{error}, not {:?}", text.get_ref()));
                None
            }
        }
    }

    pub(super) fn check_basic_auth(
        &mut self,
        key: &str,
        table: Option<Spanned<BasicAuthTable>>,
    ) -> Option<BasicAuth> {
        let BasicAuthTable { user, password } = table?.into_inner();
        let password = self.check_secret(&format!("{key}.password"), &password);
        if user.get_ref().contains(':') {
            let reason = "a basic authentication user name cannot contain a colon";
            self.add_error(&user, &format!("{key}.user"), reason);
        }
        let user = self.check_short_text(&format!("{key}.user"), Some(user))?;
        Some(BasicAuth { user, password: password? })
    }

    pub(super) fn check_oauth2(
        &mut self,
        key: &str,
        table: Option<Spanned<OAuth2Table>>,
    ) -> Option<OAuth2Client> {
        let OAuth2Table { token_url, client_id, client_secret, scope, audience } =
            table?.into_inner();
        let token_url = self.check_web_url(&format!("{key}.token_url"), &token_url);
        if client_id.get_ref().is_empty() {
            let reason = expected_message("a client id", "");
            self.add_error(&client_id, &format!("{key}.client_id"), reason);
        }
        let client_id = self.check_short_text(&format!("{key}.client_id"), Some(client_id));
        let client_secret = self.check_secret(&format!("{key}.client_secret"), &client_secret);
        let scope = self.check_short_text(&format!("{key}.scope"), scope);
        let audience = self.check_short_text(&format!("{key}.audience"), audience);
        Some(OAuth2Client {
            token_url: token_url?,
            client_id: client_id?,
            client_secret: client_secret?,
            scope,
            audience,
        })
    }

    /// Checks the name that producers see as `User-Agent` and `ET-Client-SubscriptionName`.
    pub(super) fn check_user_agent(&mut self, text: Option<Spanned<String>>) -> Option<String> {
        let text = text?;
        let is_plain = text.get_ref().bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        let is_short = (1..=USER_AGENT_CHARS_MAX).contains(&text.get_ref().len());
        if !is_plain || !is_short || text.get_ref().trim() != text.get_ref() {
            let what = format!(
                "1 to {USER_AGENT_CHARS_MAX} ASCII characters, such as \"company-application\""
            );
            self.add_error(&text, "server.user_agent", expected_message(&what, text.get_ref()));
        }
        Some(text.into_inner())
    }
}

/// The name is sent with every request.
const USER_AGENT_CHARS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Config;

    fn parse(keys: &str) -> Result<Config, String> {
        let text = format!("[[feed]]\nid = \"a\"\nurl = \"https://a.example/x.pb\"\n{keys}\n");
        Config::parse(Path::new("lineside.toml"), &text).map_err(|errors| errors.to_string())
    }

    #[track_caller]
    fn check_refused(keys: &str, expected_message: &str) {
        assert_eq!(
            parse(keys).unwrap_err(),
            format!("lineside.toml line 4, {expected_message}"),
            "{keys}"
        );
    }

    #[test]
    fn polling_keys_are_read() {
        let keys = "ttl = \"30s\"\nrate = \"4/min\"\nmax_concurrent_requests = 1\n\
                    oauth2 = { token_url = \"https://b.example/token\", client_id = \"me\", \
                    client_secret = \"s3cret\", scope = \"read\", audience = \"c\" }";
        let config = parse(keys).unwrap();
        let feed = &config.feeds[0];
        assert_eq!(feed.ttl, Some(std::time::Duration::from_secs(30)));
        assert_eq!(feed.rate.map(|rate| rate.to_string()).as_deref(), Some("4/min"));
        assert_eq!(feed.max_concurrent_requests, Some(1));
        let oauth2 = feed.oauth2.as_ref().unwrap();
        assert_eq!(oauth2.client_secret.reveal(), "s3cret");
        assert!(!format!("{config:?}").contains("s3cret"));
        let config = parse("basic = { user = \"me\", password = \"s3cret\" }").unwrap();
        assert_eq!(config.feeds[0].basic.as_ref().unwrap().password.reveal(), "s3cret");
        assert!(!format!("{config:?}").contains("s3cret"));
    }

    #[test]
    fn errors_name_their_key_and_show_no_secret() {
        check_refused(
            "rate = \"4/week\"",
            "feed[0].rate: expected a rate: 1 to 1000 requests per s, min, h or day, or per several \
             of them, such as \"4/min\" or \"1/10min\", not \"4/week\"",
        );
        check_refused("ttl = \"8d\"", "feed[0].ttl: 8d is out of range: expected 1s to 7d");
        check_refused(
            "max_concurrent_requests = 0",
            "feed[0].max_concurrent_requests: 0 is out of range: expected 1 to 64",
        );
        check_refused(
            "basic = { user = \"a:b\", password = \"s3cret\" }",
            "feed[0].basic.user: a basic authentication user name cannot contain a colon",
        );
        check_refused(
            "basic = { user = \"a\", password = { env = \"LINESIDE_TEST_NOT_SET\" } }",
            "feed[0].basic.password: environment variable LINESIDE_TEST_NOT_SET is not set",
        );
        check_refused("basic = { user = \"a\" }", "feed[0].basic: missing field `password`");
        check_refused(
            "oauth2 = { token_url = \"b\", client_id = \"c\", client_secret = \"d\" }",
            "feed[0].oauth2.token_url: expected an http(s) URL, not \"b\"",
        );
        check_refused(
            "oauth2 = { token_url = \"b\", client_id = \"c\", client_secret = \"d\", scopes = \"e\" }",
            "feed[0].oauth2.scopes: unknown field `scopes`, did you mean `scope`?",
        );
        check_refused(
            "headers = { authorization = \"x\" }\nbasic = { user = \"a\", password = \"b\" }",
            "feed[0].headers: a feed can have only one of basic, oauth2 and an Authorization header",
        );
    }

    #[test]
    fn the_user_agent_must_be_a_valid_header_value() {
        let parse = |name: &str| {
            let text = format!("[server]\nuser_agent = {name:?}\n");
            Config::parse(Path::new("lineside.toml"), &text).map_err(|errors| errors.to_string())
        };
        assert_eq!(parse("acme-lineside").unwrap().server.user_agent, "acme-lineside");
        for bad in ["", "é", "a\nb", " a", &"x".repeat(101)] {
            let error = parse(bad).unwrap_err();
            assert!(
                error.starts_with("lineside.toml line 2, server.user_agent: expected"),
                "{error}"
            );
        }
    }
}
