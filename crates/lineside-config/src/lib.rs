//! The configuration: one TOML file that is read and checked as a whole, and never written.
//!
//! `config_file` holds the tables as the operator writes them, `value` the values inside (durations, sizes, secrets),
//! `resolve` the checks that need more than one key. The result is plain data: all secrets are read and all paths
//! absolute or relative to the working folder. Every error names the file, the line, the key and the expected value.

pub mod client_network;
pub mod overrides;
pub mod secrets;
pub mod spelling;
pub mod times;
mod alerts;
mod converters;
mod error;
mod feed_argument;
mod config_checker;
mod config_file;
mod retention;
mod limits;
mod polling;
mod only_schedule;
mod proxy_yaml;
mod renamed_keys;
mod reply_headers;
mod resolve;
pub mod client_access;
mod site;
mod siri;
mod file_stamp;
mod validation;
mod external_validators;
mod value;
mod uploads;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use lineside_hub::Namespace;
use lineside_model::{FeedConfig, FormatConverter, Secret};
use url::Url;

pub use alerts::{AlertConfig, AlertTarget, SigningKey, SmtpConfig, SmtpSecurity};
pub use error::{ConfigError, ConfigErrors};
pub use external_validators::ExternalValidatorConfig;
pub use feed_argument::{FeedArgument, feeds_from_arguments};
pub use file_stamp::FileStamp;
pub use only_schedule::attach_only_schedule;
pub use siri::{find_siri_conflict, read_id_table};
pub use site::LOGO_BYTES_MAX;
pub use site::{SiteConfig, SiteLogo};
pub use uploads::UploadsConfig;
pub use validation::ValidationConfig;
pub use value::{format_duration, format_size, parse_size};

/// The default address to listen on.
const LISTEN_DEFAULT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// Default time that a stopping server takes to close its sessions.
const DRAIN_DEFAULT: Duration = Duration::from_secs(3);

/// The default `User-Agent` of requests to producers.
const USER_AGENT_DEFAULT: &str = concat!("lineside/", env!("CARGO_PKG_VERSION"));

/// Default number of open connections: below the usual 20,000 file descriptors.
const CONNECTIONS_DEFAULT: usize = 16_384;

/// Default number of connections from one address that is not loopback. High enough for an office or a mobile network
/// behind one address.
const CONNECTIONS_PER_ADDRESS_DEFAULT: usize = 1024;

/// Default number of channels of one connection.
const CHANNELS_PER_SESSION_DEFAULT: usize = 512;

/// Default maximum size of a message from a client: it may name all the client's channels.
const MESSAGE_BYTES_DEFAULT: usize = 256 * 1024;

/// Default memory limit of a schedule while it is loaded.
const LOAD_MEMORY_DEFAULT: u64 = lineside_model::limits::LOAD_MEMORY_DEFAULT;
/// Default limit of the bytes in unsent replies.
const UNSENT_BYTES_DEFAULT: usize = 1 << 30;

/// Default timeout of a client that reads nothing of a reply.
const SEND_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// Default retention of polls and feed states: as far back as pages show.
const AVAILABILITY_DEFAULT: Duration = Duration::from_secs(30 * 86_400);
/// Default number of versions of a schedule: a daily one has about as many in a month.
const VERSIONS_DEFAULT: usize = 30;
const VERSIONS_AGE_DEFAULT: Duration = Duration::from_secs(365 * 86_400);
/// Default number of stored reports of each feed.
const REPORTS_DEFAULT: usize = 100;

/// The environment variable with the admin token, read if the file has none.
pub const ADMIN_TOKEN_VARIABLE: &str = "LINESIDE_ADMIN_TOKEN";

/// A configuration that is checked and resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Listener, public address, shutdown.
    pub server: ServerConfig,
    /// Limits that the operator may change.
    pub limits: LimitsConfig,
    /// Client authentication; without it clients need no token.
    pub token: Option<TokenConfig>,
    /// The server API.
    pub api: ApiConfig,
    /// Access of admins.
    pub admin: AdminConfig,
    /// The rules for `app/…` channels, in the order of the file.
    pub namespaces: Vec<Namespace>,
    /// Retention times and limits of stored data.
    pub retention: RetentionConfig,
    /// Limits of the files that visitors have validated.
    pub uploads: UploadsConfig,
    /// Resource limits of validating new data.
    pub validation: ValidationConfig,
    /// The operator's name, logo and legal pages.
    pub site: SiteConfig,
    /// The base map.
    pub map: MapConfig,
    /// The operator's converter programs, in the order of the file.
    pub converters: Vec<Arc<FormatConverter>>,
    /// The operator's external validators, in the order of the file.
    pub external_validators: Vec<Arc<ExternalValidatorConfig>>,
    /// The feeds, in the order of the file.
    pub feeds: Vec<FeedConfig>,
    /// The targets of notifications, in the order of the file.
    pub alerts: Vec<AlertConfig>,
    /// The mail server.
    pub smtp: Option<SmtpConfig>,
    /// The source of the configuration.
    pub source: ConfigSource,
}

