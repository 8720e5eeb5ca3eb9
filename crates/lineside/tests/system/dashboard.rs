//! The dashboard's pages for admins, with forms only, as a browser without scripts sends them.

use std::path::Path;

use lineside_testkit::{wait_until, wait_until_ready};
use reqwest::{Method, Response};
use serde_json::Value;

use crate::support::http::{client, get, get_json, get_with};
use crate::support::process::ServerProcess;
use crate::support::producer::{Answer, Producer, answer};

const TOKEN: &str = "a token for tests, and long enough";
const OWN_PAGE: (&str, &str) = ("sec-fetch-site", "same-origin");

fn configure(folder: &Path, producer: &Producer) {
    let url = producer.url("/a?key=hunter2");
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\ndata_dir = \"data\"\n\
         [admin]\ntoken = \"{TOKEN}\"\n\
         [[feed]]\nid = \"a\"\nname = \"A <feed>\"\nurl = \"{url}\"\nformat = \"raw\"\npoll = \"1h\"\n\
         headers = {{ X-Key = \"hunter3\" }}\n"
    );
    std::fs::write(folder.join("lineside.toml"), text).unwrap();
}

async fn producer() -> Producer {
    let reply = answer("200 OK", &["etag: \"1\""], b"bytes");
    Producer::start(Answer::Conditional("\"1\"", reply)).await
}

/// A server with the feed `a` in its file, and a browser that is logged in.
struct Browser {
    process: ServerProcess,
    cookie: String,
}

impl Browser {
    async fn start(folder: &Path) -> Self {
        let config = folder.join("lineside.toml");
        let process = ServerProcess::start(&["serve", "--config", config.to_str().unwrap()]);
        wait_until_ready(&process.url).await;
        let form = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("token", TOKEN)
            .finish();
        let login = client().post(format!("{}/login", process.url)).body(form);
        let entered = login.send().await.unwrap();
        let cookie = entered.headers()["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { process, cookie }
    }

    /// Returns a page's text.
    async fn page(&self, path: &str) -> String {
        let url = format!("{}{path}", self.process.url);
        let page = get_with(&url, &[("cookie", &self.cookie)]).await;
        assert_eq!(page.status(), 200, "{path}");
        assert_eq!(page.headers()["cache-control"], "no-store", "{path}");
        let text = page.text().await.unwrap();
        assert!(!text.contains("hunter"), "{path} shows a secret");
        text
    }

    /// Sends a form as from a page of the server.
    async fn send(&self, path: &str, fields: &[(&str, &str)]) -> Response {
        let headers = [("cookie", self.cookie.as_str()), OWN_PAGE];
        send_with(&format!("{}{path}", self.process.url), fields, &headers).await
    }

    /// Sends a form, asserts success, and returns the address of the redirect.
    async fn do_it(&self, path: &str, fields: &[(&str, &str)]) -> String {
        let done = self.send(path, fields).await;
        let status = done.status().as_u16();
        let location = location(&done).to_owned();
        assert_eq!(status, 303, "{path}: {}", done.text().await.unwrap());
        location
    }

    async fn feed(&self, id: &str) -> Value {
        get_json(&format!("{}/api/v1/feeds/{id}", self.process.url)).await
    }

    /// Returns the overridden keys of the feed `a`.
    async fn keys(&self) -> Value {
        let url = format!("{}/api/v1/admin/feeds/a", self.process.url);
        let reply = client().get(url).bearer_auth(TOKEN).send().await.unwrap();
        let reply: Value = serde_json::from_str(&reply.text().await.unwrap()).unwrap();
        reply["keys"].clone()
    }
}

async fn send_with(url: &str, fields: &[(&str, &str)], headers: &[(&str, &str)]) -> Response {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields);
    let mut request = client().request(Method::POST, url).body(form.finish());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap()
}

fn location(response: &Response) -> &str {
    response.headers().get("location").map_or("", |address| address.to_str().unwrap())
}

