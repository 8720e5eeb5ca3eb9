//! The shared state of all handlers: one handle on the running server that is cheap to clone.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use bytes::Bytes;
use http::{HeaderMap, header};
use lineside_config::{Config, MapSource};
use lineside_hub::Hub;
use lineside_ingest::Ingest;
use lineside_quality::context::ServerContext;
use lineside_quality::external_validators::ExternalValidatorReports;
use lineside_quality::notification_counts::NotificationCounts;
use lineside_quality::reports::LatestValidationReports;
use lineside_quality::shutdown::Shutdown;
use lineside_quality::uploads;
use lineside_store::Store;
use lineside_sync::{Clock, UnixMillis};
use lineside_wire::centrifuge::CentrifugeService;
use lineside_wire::partition::PartitionSet;

use crate::admin_auth::AdminAuth;
use crate::auth::TokenAuthorizer;
use crate::delays::DelayReportCache;
use crate::http_metrics::HttpMetrics;
use crate::idempotency::IdempotencyCache;
use crate::ops::OpsDashboard;
use crate::settings::LiveSettings;
use crate::{AdmissionControl, CompressedBodies, TrustedProxies};

/// Path of the demo city's base map.
pub const BASE_MAP_PATH: &str = "/map/base-map.geojson";
/// Path of a map style that is configured as a local file.
pub const MAP_STYLE_PATH: &str = "/map/style.json";
/// Path of a tile archive that is configured as a local file.
pub const MAP_TILES_PATH: &str = "/map/tiles.pmtiles";

/// A handle on the running server.
#[derive(Clone, Debug)]
pub struct App(Arc<AppParts>);

/// The parts of an [`App`].
#[derive(Debug)]
pub struct AppParts {
    /// The parts that background tasks use too. It is dropped first, which closes the store before the demo deletes its
    /// folder.
    pub context: ServerContext,
    /// The settings, from which the configuration in force is derived.
    pub settings: Arc<LiveSettings>,
    /// The simulated city of a demo, whose temporary folder must outlive the store.
    pub demo: Option<Arc<dyn Any + Send + Sync>>,
    /// Land, water and streets of the base map, as GeoJSON.
    pub base_map: Option<Bytes>,
    /// Counters of the HTTP server.
    pub metrics: HttpMetrics,
    /// Authorization of clients.
    pub authorizer: Arc<TokenAuthorizer>,
    /// Authentication of admins.
    pub admin: AdminAuth,
    /// The proxies that are trusted to forward a client's address.
    pub proxies: TrustedProxies,
    /// The operations dashboard.
    pub ops: Arc<OpsDashboard>,
    /// Cached delay reports.
    pub delays: DelayReportCache,
    /// Recent publications of the server API by idempotency key.
    pub idempotency_keys: IdempotencyCache,
    /// The service that validates uploaded files.
    pub uploads: Arc<uploads::UploadService>,
    /// The number of active SIRI subscriptions.
    pub siri_subscription_count: Arc<AtomicUsize>,
    /// Cache of compressed replies.
    pub compressed_bodies: CompressedBodies,
    /// The limits on connections and replies.
    pub admission: Arc<AdmissionControl>,
    /// The threads that own the sockets of sessions.
    pub partitions: Arc<PartitionSet>,
    /// The state shared by all WebSockets.
    pub centrifuge: Arc<CentrifugeService>,
    /// Largest number of open connections.
    pub connections: usize,
}

/// URLs of the map's sources, as a page uses them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapSourceUrls {
    /// GeoJSON of land, water, parks and streets; `properties.kind` is the kind of each feature.
    pub base_map: Option<String>,
    /// A complete MapLibre style of the operator.
    pub style: Option<String>,
    /// A PMTiles archive in the Protomaps layers.
    pub pmtiles: Option<String>,
}

impl App {
    /// Creates the handle from its parts.
    #[must_use]
    pub fn new(parts: AppParts) -> Self {
        Self(Arc::new(parts))
    }

    /// Returns the parts that background tasks use too.
    pub fn server_context(&self) -> &ServerContext {
        &self.0.context
    }

    /// Returns the feeds and their data.
    #[must_use]
    pub fn ingest(&self) -> &Arc<Ingest> {
        self.0.context.ingest()
    }

    /// Returns the hub with the rooms of all channels.
    #[must_use]
    pub fn hub(&self) -> &Arc<Hub> {
        self.0.context.hub()
    }

