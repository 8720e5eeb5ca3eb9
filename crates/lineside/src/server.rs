//! Wiring of the server: from a checked configuration to a running server, and to its stop.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use lineside_config::Config;
use lineside_config::secrets::random_secret;
use lineside_http::admin_auth::{self, AdminAuth};
use lineside_http::app::{App, AppParts};
use lineside_http::auth::TokenAuthorizer;
use lineside_http::delays::DelayReportCache;
use lineside_http::http_metrics::HttpMetrics;
use lineside_http::ops::OpsDashboard;
use lineside_http::server_channels::ServerChannels;
use lineside_http::settings::{self, LiveSettings};
use lineside_http::{delay_replies, ops_collector};
use lineside_hub::HubConfig;
use lineside_ingest::{ExtraChannelSource, InboxSettings, Ingest, IngestOptions};
use lineside_model::{DecodingLimits, MemoryFile, Secret};
use lineside_quality::archive_reader::ArchiveReader;
use lineside_quality::context::{ServerContext, ServerContextParts};
use lineside_quality::external_validators::ExternalValidatorReports;
use lineside_quality::reports::LatestValidationReports;
use lineside_quality::shutdown::Shutdown;
use lineside_quality::uploads;
use lineside_quality::validation_tasks;
use lineside_siri::SiriService;
use lineside_store::Store;
use lineside_sync::real_time::run_with_timeout;
use lineside_sync::{Clock, RealClock};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::data_dir::{DataDirLock, generate_server_name};
use crate::demo::DemoCity;
use crate::handoff_file::{self, HandoffFileWriter};
use crate::notifications;
use crate::rlimit;
use crate::rlimit::handle_file_size_signal;
use crate::routes;
use crate::sessions;
use crate::storage::ServerStorage;

/// Interval of the eviction of unused rooms, old log entries and expired cache entries.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// Interval at which joins and leaves are published.
const TICK_INTERVAL: Duration = Duration::from_millis(250);
/// Shortest time that polling has to end, even if the drain time is shorter.
const POLLING_STOP_MAX: Duration = Duration::from_millis(500);
/// Time beyond the drain time that sessions have to end after the server has asked them to.
const SESSIONS_STOP_MAX: Duration = Duration::from_millis(500);
/// Time that validations of uploads have to end, including the deletion of their files.
const UPLOADS_STOP_MAX: Duration = Duration::from_millis(500);
/// Longest time for each of the two parts of the handoff file, enough for a slow disk.
const HANDOFF_TIME_MAX: Duration = Duration::from_secs(10);
/// Interval of the checks for a changed certificate.
const CERTIFICATE_INTERVAL: Duration = Duration::from_secs(2);

/// The inputs of a server besides its configuration.
#[derive(Debug)]
pub struct ServerOptions {
    /// The checked configuration.
    pub config: Config,
    /// The clock of the data.
    pub clock: Arc<dyn Clock>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The simulated city of a demo.
    pub demo: Option<Arc<DemoCity>>,
    /// Land, water and streets of the base map, as GeoJSON.
    pub base_map: Option<Bytes>,
}

#[derive(Debug)]
pub struct RunningServer {
    app: App,
    address: SocketAddr,
    serving: JoinHandle<()>,
    /// The task that reports findings of real-time data, the last ones as the server stops.
    reporter: JoinHandle<()>,
    /// The simulated city of a demo.
    demo: Option<Arc<DemoCity>>,
    /// Folder in which a clean stop leaves the handoff file.
    handoff_folder: Option<PathBuf>,
    /// Locked until the server is gone.
    _data_dir: Option<DataDirLock>,
}

