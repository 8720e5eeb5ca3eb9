//! The configuration: one TOML file, read whole, checked whole, never written.
//!
//! `file` holds the shapes as the operator writes them, `value` the small texts inside (durations,
//! sizes, secrets), `resolve` the checks that need more than one key. What comes out is plain
//! data: no secret is left to look up and no path is relative. Every complaint names the file, the
//! line, the key and what was expected instead.

mod alerts;
mod error;
mod feed_argument;
mod file;
mod keep;
mod manners;
mod only_schedule;
mod proxy_yaml;
mod reply_headers;
mod resolve;
mod sessions;
mod value;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::IpNet;
use lineside_hub::Namespace;
use lineside_ingest::{FeedConfig, Secret};
use url::Url;

pub(crate) use alerts::{Alert, Security, Smtp, Target};
pub use error::{ConfigError, ConfigErrors};
pub use feed_argument::{FeedArgument, feeds_from_arguments};
pub(crate) use only_schedule::attach_only_schedule;
pub(crate) use value::{duration_text, size_text};

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

/// How long polls and states of feeds are remembered, unless configured: as far back as pages show.
const AVAILABILITY_DEFAULT: Duration = Duration::from_secs(30 * 86_400);
/// Versions of a schedule: as many as a daily one has in a month.
const VERSIONS_DEFAULT: usize = 30;
const VERSIONS_AGE_DEFAULT: Duration = Duration::from_secs(365 * 86_400);

/// Where an admin's token is looked for when the file has none.
pub(crate) const ADMIN_TOKEN_VARIABLE: &str = "LINESIDE_ADMIN_TOKEN";

/// A configuration that was checked and resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Listener, public address, shutdown.
    pub server: Server,
    /// Bounds that the operator may move.
    pub limits: Limits,
    /// How clients show who they are; without it nobody is asked.
    pub token: Option<Token>,
    /// The server API.
    pub api: Api,
    /// Who may change how the server runs.
    pub admin: Admin,
    /// What holds for `app/…`, in the order of the file.
    pub namespaces: Vec<Namespace>,
    /// What is remembered, and how long.
    pub keep: Keep,
    /// What lies under the map.
    pub map: Map,
    /// The feeds, in the order of the file.
    pub feeds: Vec<FeedConfig>,
    /// Who is told of trouble, in the order of the file.
    pub alerts: Vec<Alert>,
    /// The server that takes mail.
    pub smtp: Option<Smtp>,
    /// Where all this came from.
    pub source: Source,
}

/// Where a configuration came from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Source {
    /// The file.
    pub file: Option<PathBuf>,
    /// The file that its `[import]` names.
    pub import: Option<PathBuf>,
    /// Feeds that the command line added to it.
    pub arguments: Vec<FeedConfig>,
}

/// `[server]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
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
    /// What producers see as `User-Agent` and `ET-Client-Name`.
    pub client_name: String,
    /// What connections are encrypted with; without it they are not.
    pub tls: Option<Tls>,
}

impl Server {
    /// How its addresses begin.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }
}

/// `[server.tls]`: read again when one of the files changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// The certificate and those between it and a root, in PEM.
    pub cert: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// `[limits]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
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
}

/// `[token]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
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
pub struct Api {
    /// What the operator's back end shows; without it there is no server API.
    pub key: Option<Secret>,
}

/// `[admin]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Admin {
    /// What an admin shows; without it a random one is made at start.
    pub token: Option<Secret>,
    /// Whether anybody may see how the feeds and the node are doing.
    pub public_ops: bool,
}

impl Admin {
    /// Takes the token of the environment where the file has none.
    pub(crate) fn or_from_environment(&mut self) {
        let token = std::env::var(ADMIN_TOKEN_VARIABLE).ok().filter(|token| !token.is_empty());
        self.token = self.token.take().or_else(|| token.map(Secret::new));
    }
}

/// `[keep]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// How long failed polls, states of feeds and what polls came to by the hour are remembered.
    pub availability: Duration,
    /// Versions of each schedule that are kept, the one that is served among them.
    pub versions: usize,
    /// How long a version is kept that is no longer served, since it was last seen.
    pub versions_age: Duration,
}

/// `[map]`: at most one of a style and an archive is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Map {
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

impl Config {
    /// Reads and checks a configuration file; one that ends in `.yml` or `.yaml` is transport.data.gouv.fr's.
    ///
    /// # Errors
    /// Everything that is wrong with it, unless it is no TOML: then the first thing.
    pub fn load(path: &Path) -> Result<Self, ConfigErrors> {
        let bytes = std::fs::read(path)
            .map_err(|error| ConfigErrors::one(ConfigError::unreadable(path, &error)))?;
        let text = str::from_utf8(&bytes)
            .map_err(|error| ConfigErrors::one(ConfigError::not_text(path, &bytes, error)))?;
        let mut config = Self::parse(path, text)?;
        config.source.file = Some(path.to_owned());
        Ok(config)
    }

    /// Checks the text of a configuration file that is, or would be, at `path`.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigErrors> {
        if proxy_yaml::is_one(path) {
            let read = proxy_yaml::parse(path, text).map_err(ConfigErrors::of);
            let config = read.and_then(|parsed| resolve::resolve(path, text, parsed));
            return config.map_err(proxy_yaml::in_its_words);
        }
        let parsed = file::parse(path, text).map_err(ConfigErrors::of)?;
        resolve::resolve(path, text, parsed)
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            server: Server {
                listen: LISTEN_DEFAULT,
                public_url: None,
                trusted_proxies: Vec::new(),
                data_dir: None,
                drain: DRAIN_DEFAULT,
                client_name: CLIENT_NAME_DEFAULT.to_owned(),
                tls: None,
            },
            limits: Limits {
                connections: CONNECTIONS_DEFAULT,
                connections_per_address: CONNECTIONS_PER_ADDRESS_DEFAULT,
                room_bytes: None,
                total_bytes: None,
                channels_per_session: CHANNELS_PER_SESSION_DEFAULT,
                frame: FRAME_DEFAULT,
            },
            token: None,
            api: Api::default(),
            admin: Admin::default(),
            namespaces: Vec::new(),
            keep: Keep {
                availability: AVAILABILITY_DEFAULT,
                versions: VERSIONS_DEFAULT,
                versions_age: VERSIONS_AGE_DEFAULT,
            },
            map: Map::default(),
            feeds: Vec::new(),
            source: Source::default(),
            alerts: Vec::new(),
            smtp: None,
        }
    }
}
