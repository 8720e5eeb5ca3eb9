//! The operator's external validators: their reports appear next to ours, and none of them blocks anything.

use std::path::Path;

use lineside_testkit::{wait_for_json, wait_for_metric, wait_until, wait_until_ready};
use serde_json::{Value, json};

use crate::reports::{FAR, schedule};
use crate::support::http::{get, get_json, get_text};
use crate::support::process::ServerProcess;
use crate::support::site::{configure, serve};

const FEED: &str = "[[feed]]\nid = \"city\"\nurl = \"city.zip\"\npoll = \"1s\"\n";
/// A validator that runs like the reference one: its output is a folder.
const CANONICAL: &str = "[[external_validator]]\nname = \"canonical\"\nformat = \"gtfs\"\n\
    command = [\"sh\", \"{config_dir}/judge.sh\", \"{input}\", \"{output}\", \"--key=hunter2\"]\n";
const VALIDATOR_SCRIPT: &str = "echo run >> \"$(dirname \"$0\")/runs\"\n\
    mkdir \"$2\" && cp \"$(dirname \"$0\")/theirs.json\" \"$2/report.json\"\n\
    echo \"read $(basename \"$1\") with hunter2\" >&2\n";
const BROKEN: &str =
    "echo run >> \"$(dirname \"$0\")/runs\"\necho 'no memory for hunter2' >&2\nexit 3\n";

/// Writes a file atomically.
fn put(folder: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(folder.join("new"), bytes).unwrap();
    std::fs::rename(folder.join("new"), folder.join(name)).unwrap();
}

fn find_validator<'a>(report: &'a Value, name: &str) -> &'a Value {
    let all = report["lineside"]["validators"].as_array().unwrap();
    all.iter().find(|it| it["name"] == name).unwrap_or(&Value::Null)
}

fn validator_report() -> Value {
    json!({"summary": {"validatorVersion": "8.0.0"}, "notices": [
        {"code": "point_near_origin", "severity": "ERROR", "totalNotices": 1, "sampleNotices": []},
        {"code": "of_somebody_else", "severity": "WARNING", "totalNotices": 1_007,
         "sampleNotices": [{"what": "<b>x</b> of hunter2"}]},
    ]})
}

async fn restart(folder: &Path) -> ServerProcess {
    let config = folder.join("lineside.toml");
    let server = ServerProcess::start(&["serve", "--config", config.to_str().unwrap()]);
    wait_until_ready(&server.url).await;
    server
}