/// Returns the value of a hidden field in a page.
fn hidden<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\""))?;
    rest.split('"').next()
}

#[tokio::test]
async fn only_admins_change_feeds_and_only_from_pages_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &producer().await);
    let browser = Browser::start(folder.path()).await;
    let server = &browser.process.url;
    for (path, back) in [
        ("/ops/feeds/a", "/login?next=%2Fops%2Ffeeds%2Fa"),
        ("/ops/add", "/login?next=%2Fops%2Fadd"),
        ("/ops/history?before=7", "/login?next=%2Fops%2Fhistory%3Fbefore%3D7"),
        ("/ops/feeds/a/remove", "/login?next=%2Fops%2Ffeeds%2Fa%2Fremove"),
        ("/ops/profile?seconds=1", "/login?next=%2Fops%2Fprofile%3Fseconds%3D1"),
    ] {
        let redirect_reply = get(&format!("{server}{path}")).await;
        assert_eq!((redirect_reply.status().as_u16(), location(&redirect_reply)), (303, back));
    }
    let forms = [
        "/ops/feeds/a",
        "/ops/feeds/a/poll",
        "/ops/feeds/a/pause",
        "/ops/feeds/a/remove",
        "/ops/feeds/a/revert",
        "/ops/feeds/a/history/1/undo",
    ];
    let fields = [("do", "apply"), ("name", "Another"), ("was.name", "A <feed>")];
    for path in forms {
        let url = format!("{server}{path}");
        let redirect_reply = send_with(&url, &fields, &[OWN_PAGE]).await;
        let back = "/login?next=%2Fops%2Ffeeds%2Fa";
        assert_eq!(
            (redirect_reply.status().as_u16(), location(&redirect_reply)),
            (303, back),
            "{path}"
        );
        for foreign_header in [("sec-fetch-site", "cross-site"), ("origin", "https://example.org")]
        {
            let headers = [("cookie", browser.cookie.as_str()), foreign_header];
            let refused = send_with(&url, &fields, &headers).await;
            assert_eq!(refused.status(), 403, "{path} {foreign_header:?}");
            assert!(refused.headers()["content-type"].to_str().unwrap().starts_with("text/html"));
        }
    }
    assert_eq!(browser.feed("a").await["name"], "A <feed>");
    assert!(!browser.page("/ops/history").await.contains("Changed"), "nothing was done");
}

