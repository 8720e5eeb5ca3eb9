//! The two servers that serve the producer's files.

use std::fs;
use std::process::{Command, Stdio};

use super::producer::{FILES, File};
use crate::servers::{ONE_CORE, Place, Server, free_port, pinned, until_there};

/// The peers that are installed.
pub(super) struct Peers {
    has_nginx: bool,
}

impl Peers {
    pub(super) fn find() -> Peers {
        let tried = Command::new("nginx").arg("-v").stderr(Stdio::null()).status();
        let has_nginx = tried.is_ok_and(|status| status.success());
        if !has_nginx {
            println!("nginx is not on this machine (Debian: nginx-light); its figures are absent");
        }
        Peers { has_nginx }
    }

    /// Starts nginx with the producer's files in its cache; `None` if it is not installed.
    pub(super) fn nginx(&self, place: &Place, producer: &Server) -> anyhow::Result<Option<Server>> {
        if !self.has_nginx {
            return Ok(None);
        }
        let port = free_port()?;
        let folder = place.folder.path().join("nginx");
        fs::create_dir_all(&folder)?;
        let file = folder.join("nginx.conf");
        let folder = folder.display().to_string();
        fs::write(&file, configuration(&folder, port, producer.port))?;
        let mut command = pinned(ONE_CORE, "nginx");
        command.arg("-e").arg("stderr").arg("-p").arg(&folder).arg("-c").arg(&file);
        let log = place.folder.path().join("nginx.log");
        let server = Server::start(command, format!("http://127.0.0.1:{port}"), port, &log)?;
        warm(&server, "/")?;
        Ok(Some(server))
    }
}

/// Starts Lineside with the producer's files as feeds, and waits until it has them.
pub(super) fn lineside(place: &Place, producer: &Server) -> anyhow::Result<Server> {
    let feeds = FILES.iter().map(|file| feed(producer, file, "1h")).collect::<String>();
    let server = serve(place, &feeds)?;
    warm(&server, "/proxy/")?;
    Ok(server)
}

/// Starts Lineside with these feeds.
pub(super) fn serve(place: &Place, feeds: &str) -> anyhow::Result<Server> {
    place.serve("http", ONE_CORE, |port| {
        format!("[server]\nlisten = \"127.0.0.1:{port}\"\ndrain = \"0s\"\n{feeds}")
    })
}

/// Returns the configuration of a feed with a file of the producer.
pub(super) fn feed(producer: &Server, file: &File, poll: &str) -> String {
    section(file.id, &format!("{}/{}", producer.url, file.id), poll)
}

pub(super) fn section(id: &str, url: &str, poll: &str) -> String {
    format!(
        "[[feed]]\nid = \"{id}\"\nurl = \"{url}\"\nformat = \"raw\"\npoll = \"{poll}\"\ntimeout = \"10m\"\n"
    )
}

/// Requests each file in each encoding until it is available.
fn warm(server: &Server, folder: &str) -> anyhow::Result<()> {
    for file in FILES {
        for coding in ["", "Accept-Encoding: gzip\r\n"] {
            until_there(server, &format!("{folder}{}", file.id), coding)?;
        }
    }
    Ok(())
}

/// Returns the configuration with `sendfile`, as in Debian's package, but without its `tcp_nopush`, which over loopback
/// sometimes delays the end of an answer by 40 ms. One worker, no log, connections that are never closed for their age,
/// and a cache that holds everything for longer than the measurement.
fn configuration(folder: &str, port: u16, producer: u16) -> String {
    format!(
        "daemon off;
user root;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr error;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    sendfile on;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/temporary;
    proxy_cache_path {folder}/cache levels=1:2 keys_zone=files:10m;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        location / {{
            proxy_pass http://127.0.0.1:{producer};
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_cache files;
            proxy_cache_valid 200 1d;
        }}
    }}
}}
"
    )
}
