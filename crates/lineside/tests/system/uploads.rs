//! `/validate`: uploads of visitors, and their reports.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use lineside_testkit::{wait_for, wait_for_metric, wait_for_status, wait_until};
use reqwest::{Method, Response, StatusCode};
use serde_json::Value;

use crate::check_command::{ASTRAY, run, zip, zip_with};
use crate::support::http::{client, get, header, json, send};
use crate::support::process::{ServerProcess, lineside};
use crate::support::site::Site;

const BOUNDARY: &str = "a-line-between";

/// Encodes a form as browsers do.
fn form(name: &str, file: Option<&str>, content: &[u8]) -> Vec<u8> {
    let file = file.map(|file| format!("; filename=\"{file}\"")).unwrap_or_default();
    let mut body =
        format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n")
            .into_bytes();
    body.extend_from_slice(content);
    body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    body
}

/// Encodes a form with a file and an address.
fn file_and_address() -> Vec<u8> {
    let mut both = form("file", Some("a.zip"), b"x");
    both.truncate(both.len() - "--\r\n".len());
    both.extend_from_slice(b"\r\n");
    both.extend_from_slice(
        b"Content-Disposition: form-data; name=\"url\"\r\n\r\nhttps://example.org/",
    );
    both.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    both
}

async fn post(url: &str, body: Vec<u8>) -> Response {
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let request = client().post(format!("{url}/validate")).header("content-type", kind);
    request.body(body).send().await.unwrap()
}

/// Uploads a file, and returns the address of its report.
async fn bring(url: &str, name: &str, content: &[u8]) -> String {
    let reply = post(url, form("file", Some(name), content)).await;
    assert_eq!(reply.status(), 303, "{:?}", reply.text().await);
    format!("{url}{}", header(&reply, "location"))
}

async fn read_status_and_text(reply: Response) -> (StatusCode, String) {
    (reply.status(), reply.text().await.unwrap())
}

async fn report(link: &str) -> Value {
    let link = format!("{link}/report.json");
    let reply = wait_for_status(&link, 200).await;
    assert_eq!(header(&reply, "cache-control"), "private, no-store");
    json(reply).await
}

#[tokio::test]
async fn an_upload_has_a_report_at_a_link_that_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServerProcess::serving(
        folder.path(),
        "[server]\nlisten = \"127.0.0.1:0\"\ndata_dir = \"data\"\n",
    );
    let link = bring(&server.url, "gtfs.zip", &zip()).await;
    let found = report(&link).await;
    assert_eq!(found["summary"]["gtfsInput"], "gtfs.zip");
    assert_eq!(found["summary"]["counts"]["Stops"], 2);
    let codes: Vec<&Value> =
        found["notices"].as_array().unwrap().iter().map(|it| &it["code"]).collect();
    assert!(codes.contains(&&Value::from("foreign_key_violation")), "{codes:?}");
    let page = get(&link).await;
    assert_eq!(header(&page, "x-robots-tag"), "noindex");
    let (status, text) = read_status_and_text(page).await;
    assert!(
        status == 200 && text.contains("foreign_key_violation") && text.contains("L9"),
        "{text}"
    );
    for part in [
        "<strong>GTFS</strong>, checked <time",
        "1 agency, 1 route, 1 trip, 2 stops, 1 shape",
        "<h2 id=\"report-title\">Findings</h2>",
        "title=\"childFilename: The file with the reference.\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let path = link.strip_prefix(&server.url).unwrap().to_owned();
    server.stop("-TERM");
    let server = ServerProcess::serving(
        folder.path(),
        "[server]\nlisten = \"127.0.0.1:0\"\ndata_dir = \"data\"\n",
    );
    assert_eq!(report(&format!("{}{path}", server.url)).await, found);
    for other in [
        "/validate/x",
        "/validate/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "/validate/..%2f..%2fname",
    ] {
        let reply = get(&format!("{}{other}", server.url)).await;
        assert_eq!(reply.status(), 404, "{other}");
    }
}

