//! A producer with a page at each path, and a server that polls it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use lineside_testkit::wait_until_ready;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::process::ServerProcess;
use super::producer::answer;

/// A producer with a page at each path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Site {
    pages: Arc<Mutex<HashMap<String, String>>>,
    /// The heads of the requests so far, in lower case.
    requests: Arc<Mutex<Vec<String>>>,
}

impl Site {
    pub(crate) async fn start(&self) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let site = self.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let site = site.clone();
                tokio::spawn(async move { site.answer(socket).await });
            }
        });
        url
    }

    pub(crate) fn put(&self, path: &str, page: &str) {
        self.pages.lock().unwrap().insert(path.to_owned(), page.to_owned());
    }

    pub(crate) fn take(&self, path: &str) {
        self.pages.lock().unwrap().remove(path);
    }

    pub(crate) fn requests_for(&self, path: &str) -> Vec<String> {
        let request_prefix = format!("get {path} ");
        self.heads().into_iter().filter(|head| head.starts_with(&request_prefix)).collect()
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    async fn answer(&self, mut socket: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match socket.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let head = String::from_utf8(head).unwrap();
        let path = head.split(' ').nth(1).unwrap().to_owned();
        let head = head.to_lowercase();
        self.requests.lock().unwrap().push(head.clone());
        let page = self.pages.lock().unwrap().get(&path).cloned();
        let tag = page.as_deref().map(entity_tag).unwrap_or_default();
        let reply = match page {
            Some(_) if head.contains(&format!("if-none-match: {tag}")) => {
                answer("304 Not Modified", &[], b"")
            }
            Some(page) => {
                let headers = ["content-type: application/json", &format!("etag: {tag}")];
                answer("200 OK", &headers, page.as_bytes())
            }
            None => answer("500 Internal Server Error", &[], b"down"),
        };
        // The server may have closed the connection already.
        _ = socket.write_all(&reply).await;
    }
}

fn entity_tag(page: &str) -> String {
    let mut hasher = DefaultHasher::new();
    page.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

/// Starts a server with these feeds, whose configuration and data are in the folder.
pub(crate) async fn serve(folder: &Path, feeds: &str) -> ServerProcess {
    let config = configure(folder, feeds);
    let server = ServerProcess::start(&["serve", "--config", config.to_str().unwrap()]);
    wait_until_ready(&server.url).await;
    server
}

/// Writes the configuration atomically.
pub(crate) fn configure(folder: &Path, feeds: &str) -> PathBuf {
    let (new, config) = (folder.join("new.toml"), folder.join("lineside.toml"));
    let server = "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\ndata_dir = \"data\"\n";
    std::fs::write(&new, format!("{server}{feeds}")).unwrap();
    std::fs::rename(&new, &config).unwrap();
    config
}
