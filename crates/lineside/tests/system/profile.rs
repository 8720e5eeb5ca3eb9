//! Recording a running server: by admins only, one at a time, without disturbing it.

use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Stdio};

use lineside_testkit::{wait_for, wait_until_ready};
use reqwest::Method;

use crate::support::admin::{self, BEARER, FROM_HERE, TOKEN};
use crate::support::http::{assert_problem, client, get_with, problem, refusal, send};
use crate::support::process::{ServerProcess, lineside};
use crate::tls;

const PROFILE: &str = "/api/v1/admin/profile";
/// Maximum number of one-second recordings, because the machine may be busy.
const ATTEMPTS: usize = 20;

fn start(folder: &Path, more: &str) -> ServerProcess {
    let server = "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n";
    let text = format!("{server}{}{more}", admin::table());
    ServerProcess::serving(folder, text)
}

/// A process that is killed when the test ends.
struct KilledOnDrop(Child);

impl Drop for KilledOnDrop {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Records until a stack with each of these roots was seen, and returns all lines.
async fn recorded_with(roots: &[&str], mut record: impl AsyncFnMut() -> String) -> String {
    let mut all = String::new();
    for _ in 0..ATTEMPTS {
        all += &record().await;
        if roots.iter().all(|root| all.lines().any(|line| line.starts_with(root))) {
            return all;
        }
    }
    panic!("{roots:?} are not all in\n{all}");
}

#[tokio::test]
async fn tls_handshakes_continue_while_profiling() {
    let folder = tempfile::tempdir().unwrap();
    tls::certify(folder.path());
    let server = start(folder.path(), "[server.tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n");
    let idle_clients: Vec<_> = (0..4)
        .map(|_| {
            let (folder, url) = (folder.path().to_owned(), server.url.clone());
            tokio::spawn(async move {
                loop {
                    // A new client, whose first request makes a handshake.
                    let page = tls::client(&folder, true).get(&url).send().await.unwrap();
                    assert_eq!(page.status(), 200);
                }
            })
        })
        .collect();
    let admin = tls::client(folder.path(), false);
    let url = format!("{}{PROFILE}?seconds=1&format=folded", server.url);
    let lines = recorded_with(&["runtime;handshake;", "runtime;http;"], async || {
        let response = admin.get(&url).bearer_auth(TOKEN).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.text().await.unwrap()
    });
    let lines = lines.await;
    assert!(
        idle_clients.iter().all(|idle_client| !idle_client.is_finished()),
        "one of them failed"
    );
    idle_clients.iter().for_each(tokio::task::JoinHandle::abort);
    for line in lines.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        assert!(stack.split(';').count() >= 2 && count.parse::<u64>().unwrap() > 0, "{line}");
    }
    assert_eq!(admin.get(&server.url).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_profile_of_a_demo_under_load_has_threads_at_their_stages() {
    let mut demo = lineside(&["demo", "--port", "0", "--speed", "10"]);
    demo.env("LINESIDE_ADMIN_TOKEN", TOKEN);
    let server = ServerProcess::from_command(demo);
    wait_until_ready(&server.url).await;
    let mut load = lineside(&["load", &server.url, "--sessions", "200", "--channel", "feed/city"]);
    let _load =
        KilledOnDrop(load.args(["--duration", "10m"]).stderr(Stdio::null()).spawn().unwrap());
    let url = format!("{}{PROFILE}?seconds=1&format=folded", server.url);
    let roots = ["partition-0;deliver;", "runtime;apply;", "runtime;publish;"];
    let lines = recorded_with(&roots, async || {
        let response = get_with(&url, &[BEARER]).await;
        assert_eq!(response.status(), 200);
        response.text().await.unwrap()
    });
    let lines = lines.await;
    let mut delivering = lines.lines().filter(|line| line.starts_with("partition-0;deliver;"));
    assert!(delivering.any(|line| line.contains("lineside_wire::partition")), "{lines}");
}

#[tokio::test]
async fn only_admins_profile_exclusively_and_for_a_limited_time() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "");
    let url = format!("{}{PROFILE}", server.url);
    assert_problem(401, "not_admin", problem(&url).await);
    for wrong in ["seconds=0", "seconds=61", "seconds=-1", "seconds=x", "format=json"] {
        let response = get_with(&format!("{url}?{wrong}"), &[BEARER]).await;
        assert_problem(400, "bad_parameter", refusal(response).await);
    }
    let long = || {
        let request = client().get(format!("{url}?seconds=60")).bearer_auth(TOKEN);
        tokio::spawn(request.send())
    };
    let mut recording = long();
    let refused = wait_for("another recording is refused", async || {
        let response = get_with(&format!("{url}?seconds=1&format=folded"), &[BEARER]).await;
        if response.status() == 409 {
            return Ok(response);
        }
        // This recording came first, and the long one was refused.
        recording.abort();
        recording = long();
        Err(response.status())
    });
    let refused = refused.await;
    let wait: u64 = refused.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    assert_problem(409, "profile_running", refusal(refused).await);

