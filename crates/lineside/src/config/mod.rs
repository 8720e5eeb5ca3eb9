//! The configuration: one TOML file, read whole, checked whole, never written.
//!
//! `file` holds the shapes as the operator writes them, `value` the small texts inside (durations,
//! sizes, secrets), `resolve` the checks that need more than one key. What comes out is plain
//! data: no secret is left to look up and no path is relative. Every complaint names the file, the
//! line, the key and what was expected instead.

mod alerts;
mod converters;
mod error;
mod feed_argument;
mod config_file;
mod retention;
mod limits;
mod polling;
mod only_schedule;
mod proxy_yaml;
mod reply_headers;
mod resolve;
mod client_access;
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
use lineside_ingest::{FeedConfig, FormatConverter, Secret};
use url::Url;

pub(crate) use alerts::{AlertConfig, AlertTarget, SigningKey, SmtpConfig, SmtpSecurity};
pub(crate) use converters::find_siri_fault;
pub use error::{ConfigError, ConfigErrors};
pub(crate) use external_validators::ExternalValidatorConfig;
pub use feed_argument::{FeedArgument, feeds_from_arguments};
pub(crate) use file_stamp::FileStamp;
pub(crate) use only_schedule::attach_only_schedule;
pub(crate) use siri::read_id_table;
pub(crate) use site::LOGO_BYTES_MAX;
pub use site::{SiteConfig, SiteLogo};
pub use uploads::UploadsConfig;
pub(crate) use validation::ValidationConfig;
pub(crate) use value::{format_duration, format_size, parse_size};

/// Where a server listens when nothing else is said.
const LISTEN_DEFAULT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// How long a stopping server takes to let go of its sessions, unless configured.
const DRAIN_DEFAULT: Duration = Duration::from_secs(3);

/// Who asks producers, unless configured.
const CLIENT_NAME_DEFAULT: &str = concat!("lineside/", env!("CARGO_PKG_VERSION"));

/// Connections open at once, unless configured: below the usual 20,000 file descriptors.
const CONNECTIONS_DEFAULT: usize = 16_384;

/// Connections from one address that is not loopback, unless configured. High enough for an
/// office or a mobile network behind one address.
const CONNECTIONS_PER_ADDRESS_DEFAULT: usize = 1024;

/// Channels of one connection, unless configured.
const CHANNELS_PER_SESSION_DEFAULT: usize = 512;

/// The largest message from a client, unless configured: all its channels may stand in one.
const FRAME_DEFAULT: usize = 256 * 1024;

/// What a schedule may come to while it is loaded, unless configured.
const LOAD_MEMORY_DEFAULT: u64 = lineside_ingest::limits::LOAD_MEMORY_DEFAULT;
/// What unsent replies may hold, unless configured.
const UNSENT_BYTES_DEFAULT: usize = 1 << 30;

/// How long a client may take nothing of a reply, unless configured.
const SEND_TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);

/// How long polls and states of feeds are remembered, unless configured: as far back as pages show.
const AVAILABILITY_DEFAULT: Duration = Duration::from_secs(30 * 86_400);
/// Versions of a schedule: as many as a daily one has in a month.
const VERSIONS_DEFAULT: usize = 30;
const VERSIONS_AGE_DEFAULT: Duration = Duration::from_secs(365 * 86_400);
/// Reports of each feed that are kept, unless configured.
const REPORTS_DEFAULT: usize = 100;

/// Where an admin's token is looked for when the file has none.
pub(crate) const ADMIN_TOKEN_VARIABLE: &str = "LINESIDE_ADMIN_TOKEN";

/// A configuration that was checked and resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Listener, public address, shutdown.
    pub server: ServerConfig,
    /// Bounds that the operator may move.
    pub limits: LimitsConfig,
    /// How clients show who they are; without it nobody is asked.
    pub token: Option<TokenConfig>,
    /// The server API.
    pub api: ApiConfig,
    /// Who may change how the server runs.
    pub admin: AdminConfig,
    /// What holds for `app/…`, in the order of the file.
    pub namespaces: Vec<Namespace>,
    /// What is remembered, and how long.
    pub keep: RetentionConfig,
    /// What visitors may have validated.
    pub visitors: UploadsConfig,
    /// What holding new data against the rules may cost.
    pub validation: ValidationConfig,
    /// The operator's name, logo and legal pages.
    pub site: SiteConfig,
    /// What lies under the map.
    pub map: MapConfig,
    /// The operator's own programs that make formats which are read here, in the order of the file.
    pub converters: Vec<Arc<FormatConverter>>,
    /// The operator's own programs that say what is wrong with schedules, in the order of the file.
    pub validators: Vec<Arc<ExternalValidatorConfig>>,
    /// The feeds, in the order of the file.
    pub feeds: Vec<FeedConfig>,
    /// Who is told of trouble, in the order of the file.
    pub alerts: Vec<AlertConfig>,
    /// The server that takes mail.
    pub smtp: Option<SmtpConfig>,
    /// Where all this came from.
    pub source: ConfigSource,
}

