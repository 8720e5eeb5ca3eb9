//! Notifications of trouble: by webhook, by mail, and after a restart only of news.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lineside_testkit::{wait_for_feed_state, wait_for_metric, wait_until};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use crate::support::admin::{self, TOKEN};
use crate::support::http::{client, get};
use crate::support::process::ServerProcess;
use crate::support::producer::{Producer, Reply};

/// Returns the notifications in all messages that a hook accepted.
fn notifications(hook: &Producer) -> Vec<Value> {
    let bodies = hook.requests().into_iter().filter(|request| request.starts_with("POST /taken"));
    bodies
        .flat_map(|request| {
            let body = request.split_once("\r\n\r\n").unwrap().1;
            let message: Value = serde_json::from_str(body).unwrap();
            assert!(message["text"].as_str().unwrap().contains("city"), "{message}");
            message["notifications"].as_array().unwrap().clone()
        })
        .collect()
}

/// Returns the feeds in these notifications, each with its state.
fn list_sent(hook: &Producer) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    notifications(hook)
        .iter()
        .map(|notification| (text(&notification["feed"]["id"]), text(&notification["state"])))
        .collect()
}

fn has_sent(hook: &Producer, feed: &str, state: &str) -> bool {
    list_sent(hook).iter().any(|(sent_feed, is)| sent_feed == feed && is == state)
}

/// Writes a configuration with two feeds in files of the same folder, replacing the previous one.
fn write_config(folder: &Path, keys: &str) -> String {
    let feeds = ["city", "city-2"].map(|id| {
        format!("[[feed]]\nid = \"{id}\"\nurl = \"{id}.txt\"\nformat = \"raw\"\npoll = \"1s\"\nlate_after = \"15s\"\n")
    });
    let server = "[server]\nlisten = \"127.0.0.1:0\"\ndata_dir = \"data\"\ndrain = \"0s\"\n";
    let (new, file) = (folder.join("new.toml"), folder.join("lineside.toml"));
    std::fs::write(&new, format!("{server}{}{keys}", feeds.concat())).unwrap();
    std::fs::rename(&new, &file).unwrap();
    file.to_str().unwrap().to_owned()
}

fn write_data(folder: &Path, feed: &str) {
    std::fs::write(folder.join(format!("{feed}.txt")), "what it says").unwrap();
}

fn start(config: &str) -> ServerProcess {
    ServerProcess::start(&["serve", "--config", config])
}

#[tokio::test]
async fn failures_and_recoveries_are_sent_once_across_restarts() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), "city-2");
    let hook = Producer::answering(|_| Reply::ok("")).await;
    let to = hook.url("/taken");
    let keys = format!("[[alert]]\nto = {to:?}\nafter = \"0s\"\nquiet = \"0s\"\nsecret = \"s\"\n");
    let config = write_config(folder.path(), &keys);

    let server = start(&config);
    wait_until("the failure is notified", async || has_sent(&hook, "city", "failing")).await;
    let first = &notifications(&hook)[0];
    assert_eq!((&first["kind"], &first["previous"]), (&"state".into(), &"ok".into()));
    assert!(first["reason"].as_str().unwrap().contains("(file)"), "{first}");
    assert!(first["feed"]["url"].as_str().unwrap().ends_with("/feeds/city"), "{first}");
    let request = hook.requests().remove(0).to_lowercase();
    assert!(request.contains("webhook-signature: v1,") && request.contains("webhook-id: "));
    let atom = get(&format!("{}/incidents.atom", server.url)).await.text().await.unwrap();
    assert!(atom.contains("<title>city: failing</title>"), "{atom}");
    wait_for_metric(&server.url, "lineside_notifications_sent_total 1").await;
    wait_for_feed_state(&server.url, "city-2", "ok").await;
    server.stop("-TERM");

    // The trouble continues. If it were announced again, it would precede that of the other feed.
    let server = start(&config);
    wait_for_feed_state(&server.url, "city", "failing").await;
    wait_for_feed_state(&server.url, "city-2", "ok").await;
    std::fs::remove_file(folder.path().join("city-2.txt")).unwrap();
    wait_until("the other feed's failure is notified", async || {
        list_sent(&hook).iter().any(|(sent_feed, _)| sent_feed == "city-2")
    })
    .await;
    assert_eq!(
        list_sent(&hook).iter().filter(|(sent_feed, _)| sent_feed == "city").count(),
        1,
        "{:?}",
        list_sent(&hook)
    );
    write_data(folder.path(), "city");
    wait_until("the recovery is notified", async || has_sent(&hook, "city", "ok")).await;
    server.stop("-TERM");
}

