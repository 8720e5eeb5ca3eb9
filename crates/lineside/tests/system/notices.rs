//! Who runs feeds is told of trouble: by webhook, by mail, and after a restart only of what is new.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use crate::support::asked::{Producer, Reply};
use crate::support::http::get;
use crate::support::process::ServerProcess;

const PATIENCE: Duration = Duration::from_secs(30);

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "it did not come that {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// What a hook was sent: the notices of all messages that it took.
fn notices(hook: &Producer) -> Vec<Value> {
    let bodies = hook.requests().into_iter().filter(|request| request.starts_with("POST /taken"));
    bodies
        .flat_map(|request| {
            let body = request.split_once("\r\n\r\n").unwrap().1;
            let message: Value = serde_json::from_str(body).unwrap();
            assert!(message["text"].as_str().unwrap().contains("city"), "{message}");
            message["notices"].as_array().unwrap().clone()
        })
        .collect()
}

fn told(hook: &Producer) -> Vec<String> {
    notices(hook).iter().map(|notice| notice["state"].as_str().unwrap().to_owned()).collect()
}

fn write_config(folder: &std::path::Path, keys: &str) -> String {
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndata_dir = \"data\"\ndrain = \"0s\"\n\
         [[feed]]\nid = \"city\"\nurl = \"city.txt\"\nformat = \"raw\"\npoll = \"1s\"\n{keys}"
    );
    let file = folder.join("lineside.toml");
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn trouble_is_told_once_and_its_end_also_across_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("city.txt");
    let hook = Producer::start(|_| Reply::ok("")).await;
    let to = hook.url("/taken");
    let keys = format!("[[alert]]\nto = {to:?}\nafter = \"0s\"\nquiet = \"0s\"\nsecret = \"s\"\n");
    let config = write_config(folder.path(), &keys);
    let start = || ServerProcess::start(&["serve", "--config", &config]);

    let server = start();
    until("trouble is told", || told(&hook) == ["failing"]).await;
    let first = &notices(&hook)[0];
    assert_eq!((&first["kind"], &first["previous"]), (&"state".into(), &"ok".into()));
    assert!(first["reason"].as_str().unwrap().starts_with("file: "), "{first}");
    assert!(first["feed"]["url"].as_str().unwrap().ends_with("/feeds/city"), "{first}");
    let request = hook.requests().remove(0).to_lowercase();
    assert!(request.contains("webhook-signature: v1,") && request.contains("webhook-id: "));
    let atom = get(&format!("{}/incidents.atom", server.url)).await.text().await.unwrap();
    assert!(atom.contains("<title>city: failing</title>"), "{atom}");
    let metrics = format!("{}/metrics", server.url);
    let deadline = Instant::now() + PATIENCE;
    while !get(&metrics).await.text().await.unwrap().contains("lineside_notices_sent_total 1\n") {
        assert!(Instant::now() < deadline, "it is not counted");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    server.stop("-TERM");

    // The trouble goes on; it was told, and so was a restart of no interest to anybody.
    let server = start();
    std::fs::write(&data, "what the city says").unwrap();
    until("the end is told", || told(&hook).len() > 1).await;
    assert_eq!(told(&hook), ["failing", "ok"]);
    server.stop("-TERM");
}

#[tokio::test]
async fn what_a_hook_did_not_take_is_told_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let takes = Arc::new(Mutex::new(false));
    let asked = Arc::clone(&takes);
    let hook = Producer::start(move |_| match *asked.lock().unwrap() {
        true => Reply::ok(""),
        false => Reply::refused("503 Service Unavailable", "later"),
    })
    .await;
    let to = hook.url("/taken");
    let keys = format!("[[alert]]\nto = {to:?}\nafter = \"0s\"\n");
    let config = write_config(folder.path(), &keys);
    let server = ServerProcess::start(&["serve", "--config", &config]);
    until("it is refused", || !hook.requests().is_empty()).await;
    server.stop("-KILL");
    let refused = notices(&hook);
    *takes.lock().unwrap() = true;
    let server = ServerProcess::start(&["serve", "--config", &config]);
    until("it is told again", || notices(&hook).len() > refused.len()).await;
    assert_eq!(notices(&hook).last().unwrap()["id"], refused[0]["id"], "known as the same");
    server.stop("-TERM");
}

/// A mail server that takes everything, and what it was given.
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
async fn a_mailbox_gets_one_mail_about_all_that_failed_together() {
    let (port, mails) = mail_server().await;
    let folder = tempfile::tempdir().unwrap();
    let keys = format!(
        "[[feed]]\nid = \"city-2\"\nurl = \"other.txt\"\nformat = \"raw\"\npoll = \"1s\"\n\
         [smtp]\nhost = \"127.0.0.1\"\nport = {port}\nsecurity = \"none\"\nfrom = \"Lineside <lineside@example.org>\"\n\
         [[alert]]\nto = \"mailto:control@example.org\"\nafter = \"0s\"\non = [\"state\"]\n"
    );
    let config = write_config(folder.path(), &keys);
    let server = ServerProcess::start(&["serve", "--config", &config]);
    until("mail comes", || !mails.lock().unwrap().is_empty()).await;
    let mail = mails.lock().unwrap()[0].clone();
    for words in [
        "From: Lineside <lineside@example.org>",
        "To: control@example.org",
        "Subject: 2 notices about feeds",
        "Auto-Submitted: auto-generated",
        "city is failing",
        "city-2 is failing",
    ] {
        assert!(mail.contains(words), "no {words:?} in {mail}");
    }
    server.stop("-TERM");
}