#[tokio::test]
async fn a_change_is_previewed_applied_and_undone() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &producer().await);
    let browser = Browser::start(folder.path()).await;
    let page = browser.page("/ops/feeds/a").await;
    assert!(page.contains("A &lt;feed&gt;") && page.contains("Unchanged"), "{page}");
    assert_eq!(hidden(&page, "was.poll"), Some("1h"));
    // Invalid values are reported at their fields, and nothing is changed.
    let wrong = [("do", "apply"), ("poll", "soon"), ("was.poll", "1h"), ("rate", "often")];
    let refused = browser.send("/ops/feeds/a", &wrong).await;
    assert_eq!(refused.status(), 422);
    let page = refused.text().await.unwrap();
    for expected in ["id=\"e-poll\"", "id=\"e-rate\"", "href=\"#f-poll\"", "value=\"soon\""] {
        assert!(page.contains(expected), "no {expected} in {page}");
    }
    assert_eq!(page.matches(" autofocus").count(), 1, "the focus is at the first of them");
    // A preview changes nothing.
    let fields = [
        ("poll", "30m"),
        ("was.poll", "1h"),
        ("headers.name.0", "X-Key"),
        ("was.headers.name.0", "X-Key"),
        ("headers.name.1", "X-More"),
        ("headers.value.1", "hunter4"),
    ];
    let preview = browser.send("/ops/feeds/a", &[&[("do", "preview")], &fields[..]].concat()).await;
    assert_eq!(preview.status(), 200);
    let page = preview.text().await.unwrap();
    for expected in ["id=\"preview\"", "<del>1h</del>", "<ins>30m</ins>", "headers.X-More"] {
        assert!(page.contains(expected), "no {expected} in {page}");
    }
    assert!(!page.contains("hunter"), "a secret is not shown to who gave it either");
    assert_eq!(browser.keys().await, serde_json::json!({}));
    // The secret need not be entered again.
    let draft = hidden(&page, "draft").expect("a name for the secrets that were given").to_owned();
    let apply_fields = [&[("do", "apply"), ("draft", &draft)], &fields[..5]].concat();
    let next = browser.do_it("/ops/feeds/a", &apply_fields).await;
    assert_eq!(next, "/ops/feeds/a?done=apply&feed=a");
    assert!(browser.page(&next).await.contains("a is changed."));
    let keys = browser.keys().await;
    let both = serde_json::json!({"X-Key": "***", "X-More": "***"});
    assert_eq!((&keys["poll"], &keys["headers"]), (&Value::from("30m"), &both));
    // The change survives a restart.
    browser.process.stop("-TERM");
    let browser = Browser::start(folder.path()).await;
    assert_eq!(browser.keys().await["poll"], "30m");
    let page = browser.page("/ops/feeds/a").await;
    assert!(page.contains("Overridden") && page.contains("poll = &quot;30m&quot;"));
    // Undo it by the key, and by the edit.
    let back = [("do", "apply"), ("poll", "30m"), ("was.poll", "30m"), ("back", "poll")];
    browser.do_it("/ops/feeds/a", &back).await;
    assert_eq!(browser.keys().await["poll"], Value::Null);
    let history = browser.page("/ops/history").await;
    let undo = |page: &str| {
        let form = page.split("method=\"post\" action=\"").nth(1).unwrap();
        form.split('"').next().unwrap().to_owned()
    };
    let forms =
        history.matches("/undo\"").count() - history.matches("href=\"/ops/feeds/a/history").count();
    assert_eq!(forms, 1, "the first edit changed the same key");
    let path = &undo(&history);
    let next = browser.do_it(path, &[("next", "/ops/history")]).await;
    assert_eq!(next, "/ops/history?done=undo&feed=a");
    assert_eq!(browser.keys().await["poll"], "30m");
    // Restoring values that other edits changed since is previewed first.
    let apply_fields = [("do", "apply"), ("poll", "45m"), ("was.poll", "30m")];
    browser.do_it("/ops/feeds/a", &apply_fields).await;
    let history = browser.page("/ops/feeds/a").await;
    let restore = history.split("href=\"").find(|text| text.starts_with("/ops/feeds/a/history/"));
    let restore = restore.unwrap().split('"').next().unwrap();
    let page = browser.page(restore).await;
    assert!(page.contains("<del>45m</del>") && page.contains("name=\"overwrite\""), "{page}");
    assert_eq!(browser.keys().await["poll"], "45m", "a preview changes nothing");
    browser.do_it(restore, &[("overwrite", "true")]).await;
    assert_ne!(browser.keys().await["poll"], "45m");
    browser.do_it("/ops/feeds/a/revert", &[]).await;
    assert_eq!(browser.keys().await, serde_json::json!({}));
}