/// Opens the listener and starts polling.
///
/// # Errors
/// Returns an error if the data folder or the address is not available.
pub async fn start_server(start: ServerOptions) -> anyhow::Result<RunningServer> {
    let ServerOptions { config, clock, seed, demo, base_map } = start;
    let (data_dir, tls) = (lock_data_dir_and_signals(&config)?, load_tls_certificate(&config)?);
    let (listener, address) = open_listener(config.server.listen).await?;
    let (limits, shutdown) =
        (raise_and_compute_connection_limits(&config), Shutdown::new(config.server.drain));
    // A simulated city starts over, at another time than it ended, so its state is not handed over.
    let handoff_folder = config.server.data_dir.clone().filter(|_| demo.is_none());
    let storage = ServerStorage::open_or_in_memory(&config, &clock).await?;
    let (store, now) = (storage.store.as_ref(), clock.wall_time());
    let settings = LiveSettings::with_stored_overrides(config.clone(), store, now).await?;
    let settings = Arc::new(settings);
    let (ops, reports) =
        (Arc::new(OpsDashboard::default()), create_empty_report_store(&config, &storage));
    let options = IngestOptions {
        feeds: settings.effective_feeds(),
        clock: Arc::clone(&clock),
        seed,
        hub: hub_config_from(&config),
        user_agent: config.server.user_agent.clone(),
        load_limits: DecodingLimits::for_memory(config.limits.load_memory),
        archive: storage.archive,
        snapshots: storage.snapshots,
        extra_channels: Some(ops_and_report_channels(&ops, &reports)),
        message_observer: Some(Arc::clone(reports.message_checker()) as _),
        inboxes: build_inbox_settings(
            &config,
            demo.is_some().then_some(address),
            data_dir.as_ref(),
        )?,
    };
    let ingest = start_feeds_with_handoff(options, handoff_folder.clone()).await?;
    reports.attach_ingest(&ingest);
    let authorizer = Arc::new(TokenAuthorizer::new(&config, ingest.hub(), &clock));
    let centrifuge = Arc::new(sessions::centrifuge_service(ingest.hub(), &authorizer, &config));
    let partitions = Arc::new(sessions::start_partitions(ingest.hub(), &authorizer, seed)?);
    let context = ServerContext::new(ServerContextParts {
        archive_reader: ArchiveReader::new(Arc::clone(ingest.poll_archive())),
        ingest,
        config: Arc::clone(settings.shared_config()),
        started: clock.wall_time(),
        clock,
        shutdown: shutdown.clone(),
        store: storage.store,
        reports,
        external_validators: ExternalValidatorReports::default(),
        notification_counts: Arc::default(),
    });
    let app = App::new(AppParts {
        authorizer,
        ops,
        context,
        settings,
        admin: AdminAuth::new(&config.admin, Arc::new(RealClock::new())),
        proxies: lineside_http::TrustedProxies::new(config.server.trusted_proxies.clone()),
        idempotency_keys: lineside_http::IdempotencyCache::default(),
        delays: DelayReportCache::default(),
        uploads: uploads::UploadService::open(config.server.data_dir.as_deref())?,
        siri_subscription_count: Arc::default(),
        demo: demo.clone().map(|demo| demo as _),
        base_map,
        metrics: HttpMetrics::default(),
        compressed_bodies: lineside_http::CompressedBodies::default(),
        admission: Arc::new(lineside_http::AdmissionControl::new(limits)),
        partitions,
        centrifuge,
        connections: limits.total,
    });
    let siri = SiriService::new(app.clone());
    let (router, admission) =
        (routes::build_router(&app, siri.clone(), demo.as_ref()), Arc::clone(app.admission()));
    let sessions = lineside_http::ListenerContext::for_app(&app, tls);
    let background_tasks = spawn_background_tasks(&app, siri, sessions.tls.as_ref());
    let serving = tokio::spawn(lineside_http::serve_listener(
        listener,
        router,
        admission,
        Some(sessions),
        shutdown,
    ));
    Ok(RunningServer {
        app,
        address,
        serving,
        reporter: background_tasks,
        demo,
        handoff_folder,
        _data_dir: data_dir,
    })
}

/// Sets up signal handling, and locks the data folder.
fn lock_data_dir_and_signals(config: &Config) -> anyhow::Result<Option<DataDirLock>> {
    handle_file_size_signal().context("cannot handle SIGXFSZ")?;
    if let Some(key) = &config.api.key {
        admin_auth::warn_if_secret_short("api.key", key);
    }
    config.server.data_dir.as_deref().map(DataDirLock::lock_data_folder).transpose()
}

/// Creates the reports, empty at first. They hold the store weakly, so that they do not keep it open.
fn create_empty_report_store(
    config: &Config,
    storage: &ServerStorage,
) -> Arc<LatestValidationReports> {
    let store = storage.store.as_ref().map(Arc::downgrade).unwrap_or_default();
    Arc::new(LatestValidationReports::new(&config.validation, store))
}

