//! The location of a source.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use url::Url;

/// Names of query parameters whose values are redacted when a URL is shown, ignoring case.
const SECRET_PARAMETERS: [&str; 9] =
    ["app_id", "appid", "auth", "authorization", "code", "jwt", "k", "pass", "sig"];
/// Endings of such names, as in `app_key`, `subscription-key` and `access_token`.
const SECRET_SUFFIXES: [&str; 8] =
    ["key", "token", "secret", "password", "passwd", "pwd", "credential", "signature"];

/// The source from which a feed is polled.
#[derive(Clone, PartialEq)]
pub enum SourceLocation {
    /// An `http` or `https` URL.
    Http(Url),
    /// A file, or a folder with the files of a GTFS or NeTEx schedule; checked at each poll.
    Path(PathBuf),
    /// A folder of successive snapshots, played in time order.
    Replay {
        /// The folder.
        dir: PathBuf,
        /// Recorded seconds per real second, above 0.
        speed: f64,
    },
}

/// An invalid location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadLocation(String);

impl SourceLocation {
    /// Parses `https://…`, `http://…`, `file://…`, `file:…`, `replay://DIR?speed=10`, or a path.
    ///
    /// # Errors
    /// Returns what is wrong with the text, without passwords.
    pub fn parse(text: &str) -> Result<SourceLocation, BadLocation> {
        if text.is_empty() {
            return Err(BadLocation("the URL is empty".into()));
        }
        if let Some(rest) = text.strip_prefix("replay://") {
            return parse_replay(rest);
        }
        match text.split_once("://") {
            // `file:/path` is a file too.
            None => Ok(SourceLocation::Path(text.strip_prefix("file:").unwrap_or(text).into())),
            Some(("file", path)) => Ok(SourceLocation::Path(path.into())),
            Some(("http" | "https", _)) => match Url::parse(text) {
                Ok(url) if url.has_host() => Ok(SourceLocation::Http(url)),
                Ok(_) => Err(BadLocation("the URL has no host".into())),
                Err(error) => Err(BadLocation(format!("the URL is invalid: {error}"))),
            },
            Some((scheme, _)) => Err(BadLocation(format!(
                "the scheme of the URL must be http, https, file or replay, not {:?}",
                scheme.chars().take(20).collect::<String>()
            ))),
        }
    }

    /// Returns the path if it currently is a folder.
    pub fn existing_folder(&self) -> Option<&Path> {
        match self {
            SourceLocation::Path(path) if path.is_dir() => Some(path),
            _ => None,
        }
    }

    /// Returns true if the source is on the local disk.
    pub fn is_local_path(&self) -> bool {
        !matches!(self, SourceLocation::Http(_))
    }

    /// Returns the host, with its port unless that is the default one; `None` for the local disk.
    pub fn host_with_port(&self) -> Option<String> {
        let SourceLocation::Http(url) = self else { return None };
        url_host(url)
    }

    /// Returns true if the value of a parameter with this name is a secret.
    pub fn is_secret_query_parameter(name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        SECRET_PARAMETERS.contains(&name.as_str())
            || SECRET_SUFFIXES.iter().any(|end| name.ends_with(end))
    }

    /// Returns the location as it may be published: only the name of a local file or folder.
    pub fn publishable_name(&self) -> String {
        let path = match self {
            SourceLocation::Http(_) => return self.to_string(),
            SourceLocation::Path(path) => path,
            SourceLocation::Replay { dir, .. } => dir,
        };
        path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Returns the last segment of the URL or path, as a file name for downloads.
    pub fn last_path_segment(&self) -> Option<&str> {
        match self {
            SourceLocation::Http(url) => {
                url.path_segments()?.next_back().filter(|name| !name.is_empty())
            }
            SourceLocation::Path(path) => path.file_name()?.to_str(),
            SourceLocation::Replay { .. } => None,
        }
    }
}

/// Returns the host of a URL, with its port unless that is the default one: `http` and `https` share a host.
pub fn url_host(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

fn parse_replay(rest: &str) -> Result<SourceLocation, BadLocation> {
    let (dir, query) = rest.split_once('?').unwrap_or((rest, ""));
    if dir.is_empty() {
        return Err(BadLocation("replay:// needs a folder, as in replay://DIR?speed=10".into()));
    }
    let mut speed = 1.0;
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "speed" => {
                speed = value
                    .parse()
                    .ok()
                    .filter(|speed| (0.001..=100_000.0).contains(speed))
                    .ok_or_else(|| {
                        BadLocation(
                            "speed must be a number from 0.001 to 100000, as in speed=10".into(),
                        )
                    })?;
            }
            other => {
                return Err(BadLocation(format!(
                    "replay:// has only the parameter speed, not {:?}",
                    other.chars().take(20).collect::<String>()
                )));
            }
        }
    }
    Ok(SourceLocation::Replay { dir: PathBuf::from(dir), speed })
}