#[tokio::test]
async fn a_raw_upload_is_checked_like_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServerProcess::serving(folder.path(), "[server]\nlisten = \"127.0.0.1:0\"\n");
    let routes = "route_id,agency_id,route_short_name,route_type\nR1,A1,1,three\n";
    let bytes = zip_with("routes.txt", routes);
    fs::write(folder.path().join("gtfs.zip"), &bytes).unwrap();
    let (_, out, _) = run(folder.path(), &["check", "gtfs.zip"]);
    let request = client().post(format!("{}/validate", server.url));
    let reply = request.header("content-type", "application/zip").body(bytes).send().await.unwrap();
    assert_eq!(reply.status(), 303);
    let link = format!("{}{}", server.url, header(&reply, "location"));
    assert_eq!(report(&link).await["summary"]["gtfsInput"], "a file without a name");
    let (_, page) = read_status_and_text(get(&link).await).await;
    let counts = "1 agency, 0 readable routes, 1 trip, 2 stops, 1 shape";
    assert!(out.contains(counts) && page.contains(counts), "{out}{page}");
    server.stop("-TERM");
}

#[tokio::test]
async fn an_upload_report_has_a_map_of_the_findings() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServerProcess::serving(folder.path(), "[server]\nlisten = \"127.0.0.1:0\"\n");
    let link = bring(&server.url, "gtfs.zip", &zip_with("shapes.txt", ASTRAY)).await;
    let found = report(&link).await;
    let places = &found["lineside"]["places"]["stop_too_far_from_shape"];
    assert_eq!(places[0]["label"], "stop S1", "{found}");
    let (_, page) = read_status_and_text(get(&link).await).await;
    assert!(page.contains("<figure class=\"report-map\"><svg"), "{page}");
    assert!(page.contains("<title>stop S1</title>"), "{page}");
    let stray = r#"{"header":{"gtfs_realtime_version":"2.0","timestamp":1781500000},"entity":[
        {"id":"1","vehicle":{"vehicle":{"id":"V1"},"position":{"latitude":0.1,"longitude":259.1}}},
        {"id":"2","vehicle":{"vehicle":{"id":"V2"},"position":{"latitude":0.2,"longitude":0.2}}}]}"#;
    let link = bring(&server.url, "stray.json", stray.as_bytes()).await;
    report(&link).await;
    let (_, page) = read_status_and_text(get(&link).await).await;
    assert!(page.contains("E026") && !page.contains("report-map"), "no place on earth: {page}");
    server.stop("-TERM");
}

#[tokio::test]
async fn invalid_uploads_are_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServerProcess::serving(
        folder.path(),
        "[server]\nlisten = \"127.0.0.1:0\"\n[uploads]\nmax_bytes = \"4KiB\"\n",
    );
    let url = &server.url;
    for (body, status, expected_message) in [
        (form("file", Some("a.zip"), &[b'x'; 5_000]), 413, "larger than 4KiB"),
        (form("anything", None, &[b'x'; 70_000]), 413, "larger than a file may be"),
        (form("file", Some("a.zip"), b""), 400, "The file is empty"),
        (form("file", Some(""), b""), 400, "Choose a file, or name an address"),
        (form("url", None, b"file:///etc/passwd"), 400, "has to begin with https://"),
        (form("url", None, b"example.org/gtfs.zip"), 400, "has to begin with https://"),
        (form("url", None, &[b'x'; 3_000]), 400, "at most 2048 characters"),
        (b"--a-line-between\r\nContent-Disp".to_vec(), 400, "did not come whole"),
        (file_and_address(), 400, "A file and an address were given"),
    ] {
        let (found, text) = read_status_and_text(post(url, body).await).await;
        assert!(
            found == status && text.contains(expected_message),
            "{found} instead of {status} {expected_message}: {text}"
        );
    }
    let link = bring(url, "notes.txt", b"nothing of the kind").await;
    let refused = wait_for_status(&format!("{link}/report.json"), 422).await;
    let refused: Value = json(refused).await;
    assert_eq!(refused["code"], "not_validated");
    let (status, text) = read_status_and_text(get(&link).await).await;
    assert_eq!(status, 422);
    assert!(text.contains("<h1>No report on notes.txt</h1>"), "{text}");
    assert!(text.contains("could not be checked: this is not GTFS"), "{text}");
    for (kind, status, expected_message) in [
        ("application/x-www-form-urlencoded", 400, "curl -F file=@gtfs.zip"),
        ("application/octet-stream", 413, "larger than 4KiB"),
    ] {
        let request = client().post(format!("{url}/validate")).header("content-type", kind);
        let reply = request.body(vec![b'x'; 5_000]).send().await.unwrap();
        let (found, text) = read_status_and_text(reply).await;
        assert!(found == status && text.contains(expected_message), "{found} {kind}: {text}");
    }
    // A refused upload leaves no open file.
    wait_for_metric(url, "lineside_uploads_pending 0").await;
}

