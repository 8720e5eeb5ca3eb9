//! Refuses files of the server in the keys of an edit: only the configuration may name files, not an admin over the
//! network.
//!
//! Reading a file would reveal its content or its existence, and a file that blocks would block all later edits.

use lineside_model::{FeedConfig, SiriIdMapping, SourceLocation};
use serde_json::Value;

use super::FeedKeys;
use super::keys::{OverrideKeyError, new_key_error};
use super::secrets::HIDDEN;

/// Returns the error of a source address that is not on the web: a path would publish a file of the server.
pub(super) fn find_non_web_url_error(keys: &FeedKeys) -> Option<OverrideKeyError> {
    let text = keys.get("url")?.as_str().unwrap_or_default();
    if text.is_empty() {
        return Some(new_key_error("url", "give the address of the feed: it begins with https://"));
    }
    let is_web = text.starts_with("http://") || text.starts_with("https://");
    let reason = match SourceLocation::parse(text) {
        // The hidden part of the current address says nothing of another one.
        Ok(SourceLocation::Http(url)) if url.as_str().contains(HIDDEN) => {
            format!("expected the complete URL: {HIDDEN} replaces a hidden part")
        }
        Ok(SourceLocation::Http(_)) => return None,
        Err(error) if is_web => error.to_string(),
        Ok(_) | Err(_) => NOT_WEB.to_owned(),
    };
    Some(new_key_error("url", reason))
}

/// The error for any address that is not HTTP, whatever its scheme.
pub const NOT_WEB: &str = "expected an address that begins with https:// or http://: files of the server are only allowed in the configuration file";

/// Removes a table of ids from the keys. Only the file's own table for this feed may be sent back; it is not read
/// again.
///
/// # Errors
/// Returns an error if the keys name another file.
pub(super) fn split_off_id_table(
    feed: &FeedConfig,
    keys: &FeedKeys,
) -> Result<(Option<SiriIdMapping>, FeedKeys), OverrideKeyError> {
    let mut rest = keys.clone();
    let ids = rest.get_mut("siri").and_then(Value::as_object_mut).and_then(|siri| {
        let is_table = siri.get("ids").is_some_and(Value::is_object);
        if is_table { siri.remove("ids") } else { None }
    });
    let Some(ids) = ids else { return Ok((None, rest)) };
    match feed.siri.as_ref().map(|siri| &siri.ids) {
        Some(known @ SiriIdMapping::Table(path, _)) if ids["file"].as_str() == Some(path) => {
            Ok((Some(known.clone()), rest))
        }
        _ => {
            let reason = "expected \"same\", \"prefix:…\" or \"netex\": a file is only allowed in the configuration file";
            Err(new_key_error("siri.ids", reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use lineside_model::FeedId;
    use serde_json::json;

    use super::super::keys::{apply_override_keys, format_feed_toml};
    use super::*;
    use crate::Config;

    fn feed() -> FeedConfig {
        let url = SourceLocation::parse("https://a.example/x").unwrap();
        FeedConfig::new(FeedId::new("a").unwrap(), url)
    }

    fn with_table(path: &str) -> FeedKeys {
        let keys = json!({"format": "siri", "siri": {"ids": {"file": path}}});
        keys.as_object().unwrap().clone()
    }

    #[test]
    fn an_id_table_can_only_be_set_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ids.csv");
        std::fs::write(&path, "kind,siri,gtfs\nstop,A,B\n").unwrap();
        let path = path.to_str().unwrap();
        for other in [path, "/etc/shadow", "/nonexistent", "/root", "/dev/zero"] {
            let errors = apply_override_keys(&mut feed(), &with_table(other), &[]).unwrap_err();
            assert_eq!(errors.len(), 1, "{errors:?}");
            assert_eq!(errors[0].key, "siri.ids");
            assert!(!errors[0].reason.contains(other), "{}", errors[0].reason);
        }
        // The file's table can be sent back even when it is no longer readable.
        let text = format_feed_toml(&feed().id, &with_table(path)).unwrap();
        let text = text.replacen("id =", "url = \"https://a.example/\"\nid =", 1);
        let in_file = Config::parse(Path::new("lineside.toml"), &text).unwrap().feeds.remove(0);
        drop(folder);
        let mut applied = in_file.clone();
        let mut sent_back = with_table(path);
        sent_back.insert("name".to_owned(), Value::from("B"));
        apply_override_keys(&mut applied, &sent_back, &[]).unwrap();
        assert_eq!(applied.siri, in_file.siri);
        assert_eq!(applied.name.as_deref(), Some("B"));
    }
}
