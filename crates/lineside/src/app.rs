//! What every handler shares: one cheaply cloned handle on the running server.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, header};
use lineside_hub::Hub;
use lineside_ingest::Ingest;
use lineside_store::Store;
use lineside_sync::{Clock, UnixMillis};
use lineside_wire::partition::PartitionSet;

use crate::admin::AdminAuth;
use crate::auth::TokenAuthorizer;
use crate::config::{Config, MapSource};
use crate::delays::DelayReports;
use crate::demo::Demo;
use crate::external_validators::ExternalValidators;
use crate::http::{
    AdmissionControl, AnswerCache, CompressedBodies, IdempotencyCache, SubscriptionRegistry,
    TrustedProxies,
};
use crate::metrics::HttpMetrics;
use crate::notifications;
use crate::ops::OpsDashboard;
use crate::reports::LatestReports;
use crate::settings::LiveSettings;
use crate::shutdown::Shutdown;
use crate::uploads;

/// Where the program serves the map's own files.
pub const BASE_MAP_PATH: &str = "/map/base-map.geojson";
/// Where a map style that lies in a file is served.
pub const MAP_STYLE_PATH: &str = "/map/style.json";
/// Where a tile archive that lies in a file is served.
pub const MAP_TILES_PATH: &str = "/map/tiles.pmtiles";

/// The running server, as handlers see it.
#[derive(Clone, Debug)]
pub struct App(Arc<AppParts>);

/// What an [`App`] is made of.
#[derive(Debug)]
pub(crate) struct AppParts {
    /// The feeds and what they hold.
    pub(crate) ingest: Arc<Ingest>,
    /// The configuration in force.
    pub(crate) settings: LiveSettings,
    /// The time that city and server share; the wall clock unless a demo runs faster.
    pub(crate) clock: Arc<dyn Clock>,
    /// When the server started, on that clock.
    pub(crate) started: UnixMillis,
    /// Whether and how the server is stopping.
    pub(crate) shutdown: Shutdown,
    /// What is remembered on the disk, where there is one. It is closed before the demo takes its folder away.
    pub(crate) store: Option<Arc<Store>>,
    /// The simulated city, when this is the demo.
    pub(crate) demo: Option<Arc<Demo>>,
    /// Land, water and streets to draw under everything, as GeoJSON.
    pub(crate) base_map: Option<Bytes>,
    /// Counters of the HTTP room.
    pub(crate) metrics: HttpMetrics,
    /// What was said to those who are told of trouble.
    pub(crate) notifications: Arc<notifications::NotificationCounts>,
    /// Who may what.
    pub(crate) gate: Arc<TokenAuthorizer>,
    /// Who may change how the server runs.
    pub(crate) admin: AdminAuth,
    /// Whose word on a client's address is taken.
    pub(crate) proxies: TrustedProxies,
    /// How everything is doing, for who watches.
    pub(crate) ops: Arc<OpsDashboard>,
    /// What is wrong with feeds.
    pub(crate) reports: Arc<LatestReports>,
    /// What the operator's own validators say of them.
    pub(crate) validators: ExternalValidators,
    /// Which trips are late, as it was answered last.
    pub(crate) delays: DelayReports,
    /// What the server API was asked to publish once.
    pub(crate) published: IdempotencyCache,
    /// What visitors bring to be validated.
    pub(crate) visitors: Arc<uploads::UploadService>,
    /// What was answered in SIRI, and to whom.
    pub(crate) siri: AnswerCache,
    /// Who is sent what changes, in SIRI.
    pub(crate) subscriptions: SubscriptionRegistry,
    /// Compressed replies, kept for the next client.
    pub(crate) compressed: CompressedBodies,
    /// The places for connections.
    pub(crate) admission: Arc<AdmissionControl>,
    /// The threads that own the sockets of sessions.
    pub(crate) partitions: Arc<PartitionSet>,
    /// Connections that can be open at once.
    pub(crate) connections: usize,
}

/// Where a page finds what lies under the map; each is a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapLinks {
    /// GeoJSON of land, water, parks and streets; each feature's `properties.kind` says which.
    pub base_map: Option<String>,
    /// A whole MapLibre style of the operator's.
    pub style: Option<String>,
    /// A PMTiles archive in the Protomaps layers.
    pub pmtiles: Option<String>,
}

impl App {
    /// Wraps the parts.
    pub(crate) fn new(parts: AppParts) -> Self {
        Self(Arc::new(parts))
    }

    /// The feeds and what they hold.
    #[must_use]
    pub fn ingest(&self) -> &Arc<Ingest> {
        &self.0.ingest
    }

    /// The rooms.
    #[must_use]
    pub fn hub(&self) -> &Arc<Hub> {
        self.0.ingest.hub()
    }

    /// The configuration in force.
    #[must_use]
    pub fn config(&self) -> Arc<Config> {
        self.0.settings.current_config()
    }

    /// The same, with how it came about.
    pub(crate) fn settings(&self) -> &LiveSettings {
        &self.0.settings
    }

