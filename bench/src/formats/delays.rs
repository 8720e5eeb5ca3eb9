//! "Is my train late?", requested by a crowd, on a server with one core while the feed changes.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use lineside_sim::{City, CityOptions};
use lineside_sync::UnixMillis;
use prost::Message as _;

use crate::askers::{Asked, Plan};
use crate::report::{Report, Row};
use crate::rounds::{Effort, Samples};
use crate::servers::{ONE_CORE, Place, Server};

/// Users that repeat the request after each answer: each stands for hundreds of readers.
const USERS: [usize; 3] = [1_000, 1_500, 2_500];
const USERS_QUICK: usize = 50;
const SECONDS: f64 = 30.0;
const SECONDS_QUICK: f64 = 2.0;
/// The interval of the feed's changes.
const CHANGES_EVERY: Duration = Duration::from_secs(2);
const SEED: u64 = 1;
const MB: f64 = 1e6;
/// Megabytes that the server may use.
const MEMORY_MAX: f64 = 512.0;

pub(super) fn run(effort: Effort, report: &mut Report) -> anyhow::Result<()> {
    let place = Place::find()?;
    let folder = place.folder.path().to_owned();
    let city = City::generate_city(SEED, CityOptions::with_start(now()?));
    let zip = folder.join("city.zip");
    city.write_gtfs(fs::File::create(&zip)?)?;
    for users in USERS {
        let users = effort.size(USERS_QUICK, users);
        let mut samples = Samples::default();
        for _ in 0..effort.rounds {
            let (server, asked) = crowd(&place, &folder, &city, users, effort)?;
            samples.add("failed", asked.failed as f64);
            samples.add("answers", asked.answers as f64);
            samples.add("rate", asked.rate());
            samples.add("p50", asked.p50);
            samples.add("p99", asked.p99);
            samples.add("peak", server.peak_bytes()? / MB);
        }
        let what = format!("/delays, {users} users at once");
        let answers = samples.sum("answers");
        let row = Row::new(format!("{what}: failed of {answers}"), samples.sum("failed"), "");
        report.add(row.at_most(0.0));
        let row = Row::new(format!("{what}: most memory"), samples.most("peak"), "MB");
        report.add(row.at_most(MEMORY_MAX));
        report.add(Row::new(format!("{what}: answers"), samples.median("rate"), "/s"));
        let row = Row::new(format!("{what}: p99"), samples.median("p99"), "ms");
        report.add(row.beside("the median", samples.median("p50")));
    }
    Ok(())
}

/// Measures one crowd on a separate server.
fn crowd(
    place: &Place,
    folder: &Path,
    city: &City,
    users: usize,
    effort: Effort,
) -> anyhow::Result<(Server, Asked)> {
    let trips = folder.join("trips.pb");
    write(city, &trips)?;
    let server = place.serve("http", ONE_CORE, |port| {
        format!(
            "[server]\nlisten = \"127.0.0.1:{port}\"\ndrain = \"0s\"\n\
             [[feed]]\nid = \"city\"\nurl = \"{}\"\npoll = \"1h\"\n\
             [[feed]]\nid = \"trips\"\nurl = \"{}\"\nstatic = \"city\"\npoll = \"1s\"\n",
            folder.join("city.zip").display(),
            trips.display()
        )
    })?;
    crate::servers::until_there(&server, "/delays/trips", "")?;
    let is_over = AtomicBool::new(false);
    let asked = thread::scope(|scope| {
        let writer = scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // A failed write only delays a change of the feed, which is not measured.
                _ = write(city, &trips);
                thread::park_timeout(CHANGES_EVERY);
            }
        });
        let plan = Plan {
            port: server.port,
            path: "/delays/trips".to_owned(),
            headers: String::new(),
            status: "200".to_owned(),
            connections: users,
            warm_seconds: 0.0,
            seconds: if effort.is_quick { SECONDS_QUICK } else { SECONDS },
        };
        let asked = plan.count();
        is_over.store(true, Ordering::Relaxed);
        writer.thread().unpark();
        asked
    })?;
    Ok((server, asked))
}

/// Writes the city's current trip updates atomically: a reader finds the old ones or these.
fn write(city: &City, file: &Path) -> anyhow::Result<()> {
    let beside = file.with_extension("new");
    fs::write(&beside, city.realtime_feeds(now()?).trip_updates.encode_to_vec())?;
    Ok(fs::rename(&beside, file)?)
}

fn now() -> anyhow::Result<UnixMillis> {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(UnixMillis(i64::try_from(since.as_millis())?))
}
