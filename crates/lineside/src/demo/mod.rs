//! The demo: a simulated city that serves its feeds over real HTTP, and a server that polls them like any other.
//!
//! City and server share one clock, which may run faster than real time; the city does not know its clients.

mod deliveries;
mod faults;
pub(crate) mod feeds;
mod producer;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use lineside_quality::shutdown::Shutdown;
use lineside_sim::{CityFeed, FeedOrigin, ReplyBody};
use lineside_sync::{Clock, UnixMillis};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use crate::data_dir::create_private_folder;

pub(crate) use faults::faults_router;

#[derive(Debug, Clone)]
pub struct DemoOptions {
    /// Port on this machine; 0 takes any free one.
    pub port: u16,
    /// Seed of the generated city.
    pub seed: u64,
    /// Seconds of the city's time per second, above 0.
    pub speed: f64,
    /// Approximate number of vehicles at rush hour.
    pub vehicles: usize,
    /// Publishes the same vehicles in SIRI too, as a separate network; `None` for no SIRI.
    pub siri: Option<DemoSiriMode>,
    /// Scripted faults, such as `city-trips:hang@30s+2m`.
    pub faults: Vec<String>,
    /// Data folder; a temporary one if `None`.
    pub data_dir: Option<PathBuf>,
}

/// The way in which the server receives the city's SIRI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DemoSiriMode {
    /// The server polls every two seconds.
    Request,
    /// The server subscribes.
    Subscribe,
}

/// The city that the demo's server polls.
#[derive(Debug)]
pub struct DemoCity {
    origin: Arc<FeedOrigin>,
    clock: Arc<dyn Clock>,
    address: SocketAddr,
    siri: Option<DemoSiriMode>,
    shutdown: Shutdown,
    /// The tasks of its HTTP server and its SIRI deliveries.
    serving: Mutex<Vec<JoinHandle<()>>>,
    /// Removed when the demo is dropped.
    _temporary: Option<TempDir>,
}

pub(crate) fn given_or_temporary_folder(
    given: Option<PathBuf>,
) -> anyhow::Result<(PathBuf, Option<TempDir>)> {
    if let Some(folder) = given {
        return Ok((folder, None));
    }
    let temporary = tempfile::Builder::new().prefix("lineside-demo-").tempdir();
    let temporary = temporary.context("cannot create a temporary folder")?;
    Ok((temporary.path().to_owned(), Some(temporary)))
}

/// Writes the city's schedule and base map into the data folder, for users who want to open them.
pub(crate) async fn write_schedule_and_map_files(
    folder: &Path,
    origin: &Arc<FeedOrigin>,
    clock: &Arc<dyn Clock>,
    base_map: &Bytes,
) -> anyhow::Result<()> {
    let (folder, base_map) = (folder.to_owned(), base_map.clone());
    let (origin, now) = (Arc::clone(origin), clock.wall_time());
    let written = tokio::task::spawn_blocking(move || -> anyhow::Result<()> {
        create_private_folder(&folder)?;
        std::fs::write(folder.join("city.zip"), valid_city_schedule(&origin, now)?)?;
        std::fs::write(folder.join("base-map.geojson"), &base_map)?;
        Ok(())
    });
    written
        .await
        .context("writing the city's files crashed")?
        .context("cannot write to the data folder")
}

/// Returns a valid schedule of the city: the origin's reply, unless a fault is active at the start.
fn valid_city_schedule(origin: &FeedOrigin, now: UnixMillis) -> anyhow::Result<Bytes> {
    let city = CityFeed::City;
    if origin.fault_control().active_fault(city, now).is_none()
        && let ReplyBody::Bytes(zip) = origin.respond_to_feed(city, now, None, None).body
    {
        return Ok(zip);
    }
    let zip = origin.city().write_gtfs(std::io::Cursor::new(Vec::new()))?;
    Ok(zip.into_inner().into())
}

impl DemoCity {
    /// Serves the city on a port of its own on this machine.
    pub(crate) async fn start_city_server(
        origin: Arc<FeedOrigin>,
        clock: Arc<dyn Clock>,
        siri: Option<DemoSiriMode>,
        temporary: Option<TempDir>,
    ) -> anyhow::Result<Self> {
        let shutdown = Shutdown::new(Duration::ZERO);
        let (address, serving) =
            producer::start_feed_server(Arc::clone(&origin), Arc::clone(&clock), shutdown.clone())
                .await?;
        let mut serving = vec![serving];
        if siri == Some(DemoSiriMode::Subscribe) {
            let (origin, clock) = (Arc::clone(&origin), Arc::clone(&clock));
            serving.push(tokio::spawn(deliveries::post_siri_deliveries(
                origin,
                clock,
                shutdown.clone(),
            )));
        }
        let serving = Mutex::new(serving);
        Ok(Self { origin, clock, address, siri, shutdown, serving, _temporary: temporary })
    }

    /// Returns the address of the city's own HTTP server.
    #[must_use]
    pub fn city_server_address(&self) -> SocketAddr {
        self.address
    }

    /// Stops the city's HTTP server.
    pub(crate) async fn stop_city_server(&self) {
        self.shutdown.begin_draining();
        self.shutdown.begin_closing();
        let serving = std::mem::take(&mut *self.serving.lock());
        for task in serving {
            if let Err(error) = task.await {
                tracing::error!(%error, "the city's HTTP server crashed");
            }
        }
    }
}