/// Returns the channels that the program publishes itself.
fn ops_and_report_channels(
    ops: &Arc<OpsDashboard>,
    reports: &Arc<LatestValidationReports>,
) -> ExtraChannelSource {
    ExtraChannelSource(Arc::new(ServerChannels {
        ops: Arc::clone(ops),
        reports: Arc::clone(reports),
    }))
}

/// Returns the address for deliveries of producers, and the name with which this server subscribes.
///
/// # Errors
/// Returns an error if the data folder has no name yet and it cannot be written.
fn build_inbox_settings(
    config: &Config,
    demo: Option<SocketAddr>,
    data_dir: Option<&DataDirLock>,
) -> anyhow::Result<InboxSettings> {
    Ok(InboxSettings {
        address: inbox_base_url(config, demo),
        subscriber: data_dir
            .map_or_else(|| Ok(generate_server_name()), DataDirLock::get_or_create_server_name)?
            .into(),
        keys: Arc::new(|| Secret::new(random_secret())),
    })
}

/// Returns the base URL for deliveries of producers. A simulated city is on this machine and needs no public name.
fn inbox_base_url(config: &Config, fallback_address: Option<SocketAddr>) -> Option<Arc<str>> {
    let public = config.server.public_url.as_ref().map(|url| url.as_str().into());
    public.or_else(|| fallback_address.map(|address| format!("http://{address}").into()))
}

/// Opens the listener; returns its address, whose port the system may have chosen.
async fn open_listener(at: SocketAddr) -> anyhow::Result<(TcpListener, SocketAddr)> {
    let bound = TcpListener::bind(at).await;
    let listener = bound.map_err(|error| {
        let advice = match error.kind() {
            io::ErrorKind::AddrInUse => {
                ": stop the other program, or set another `listen` in [server] (for the demo, another --port)"
            }
            _ => "",
        };
        anyhow::Error::new(error).context(format!("cannot listen on {at}{advice}"))
    })?;
    let address = listener.local_addr().context("the listener has no address")?;
    Ok((listener, address))
}

/// Loads the TLS configuration, if there is one.
fn load_tls_certificate(config: &Config) -> anyhow::Result<Option<Arc<lineside_http::ServerTls>>> {
    let tls = config.server.tls.clone().map(lineside_http::ServerTls::new).transpose();
    Ok(tls.context("[server.tls]")?.map(Arc::new))
}

/// Spawns the tasks that run until the server stops. Returns the reporter's, which the shutdown waits for.
fn spawn_background_tasks(
    app: &App,
    siri: SiriService,
    tls: Option<&Arc<lineside_http::ServerTls>>,
) -> JoinHandle<()> {
    tokio::spawn(run_cache_sweeper(app.clone(), siri));
    tokio::spawn(run_presence_publisher(app.clone()));
    tokio::spawn(ops_collector::run_collector(app.clone()));
    let context = app.server_context();
    tokio::spawn(validation_tasks::schedule_validations(context.clone()));
    tokio::spawn(validation_tasks::schedule_external_validators(context.clone()));
    tokio::spawn(delay_replies::sample_delays(app.clone()));
    tokio::spawn(notifications::watch_feeds_for_notifications(context.clone()));
    tokio::task::spawn_blocking(uploads::delete_orphaned_folders);
    if let Some(tls) = tls {
        tokio::spawn(run_certificate_reloader(Arc::clone(tls), app.shutdown().clone()));
    }
    if !app.is_demo() {
        tokio::spawn(settings::watch_config_files(
            Arc::clone(app.live_settings()),
            context.clone(),
        ));
    }
    tokio::spawn(validation_tasks::run_message_reporter(context.clone()))
}

/// Starts the feeds with the state that the last stop handed over, if any. The listener is open already, so clients
/// that connect meanwhile wait.
async fn start_feeds_with_handoff(
    options: IngestOptions,
    handoff_folder: Option<PathBuf>,
) -> anyhow::Result<Arc<Ingest>> {
    let start = move || {
        Ingest::start_polling_with_handoff(
            options,
            handoff_folder.as_deref().and_then(handoff_file::load_and_delete_handoff),
        )
    };
    tokio::task::spawn_blocking(start).await.context("a task of the start crashed")
}

