//! Requests a second, compared with nginx with the same bytes in its cache.

use std::io::BufReader;

use anyhow::{Context as _, ensure};

use super::Bench;
use super::peers::lineside;
use super::producer::{FILES, File, LARGE, SMALL, counts, reset};
use crate::askers::{Asked, Plan};
use crate::http::{connect, head};
use crate::report::Row;
use crate::rounds::Samples;
use crate::servers::Server;

const CONNECTIONS: usize = 64;
/// The large file has fewer concurrent requests, as with wrk on one core.
const CONNECTIONS_LARGE: usize = 16;
const SECONDS: f64 = 2.0;
const SECONDS_QUICK: f64 = 0.2;
const WARM_SECONDS: f64 = 0.3;
const GZIP: &str = "Accept-Encoding: gzip\r\n";

/// One kind of request.
struct Kind {
    title: String,
    file: &'static File,
    headers: &'static str,
    /// True if the client has the file already.
    is_held: bool,
    connections: usize,
}

fn kinds() -> Vec<Kind> {
    let mut kinds = Vec::new();
    for file in &FILES {
        let connections = if file.id == LARGE.id { CONNECTIONS_LARGE } else { CONNECTIONS };
        for (coding, headers) in [("identity", ""), ("gzip", GZIP)] {
            let title = format!("{}, {coding}", file.title);
            kinds.push(Kind { title, file, headers, is_held: false, connections });
        }
    }
    let title = "304".to_owned();
    let connections = CONNECTIONS;
    kinds.push(Kind { title, file: &SMALL, headers: "", is_held: true, connections });
    kinds
}

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let kinds = kinds();
    let seconds = if bench.effort.is_quick { SECONDS_QUICK } else { SECONDS };
    let mut samples = Samples::default();
    let mut has_nginx = false;
    for _ in 0..bench.effort.rounds {
        let ours = lineside(&bench.place, &bench.producer)?;
        let nginx = bench.peers.nginx(&bench.place, &bench.producer)?;
        reset(&bench.producer)?;
        for kind in &kinds {
            let asked = kind.ask(&ours, "/proxy/", seconds)?;
            samples.add(format!("ours {}", kind.title), asked.rate());
            if let Some(nginx) = &nginx {
                has_nginx = true;
                let asked = kind.ask(nginx, "/", seconds)?;
                samples.add(format!("nginx {}", kind.title), asked.rate());
            }
            let fetched = counts(&bench.producer)?.requests;
            ensure!(fetched == 0, "{}: the producer was asked {fetched} times", kind.title);
        }
    }
    for Kind { title, .. } in &kinds {
        let nginx = has_nginx.then(|| samples.median(&format!("nginx {title}")));
        let row = Row::new(title.clone(), samples.median(&format!("ours {title}")), "requests/s");
        bench.report.add(row.beside("nginx", nginx).at_least_times(1.0, "nginx"));
    }
    Ok(())
}

impl Kind {
    fn ask(&self, server: &Server, folder: &str, seconds: f64) -> anyhow::Result<Asked> {
        let path = format!("{folder}{}", self.file.id);
        let mut headers = self.headers.to_owned();
        if self.is_held {
            let head = head(&mut BufReader::new(connect(server.port)?), &path)?;
            let tag = head.iter().find_map(|line| line.strip_prefix("etag: "));
            let tag = tag.context("an answer without a tag")?;
            headers += &format!("If-None-Match: {tag}\r\n");
        }
        let status = if self.is_held { "304" } else { "200" }.to_owned();
        let (port, connections) = (server.port, self.connections);
        let warm_seconds = WARM_SECONDS;
        let plan = Plan { port, path, headers, status, connections, warm_seconds, seconds };
        let asked = plan.run()?;
        // With gzip, the servers' bytes differ.
        if self.headers.is_empty() && !self.is_held {
            let expect = asked.answers * self.file.bytes as u64;
            ensure!(asked.bytes == expect, "{}: {} bytes of {expect}", self.title, asked.bytes);
        }
        Ok(asked)
    }
}
