//! How producers are asked: how often, and by which name.

use lineside_ingest::Rate;
use toml::Spanned;

use super::resolve::{Checker, expected};

impl Checker<'_> {
    pub(super) fn rate(&mut self, key: &str, text: Option<Spanned<String>>) -> Option<Rate> {
        let text = text?;
        match Rate::parse(text.get_ref()) {
            Ok(rate) => Some(rate),
            Err(error) => {
                self.complain(&text, key, format!("{error}, not {:?}", text.get_ref()));
                None
            }
        }
    }

    /// What producers see as `User-Agent` and `ET-Client-Name`.
    pub(super) fn client_name(&mut self, text: Option<Spanned<String>>) -> Option<String> {
        let text = text?;
        let is_plain = text.get_ref().bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        let is_short = (1..=CLIENT_NAME_CHARS_MAX).contains(&text.get_ref().len());
        if !is_plain || !is_short || text.get_ref().trim() != text.get_ref() {
            let what = format!(
                "1 to {CLIENT_NAME_CHARS_MAX} characters of ASCII, such as \"company-application\""
            );
            self.complain(&text, "server.client_name", expected(&what, text.get_ref()));
        }
        Some(text.into_inner())
    }
}

/// It stands in every request.
const CLIENT_NAME_CHARS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Config;

    fn parse(keys: &str) -> Result<Config, String> {
        let text = format!("[[feed]]\nid = \"a\"\nurl = \"https://a.example/x.pb\"\n{keys}\n");
        Config::parse(Path::new("lineside.toml"), &text).map_err(|errors| errors.to_string())
    }

    #[track_caller]
    fn check_refused(keys: &str, says: &str) {
        assert_eq!(parse(keys).unwrap_err(), format!("lineside.toml line 4, {says}"), "{keys}");
    }

    #[test]
    fn how_a_producer_is_asked_is_read() {
        let keys = "ttl = \"30s\"\nrate = \"4/min\"\nserial = true";
        let config = parse(keys).unwrap();
        let feed = &config.feeds[0];
        assert_eq!(feed.ttl, Some(std::time::Duration::from_secs(30)));
        assert_eq!(feed.rate.map(|rate| rate.to_string()).as_deref(), Some("4/min"));
        assert!(feed.serial);
    }

    #[test]
    fn what_is_wrong_with_it_is_told_by_key_and_without_secrets() {
        check_refused(
            "rate = \"4/week\"",
            "feed[0].rate: expected a rate: 1 to 1000 requests per s, min, h or day, such as \
             \"4/min\", not \"4/week\"",
        );
        check_refused("ttl = \"8d\"", "feed[0].ttl: 8d is out of range: expected 1s to 7d");
        check_refused(
            "serial = 1",
            "feed[0].serial: invalid type: integer `1`, expected a boolean",
        );
    }

    #[test]
    fn the_client_name_is_one_that_a_header_can_carry() {
        let parse = |name: &str| {
            let text = format!("[server]\nclient_name = {name:?}\n");
            Config::parse(Path::new("lineside.toml"), &text).map_err(|errors| errors.to_string())
        };
        assert_eq!(parse("acme-lineside").unwrap().server.client_name, "acme-lineside");
        for bad in ["", "é", "a\nb", " a", &"x".repeat(101)] {
            let error = parse(bad).unwrap_err();
            assert!(
                error.starts_with("lineside.toml line 2, server.client_name: expected"),
                "{error}"
            );
        }
    }
}
