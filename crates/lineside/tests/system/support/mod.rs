//! Shared helpers of the system tests.

pub(crate) mod admin;
pub(crate) mod websocket_client;
pub(crate) mod events;
pub(crate) mod http;
pub(crate) mod process;
pub(crate) mod producer;
pub(crate) mod schema;
pub(crate) mod site;
pub(crate) mod timetable;
pub(crate) mod town;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, mpsc};

use lineside::{Config, DemoOptions, RunningServer, ServerOptions};
use lineside_sync::RealClock;
use lineside_testkit::{wait_until, wait_until_ready};

/// Number of vehicles in the tests' cities: enough for all cases, and quick to simulate.
const VEHICLES: usize = 60;

/// A demo in this process. Its speed is in seconds of the city per second.
pub(crate) struct DemoServer(RunningServer);

impl DemoServer {
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.0.listen_address())
    }

    pub(crate) async fn stop(self) {
        self.0.shut_down().await;
    }
}

/// Starts a separate city for a test, and waits until it is ready.
pub(crate) async fn demo(speed: f64, faults: &[&str]) -> DemoServer {
    let faults = faults.iter().map(|fault| (*fault).to_owned()).collect();
    let options = DemoOptions {
        port: 0,
        seed: 7,
        speed,
        vehicles: VEHICLES,
        siri: None,
        faults,
        data_dir: None,
    };
    let server = DemoServer(lineside::start_demo(options).await.unwrap());
    wait_until_ready(&server.url()).await;
    // The server is ready with one file of each feed, and bikes have several.
    let stations = format!("{}/geojson/city-bikes/stations.geojson", server.url());
    wait_until("the city has bikes", async || {
        let reply = http::get(&stations).await;
        reply.status() == 200 && reply.text().await.unwrap().contains("\"Point\"")
    })
    .await;
    server
}

/// Returns the city that tests share unless they break something. It lives as long as the process, on a separate
/// thread, because the tests' runtimes come and go.
pub(crate) fn shared_demo() -> String {
    static URL: OnceLock<String> = OnceLock::new();
    let started = URL.get_or_init(|| {
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let server = demo(4.0, &[]).await;
                sender.send(server.url()).unwrap();
                std::future::pending::<()>().await;
            });
        });
        receiver.recv().expect("the shared city starts")
    });
    started.clone()
}

/// Starts a server with a test's feeds in this process.
pub(crate) async fn serve(config: Config) -> RunningServer {
    let clock = Arc::new(RealClock::new());
    let start = ServerOptions { config, clock, seed: 7, demo: None, base_map: None };
    lineside::start_server(start).await.unwrap()
}

/// Returns the root of the repository.
pub(crate) fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