/// The source of a configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConfigSource {
    pub file: Option<PathBuf>,
    /// Each file that was read, including imported ones, with its stamp before reading.
    pub read: Vec<(PathBuf, FileStamp)>,
    /// Feeds that the command line added.
    pub arguments: Vec<FeedConfig>,
    /// True if the file has a list of feeds, which may be empty (`feed = []`), or imports one.
    pub has_feeds: bool,
    /// Warnings about ignored parts of the file, with line and reason.
    pub warnings: Vec<String>,
}

/// `[server]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The address to listen on; port 0 takes any free one.
    pub listen: SocketAddr,
    /// The public address of this server, for the links in its replies. Without it links are built from the request's
    /// `Host`.
    pub public_url: Option<Url>,
    /// Proxies whose headers on the origin of a request are trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// The only folder that the server writes to; locked for the life of the process.
    pub data_dir: Option<PathBuf>,
    /// Time that a stopping server takes to close its sessions, at most 4 s.
    pub drain: Duration,
    /// The name that producers see as `User-Agent` and `ET-Client-SubscriptionName`.
    pub user_agent: String,
    /// True if SIRI subscribers may have any address, not only a public one.
    pub allow_private_subscribers: bool,
    /// True if pages of other origins may read public replies.
    pub cross_origin: bool,
    /// The TLS certificate and key; without them connections are not encrypted.
    pub tls: Option<TlsConfig>,
}

impl ServerConfig {
    /// Returns the scheme of the server's addresses.
    #[must_use]
    pub fn url_scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Returns the address of the server by its configuration, without a final slash.
    #[must_use]
    pub fn base_url(&self) -> String {
        match &self.public_url {
            Some(url) => url.as_str().trim_end_matches('/').to_owned(),
            None => format!("{}://{}", self.url_scheme(), self.listen),
        }
    }
}

/// `[server.tls]`. The files are read again when one of them changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsConfig {
    /// The certificate and its intermediate certificates, in PEM.
    pub cert: PathBuf,
    /// The private key, in PEM.
    pub key: PathBuf,
}

/// `[limits]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitsConfig {
    /// Number of open connections; a further one is answered 503.
    pub connections: usize,
    /// Number of connections from one address; loopback is exempt.
    pub connections_per_address: usize,
    /// Bytes that a room's log may always hold. With a large state it may hold twice the size of that state, up to 64
    /// MiB. It also ends at 1,024 publications and 10 minutes.
    pub channel_log_bytes: Option<usize>,
    /// Bytes that all rooms' logs and encoded states may hold together.
    pub total_bytes: Option<usize>,
    /// Number of channels that one connection may subscribe to.
    pub channels_per_session: usize,
    /// Maximum size of a message from a client, in bytes.
    pub max_message_size: usize,
    /// Bytes of all unsent replies that were each built for a single request. One connection may hold a sixteenth, one
    /// address a quarter.
    pub unsent_bytes: usize,
    /// Timeout of a client that reads nothing of a reply.
    pub send_timeout: Duration,
    /// Memory limit of a schedule while it is loaded; a larger one is refused.
    pub load_memory: u64,
}

/// `[token]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenConfig {
    /// The key that verifies tokens.
    pub key: TokenKey,
    /// The required `iss` of a token.
    pub issuer: Option<String>,
    /// The required `aud` of a token, alone or among others.
    pub audience: Option<String>,
    /// True if clients without a token are accepted too.
    pub anonymous: bool,
}

/// The algorithm and the key that verify tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenKey {
    /// HS256, with the shared secret.
    Hmac(Secret),
    /// RS256 or ES256, with the public key in PEM.
    PublicKey(Secret),
}

/// `[api]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiConfig {
    /// The key of the operator's back end; without it there is no server API.
    pub key: Option<Secret>,
}