/// Shows the URL without user, password or keys.
impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceLocation::Http(url) => f.write_str(redact_url(url).as_str()),
            SourceLocation::Path(path) => path.display().fmt(f),
            SourceLocation::Replay { dir, speed } => {
                write!(f, "replay://{}?speed={speed}", dir.display())
            }
        }
    }
}

impl fmt::Debug for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn redact_url(url: &Url) -> Url {
    let mut shown = url.clone();
    if !shown.username().is_empty() || shown.password().is_some() {
        // Both calls fail only for URLs without a host, which `parse` rejects.
        let _ = shown.set_username("***");
        let _ = shown.set_password(None);
    }
    if url.query().is_some() {
        let pairs: Vec<(String, String)> = url
            .query_pairs()
            .map(|(name, value)| {
                let secret = SourceLocation::is_secret_query_parameter(&name);
                (name.into_owned(), if secret { "***".into() } else { value.into_owned() })
            })
            .collect();
        shown.query_pairs_mut().clear().extend_pairs(pairs);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_recognised_by_scheme() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(
            SourceLocation::parse("https://a.example/x.pb"),
            Ok(SourceLocation::Http(_))
        ));
        for text in ["/a/feed.zip", "file:/a/feed.zip", "file:///a/feed.zip"] {
            assert_eq!(
                SourceLocation::parse(text).unwrap(),
                SourceLocation::Path("/a/feed.zip".into())
            );
        }
        assert_eq!(SourceLocation::parse("some/feed.zip").unwrap().existing_folder(), None);
        let folder = SourceLocation::parse(dir.path().to_str().unwrap()).unwrap();
        assert_eq!(folder.existing_folder(), Some(dir.path()));
        assert_eq!(
            SourceLocation::parse("replay:///data/series?speed=10").unwrap(),
            SourceLocation::Replay { dir: "/data/series".into(), speed: 10.0 }
        );
    }

    #[test]
    fn the_public_name_of_a_file_has_no_folder() {
        for (location, name) in [
            ("/srv/secret/feed.zip", "feed.zip"),
            ("file:///srv/secret/feed.zip", "feed.zip"),
            ("replay:///srv/secret/series?speed=10", "series"),
            ("https://a.example/x.pb?key=s", "https://a.example/x.pb?key=***"),
        ] {
            assert_eq!(SourceLocation::parse(location).unwrap().publishable_name(), name);
        }
    }

    #[test]
    fn an_invalid_location_says_why() {
        for (text, expected_message) in [
            ("", "empty"),
            ("ftp://x/y", "not \"ftp\""),
            ("http://", "URL"),
            ("replay://", "folder"),
            ("replay://d?speed=0", "speed"),
            ("replay://d?sped=1", "sped"),
        ] {
            let error = SourceLocation::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected_message), "{text}: {error}");
        }
    }

    #[test]
    fn keys_and_passwords_are_redacted() {
        let location =
            SourceLocation::parse("https://me:pw@a.example/tu.pb?api_key=s3cret&line=4").unwrap();
        let shown = format!("{location} {location:?}");
        assert!(!shown.contains("pw@") && !shown.contains("s3cret") && !shown.contains("me:"));
        assert!(shown.contains("line=4") && shown.contains("a.example/tu.pb"));
        for name in [
            "appid",
            "app_id",
            "code",
            "k",
            "app_key",
            "Subscription-Key",
            "user_key",
            "KEY",
            "X-Amz-Signature",
            "auth",
        ] {
            assert!(SourceLocation::is_secret_query_parameter(name), "{name}");
        }
        for name in ["line", "keys_of", "author", "format", "sigma"] {
            assert!(!SourceLocation::is_secret_query_parameter(name), "{name}");
        }
    }
}
