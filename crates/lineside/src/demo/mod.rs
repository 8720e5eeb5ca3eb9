//! The demo: a simulated city that serves its feeds over real HTTP, and a server that polls them like
//! any other.
//!
//! City and server share one clock, which may run faster than the wall's; the city neither knows nor
//! cares who asks it.

mod faults;
mod producer;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use lineside_ingest::{FeedConfig, FeedId, Location};
use lineside_sim::{Body, City, CityOptions, FaultPlan, Origin};
use lineside_sync::{Clock, RealClock, ScaledClock, UnixMillis};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::task::JoinHandle;

pub(crate) use faults::router;

use crate::config::Config;
use crate::server::{self, Running, Start};
use crate::shutdown::Shutdown;

/// How often the server asks the city.
const POLL: Duration = Duration::from_secs(2);
/// How long the demo's sessions may take to be let go: nobody's clients are spread out by it.
const DRAIN: Duration = Duration::from_millis(300);

/// What a demo is started with.
#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// The port to serve on, on this machine only; 0 takes any free one.
    pub port: u16,
    /// Which city.
    pub seed: u64,
    /// Seconds of the city per second, above 0.
    pub speed: f64,
    /// Vehicles at rush hour, about.
    pub vehicles: usize,
    /// Faults by script, such as `city-trips:hang@30s+2m`.
    pub faults: Vec<String>,
    /// The folder for data; a temporary one if none is given.
    pub data_dir: Option<PathBuf>,
}

/// The city that a demo's server polls.
#[derive(Debug)]
pub struct Demo {
    origin: Arc<Origin>,
    clock: Arc<dyn Clock>,
    address: SocketAddr,
    shutdown: Shutdown,
    serving: Mutex<Option<JoinHandle<()>>>,
    /// Removed when the demo is gone.
    _temporary: Option<TempDir>,
}

/// Starts a city and a server that polls it.
///
/// # Errors
/// If a fault's script cannot be read, or a folder or port is not to be had.
pub async fn start_demo(options: DemoOptions) -> anyhow::Result<Running> {
    let plan = FaultPlan::parse(options.faults.iter().map(String::as_str))?;
    let clock: Arc<dyn Clock> = Arc::new(ScaledClock::new(RealClock::new().wall(), options.speed));
    let city_options =
        CityOptions { vehicles: options.vehicles, ..CityOptions::starting(clock.wall()) };
    let seed = options.seed;
    let made = tokio::task::spawn_blocking(move || {
        let city = Arc::new(City::generate(seed, city_options));
        let base_map = Bytes::from(city.base_map().to_string());
        (Arc::new(Origin::new(city, plan)), base_map)
    });
    let (origin, base_map) = made.await.context("the city could not be built")?;
    let (folder, temporary) = data_folder(options.data_dir)?;
    write_city(&folder, &origin, &clock, &base_map).await?;
    let demo = Demo::serve(origin, Arc::clone(&clock), temporary).await?;
    let mut config = Config::default();
    config.server.listen = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), options.port);
    config.server.data_dir = Some(folder);
    config.server.drain = DRAIN;
    config.feeds = demo.feeds();
    config.admin.or_from_environment();
    config.admin.public_ops = true;
    let seed = fastrand::u64(..);
    let demo = Some(Arc::new(demo));
    server::start(Start { config, clock, seed, demo, base_map: Some(base_map) }).await
}

fn data_folder(given: Option<PathBuf>) -> anyhow::Result<(PathBuf, Option<TempDir>)> {
    if let Some(folder) = given {
        return Ok((folder, None));
    }
    let temporary = tempfile::Builder::new().prefix("lineside-demo-").tempdir();
    let temporary = temporary.context("cannot create a temporary folder")?;
    Ok((temporary.path().to_owned(), Some(temporary)))
}

/// Leaves the city's schedule and ground in the data folder, for whoever wants to open them.
async fn write_city(
    folder: &Path,
    origin: &Arc<Origin>,
    clock: &Arc<dyn Clock>,
    base_map: &Bytes,
) -> anyhow::Result<()> {
    let (folder, base_map) = (folder.to_owned(), base_map.clone());
    let (origin, now) = (Arc::clone(origin), clock.wall());
    let written = tokio::task::spawn_blocking(move || -> anyhow::Result<()> {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("city.zip"), schedule(&origin, now)?)?;
        std::fs::write(folder.join("base-map.geojson"), &base_map)?;
        Ok(())
    });
    written.await.context("writing the city failed")?.context("cannot write to the data folder")
}

/// The city's schedule, well: what the origin keeps for its clients, unless its script begins with
/// a fault.
fn schedule(origin: &Origin, now: UnixMillis) -> anyhow::Result<Bytes> {
    let city = lineside_sim::FeedId::City;
    if origin.faults().active(city, now).is_none()
        && let Body::Bytes(zip) = origin.respond(city, now, None, None).body
    {
        return Ok(zip);
    }
    let zip = origin.city().write_gtfs(std::io::Cursor::new(Vec::new()))?;
    Ok(zip.into_inner().into())
}

impl Demo {
    /// Puts the city behind a port of its own on this machine.
    async fn serve(
        origin: Arc<Origin>,
        clock: Arc<dyn Clock>,
        temporary: Option<TempDir>,
    ) -> anyhow::Result<Self> {
        let shutdown = Shutdown::new(Duration::ZERO);
        let (address, serving) =
            producer::serve(Arc::clone(&origin), Arc::clone(&clock), shutdown.clone()).await?;
        let serving = Mutex::new(Some(serving));
        Ok(Self { origin, clock, address, shutdown, serving, _temporary: temporary })
    }

    /// The address of the city's own feeds.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The city's feeds as an operator would configure them.
    fn feeds(&self) -> Vec<FeedConfig> {
        let names = [
            (lineside_sim::FeedId::City, "schedule"),
            (lineside_sim::FeedId::Vehicles, "vehicle positions"),
            (lineside_sim::FeedId::Trips, "trip updates"),
            (lineside_sim::FeedId::Alerts, "alerts"),
        ];
        names.into_iter().map(|(feed, what)| self.feed(feed, what)).collect()
    }

    fn feed(&self, feed: lineside_sim::FeedId, what: &str) -> FeedConfig {
        let id = |feed: lineside_sim::FeedId| {
            FeedId::new(feed.as_str()).expect("the city's feeds have plain names")
        };
        let url = format!("http://{}/{}", self.address, feed.file_name());
        let url = Location::parse(&url).expect("an address of this machine is an address");
        let city = self.origin.city().name();
        let mut config = FeedConfig::new(id(feed), url);
        config.name = Some(format!("{city}: {what}"));
        config.publisher = Some(format!("{city} Transit (simulated)"));
        config.licence = Some("CC0-1.0".to_owned());
        config.theme = Some("city".to_owned());
        config.poll = Some(POLL);
        if feed != lineside_sim::FeedId::City {
            config.static_feed = Some(id(lineside_sim::FeedId::City));
        }
        config
    }

    /// Ends the city's own server.
    pub(crate) async fn stop(&self) {
        self.shutdown.begin();
        self.shutdown.close();
        let serving = self.serving.lock().take();
        if let Some(serving) = serving
            && let Err(error) = serving.await
        {
            tracing::error!(%error, "the city's own server failed");
        }
    }
}