    // A client that disconnects early frees the slot.
    recording.abort();
    for _ in 0..ATTEMPTS {
        let response = get_with(&format!("{url}?seconds=1"), &[BEARER]).await;
        if response.status() == 200 {
            let policy = response.headers()["content-security-policy"].to_str().unwrap();
            assert!(
                policy.contains("default-src 'none'") && !policy.contains("unsafe"),
                "{policy}"
            );
            assert_eq!(response.headers()["cache-control"], "no-store");
            return;
        }
    }
    panic!("an abandoned recording is still running");
}

#[tokio::test]
async fn a_link_of_another_origin_starts_no_profile() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "");
    let url = format!("{}{PROFILE}?seconds=1&format=svg", server.url);
    let cookie = admin::session(&server.url).await;
    let session = ("cookie", cookie.as_str());
    for site in ["cross-site", "same-site"] {
        let redirect_reply = get_with(&url, &[session, ("sec-fetch-site", site)]).await;
        assert_problem(403, "other_origin", refusal(redirect_reply).await);
    }
    assert_eq!(send(Method::HEAD, &url, &[BEARER]).await.status(), 405);
    for meant in [FROM_HERE, ("sec-fetch-site", "none")] {
        let reply = get_with(&url, &[session, meant]).await;
        assert_eq!(reply.status(), 200, "{meant:?}");
        let policy = reply.headers()["content-security-policy"].to_str().unwrap();
        assert!(
            policy.contains("style-src 'sha256-") && !policy.contains("script-src"),
            "{policy}"
        );
    }
}

#[test]
fn the_command_writes_the_format_of_the_file_extension() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "");
    let run = |name: &str, token: &str| {
        let file = folder.path().join(name);
        let arguments = ["profile", &server.url, "--seconds", "1", "--output"];
        let mut command = lineside(&arguments);
        let output = command.arg(&file).env("LINESIDE_ADMIN_TOKEN", token).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), stderr, std::fs::read(&file).unwrap_or_default())
    };
    for (name, beginning) in [
        ("flame.html", "<!DOCTYPE html>"),
        ("flame.svg", "<?xml version=\"1.0\""),
        ("flame.folded", ""),
        ("flame.pb", "\u{1f}"),
    ] {
        let (code, stderr, written) = run(name, TOKEN);
        assert_eq!(code, Some(0), "{stderr}");
        assert!(written.starts_with(beginning.as_bytes()), "{name}");
    }
    let packed = std::fs::read(folder.path().join("flame.pb")).unwrap();
    let mut message = Vec::new();
    flate2::read::GzDecoder::new(&*packed).read_to_end(&mut message).unwrap();
    let holds = |text: &[u8]| message.windows(text.len()).any(|part| part == text);
    assert!(holds(b"nanoseconds") && holds(b"samples"));

    assert_eq!(run("flame.json", TOKEN).0, Some(2));
    let (code, stderr, _) = run("flame.html", "");
    assert!(code == Some(2) && stderr.contains("LINESIDE_ADMIN_TOKEN"), "{stderr}");
    let (code, stderr, _) = run("flame.html", "another token");
    assert!(code == Some(2) && stderr.contains("401"), "{stderr}");
    let nowhere = ["profile", "http://127.0.0.1:1", "--seconds", "1", "--output", "x.svg"];
    let output = lineside(&nowhere).env("LINESIDE_ADMIN_TOKEN", TOKEN).output().unwrap();
    assert_eq!(output.status.code(), Some(3));
}
