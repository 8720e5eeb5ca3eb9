//! `lineside load`, as an operator runs it against a demo.

use std::net::TcpListener;
use std::process::Output;

use serde_json::Value;

use crate::support::process::{ServerProcess, lineside};
use crate::support::shared_demo;

#[track_caller]
fn check(arguments: &[&str], code: i32) -> String {
    let arguments = [&["load"], arguments].concat();
    let Output { status, stdout, stderr } =
        lineside(&arguments).env_remove("LINESIDE_API_KEY").output().unwrap();
    let output = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(code), "{arguments:?}\n{output}");
    output
}

/// Runs against the shared city for several of its polls, so that at least one happens on a busy machine.
fn run(more: &[&str]) -> (String, Value, String) {
    let folder = tempfile::tempdir().unwrap();
    let [json, graph] = ["load.json", "load.svg"].map(|name| folder.path().join(name));
    let (url, json_text, graph_text) =
        (shared_demo(), json.to_str().unwrap(), graph.to_str().unwrap());
    let common_arguments = [
        &url,
        "--sessions",
        "30",
        "--channel",
        "feed/city",
        "--transport",
        "sse",
        "--duration",
        "10s",
        "--json",
        json_text,
        "--graph",
        graph_text,
    ];
    let output = check(&[&common_arguments, more].concat(), 0);
    let metrics = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    (output, metrics, std::fs::read_to_string(&graph).unwrap())
}

#[test]
fn a_load_test_of_the_demo_reports_no_missing_messages() {
    let (output, metrics, graph) = run(&[]);
    assert!(output.contains("30 sessions over sse on feed/city"), "{output}");
    assert_eq!(metrics["connect"]["ready"], 30);
    assert_eq!(metrics["deliveries"]["missing"], 0);
    let publications = metrics["deliveries"]["publications"].as_u64().unwrap();
    assert!(publications >= 1, "{metrics}");
    assert!(metrics["connect"]["complete_ms"]["last"].as_f64().unwrap() > 0.0);
    // The city runs in this process, which is found by its port.
    assert_eq!(metrics["server_process"]["process"], std::process::id());
    assert!(graph.starts_with("<svg "));
}

#[test]
fn results_of_several_processes_are_merged() {
    let (output, metrics, _) = run(&["--processes", "3", "--ramp", "200/s"]);
    assert!(output.contains("client processes: 3"), "{output}");
    assert_eq!((&metrics["connect"]["ready"], &metrics["processes"]), (&30.into(), &3.into()));
    let deliveries = &metrics["deliveries"];
    assert_eq!(deliveries["missing"], 0);
    let publications = deliveries["publications"].as_u64().unwrap();
    assert!(publications >= 1 && deliveries["deliveries"].as_u64().unwrap() >= 30 * publications);
}

#[test]
fn sessions_on_a_feed_before_its_first_poll_count_as_ready() {
    // The producer accepts connections and never replies.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n\
         [[feed]]\nid = \"mute\"\nformat = \"gtfs-rt\"\nurl = \"http://{}/\"\ntimeout = \"60s\"\n",
        silent.local_addr().unwrap()
    );
    let server = ServerProcess::serving(folder.path(), text);
    for transport in [
        &["--transport", "websocket"][..],
        &["--transport", "websocket", "--format", "protobuf"],
        &["--transport", "sse"],
    ] {
        let common_arguments = ["--sessions", "5", "--channel", "feed/mute", "--duration", "100ms"];
        let output = check(&[&[server.url.as_str()], &common_arguments[..], transport].concat(), 0);
        assert!(output.contains("5 sessions are ready"), "{output}");
    }
}

#[test]
fn errors_are_explained_with_advice() {
    let nobody = ["http://127.0.0.1:1", "--sessions", "2", "--channel", "feed/city"];
    assert!(check(&nobody, 3).contains("no server listens there; start"));
    let unknown = ["--sessions", "2", "--channel", "feed/nowhere", "--transport", "sse"];
    let output = check(&[&[shared_demo().as_str()], &unknown[..]].concat(), 3);
    assert!(output.contains("404") && output.contains("feed/nowhere"), "{output}");
    let url = "http://127.0.0.1:1";
    assert!(check(&[url, "--sessions", "2"], 2).contains("--channel feed/<feed>"));
    assert!(check(&[url, "--sessions", "2", "--publish", "1"], 2).contains("LINESIDE_API_KEY"));
    assert!(check(&[url], 2).contains("--sessions"));
    assert!(check(&[url, "--sessions", "0", "--channel", "a/b"], 2).contains("at least 1"));
}

#[test]
fn the_help_has_examples() {
    let help = check(&["--help"], 0);
    for word in [
        "--sessions",
        "--publish",
        "--graph",
        "--ramp",
        "Examples:",
        "LINESIDE_API_KEY=",
        "SSL_CERT_FILE",
    ] {
        assert!(help.contains(word), "{word}: {help}");
    }
    assert!(!help.contains("--worker"), "{help}");
}
