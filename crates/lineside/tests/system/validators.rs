//! The operator's external validators: their reports appear next to ours, and none of them blocks anything.

use std::path::Path;

use serde_json::{Value, json};

use crate::reports::{FAR, schedule, text, until_report};
use crate::support::http::{get, get_json};
use crate::support::process::ServerProcess;
use crate::support::site::{configure, serve};
use crate::support::until::{until, until_json};
use crate::support::until_ready;

const FEED: &str = "[[feed]]\nid = \"city\"\nurl = \"city.zip\"\npoll = \"1s\"\n";
/// A validator that runs like the reference one: its output is a folder.
const CANONICAL: &str = "[[external_validator]]\nname = \"canonical\"\nformat = \"gtfs\"\n\
    command = [\"sh\", \"{config_dir}/judge.sh\", \"{input}\", \"{output}\", \"--key=hunter2\"]\n";
const JUDGE: &str = "echo run >> \"$(dirname \"$0\")/runs\"\n\
    mkdir \"$2\" && cp \"$(dirname \"$0\")/theirs.json\" \"$2/report.json\"\n\
    echo \"read $(basename \"$1\") with hunter2\" >&2\n";
const BROKEN: &str =
    "echo run >> \"$(dirname \"$0\")/runs\"\necho 'no memory for hunter2' >&2\nexit 3\n";

/// Writes a file atomically.
fn put(folder: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(folder.join("new"), bytes).unwrap();
    std::fs::rename(folder.join("new"), folder.join(name)).unwrap();
}

/// Returns the report of the validator with this name.
fn of<'a>(report: &'a Value, name: &str) -> &'a Value {
    let all = report["lineside"]["validators"].as_array().unwrap();
    all.iter().find(|it| it["name"] == name).unwrap_or(&Value::Null)
}

fn theirs() -> Value {
    json!({"summary": {"validatorVersion": "8.0.0"}, "notices": [
        {"code": "point_near_origin", "severity": "ERROR", "totalNotices": 1, "sampleNotices": []},
        {"code": "of_somebody_else", "severity": "WARNING", "totalNotices": 1_007,
         "sampleNotices": [{"what": "<b>x</b> of hunter2"}]},
    ]})
}

async fn again(folder: &Path) -> ServerProcess {
    let config = folder.join("lineside.toml");
    let server = ServerProcess::start(&["serve", "--config", config.to_str().unwrap()]);
    until_ready(&server.url).await;
    server
}