/// `[admin]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdminConfig {
    /// The token of admins; without it a random one is generated at the start.
    pub token: Option<Secret>,
    /// True if the operations pages are public.
    pub public_ops: bool,
}

impl AdminConfig {
    /// Takes the token from the environment if the file has none.
    pub fn fill_token_from_environment(&mut self) {
        let token = std::env::var(ADMIN_TOKEN_VARIABLE).ok().filter(|token| !token.is_empty());
        self.token = self.token.take().or_else(|| token.map(Secret::new));
    }
}

/// `[retention]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionConfig {
    /// Retention of failed polls, feed states and the hourly results of polls.
    pub availability: Duration,
    /// Number of stored versions of each schedule, including the served one.
    pub versions: usize,
    /// Retention of a version that is no longer served, since it was last seen.
    pub versions_age: Duration,
    /// Number of stored reports of each feed.
    pub reports: usize,
}

/// `[map]`: at most one of a style and an archive is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MapConfig {
    /// A MapLibre style.
    pub style: Option<MapSource>,
    /// A PMTiles archive, drawn with Lineside's own colors.
    pub pmtiles: Option<MapSource>,
    /// Origins that the map may load from besides its own, such as `http://tiles.lan:8081`; none
    /// means any for a style.
    pub origins: Vec<String>,
}

/// The source of a map's style or tiles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapSource {
    /// An address that the browser fetches; the content security policy of pages allows it.
    Url(Url),
    /// A local file that Lineside serves.
    File(PathBuf),
}

/// Definitions outside the file that is read.
#[derive(Debug, Clone, Copy, Default)]
struct ExternalDefinitions<'a> {
    /// Feeds whose ids the file may not use.
    feeds: &'a [FeedConfig],
    /// Converters that the file's feeds may name.
    converters: &'a [Arc<FormatConverter>],
    /// True if the text is only a part of a configuration, whose server table is elsewhere.
    is_part: bool,
}

impl Config {
    /// Reads and checks a configuration file; a `.yml` or `.yaml` file is one of transport.data.gouv.fr.
    ///
    /// # Errors
    /// Returns everything that is wrong with the file; only the first error if it is not TOML.
    pub fn load(path: &Path) -> Result<Self, ConfigErrors> {
        Self::load_with_feeds(path, &[])
    }

    /// Reads a configuration file like [`Config::load`]. The file may not use the ids of feeds that are defined
    /// elsewhere.
    ///
    /// # Errors
    /// Returns the errors of [`Config::load`].
    pub fn load_with_feeds(path: &Path, others: &[FeedConfig]) -> Result<Self, ConfigErrors> {
        let stamp = FileStamp::for_path(path);
        let bytes = std::fs::read(path).map_err(|error| {
            ConfigErrors::from_error(ConfigError::unreadable_file(path, &error))
        })?;
        let text = str::from_utf8(&bytes).map_err(|error| {
            ConfigErrors::from_error(ConfigError::invalid_utf8(path, &bytes, error))
        })?;
        let others = ExternalDefinitions { feeds: others, ..ExternalDefinitions::default() };
        let mut config = Self::parse_with_external(path, text, others)?;
        config.source.file = Some(path.to_owned());
        config.source.has_feeds = proxy_yaml::is_proxy_yaml(path) || text_lists_feeds(text);
        config.source.read.insert(0, (path.to_owned(), stamp));
        Ok(config)
    }

    /// Checks the text of a configuration file at `path`, which need not exist.
    ///
    /// # Errors
    /// Returns the errors of [`Config::load`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigErrors> {
        Self::parse_with_external(path, text, ExternalDefinitions::default())
    }

    /// Checks a text like [`Config::parse`], whose feeds may name the given converters.
    ///
    /// # Errors
    /// Returns the errors of [`Config::load`].
    pub fn parse_with_converters(
        path: &Path,
        text: &str,
        converters: &[Arc<FormatConverter>],
    ) -> Result<Self, ConfigErrors> {
        Self::parse_with_external(
            path,
            text,
            ExternalDefinitions { converters, is_part: true, ..ExternalDefinitions::default() },
        )
    }

    fn parse_with_external(
        path: &Path,
        text: &str,
        others: ExternalDefinitions<'_>,
    ) -> Result<Self, ConfigErrors> {
        if proxy_yaml::is_proxy_yaml(path) {
            let read = proxy_yaml::parse_proxy_yaml(path, text).map_err(ConfigErrors::from_errors);
            let config =
                read.and_then(|parsed| resolve::resolve_config(path, text, parsed, others));
            return config.map_err(proxy_yaml::rename_error_keys);
        }
        let parsed = config_file::parse_toml(path, text).map_err(ConfigErrors::from_errors)?;
        resolve::resolve_config(path, text, parsed, others)
    }
}