fn version(report: &Value) -> String {
    report["lineside"]["version"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_external_report_is_shown_and_survives_a_failed_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder_path = folder.path();
    // A zip contains its time of creation.
    let bytes = schedule(FAR);
    put(folder_path, "city.zip", &bytes);
    put(folder_path, "judge.sh", VALIDATOR_SCRIPT.as_bytes());
    put(folder_path, "theirs.json", validator_report().to_string().as_bytes());
    let server = serve(folder_path, &format!("{CANONICAL}{FEED}")).await;
    let api = format!("{}/api/v1/feeds/city/report", server.url);
    let has_result =
        |report: &Value| find_validator(report, "canonical")["result"]["codes"].is_array();
    let first = wait_for_json(&api, has_result).await;
    let result_of_run = &find_validator(&first, "canonical")["result"];
    assert_eq!(
        (&result_of_run["kind"], &result_of_run["validator"]),
        (&json!("report"), &json!("8.0.0")),
        "{result_of_run}"
    );
    assert_eq!(result_of_run["version"], first["lineside"]["version"]);
    assert_eq!(result_of_run["stderr"], "read input.zip with ***\n");
    let codes = result_of_run["codes"].as_array().unwrap();
    let find_code = |code: &str| codes.iter().find(|it| it["code"] == code).unwrap();
    let other = json!({"code": "of_somebody_else", "ours": 0, "theirs": 1_007, "differs": true});
    assert_eq!(find_code("of_somebody_else"), &other);
    let same = json!({"code": "point_near_origin", "ours": 1, "theirs": 1, "differs": false});
    assert_eq!(find_code("point_near_origin"), &same);
    assert_eq!(codes.last().unwrap()["differs"], false, "what differs is first: {result_of_run}");
    let before = version(&first);
    let report_url = format!("{}/feeds/city/versions/{before}/report", server.url);
    for page in [format!("{}/feeds/city", server.url), report_url.clone()] {
        let page = get_text(&page).await;
        for part in ["report-beside", "of_somebody_else", "1\u{202f}007", "&lt;b&gt;x&lt;/b&gt;"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("hunter2") && !page.contains("<b>x"), "{page}");
    }

    // A failure on the next version leaves the earlier result, with its version.
    put(folder_path, "judge.sh", BROKEN.as_bytes());
    put(folder_path, "city.zip", &schedule("u,Up,59.9,10.7\n"));
    let failed = wait_for_json(&api, |report| {
        version(report) != before && find_validator(report, "canonical")["failed"].is_object()
    })
    .await;
    let it = find_validator(&failed, "canonical");
    assert_eq!(it["failed"]["reason"], "ended with exit code 3");
    assert_eq!(it["failed"]["text"], "no memory for ***\n");
    assert_eq!(it["failed"]["version"], failed["lineside"]["version"]);
    assert_eq!(
        (&it["result"]["version"], &it["result"]["codes"]),
        (&json!(before), &result_of_run["codes"])
    );
    let page = get_text(&format!("{}/feeds/city", server.url)).await;
    assert!(
        page.contains("Its newest run failed") && page.contains("a different version"),
        "{page}"
    );
    assert!(!get_text(&report_url).await.contains("newest run failed"));
    for line in ["lineside_validators_finished_total 1", "lineside_validators_failed_total 1"] {
        // A run's result is shown before the run is counted.
        wait_for_metric(&server.url, line).await;
    }
    assert!(server.stop("-TERM").0.success());

    // The next process knows both, and retries the failed run.
    put(folder_path, "judge.sh", VALIDATOR_SCRIPT.as_bytes());
    let server = restart(folder_path).await;
    let api = format!("{}/api/v1/feeds/city/report", server.url);
    let now = version(&failed);
    let mended = wait_for_json(&api, |report| {
        find_validator(report, "canonical")["result"]["version"] == now.as_str()
    })
    .await;
    assert_eq!(find_validator(&mended, "canonical")["failed"], Value::Null);
    let earlier = get_json(&format!("{api}?version={before}")).await;
    assert_eq!(find_validator(&earlier, "canonical")["result"]["codes"], result_of_run["codes"]);
    assert!(server.stop("-TERM").0.success());

    // A finished version is not validated again.
    let server = restart(folder_path).await;
    let api = format!("{}/api/v1/feeds/city/report", server.url);
    put(folder_path, "city.zip", &bytes);
    wait_for_json(&api, |report| {
        find_validator(report, "canonical")["result"]["version"] == before.as_str()
    })
    .await;
    let runs = std::fs::read_to_string(folder_path.join("runs")).unwrap();
    assert_eq!(runs.lines().count(), 4, "two versions, one of them again, and what came back");
    assert!(server.stop("-TERM").0.success());

    // A changed command runs again, even if it changed while the server was down.
    let config = std::fs::read_to_string(folder_path.join("lineside.toml")).unwrap();
    let other = config.replace("--key=hunter2\"", "--key=hunter2\", \"--strict\"");
    assert_ne!(config, other);
    put(folder_path, "lineside.toml", other.as_bytes());
    let server = restart(folder_path).await;
    wait_until("it has run once more", async || {
        let runs = std::fs::read_to_string(folder_path.join("runs")).unwrap();
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
    let folder_path = folder.path();
    put(folder_path, "city.zip", &schedule(""));
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
    let server = serve(folder_path, &format!("{all}{FEED}")).await;
    let api = format!("{}/api/v1/feeds/city/report", server.url);
    let names = ["coded", "crash", "hangs", "large", "missing", "silent", "text"];
    let is_done = |it: &Value| !it["result"].is_null() || !it["failed"].is_null();
    let report = wait_for_json(&api, |report| {
        names.iter().all(|name| is_done(find_validator(report, name)))
    })
    .await;
    assert_eq!(report["lineside"]["validators"].as_array().unwrap().len(), names.len(), "{report}");
    for (name, why) in [
        ("crash", "ended with exit code 4"),
        ("hangs", "did not end within 1s and was stopped"),
        ("large", "produced more than 33554432 bytes"),
        ("missing", "could not be started: there is no program \"no such program\""),
    ] {
        let it = find_validator(&report, name);
        let reason = it["failed"]["reason"].as_str().unwrap();
        assert!(reason.starts_with(why) && it["result"].is_null(), "{name}: {it}");
    }
    assert_eq!(
        find_validator(&report, "crash")["failed"]["text"],
        "line 3\n",
        "there was nothing else"
    );
    let find_result = |name: &str| find_validator(&report, name)["result"].clone();
    assert_eq!(find_result("coded")["ended"], "ended with exit code 1");
    assert_eq!(
        (find_result("coded")["kind"].clone(), find_result("coded")["errors"].clone()),
        (json!("report"), json!(0))
    );
    assert_eq!(
        (find_result("silent")["kind"].clone(), find_result("silent")["text"].clone()),
        (json!("text"), json!(""))
    );
    assert_eq!(find_result("text")["text"], "line 3: <i>no stop</i>\n");
    let page = get_text(&format!("{}/feeds/city", server.url)).await;
    for part in ["did not end within 1s", "It wrote nothing.", "line 3: &lt;i&gt;no stop&lt;/i&gt;"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    let feed = get_json(&format!("{}/api/v1/feeds/city", server.url)).await;
    assert_eq!(feed["state"], "ok", "{feed}");
    assert_eq!(get(&format!("{}/gtfs/city.zip", server.url)).await.status(), 200);

    // The configuration is reloaded: one validator has another program, the others are gone.
    let another = validator("text", "echo 'all is well'", "");
    configure(folder_path, &format!("{another}{FEED}"));
    let report = wait_for_json(&api, |report| {
        find_validator(report, "text")["result"]["text"] == "all is well\n"
    })
    .await;
    assert_eq!(report["lineside"]["validators"].as_array().unwrap().len(), 1, "{report}");
    server.stop("-TERM");
}