#[tokio::test]
async fn a_feed_is_added_paused_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let producer = producer().await;
    configure(folder.path(), &producer);
    let browser = Browser::start(folder.path()).await;
    let url = producer.url("/b");
    let refused = browser.send("/ops/add", &[("do", "apply"), ("id", "a b"), ("url", &url)]).await;
    assert_eq!(refused.status(), 422);
    assert!(refused.text().await.unwrap().contains("id=\"e-id\""));
    let conflict = browser.send("/ops/add", &[("do", "apply"), ("id", "a"), ("url", &url)]).await;
    assert_eq!(conflict.status(), 422);
    // The last value is the default.
    let fields =
        [("id", "new"), ("url", &url), ("format", "raw"), ("poll", "1h"), ("late_after", "5m")];
    let listed = |html: &str| -> Vec<String> {
        let keys = html.split("<dt><code>").skip(1);
        keys.map(|key| key.split('<').next().unwrap().to_owned()).collect()
    };
    assert!(!browser.page("/ops/add").await.contains("value=\"apply\""), "first it is previewed");
    let taken = browser.send("/ops/add", &[("do", "test"), ("id", "a"), ("url", &url)]).await;
    assert_eq!(taken.status(), 422);
    assert!(taken.text().await.unwrap().contains("data-existing=\"a\""));
    let closed = [("do", "test"), ("id", "new"), ("url", "http://127.0.0.1:1/x")];
    let failed = browser.send("/ops/add", &closed).await.text().await.unwrap();
    assert!(failed.contains("data-despite-failure"), "{failed}");
    let preview = browser.send("/ops/add", &[&[("do", "preview")], &fields[..]].concat()).await;
    let page = preview.text().await.unwrap();
    for part in ["id=\"source-test\"", "data-hint=\"raw\"", "id=\"preview\"", "value=\"apply\""] {
        assert!(page.contains(part), "no {part} in {page}");
    }
    assert!(!page.contains("data-despite-failure"), "{page}");
    let previewed = listed(&page);
    assert_eq!(previewed, ["format", "late_after", "poll", "url"], "{page}");
    assert_eq!(producer.count_requests("/b"), 1, "a preview requests the source");
    assert_eq!(get(&format!("{}/api/v1/feeds/new", browser.process.url)).await.status(), 404);
    let tested = browser.send("/ops/add", &[&[("do", "test")], &fields[..]].concat()).await;
    assert_eq!((tested.status().as_u16(), producer.count_requests("/b")), (200, 2));
    let page = tested.text().await.unwrap();
    assert!(page.contains("id=\"source-test\"") && page.contains("id=\"preview\""), "{page}");
    let next = browser.do_it("/ops/add", &[&[("do", "apply")], &fields[..]].concat()).await;
    assert_eq!(next, "/ops/feeds/new?done=add&feed=new");
    assert!(browser.page(&next).await.contains("new is added."));
    let history = browser.page("/ops/history").await;
    assert!(!history.contains("as in the file"), "the file does not have it: {history}");
    assert_eq!(listed(&history), previewed, "the history lists what the preview listed");
    // From then on it is polled once an hour, or on request.
    wait_until("its first poll has ended", async || browser.feed("new").await["state"] == "ok")
        .await;

    let list = [("next", "/ops?sort=name")];
    let next = browser.do_it("/ops/feeds/new/pause", &list).await;
    assert_eq!(next, "/ops?sort=name&done=pause&feed=new");
    assert!(browser.page(&next).await.contains("new is paused"));
    assert!(
        browser.page("/ops").await.contains("/ops/feeds/new/resume"),
        "the list knows it at once"
    );
    let is_paused = async || {
        let feed = browser.feed("new").await;
        feed["reason"].as_str().unwrap().starts_with("paused")
    };
    wait_until("it is paused", is_paused).await;
    let refused = browser.send("/ops/feeds/new/poll", &list).await;
    assert_eq!(refused.status(), 409, "a paused feed's source is left alone");
    assert!(refused.text().await.unwrap().contains("role=\"alert\""));
    browser.do_it("/ops/feeds/new/resume", &list).await;
    let n_requests = producer.count_requests("/b");
    browser.do_it("/ops/feeds/new/poll", &list).await;
    wait_until("its source is asked", async || producer.count_requests("/b") > n_requests).await;

    assert!(browser.page("/ops/feeds/new/remove").await.contains("Remove new?"));
    let next = browser.do_it("/ops/feeds/new/remove", &[]).await;
    assert_eq!(get(&format!("{}/api/v1/feeds/new", browser.process.url)).await.status(), 404);
    let page = browser.page(&next).await;
    assert!(page.contains("new is removed.") && page.contains("This feed was removed"), "{page}");
    let path = page.split('"').find(|text| text.ends_with("/undo")).unwrap();
    browser.do_it(path, &[]).await;
    assert_eq!(browser.feed("new").await["id"], "new");
    let headers = [("cookie", browser.cookie.as_str())];
    for nowhere in ["/ops/feeds/nothing", "/ops/feeds/new/polls", "/ops/feeds/nothing/remove"] {
        let url = format!("{}{nowhere}", browser.process.url);
        assert_eq!(get_with(&url, &headers).await.status(), 404, "{nowhere}");
    }
}