/// Where a configuration came from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConfigSource {
    /// The file.
    pub file: Option<PathBuf>,
    /// Each file that was read, it and those that it names, as it looked right before.
    pub read: Vec<(PathBuf, FileStamp)>,
    /// Feeds that the command line added to it.
    pub arguments: Vec<FeedConfig>,
    /// Whether the file has a list of feeds, which may be empty (`feed = []`), or imports one.
    pub lists_feeds: bool,
    /// What was passed over in the file, with line and reason.
    pub warnings: Vec<String>,
}

/// `[server]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// The address to listen on; port 0 takes any free one.
    pub listen: SocketAddr,
    /// The address under which the outside reaches this server, for the links it prints. Without
    /// it links are made from the request's `Host`.
    pub public_url: Option<Url>,
    /// Proxies whose word on where a request comes from is taken.
    pub trusted_proxies: Vec<IpNet>,
    /// The one folder the server writes to; claimed for the life of the process.
    pub data_dir: Option<PathBuf>,
    /// How long a stopping server takes to let go of its sessions, at most 4 s.
    pub drain: Duration,
    /// What producers see as `User-Agent` and `ET-Client-SubscriptionName`.
    pub client_name: String,
    /// Whether SIRI's subscribers may be anywhere, and not on the internet only.
    pub private_consumers: bool,
    /// Whether pages of other origins may read public replies.
    pub cross_origin: bool,
    /// What connections are encrypted with; without it they are not.
    pub tls: Option<TlsConfig>,
}

impl ServerConfig {
    /// How its addresses begin.
    #[must_use]
    pub fn url_scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// The address under which the outside reaches it, as far as the configuration tells, without a slash at its end.
    #[must_use]
    pub fn base_url(&self) -> String {
        match &self.public_url {
            Some(url) => url.as_str().trim_end_matches('/').to_owned(),
            None => format!("{}://{}", self.url_scheme(), self.listen),
        }
    }
}

/// `[server.tls]`: read again when one of the files changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsConfig {
    /// The certificate and those between it and a root, in PEM.
    pub cert: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// `[limits]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LimitsConfig {
    /// Connections open at once; one more is answered 503.
    pub connections: usize,
    /// Connections from one address; loopback is exempt.
    pub connections_per_address: usize,
    /// Bytes that a room's log may hold in any case; with a large state it may hold twice that
    /// state, up to 64 MiB. It also ends at 1,024 publications and 10 minutes.
    pub room_bytes: Option<usize>,
    /// Bytes that all rooms' logs and encoded states may hold together.
    pub total_bytes: Option<usize>,
    /// Channels that one connection may subscribe to at once.
    pub channels_per_session: usize,
    /// Bytes of the largest message that a client may send.
    pub frame: usize,
    /// Bytes that all replies made for one request each may hold until they are sent. A sixteenth for one connection, a
    /// quarter for one address.
    pub unsent_bytes: usize,
    /// How long a client may take nothing of a reply.
    pub send_timeout: Duration,
    /// Memory that a schedule may come to while it is loaded; a larger one is refused.
    pub load_memory: u64,
}

/// `[token]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenConfig {
    /// What tokens are signed with.
    pub key: TokenKey,
    /// The `iss` that a token has to have.
    pub issuer: Option<String>,
    /// The `aud` that a token has to have, or to have among others.
    pub audience: Option<String>,
    /// Whether a client without a token is welcome too.
    pub anonymous: bool,
}

/// How tokens are checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TokenKey {
    /// HS256, with the secret that signs them.
    Hmac(Secret),
    /// RS256 or ES256, with the public key in PEM.
    PublicKey(Secret),
}

/// `[api]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiConfig {
    /// What the operator's back end shows; without it there is no server API.
    pub key: Option<Secret>,
}

/// `[admin]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdminConfig {
    /// What an admin shows; without it a random one is made at start.
    pub token: Option<Secret>,
    /// Whether anybody may see how the feeds and the node are doing.
    pub public_ops: bool,
}

impl AdminConfig {
    /// Takes the token of the environment where the file has none.
    pub(crate) fn fill_from_environment(&mut self) {
        let token = std::env::var(ADMIN_TOKEN_VARIABLE).ok().filter(|token| !token.is_empty());
        self.token = self.token.take().or_else(|| token.map(Secret::new));
    }
}