/// Returns the configured limits, reduced to the available descriptors.
fn raise_and_compute_connection_limits(config: &Config) -> lineside_http::ConnectionLimits {
    let connections_max = config.limits.connections;
    let descriptors = rlimit::raise_descriptor_limit();
    MemoryFile::set_max_open_files(rlimit::max_memory_files(descriptors));
    let total = rlimit::limit_connections_to_descriptors(connections_max, descriptors);
    if total < connections_max {
        let descriptors = descriptors.unwrap_or_default();
        tracing::warn!(
            "at most {total} connections instead of {connections_max}: the system allows {descriptors} open files (raise ulimit -n)"
        );
    }
    lineside_http::ConnectionLimits {
        total,
        per_address: config.limits.connections_per_address,
        unsent_bytes: config.limits.unsent_bytes,
        send_timeout: config.limits.send_timeout,
    }
}

fn hub_config_from(config: &Config) -> HubConfig {
    let mut hub = HubConfig { namespaces: config.namespaces.clone(), ..HubConfig::default() };
    if let Some(bytes) = config.limits.channel_log_bytes {
        hub.ring_bytes_min = bytes;
        // A size that the operator sets applies even above the usual bound of a channel with a large state.
        hub.ring_bytes_max = hub.ring_bytes_max.max(bytes);
    }
    if let Some(bytes) = config.limits.total_bytes {
        hub.total_bytes = bytes;
    }
    hub
}

/// Evicts unused rooms and expired cache entries until the server stops.
async fn run_cache_sweeper(app: App, siri: SiriService) {
    let clock = Arc::clone(app.clock());
    while !app.shutdown().is_draining() {
        tokio::select! {
            () = clock.sleep(SWEEP_INTERVAL) => {
                app.hub().trim_and_close_idle_rooms();
                let now = clock.monotonic();
                app.compressed_bodies().evict_expired(now);
                app.token_authorizer().evict_old_tokens(now);
                app.idempotency_cache().evict_expired(now);
                app.delay_reports().evict_expired(now);
                siri.evict_expired(now);
            }
            () = app.shutdown().wait_until_draining() => {}
        }
    }
}

/// Publishes joins and leaves until the server stops.
async fn run_presence_publisher(app: App) {
    while !app.shutdown().is_draining() {
        tokio::select! {
            () = app.clock().sleep(TICK_INTERVAL) => app.hub().publish_presence_changes(),
            () = app.shutdown().wait_until_draining() => {}
        }
    }
}

/// Reloads the certificate when its files have changed, until the server stops. An invalid one is logged once, and the
/// old one stays in use.
async fn run_certificate_reloader(tls: Arc<lineside_http::ServerTls>, shutdown: Shutdown) {
    let mut known = tls.files_fingerprint();
    while !shutdown.is_draining() {
        tokio::select! {
            () = lineside_sync::real_time::sleep_real_time(CERTIFICATE_INTERVAL) => {}
            () = shutdown.wait_until_draining() => return,
        }
        let read = Arc::clone(&tls);
        let Ok(found) = tokio::task::spawn_blocking(move || read.files_fingerprint()).await else {
            return;
        };
        if found == known {
            continue;
        }
        known = found;
        match tls.reload_certificate() {
            Ok(()) => tracing::info!("the certificate was reloaded"),
            Err(error) => tracing::warn!("the certificate was not reloaded: {error:#}"),
        }
    }
}

impl RunningServer {
    /// Returns the simulated city of a demo.
    pub(crate) fn demo_city(&self) -> Option<&Arc<DemoCity>> {
        self.demo.as_ref()
    }

    #[must_use]
    pub fn listen_address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the handle that the handlers share.
    #[must_use]
    pub fn shared_app(&self) -> &App {
        &self.app
    }