    /// Returns the configuration in force.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.0.context.config()
    }

    /// Returns the live settings, from which the configuration in force is derived.
    pub fn live_settings(&self) -> &Arc<LiveSettings> {
        &self.0.settings
    }

    /// Returns the clock of the data, which may differ from the wall clock.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        self.0.context.clock()
    }

    /// Returns the current time of the data's clock.
    #[must_use]
    pub fn now(&self) -> UnixMillis {
        self.0.context.wall_time_now()
    }

    /// Returns the start of the server, on the data's clock.
    #[must_use]
    pub fn started_at(&self) -> UnixMillis {
        self.0.context.started_at()
    }

    /// Returns the state of the shutdown.
    #[must_use]
    pub fn shutdown(&self) -> &Shutdown {
        self.0.context.shutdown()
    }

    /// Returns true if the server shows the simulated city.
    #[must_use]
    pub fn is_demo(&self) -> bool {
        self.0.demo.is_some()
    }

    /// Returns the URLs of the map's sources, as a page uses them.
    #[must_use]
    pub fn map_source_urls(&self) -> MapSourceUrls {
        let link = |source: &MapSource, path: &str| match source {
            MapSource::Url(url) => url.to_string(),
            MapSource::File(_) => path.to_owned(),
        };
        let map = &self.config().map;
        MapSourceUrls {
            base_map: self.0.base_map.as_ref().map(|_| BASE_MAP_PATH.to_owned()),
            style: map.style.as_ref().map(|source| link(source, MAP_STYLE_PATH)),
            pmtiles: map.pmtiles.as_ref().map(|source| link(source, MAP_TILES_PATH)),
        }
    }

    /// Returns the base URL that the sender of a request uses, without a trailing slash.
    #[must_use]
    pub fn base_url(&self, headers: &HeaderMap) -> String {
        let server = &self.config().server;
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        match host.filter(|host| server.public_url.is_none() && is_valid_host(host)) {
            Some(host) => format!("{}://{host}", server.url_scheme()),
            None => server.base_url(),
        }
    }

    /// Returns the GeoJSON of land, water and streets.
    pub fn base_map_geojson(&self) -> Option<&Bytes> {
        self.0.base_map.as_ref()
    }

    /// Returns the origins from which a page may load map data: those of the style and archive, and those that the
    /// operator listed. A style without a list may load from anywhere: its sources, glyphs and sprite name further
    /// hosts, and those again others, which only the browser finds out. Plain HTTP is included for tile servers inside
    /// a network; browsers block it on pages served over HTTPS.
    pub fn map_origins(&self) -> Vec<String> {
        let map = &self.config().map;
        if map.style.is_some() && map.origins.is_empty() {
            return vec!["https:".to_owned(), "http:".to_owned()];
        }
        let mut origins = map.origins.clone();
        for source in [&map.style, &map.pmtiles].into_iter().flatten() {
            if let MapSource::Url(url) = source {
                origins.push(url.origin().ascii_serialization());
            }
        }
        origins
    }

    /// Returns the counters of the HTTP server.
    pub fn http_metrics(&self) -> &HttpMetrics {
        &self.0.metrics
    }

    /// Returns the counts of sent notifications.
    pub fn notification_counts(&self) -> &Arc<NotificationCounts> {
        self.0.context.notification_counts()
    }

    /// Returns the authorization of clients.
    pub fn token_authorizer(&self) -> &Arc<TokenAuthorizer> {
        &self.0.authorizer
    }

    /// Returns the authentication of admins.
    pub fn admin_auth(&self) -> &AdminAuth {
        &self.0.admin
    }

    /// Returns the latest validation reports on feeds.
    pub fn latest_reports(&self) -> &Arc<LatestValidationReports> {
        self.0.context.latest_validation_reports()
    }

    /// Returns the operator's own validators, with their results.
    pub fn external_validators(&self) -> &ExternalValidatorReports {
        self.0.context.external_validators()
    }

    /// Returns the operations dashboard.
    pub fn ops_dashboard(&self) -> &Arc<OpsDashboard> {
        &self.0.ops
    }

    /// Returns the proxies that are trusted to forward a client's address.
    pub fn trusted_proxies(&self) -> &TrustedProxies {
        &self.0.proxies
    }

    /// Returns the cached delay reports.
    pub fn delay_reports(&self) -> &DelayReportCache {
        &self.0.delays
    }

    /// Returns the server API's recent publications by idempotency key.
    pub fn idempotency_cache(&self) -> &IdempotencyCache {
        &self.0.idempotency_keys
    }

    /// Returns the number of active SIRI subscriptions.
    pub fn siri_subscription_count(&self) -> &Arc<AtomicUsize> {
        &self.0.siri_subscription_count
    }

    /// Returns the service that validates uploaded files.
    pub fn upload_service(&self) -> &Arc<uploads::UploadService> {
        &self.0.uploads
    }

    /// Returns the cache of compressed replies.
    pub fn compressed_bodies(&self) -> &CompressedBodies {
        &self.0.compressed_bodies
    }

    /// Returns the largest number of open connections: the configured one, or fewer if the system allows only fewer.
    #[must_use]
    pub fn max_connections(&self) -> usize {
        self.0.connections
    }

    /// Returns the store on disk, if there is a data folder.
    pub fn store(&self) -> Option<&Arc<Store>> {
        self.0.context.database_store()
    }

    /// Returns the threads that own the sockets of sessions.
    pub fn partitions(&self) -> &Arc<PartitionSet> {
        &self.0.partitions
    }

    /// Returns the state shared by all WebSockets.
    pub fn centrifuge(&self) -> &Arc<CentrifugeService> {
        &self.0.centrifuge
    }

    /// Returns the limits on connections and replies.
    pub fn admission(&self) -> &Arc<AdmissionControl> {
        &self.0.admission
    }
}

/// Returns true if a `Host` header can be part of a link: it looks like a name or an address, with or without a port.
fn is_valid_host(host: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    !host.is_empty() && host.len() <= 255 && host.bytes().all(allowed)
}
