//! What the tests of the whole share.

pub(crate) mod admin;
pub(crate) mod caller;
pub(crate) mod events;
pub(crate) mod http;
pub(crate) mod process;
pub(crate) mod producer;
pub(crate) mod schema;
pub(crate) mod site;
pub(crate) mod timetable;
pub(crate) mod town;
pub(crate) mod until;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock, mpsc};

use lineside::{Config, DemoOptions, Running, Start};
use lineside_sync::RealClock;

/// Vehicles at rush hour in the tests' cities: enough to see everything, quick to simulate.
const VEHICLES: usize = 60;

/// A demo in this process; its speed is how many seconds of the city pass in one.
pub(crate) struct DemoServer(Running);

impl DemoServer {
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.0.address())
    }

    pub(crate) async fn stop(self) {
        self.0.stop().await;
    }
}

/// Starts a city of a test's own, and waits until it is ready.
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
    until_ready(&server.url()).await;
    // Being ready waits for one file of each feed, and bikes come in several.
    let stations = format!("{}/geojson/city-bikes/stations.geojson", server.url());
    until::until("the city has bikes", async || {
        let reply = http::get(&stations).await;
        reply.status() == 200 && reply.text().await.unwrap().contains("\"Point\"")
    })
    .await;
    server
}

/// The city that tests share which break nothing. It lives as long as the process, on a thread of
/// its own, because the tests' runtimes come and go.
pub(crate) fn shared_demo() -> String {
    static URL: OnceLock<String> = OnceLock::new();
    let started = URL.get_or_init(|| {
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let server = demo(4.0, &[]).await;
                tell.send(server.url()).unwrap();
                std::future::pending::<()>().await;
            });
        });
        told.recv().expect("the shared city starts")
    });
    started.clone()
}

/// A server of a test's own feeds, in this process.
pub(crate) async fn serve(config: Config) -> Running {
    let clock = Arc::new(RealClock::new());
    let start = Start { config, clock, seed: 7, demo: None, base_map: None };
    lineside::start(start).await.unwrap()
}

/// Waits until a server says that it is ready.
pub(crate) async fn until_ready(url: &str) {
    for _ in 0..200 {
        if http::get(&format!("{url}/readyz")).await.status() == 200 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("{url} was not ready within ten seconds");
}

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}