#[tokio::test]
async fn a_reconfigured_target_receives_no_notification_twice() {
    let folder = tempfile::tempdir().unwrap();
    let takes = Arc::new(AtomicBool::new(true));
    let accepts = Arc::clone(&takes);
    let hook = Producer::answering(move |_| match accepts.load(Ordering::Acquire) {
        true => Reply::ok(""),
        false => Reply::refused("503 Service Unavailable", "later"),
    })
    .await;
    let to = hook.url("/taken");
    let alert = format!("[[alert]]\nto = {to:?}\nafter = \"0s\"\nquiet = \"0s\"\n");
    let config = write_config(folder.path(), &alert);
    let server = start(&config);
    wait_until("both failures are notified", async || {
        has_sent(&hook, "city", "failing") && has_sent(&hook, "city-2", "failing")
    })
    .await;
    let is_signed = |request: &String| request.to_lowercase().contains("webhook-signature: v1,");
    assert!(!hook.requests().iter().any(is_signed));

    // The hook refuses the end of the trouble, then the target's delivery changes.
    let n_sent = list_sent(&hook).len();
    takes.store(false, Ordering::Release);
    write_data(folder.path(), "city");
    wait_until("the end is refused", async || list_sent(&hook).len() > n_sent).await;
    let smtp = "[smtp]\nhost = \"127.0.0.1\"\nfrom = \"lineside@example.org\"\n";
    write_config(folder.path(), &format!("{smtp}{alert}secret = \"s\"\n"));
    wait_until("a signed notification arrives", async || hook.requests().iter().any(is_signed))
        .await;
    takes.store(true, Ordering::Release);
    write_data(folder.path(), "city-2");
    wait_until("the other feed's recovery is notified", async || has_sent(&hook, "city-2", "ok"))
        .await;
    let signed: Vec<String> = hook.requests().into_iter().filter(is_signed).collect();
    assert!(signed[0].contains("\"city\"") && signed[0].contains("\"ok\""), "{signed:?}");
    let troubles = list_sent(&hook).into_iter().filter(|(_, state)| state == "failing").count();
    assert_eq!(troubles, 2, "no notification is sent twice: {:?}", list_sent(&hook));
    server.stop("-TERM");
}

#[tokio::test]
async fn further_failures_wait_for_the_end_of_the_quiet_time() {
    let folder = tempfile::tempdir().unwrap();
    let city = folder.path().join("city.txt");
    write_data(folder.path(), "city");
    write_data(folder.path(), "city-2");
    let (loud, quiet) = (
        Producer::answering(|_| Reply::ok("")).await,
        Producer::answering(|_| Reply::ok("")).await,
    );
    let alert = |hook: &Producer, quiet: &str| {
        let to = hook.url("/taken");
        format!("[[alert]]\nto = {to:?}\nafter = \"0s\"\nquiet = {quiet:?}\n")
    };
    let keys = format!("{}{}", alert(&loud, "0s"), alert(&quiet, "1d"));
    let server = start(&write_config(folder.path(), &keys));
    wait_for_feed_state(&server.url, "city", "ok").await;
    wait_for_feed_state(&server.url, "city-2", "ok").await;
    let n_sent_for_city = |hook: &Producer| {
        list_sent(hook).iter().filter(|(sent_feed, _)| sent_feed == "city").count()
    };
    std::fs::remove_file(&city).unwrap();
    wait_until("both hear of the trouble", async || {
        n_sent_for_city(&loud) == 1 && n_sent_for_city(&quiet) == 1
    })
    .await;
    write_data(folder.path(), "city");
    wait_until("both hear of its end", async || {
        n_sent_for_city(&loud) == 2 && n_sent_for_city(&quiet) == 2
    })
    .await;
    std::fs::remove_file(&city).unwrap();
    wait_until("the one without a quiet time hears of more", async || n_sent_for_city(&loud) == 3)
        .await;
    // Another feed's trouble is not silenced, and follows that of the first feed.
    std::fs::remove_file(folder.path().join("city-2.txt")).unwrap();
    wait_until("the other feed's failure is notified", async || {
        has_sent(&quiet, "city-2", "stale")
    })
    .await;
    assert_eq!(n_sent_for_city(&quiet), 2, "{:?}", list_sent(&quiet));
    server.stop("-TERM");
}