    /// Stops the server: readiness reports that it is stopping, polling ends, sessions are closed over the drain time,
    /// running requests end, and the networks and channel logs are handed over to the next start. Takes at most 5 s, or
    /// longer if the disk does, or if a running validation of a message does.
    pub async fn shut_down(self) {
        let shutdown = self.app.shutdown();
        shutdown.begin_draining();
        let drain = shutdown.drain_duration();
        // A little before the end, so that the last sessions are closed by then.
        self.app.partitions().close_connections_evenly(drain.mul_f64(0.9));
        let (handoff, ()) = tokio::join!(
            self.stop_polling_and_write_networks(drain),
            lineside_sync::real_time::sleep_real_time(drain)
        );
        shutdown.begin_closing();
        if let Err(error) = self.serving.await {
            tracing::error!(%error, "the accept loop failed");
        }
        let partitions = Arc::clone(self.app.partitions());
        let ended = tokio::task::spawn_blocking(move || partitions.wait_for_threads());
        let (sessions, uploads) = tokio::join!(
            run_with_timeout(SESSIONS_STOP_MAX, ended),
            run_with_timeout(UPLOADS_STOP_MAX, self.app.upload_service().stop_and_delete_files())
        );
        if sessions.is_none() {
            tracing::info!("sessions that did not read the disconnect message in time are dropped");
        }
        if uploads.is_none() {
            tracing::warn!("some uploaded files could not be deleted: the next start deletes them");
        }
        if let Some(handoff) = handoff {
            let ingest = Arc::clone(self.app.ingest());
            write_handoff_with_timeout(move || handoff.write_logs_and_publish(&ingest)).await;
        }
        delay_replies::save_current_quarter_hour(&self.app);
        if run_with_timeout(HANDOFF_TIME_MAX, self.reporter).await.is_none() {
            tracing::warn!("the last real-time reports may not be stored");
        }
        if let Some(store) = self.app.store() {
            wait_for_store_writes(Arc::clone(store)).await;
        }
        if let Some(demo) = &self.demo {
            demo.stop_city_server().await;
        }
    }
}

impl RunningServer {
    /// Ends polling, and writes the networks' state while sessions are closed.
    async fn stop_polling_and_write_networks(&self, drain: Duration) -> Option<HandoffFileWriter> {
        let ingest = Arc::clone(self.app.ingest());
        if run_with_timeout(drain.max(POLLING_STOP_MAX), ingest.stop_polling()).await.is_none() {
            tracing::info!("a poll did not finish in time and is dropped");
        }
        let (folder, now) = (self.handoff_folder.clone()?, self.app.now());
        write_handoff_with_timeout(move || {
            HandoffFileWriter::create_with_networks(folder, &ingest, now)
        })
        .await
    }
}

/// Waits until the last polls are written to the disk.
async fn wait_for_store_writes(store: Arc<Store>) {
    let flush = tokio::task::spawn_blocking(move || store.flush_writes());
    let failed = match run_with_timeout(HANDOFF_TIME_MAX, flush).await {
        Some(Ok(Err(error))) => error.to_string(),
        None => format!("it took longer than {} s", HANDOFF_TIME_MAX.as_secs()),
        Some(_) => return,
    };
    tracing::warn!(error = %failed, "the last polls may not be stored");
}

/// Writes a part of the handoff file with a timeout.
async fn write_handoff_with_timeout<T: Send + 'static>(
    part: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Option<T> {
    let failed = match run_with_timeout(HANDOFF_TIME_MAX, tokio::task::spawn_blocking(part)).await {
        Some(Ok(Ok(done))) => return Some(done),
        Some(Ok(Err(error))) => error.to_string(),
        Some(Err(error)) => error.to_string(),
        None => format!("it took longer than {} s", HANDOFF_TIME_MAX.as_secs()),
    };
    tracing::warn!(
        error = failed,
        "the state for the next start was not written: clients that reconnect then receive a full state, marked as a gap"
    );
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configured_channel_log_may_exceed_the_default_limit() {
        let defaults = HubConfig::default();
        let mut config = Config::default();
        for bytes in [1 << 10, defaults.ring_bytes_max, defaults.ring_bytes_max << 1] {
            config.limits.channel_log_bytes = Some(bytes);
            let hub = hub_config_from(&config);
            assert_eq!(hub.ring_bytes_min, bytes);
            assert_eq!(hub.ring_bytes_max, bytes.max(defaults.ring_bytes_max));
        }
    }

    #[test]
    fn unset_limits_are_the_hub_defaults() {
        let (hub, defaults) = (hub_config_from(&Config::default()), HubConfig::default());
        assert_eq!(hub.ring_bytes_min, defaults.ring_bytes_min);
        assert_eq!(hub.ring_bytes_max, defaults.ring_bytes_max);
        assert_eq!(hub.total_bytes, defaults.total_bytes);
    }
}