/// `[keep]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionConfig {
    /// How long failed polls, states of feeds and what polls came to by the hour are remembered.
    pub availability: Duration,
    /// Versions of each schedule that are kept, the one that is served among them.
    pub versions: usize,
    /// How long a version is kept that is no longer served, since it was last seen.
    pub versions_age: Duration,
    /// Reports of each feed that are kept.
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

/// Where a map's style or tiles are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapSource {
    /// Fetched by the browser, which the pages' content security policy then allows.
    Url(Url),
    /// A file here, served by Lineside itself.
    File(PathBuf),
}

/// What stands elsewhere than in the file that is read.
#[derive(Debug, Clone, Copy, Default)]
struct ExternalDefinitions<'a> {
    /// Feeds: the file may not have their ids.
    feeds: &'a [FeedConfig],
    /// Converters that its feeds may name.
    converters: &'a [Arc<FormatConverter>],
    /// The text is a part of a configuration: what the server's own table says stands elsewhere too.
    is_part: bool,
}

impl Config {
    /// Reads and checks a configuration file; one that ends in `.yml` or `.yaml` is transport.data.gouv.fr's.
    ///
    /// # Errors
    /// Everything that is wrong with it, unless it is no TOML: then the first thing.
    pub fn load(path: &Path) -> Result<Self, ConfigErrors> {
        Self::load_with_feeds(path, &[])
    }

    /// The same, beside feeds that were named elsewhere: the file may not have their ids.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub(crate) fn load_with_feeds(
        path: &Path,
        others: &[FeedConfig],
    ) -> Result<Self, ConfigErrors> {
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
        config.source.lists_feeds = proxy_yaml::is_proxy_yaml(path) || lists_feeds(text);
        config.source.read.insert(0, (path.to_owned(), stamp));
        Ok(config)
    }

    /// Checks the text of a configuration file that is, or would be, at `path`.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigErrors> {
        Self::parse_with_external(path, text, ExternalDefinitions::default())
    }

    /// The same, where converters are known already.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub(crate) fn parse_with_converters(
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
            let read = proxy_yaml::parse_yaml(path, text).map_err(ConfigErrors::from_errors);
            let config =
                read.and_then(|parsed| resolve::resolve_config(path, text, parsed, others));
            return config.map_err(proxy_yaml::rename_error_keys);
        }
        let parsed = config_file::parse_toml(path, text).map_err(ConfigErrors::from_errors)?;
        resolve::resolve_config(path, text, parsed, others)
    }
}

fn lists_feeds(text: &str) -> bool {
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
                client_name: CLIENT_NAME_DEFAULT.to_owned(),
                private_consumers: false,
                cross_origin: true,
                tls: None,
            },
            limits: LimitsConfig {
                connections: CONNECTIONS_DEFAULT,
                connections_per_address: CONNECTIONS_PER_ADDRESS_DEFAULT,
                room_bytes: None,
                total_bytes: None,
                channels_per_session: CHANNELS_PER_SESSION_DEFAULT,
                frame: FRAME_DEFAULT,
                unsent_bytes: UNSENT_BYTES_DEFAULT,
                send_timeout: SEND_TIMEOUT_DEFAULT,
                load_memory: LOAD_MEMORY_DEFAULT,
            },
            token: None,
            api: ApiConfig::default(),
            admin: AdminConfig::default(),
            namespaces: Vec::new(),
            keep: RetentionConfig {
                availability: AVAILABILITY_DEFAULT,
                versions: VERSIONS_DEFAULT,
                versions_age: VERSIONS_AGE_DEFAULT,
                reports: REPORTS_DEFAULT,
            },
            visitors: UploadsConfig::default(),
            validation: ValidationConfig::default(),
            site: SiteConfig::default(),
            map: MapConfig::default(),
            converters: Vec::new(),
            validators: Vec::new(),
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
    fn what_changes_after_a_file_was_read_can_be_told() {
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
    fn a_file_has_no_feed_that_was_named_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lineside.toml");
        let feed = |id: &str| format!("[[feed]]\nid = \"{id}\"\nurl = \"https://a.example/\"\n");
        std::fs::write(&file, feed("city") + &feed("town")).unwrap();
        let named = Config::load(&file).unwrap().feeds.remove(1);
        let refused =
            Config::load_with_feeds(&file, std::slice::from_ref(&named)).unwrap_err().to_string();
        assert!(
            refused.ends_with("lineside.toml line 5, feed[1].id: \"town\" is the id of a --feed"),
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