    /// The time that the data follow.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.clock
    }

    /// Now, as the data count it.
    #[must_use]
    pub fn now(&self) -> UnixMillis {
        self.0.clock.wall_time()
    }

    /// When the server started, as the data count time.
    #[must_use]
    pub fn started_at(&self) -> UnixMillis {
        self.0.started
    }

    /// Whether and how the server is stopping.
    #[must_use]
    pub fn shutdown(&self) -> &Shutdown {
        &self.0.shutdown
    }

    /// The simulated city, when this is the demo.
    #[must_use]
    pub fn demo(&self) -> Option<&Arc<Demo>> {
        self.0.demo.as_ref()
    }

    /// Where a page finds what lies under the map.
    #[must_use]
    pub fn map_links(&self) -> MapLinks {
        let link = |source: &MapSource, path: &str| match source {
            MapSource::Url(url) => url.to_string(),
            MapSource::File(_) => path.to_owned(),
        };
        let map = &self.config().map;
        MapLinks {
            base_map: self.0.base_map.as_ref().map(|_| BASE_MAP_PATH.to_owned()),
            style: map.style.as_ref().map(|source| link(source, MAP_STYLE_PATH)),
            pmtiles: map.pmtiles.as_ref().map(|source| link(source, MAP_TILES_PATH)),
        }
    }

    /// The address under which a request's sender reaches us, without a slash at its end.
    #[must_use]
    pub fn base_url(&self, headers: &HeaderMap) -> String {
        let server = &self.config().server;
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        match host.filter(|host| server.public_url.is_none() && is_valid_host(host)) {
            Some(host) => format!("{}://{host}", server.url_scheme()),
            None => server.base_url(),
        }
    }

    /// GeoJSON of land, water and streets.
    pub(crate) fn base_map(&self) -> Option<&Bytes> {
        self.0.base_map.as_ref()
    }

    /// What a page may load from elsewhere for its map: where its style or archive is, and what the
    /// operator listed. A style without a list may load from anywhere: its sources, glyphs and sprite
    /// name further hosts, and those again others, which only the browser comes to know. Plain HTTP is
    /// among them for tile servers inside a network; a page served over HTTPS blocks it by itself.
    pub(crate) fn map_origins(&self) -> Vec<String> {
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

    /// Counters of the HTTP room.
    pub(crate) fn metrics(&self) -> &HttpMetrics {
        &self.0.metrics
    }

    /// What was said to those who are told of trouble.
    pub(crate) fn notification_counts(&self) -> &Arc<notifications::NotificationCounts> {
        &self.0.notifications
    }

    /// Who may what.
    pub(crate) fn authorizer(&self) -> &Arc<TokenAuthorizer> {
        &self.0.gate
    }

    /// Who may change how the server runs.
    pub(crate) fn admin(&self) -> &AdminAuth {
        &self.0.admin
    }

    /// What is wrong with feeds.
    pub(crate) fn reports(&self) -> &Arc<LatestReports> {
        &self.0.reports
    }

    /// What the operator's own validators say of feeds.
    pub(crate) fn external_validators(&self) -> &ExternalValidators {
        &self.0.validators
    }

    /// How everything is doing, for who watches.
    pub(crate) fn ops_dashboard(&self) -> &Arc<OpsDashboard> {
        &self.0.ops
    }

    /// Whose word on a client's address is taken.
    pub(crate) fn trusted_proxies(&self) -> &TrustedProxies {
        &self.0.proxies
    }

    /// Which trips are late, as it was answered last.
    pub(crate) fn delays(&self) -> &DelayReports {
        &self.0.delays
    }

    /// What the server API was asked to publish once.
    pub(crate) fn idempotency_cache(&self) -> &IdempotencyCache {
        &self.0.published
    }

    /// Who is sent what changes, in SIRI.
    pub(crate) fn siri_subscriptions(&self) -> &SubscriptionRegistry {
        &self.0.subscriptions
    }

    /// What visitors bring to be validated.
    pub(crate) fn uploads(&self) -> &Arc<uploads::UploadService> {
        &self.0.visitors
    }

    /// What was answered in SIRI, and to whom.
    pub(crate) fn siri_answers(&self) -> &AnswerCache {
        &self.0.siri
    }

    /// Compressed replies, kept for the next client.
    pub(crate) fn compressed_bodies(&self) -> &CompressedBodies {
        &self.0.compressed
    }

    /// Connections that can be open at once: what the configuration says, or what the system allows.
    #[must_use]
    pub fn max_connections(&self) -> usize {
        self.0.connections
    }

    /// What is remembered on the disk, where there is one.
    pub(crate) fn store(&self) -> Option<&Arc<Store>> {
        self.0.store.as_ref()
    }

    /// The threads that own the sockets of sessions.
    pub(crate) fn partitions(&self) -> &Arc<PartitionSet> {
        &self.0.partitions
    }

    /// The places for connections.
    pub(crate) fn admission(&self) -> &Arc<AdmissionControl> {
        &self.0.admission
    }
}

/// Whether a `Host` header can stand in a link: a name or an address, and a port.
fn is_valid_host(host: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    !host.is_empty() && host.len() <= 255 && host.bytes().all(allowed)
}