#[tokio::test]
async fn only_public_internet_addresses_are_fetched() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServerProcess::serving(folder.path(), "[server]\nlisten = \"127.0.0.1:0\"\n");
    let own = server.url.clone();
    let port = own.rsplit_once(':').unwrap().1;
    for address in [
        format!("{own}/metrics"),
        format!("http://localhost:{port}/metrics"),
        format!("http://[::1]:{port}/metrics"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "http://10.0.0.1/gtfs.zip".to_owned(),
    ] {
        let reply = post(&own, form("url", None, address.as_bytes())).await;
        assert_eq!(reply.status(), 303, "{address}");
        let link = format!("{own}{}", header(&reply, "location"));
        let page = format!("{link}/report.json");
        let refused = wait_for_status(&page, 422).await;
        let refused: Value = json(refused).await;
        let detail = refused["detail"].as_str().unwrap();
        assert!(detail.contains("could not be fetched"), "{address}: {detail}");
        assert!(detail.contains("public"), "{address}: {detail}");
    }
}

#[tokio::test]
async fn a_discovery_file_cannot_cause_requests_to_internal_addresses() {
    let inside = Site::default();
    let secret = r#"{"last_updated":"S3CRET","ttl":"S3CRET","version":"2.3","data":{}}"#;
    inside.put("/inside.json", secret);
    let address = inside.start().await;
    let folder = tempfile::tempdir().unwrap();
    let server = ServerProcess::serving(folder.path(), "[server]\nlisten = \"127.0.0.1:0\"\n");
    let system = format!(
        r#"{{"last_updated":1700000000,"ttl":60,"version":"2.3","data":{{"en":{{"feeds":[
        {{"name":"system_information","url":"{address}/inside.json"}}]}}}}}}"#
    );
    let found = report(&bring(&server.url, "gbfs.json", system.as_bytes()).await).await;
    assert_eq!(inside.requests_for("/inside.json"), [""; 0], "{found}");
    assert!(!found.to_string().contains("S3CRET"), "{found}");
    assert!(found.to_string().contains("public"), "{found}");
}

#[tokio::test]
async fn pages_of_other_sites_cannot_upload_or_read_reports() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServerProcess::serving(folder.path(), "[server]\nlisten = \"127.0.0.1:0\"\n");
    let url = format!("{}/validate", server.url);
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    let post = async |(name, value): (&str, &str)| {
        let request = client().post(&url).header("content-type", &kind).header(name, value);
        request.body(form("file", Some("gtfs.zip"), &zip())).send().await.unwrap()
    };
    for foreign_origin in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
    ] {
        let reply = post(foreign_origin).await;
        assert!(!reply.headers().contains_key("access-control-allow-origin"), "{foreign_origin:?}");
        let (status, text) = read_status_and_text(reply).await;
        assert_eq!(status, 403, "{foreign_origin:?}");
        assert!(text.contains("not of this server"), "{text}");
    }
    for own in [("sec-fetch-site", "same-origin"), ("origin", &*server.url)] {
        let reply = post(own).await;
        assert_eq!(reply.status(), 303, "{own:?}");
        assert!(!reply.headers().contains_key("access-control-allow-origin"), "{own:?}");
        let link = format!("{}{}", server.url, header(&reply, "location"));
        report(&link).await;
        for address in [url.clone(), link.clone(), format!("{link}/report.json")] {
            let headers = get(&address).await.headers().clone();
            assert!(!headers.contains_key("access-control-allow-origin"), "{address}");
        }
    }
    let catalog = get(&server.url).await;
    assert_eq!(header(&catalog, "access-control-allow-origin"), "*");
}