#[tokio::test]
async fn the_history_links_later_edits_and_names_a_restored_feed() {
    let folder = tempfile::tempdir().unwrap();
    let producer = producer().await;
    configure(folder.path(), &producer);
    let browser = Browser::start(folder.path()).await;
    let url = producer.url("/b");
    let fields = [("do", "apply"), ("id", "new"), ("url", &url), ("format", "raw"), ("poll", "1h")];
    browser.do_it("/ops/add", &fields).await;
    browser.do_it("/ops/feeds/new/remove", &[]).await;
    let row = |page: &str, action: &str| {
        let (before, row) = page.split_once(&format!("data-action=\"{action}\"")).expect(action);
        let id = before.rsplit("id=\"").next().unwrap().split('"').next().unwrap().to_owned();
        (id, row.split("</tr>").next().unwrap().to_owned())
    };
    let page = browser.page("/ops/history").await;
    let (removal, removed) = row(&page, "remove");
    let (_, added) = row(&page, "add");
    assert!(added.contains(&format!("href=\"#{removal}\"")), "undo that first: {added}");
    let undo = removed.split('"').find(|text| text.ends_with("/undo")).unwrap();
    browser.do_it(undo, &[]).await;
    let page = browser.page("/ops/history").await;
    let (restoration, restored) = row(&page, "restore");
    assert!(restored.contains(&format!("href=\"#{removal}\"")), "{restored}");
    assert!(restored.contains("<ins>1h</ins>") && !restored.contains("not set"), "{restored}");
    let (_, removed) = row(&page, "remove");
    assert!(removed.contains(&format!("href=\"#{restoration}\"")), "undone by it: {removed}");
}

#[tokio::test]
async fn a_login_link_with_a_configured_token_says_that_it_has_no_effect() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &producer().await);
    let browser = Browser::start(folder.path()).await;
    let login = async |query: &str| {
        let reply = get(&format!("{}/login{query}", browser.process.url)).await;
        assert_eq!((reply.status().as_u16(), reply.headers().get("set-cookie")), (200, None));
        reply.text().await.unwrap()
    };
    let noted = "data-notice=\"link_not_accepted\"";
    assert!(login(&format!("?token={TOKEN}")).await.contains(noted), "also the right token");
    assert!(!login("").await.contains("data-notice"));
}

#[tokio::test]
async fn visitors_of_a_public_dashboard_see_no_buttons() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), &producer().await);
    let file = folder.path().join("lineside.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("[admin]\n", "[admin]\npublic_ops = true\n")).unwrap();
    let browser = Browser::start(folder.path()).await;
    let seen = get(&format!("{}/ops", browser.process.url)).await;
    assert_eq!(seen.status(), 200);
    let seen = seen.text().await.unwrap();
    assert!(!seen.contains("method=\"post\"") && !seen.contains("/ops/profile"), "{seen}");
    let admins = browser.page("/ops").await;
    for form in ["/ops/feeds/a/poll", "/ops/feeds/a/pause", "/ops/profile", "/ops/add"] {
        assert!(admins.contains(&format!("\"{form}\"")), "no {form}");
    }
    let redirect_reply = get(&format!("{}/ops/feeds/a", browser.process.url)).await;
    assert_eq!(redirect_reply.status(), 303, "how a feed is configured is for admins");
}