fn version(report: &Value) -> String {
    report["lineside"]["version"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_external_report_is_shown_and_survives_a_failed_run() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    // A zip contains its time of creation.
    let bytes = schedule(FAR);
    put(place, "city.zip", &bytes);
    put(place, "judge.sh", JUDGE.as_bytes());
    put(place, "theirs.json", theirs().to_string().as_bytes());
    let server = serve(place, &format!("{CANONICAL}{FEED}")).await;
    let api = format!("{}/api/v1/feeds/city/report", server.url);
    let is_said = |report: &Value| of(report, "canonical")["said"]["codes"].is_array();
    let first = until_report(&api, is_said).await;
    let said = &of(&first, "canonical")["said"];
    assert_eq!((&said["kind"], &said["validator"]), (&json!("report"), &json!("8.0.0")), "{said}");
    assert_eq!(said["version"], first["lineside"]["version"]);
    assert_eq!(said["stderr"], "read input.zip with ***\n");
    let codes = said["codes"].as_array().unwrap();
    let of_code = |code: &str| codes.iter().find(|it| it["code"] == code).unwrap();
    let other = json!({"code": "of_somebody_else", "ours": 0, "theirs": 1_007, "differs": true});
    assert_eq!(of_code("of_somebody_else"), &other);
    let same = json!({"code": "point_near_origin", "ours": 1, "theirs": 1, "differs": false});
    assert_eq!(of_code("point_near_origin"), &same);
    assert_eq!(codes.last().unwrap()["differs"], false, "what differs is first: {said}");
    let before = version(&first);
    let stays = format!("{}/feeds/city/versions/{before}/report", server.url);
    for page in [format!("{}/feeds/city", server.url), stays.clone()] {
        let page = text(&page).await;
        for part in ["report-beside", "of_somebody_else", "1\u{202f}007", "&lt;b&gt;x&lt;/b&gt;"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("hunter2") && !page.contains("<b>x"), "{page}");
    }

    // A failure on the next version leaves the earlier result, with its version.
    put(place, "judge.sh", BROKEN.as_bytes());
    put(place, "city.zip", &schedule("u,Up,59.9,10.7\n"));
    let failed = until_json(&api, |report| {
        version(report) != before && of(report, "canonical")["failed"].is_object()
    })
    .await;
    let it = of(&failed, "canonical");
    assert_eq!(it["failed"]["reason"], "ended with exit code 3");
    assert_eq!(it["failed"]["text"], "no memory for ***\n");
    assert_eq!(it["failed"]["version"], failed["lineside"]["version"]);
    assert_eq!((&it["said"]["version"], &it["said"]["codes"]), (&json!(before), &said["codes"]));
    let page = text(&format!("{}/feeds/city", server.url)).await;
    assert!(
        page.contains("Its newest run failed") && page.contains("a different version"),
        "{page}"
    );
    assert!(!text(&stays).await.contains("newest run failed"));
    for line in ["lineside_validators_finished_total 1", "lineside_validators_failed_total 1"] {
        // A run's result is shown before the run is counted.
        let is_counted = async || text(&format!("{}/metrics", server.url)).await.contains(line);
        until(line, is_counted).await;
    }
    assert!(server.stop("-TERM").0.success());

    // The next process knows both, and retries the failed run.
    put(place, "judge.sh", JUDGE.as_bytes());
    let server = again(place).await;
    let api = format!("{}/api/v1/feeds/city/report", server.url);
    let now = version(&failed);
    let mended =
        until_report(&api, |report| of(report, "canonical")["said"]["version"] == now.as_str())
            .await;
    assert_eq!(of(&mended, "canonical")["failed"], Value::Null);
    let earlier = get_json(&format!("{api}?version={before}")).await;
    assert_eq!(of(&earlier, "canonical")["said"]["codes"], said["codes"]);
    assert!(server.stop("-TERM").0.success());

    // A finished version is not validated again.
    let server = again(place).await;
    let api = format!("{}/api/v1/feeds/city/report", server.url);
    put(place, "city.zip", &bytes);
    until_report(&api, |report| of(report, "canonical")["said"]["version"] == before.as_str())
        .await;
    let runs = std::fs::read_to_string(place.join("runs")).unwrap();
    assert_eq!(runs.lines().count(), 4, "two versions, one of them again, and what came back");
    assert!(server.stop("-TERM").0.success());

    // A changed command runs again, even if it changed while the server was down.
    let config = std::fs::read_to_string(place.join("lineside.toml")).unwrap();
    let other = config.replace("--key=hunter2\"", "--key=hunter2\", \"--strict\"");
    assert_ne!(config, other);
    put(place, "lineside.toml", other.as_bytes());
    let server = again(place).await;
    until("it has run once more", async || {
        let runs = std::fs::read_to_string(place.join("runs")).unwrap();
        runs.lines().count() == 5
    })
    .await;
    server.stop("-TERM");
}

fn validator(name: &str, script: &str, keys: &str) -> String {
    format!(
        "[[external_validator]]\nname = \"{name}\"\nformat = \"gtfs\"\ncommand = [\"sh\", \"-c\", {script:?}]\n{keys}"
    )
}

#[tokio::test]
async fn failures_of_a_validator_are_reported_and_block_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path();
    put(place, "city.zip", &schedule(""));
    let all = [
        validator("coded", "echo '{\"notices\": []}'; exit 1", ""),
        validator("crash", "echo 'line 3' ; exit 4", ""),
        validator("hangs", "sleep 1000", "timeout = \"1s\"\n"),
        validator("large", "head -c 40000000 /dev/zero", ""),
        validator("missing", "", "").replace("\"sh\"", "\"no such program\""),
        validator("other", "echo read", "").replace("\"gtfs\"", "\"netex\""),
        validator("silent", "true", ""),
        validator("text", "echo 'line 3: <i>no stop</i>'", ""),
    ]
    .concat();
    let server = serve(place, &format!("{all}{FEED}")).await;
    let api = format!("{}/api/v1/feeds/city/report", server.url);
    let names = ["coded", "crash", "hangs", "large", "missing", "silent", "text"];
    let is_done = |it: &Value| !it["said"].is_null() || !it["failed"].is_null();
    let report =
        until_report(&api, |report| names.iter().all(|name| is_done(of(report, name)))).await;
    assert_eq!(report["lineside"]["validators"].as_array().unwrap().len(), names.len(), "{report}");
    for (name, why) in [
        ("crash", "ended with exit code 4"),
        ("hangs", "did not end within 1s and was stopped"),
        ("large", "produced more than 33554432 bytes"),
        ("missing", "could not be started: there is no program \"no such program\""),
    ] {
        let it = of(&report, name);
        let reason = it["failed"]["reason"].as_str().unwrap();
        assert!(reason.starts_with(why) && it["said"].is_null(), "{name}: {it}");
    }
    assert_eq!(of(&report, "crash")["failed"]["text"], "line 3\n", "there was nothing else");
    let said = |name: &str| of(&report, name)["said"].clone();
    assert_eq!(said("coded")["ended"], "ended with exit code 1");
    assert_eq!(
        (said("coded")["kind"].clone(), said("coded")["errors"].clone()),
        (json!("report"), json!(0))
    );
    assert_eq!(
        (said("silent")["kind"].clone(), said("silent")["text"].clone()),
        (json!("text"), json!(""))
    );
    assert_eq!(said("text")["text"], "line 3: <i>no stop</i>\n");
    let page = text(&format!("{}/feeds/city", server.url)).await;
    for part in ["did not end within 1s", "It wrote nothing.", "line 3: &lt;i&gt;no stop&lt;/i&gt;"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let feed = get_json(&format!("{}/api/v1/feeds/city", server.url)).await;
    assert_eq!(feed["state"], "ok", "{feed}");
    assert_eq!(get(&format!("{}/gtfs/city.zip", server.url)).await.status(), 200);

    // The configuration is reloaded: one validator has another program, the others are gone.
    let another = validator("text", "echo 'all is well'", "");
    configure(place, &format!("{another}{FEED}"));
    let report =
        until_json(&api, |report| of(report, "text")["said"]["text"] == "all is well\n").await;
    assert_eq!(report["lineside"]["validators"].as_array().unwrap().len(), 1, "{report}");
    server.stop("-TERM");
}
