//! Headers that an operator adds to replies with a feed's bytes.

use toml::Spanned;

use super::config_checker::{ConfigChecker, PAIRS_MAX};

impl ConfigChecker<'_> {
    pub(super) fn check_reply_headers(
        &mut self,
        key: &str,
        pairs: Vec<(Spanned<String>, String)>,
    ) -> Vec<(http::HeaderName, http::HeaderValue)> {
        if let Some((extra, _)) = pairs.get(PAIRS_MAX) {
            self.add_error(extra, key, format!("more than {PAIRS_MAX} entries"));
        }
        let mut headers = Vec::with_capacity(pairs.len());
        for (name, value) in pairs {
            let key = format!("{key}.{}", name.get_ref());
            let parsed = http::HeaderName::try_from(name.get_ref().as_str());
            match (parsed, http::HeaderValue::try_from(value)) {
                (Ok(header), Ok(value)) if is_allowed_header(&header) => {
                    headers.push((header, value))
                }
                (Ok(header), Ok(_)) if !is_allowed_header(&header) => {
                    self.add_error(&name, &key, "the server sets this header");
                }
                _ => self.add_error(&name, &key, "not a valid HTTP header"),
            }
        }
        headers
    }
}

/// Returns true if the operator may set a header of replies. Headers on caching, encodings, ranges and the connection
/// must agree with the server's behavior.
fn is_allowed_header(header: &http::HeaderName) -> bool {
    let name = header.as_str();
    let chosen = ["content-type", "content-disposition", "content-language", "content-location"];
    let is_ours = name.starts_with("content-") && !chosen.contains(&name);
    let others = [
        "accept-ranges",
        "age",
        "cache-control",
        "connection",
        "date",
        "etag",
        "expires",
        "keep-alive",
        "last-modified",
        "lineside-status",
        "location",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "vary",
    ];
    !is_ours && !others.contains(&name) && !name.starts_with("access-control-")
}