#[tokio::test]
async fn upload_slots_are_limited_and_freed_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = ServerProcess::serving(folder.path(), "[server]\nlisten = \"127.0.0.1:0\"\n");
    let host = server.url.strip_prefix("http://").unwrap();
    let begin_upload = || {
        let mut socket = TcpStream::connect(host).unwrap();
        let head = format!(
            "POST /validate HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100000\r\nContent-Type: multipart/form-data; \
             boundary={BOUNDARY}\r\n\r\n--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.zip\"\r\n\r\nPK"
        );
        socket.write_all(head.as_bytes()).unwrap();
        socket
    };
    let uploads = [begin_upload(), begin_upload()];
    wait_for_metric(&server.url, "lineside_uploads_pending 2").await;
    let refused = post(&server.url, form("file", Some("gtfs.zip"), &zip())).await;
    assert_eq!((refused.status().as_u16(), header(&refused, "retry-after")), (429, "30"));
    drop(uploads);
    wait_for_metric(&server.url, "lineside_uploads_pending 0").await;
    report(&bring(&server.url, "gtfs.zip", &zip()).await).await;
}

/// Returns the server's folder of uploads, if it contains a file.
fn filled(temporary: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(temporary).unwrap().map(|entry| entry.unwrap());
    let mut own =
        entries.filter(|it| it.file_name().to_str().unwrap().starts_with("lineside-upload-"));
    let is_filled = |own: &PathBuf| {
        let folders = fs::read_dir(own).into_iter().flatten().flatten();
        folders.into_iter().any(|upload_folder| upload_folder.path().join("brought").is_file())
    };
    own.find_map(|it| Some(it.path()).filter(is_filled))
}

#[tokio::test]
async fn uploads_are_private_and_deleted_when_the_server_stops() {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let file = folder.path().join("lineside.toml");
    fs::write(&file, "[server]\nlisten = \"127.0.0.1:0\"\ndata_dir = \"data\"\ndrain = \"0s\"\n")
        .unwrap();
    let start = |file: &Path| {
        let mut command = lineside(&["serve", "--config", file.to_str().unwrap()]);
        command.env("TMPDIR", &temporary);
        ServerProcess::from_command(command)
    };
    // Starts an upload that never completes.
    let begin_upload = |server: &ServerProcess| {
        let host = server.url.strip_prefix("http://").unwrap();
        let mut socket = TcpStream::connect(host).unwrap();
        let head = format!(
            "POST /validate HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100000\r\nContent-Type: application/zip\r\n\r\nPK"
        );
        socket.write_all(head.as_bytes()).unwrap();
        socket
    };
    let wait_for_upload =
        async || wait_for("the file is there", async || filled(&temporary).ok_or(())).await;
    let left = || fs::read_dir(&temporary).unwrap().count();
    let server = start(&file);
    let uploads = begin_upload(&server);
    let own = wait_for_upload().await;
    assert_eq!(fs::metadata(&own).unwrap().permissions().mode() & 0o777, 0o700);
    server.stop("-TERM");
    assert_eq!(left(), 0);
    drop(uploads);
    // The next server deletes the folder of a killed one.
    let server = start(&file);
    let uploads = begin_upload(&server);
    let own = wait_for_upload().await;
    server.stop("-KILL");
    assert!(own.is_dir());
    drop(uploads);
    let server = start(&file);
    let _uploads = begin_upload(&server);
    wait_until("what was left is gone", async || !own.exists()).await;
    let other = wait_for_upload().await;
    // It does not delete the folder of a running server.
    let second = folder.path().join("second.toml");
    fs::write(&second, "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n").unwrap();
    let second_server = start(&second);
    report(&bring(&second_server.url, "gtfs.zip", &zip()).await).await;
    assert!(other.is_dir());
    second_server.stop("-TERM");
    server.stop("-TERM");
    assert_eq!(left(), 0);
}

#[tokio::test]
async fn uploads_can_be_disabled() {
    let folder = tempfile::tempdir().unwrap();
    let text = "[server]\nlisten = \"127.0.0.1:0\"\n[uploads]\nenabled = false\n";
    let server = ServerProcess::serving(folder.path(), text);
    let (status, text) = read_status_and_text(get(&format!("{}/validate", server.url)).await).await;
    assert!(status == 200 && text.contains("lineside check") && !text.contains("<form"), "{text}");
    let refused = post(&server.url, form("file", Some("gtfs.zip"), &zip())).await;
    assert_eq!(refused.status(), 404);
    let other = send(Method::DELETE, &format!("{}/validate", server.url), &[]).await;
    assert_eq!(other.status(), 405);
}