fn text_lists_feeds(text: &str) -> bool {
    let table = text.parse::<toml::Table>();
    table.is_ok_and(|table| ["feed", "import"].iter().any(|key| table.contains_key(*key)))
}

impl Default for Config {
    fn default() -> Self {
        Self {
            server: ServerConfig {
                listen: LISTEN_DEFAULT,
                public_url: None,
                trusted_proxies: Vec::new(),
                data_dir: None,
                drain: DRAIN_DEFAULT,
                user_agent: USER_AGENT_DEFAULT.to_owned(),
                allow_private_subscribers: false,
                cross_origin: true,
                tls: None,
            },
            limits: LimitsConfig {
                connections: CONNECTIONS_DEFAULT,
                connections_per_address: CONNECTIONS_PER_ADDRESS_DEFAULT,
                channel_log_bytes: None,
                total_bytes: None,
                channels_per_session: CHANNELS_PER_SESSION_DEFAULT,
                max_message_size: MESSAGE_BYTES_DEFAULT,
                unsent_bytes: UNSENT_BYTES_DEFAULT,
                send_timeout: SEND_TIMEOUT_DEFAULT,
                load_memory: LOAD_MEMORY_DEFAULT,
            },
            token: None,
            api: ApiConfig::default(),
            admin: AdminConfig::default(),
            namespaces: Vec::new(),
            retention: RetentionConfig {
                availability: AVAILABILITY_DEFAULT,
                versions: VERSIONS_DEFAULT,
                versions_age: VERSIONS_AGE_DEFAULT,
                reports: REPORTS_DEFAULT,
            },
            uploads: UploadsConfig::default(),
            validation: ValidationConfig::default(),
            site: SiteConfig::default(),
            map: MapConfig::default(),
            converters: Vec::new(),
            external_validators: Vec::new(),
            feeds: Vec::new(),
            source: ConfigSource::default(),
            alerts: Vec::new(),
            smtp: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_to_a_loaded_file_or_its_imports_are_detected() {
        let folder = tempfile::tempdir().unwrap();
        let (file, import) = (folder.path().join("lineside.toml"), folder.path().join("feeds.yml"));
        std::fs::write(&file, "[import]\nfeeds = \"feeds.yml\"\n").unwrap();
        std::fs::write(&import, "feeds: []\n").unwrap();
        let read = Config::load(&file).unwrap().source.read;
        let paths: Vec<_> = read.iter().map(|(path, _)| path.clone()).collect();
        assert_eq!(paths, [file, import.clone()]);
        assert!(read.iter().all(|(path, stamp)| FileStamp::for_path(path) == *stamp));
        std::fs::write(&import, "feeds: [] # none\n").unwrap();
        assert_ne!(FileStamp::for_path(&import), read[1].1);
        std::fs::remove_file(&import).unwrap();
        assert_ne!(FileStamp::for_path(&import), read[1].1);
    }

    #[test]
    fn a_feed_in_the_file_and_on_the_command_line_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lineside.toml");
        let feed = |id: &str| format!("[[feed]]\nid = \"{id}\"\nurl = \"https://a.example/\"\n");
        std::fs::write(&file, feed("city") + &feed("town")).unwrap();
        let named = Config::load(&file).unwrap().feeds.remove(1);
        let refused =
            Config::load_with_feeds(&file, std::slice::from_ref(&named)).unwrap_err().to_string();
        assert!(
            refused.ends_with("lineside.toml line 5, feed[1].id: a --feed has the id \"town\""),
            "{refused}"
        );
        std::fs::write(
            folder.path().join("feeds.yml"),
            "feeds:\n- identifier: town\n  target_url: https://a.example/\n  type: generic-http\n",
        )
        .unwrap();
        std::fs::write(&file, "[import]\nfeeds = \"feeds.yml\"\n").unwrap();
        let refused =
            Config::load_with_feeds(&file, std::slice::from_ref(&named)).unwrap_err().to_string();
        assert!(refused.contains("feeds.yml") && refused.contains("--feed"), "{refused}");
    }
}
