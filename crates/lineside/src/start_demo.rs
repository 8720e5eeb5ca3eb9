//! The start of a demo: a city, and a server that polls it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use lineside_config::Config;
use lineside_sim::{City, CityOptions, FaultPlan, FeedOrigin};
use lineside_sync::{Clock, RealClock, ScaledClock};

use crate::demo::{
    DemoCity, DemoOptions, feeds, given_or_temporary_folder, write_schedule_and_map_files,
};
use crate::server::{RunningServer, ServerOptions, start_server};

/// Drain time of the demo: it has no other servers over which clients would be spread.
const DRAIN: Duration = Duration::from_millis(300);

/// Starts a city and a server that polls it.
///
/// # Errors
/// Returns an error if a fault's script is invalid, or if a folder or port is not available.
pub async fn start_demo(options: DemoOptions) -> anyhow::Result<RunningServer> {
    let clock = Arc::new(ScaledClock::new(RealClock::new().wall_time(), options.speed));
    start_demo_with_clock(clock, options).await
}

/// Starts a demo on another clock, ignoring the options' speed.
///
/// # Errors
/// Returns an error as [`start_demo`] does.
pub async fn start_demo_with_clock(
    clock: Arc<dyn Clock>,
    options: DemoOptions,
) -> anyhow::Result<RunningServer> {
    let plan = FaultPlan::parse_fault_specs(options.faults.iter().map(String::as_str))?;
    if let Some(feed) = plan
        .feeds_with_scripted_faults()
        .find(|feed| !feeds::list_demo_feeds(options.siri).contains(feed))
    {
        anyhow::bail!("--fault: the feed {} exists only with --siri", feed.as_str());
    }
    let city_options =
        CityOptions { vehicles: options.vehicles, ..CityOptions::with_start(clock.wall_time()) };
    let seed = options.seed;
    let created = tokio::task::spawn_blocking(move || {
        let city = Arc::new(City::generate_city(seed, city_options));
        let base_map = Bytes::from(city.base_map_geojson().to_string());
        (Arc::new(FeedOrigin::new(city, plan)), base_map)
    });
    let (origin, base_map) = created.await.context("cannot generate the city")?;
    let (folder, temporary) = given_or_temporary_folder(options.data_dir)?;
    write_schedule_and_map_files(&folder, &origin, &clock, &base_map).await?;
    let demo =
        DemoCity::start_city_server(origin, Arc::clone(&clock), options.siri, temporary).await?;
    let mut config = Config::default();
    config.server.listen = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), options.port);
    config.server.data_dir = Some(folder);
    config.server.drain = DRAIN;
    config.feeds = demo.city_feed_configs();
    config.admin.fill_token_from_environment();
    config.admin.public_ops = true;
    let seed = fastrand::u64(..);
    let demo = Some(Arc::new(demo));
    start_server(ServerOptions { config, clock, seed, demo, base_map: Some(base_map) }).await
}