#[tokio::test]
async fn state_changes_of_a_paused_feed_are_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    write_data(folder.path(), "city");
    write_data(folder.path(), "city-2");
    let hook = Producer::answering(|_| Reply::ok("")).await;
    let to = hook.url("/taken");
    let alert = format!("[[alert]]\nto = {to:?}\nafter = \"0s\"\nquiet = \"0s\"\n");
    let keys = format!("{}{alert}", admin::table());
    let server = start(&write_config(folder.path(), &keys));
    wait_for_feed_state(&server.url, "city", "ok").await;
    wait_for_feed_state(&server.url, "city-2", "ok").await;
    std::fs::remove_file(folder.path().join("city.txt")).unwrap();
    wait_for_feed_state(&server.url, "city", "stale").await;
    let pause = format!("{}/api/v1/admin/feeds/city/pause", server.url);
    let paused = client().post(pause).bearer_auth(TOKEN).send().await.unwrap();
    assert_eq!(paused.status(), 200);
    wait_for_feed_state(&server.url, "city", "paused").await;
    std::fs::remove_file(folder.path().join("city-2.txt")).unwrap();
    wait_until("the other feed's failure is notified", async || {
        list_sent(&hook).iter().any(|(sent_feed, _)| sent_feed == "city-2")
    })
    .await;
    let is_reported = ["failing", "paused"].iter().any(|state| has_sent(&hook, "city", state));
    assert!(!is_reported, "{:?}", list_sent(&hook));
    server.stop("-TERM");
}

#[tokio::test]
async fn undelivered_notifications_are_sent_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let takes = Arc::new(Mutex::new(false));
    let accepts = Arc::clone(&takes);
    let hook = Producer::answering(move |_| match *accepts.lock().unwrap() {
        true => Reply::ok(""),
        false => Reply::refused("503 Service Unavailable", "later"),
    })
    .await;
    let to = hook.url("/taken");
    let keys = format!("[[alert]]\nto = {to:?}\nafter = \"0s\"\n");
    let config = write_config(folder.path(), &keys);
    let server = start(&config);
    wait_until("it is refused", async || !notifications(&hook).is_empty()).await;
    server.stop("-KILL");
    let refused = notifications(&hook);
    *takes.lock().unwrap() = true;
    let server = start(&config);
    let has_retried = async || {
        let later = notifications(&hook).split_off(refused.len());
        later.iter().any(|notification| notification["id"] == refused[0]["id"])
    };
    wait_until("the notification is retried with the same id", has_retried).await;
    server.stop("-TERM");
}

/// Starts a mail server that accepts everything, and returns its mails.
async fn mail_server() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mails = Arc::new(Mutex::new(Vec::new()));
    let taken = Arc::clone(&mails);
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let taken = Arc::clone(&taken);
            tokio::spawn(async move {
                let (reader, mut writer) = socket.into_split();
                let mut lines = BufReader::new(reader).lines();
                writer.write_all(b"220 mail\r\n").await.unwrap();
                let mut mail: Option<String> = None;
                while let Ok(Some(line)) = lines.next_line().await {
                    let reply: &[u8] = match (&mut mail, line.as_str()) {
                        (Some(text), ".") => {
                            taken.lock().unwrap().push(text.clone());
                            mail = None;
                            b"250 taken\r\n"
                        }
                        (Some(text), line) => {
                            text.push_str(line);
                            text.push('\n');
                            continue;
                        }
                        (None, "DATA") => {
                            mail = Some(String::new());
                            b"354 go on\r\n"
                        }
                        (None, _) => b"250 fine\r\n",
                    };
                    if writer.write_all(reply).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    (port, mails)
}

#[tokio::test]
async fn failures_at_the_same_time_are_sent_in_one_mail() {
    let (port, mails) = mail_server().await;
    let folder = tempfile::tempdir().unwrap();
    let keys = format!(
        "[smtp]\nhost = \"127.0.0.1\"\nport = {port}\nsecurity = \"none\"\nfrom = \"Lineside <lineside@example.org>\"\n\
         [[alert]]\nto = \"mailto:control@example.org\"\nafter = \"0s\"\non = [\"state\"]\n"
    );
    let config = write_config(folder.path(), &keys);
    let server = start(&config);
    wait_until("mail comes", async || !mails.lock().unwrap().is_empty()).await;
    let mail = mails.lock().unwrap()[0].clone();
    for words in [
        "From: Lineside <lineside@example.org>",
        "To: control@example.org",
        "Subject: 2 feed notifications",
        "Auto-Submitted: auto-generated",
        "city is failing",
        "city-2 is failing",
    ] {
        assert!(mail.contains(words), "no {words:?} in {mail}");
    }
    server.stop("-TERM");
}
