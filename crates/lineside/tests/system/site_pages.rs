//! The metadata of pages for browsers, search engines and other sites; the page for missing addresses; the operator's
//! name.

use lineside_testkit::{wait_until, wait_until_ready};

use crate::support::http::{assert_problem, get, get_with, header, problem};
use crate::support::process::ServerProcess;
use crate::support::shared_demo;

const HTML: (&str, &str) = ("accept", "text/html");

async fn page(url: &str) -> String {
    get(url).await.text().await.unwrap()
}

/// Returns an attribute of the first element that contains the mark.
fn attribute<'a>(page: &'a str, mark: &str, name: &str) -> Option<&'a str> {
    let element = page.split('<').find(|element| element.contains(mark))?;
    element.split_once(&format!("{name}=\""))?.1.split('"').next()
}

fn title(page: &str) -> &str {
    page.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>")).unwrap().0
}

#[tokio::test]
async fn every_page_has_a_description_preview_image_and_canonical_address() {
    let server = shared_demo();
    for path in ["/", "/map", "/feeds/city", "/feeds/city/versions", "/delays/city"] {
        let page = page(&format!("{server}{path}")).await;
        assert!(!attribute(&page, "name=\"description\"", "content").unwrap().is_empty(), "{path}");
        assert_eq!(attribute(&page, "og:title", "content"), Some(title(&page)), "{path}");
        let canonical = attribute(&page, "rel=\"canonical\"", "href").unwrap();
        assert!(canonical.ends_with(path), "{path}: {canonical}");
        assert!(page.contains("name=\"theme-color\""), "{path}");
        let mut files = vec![attribute(&page, "og:image\"", "content").unwrap()];
        for mark in ["rel=\"icon\"", "rel=\"apple-touch-icon\"", "rel=\"manifest\""] {
            files.push(attribute(&page, mark, "href").unwrap());
        }
        for file in files {
            let file =
                if file.starts_with('/') { format!("{server}{file}") } else { file.to_owned() };
            assert_eq!(get(&file).await.status(), 200, "{path}: {file}");
        }
    }
    let front = page(&server).await;
    assert_eq!(
        attribute(&front, "og:image\"", "content"),
        Some(&*format!("{server}/site/preview.png"))
    );
}

#[tokio::test]
async fn a_page_with_an_atom_feed_has_a_visible_link_to_it() {
    let server = shared_demo();
    for path in ["/", "/feeds/city", "/ops"] {
        let page = page(&format!("{server}{path}")).await;
        let atom =
            attribute(&page, "rel=\"alternate\" type=\"application/atom+xml\"", "href").unwrap();
        let (_, main) = page.split_once("<main").unwrap();
        let link =
            main.find(&format!("href=\"{atom}\"")).unwrap_or_else(|| panic!("{path}: {page}"));
        let before = &main[..link];
        let folds = (before.matches("<details").count(), before.matches("</details>").count());
        assert_eq!(folds.0, folds.1, "{path}: not inside a fold");
    }
}

#[tokio::test]
async fn every_kind_of_page_has_its_own_description() {
    let server = shared_demo();
    let mut seen = std::collections::BTreeMap::new();
    let url = format!("{server}/api/v1/stops?limit=1");
    let stops = crate::support::http::get_json(&url).await;
    let stop = stops["items"][0]["id"].as_str().unwrap();
    let stop = format!("/stops/city/{stop}");
    for path in [
        "/",
        "/map",
        "/feeds/city",
        "/feeds/city/versions",
        "/networks/city",
        "/alerts/city",
        "/delays/city",
        "/rules",
        "/rules/E003",
        "/docs",
        &stop,
    ] {
        let page = page(&format!("{server}{path}")).await;
        let description = attribute(&page, "name=\"description\"", "content").unwrap().to_owned();
        assert!(description.len() > 20, "{path}: {description}");
        if let Some(other) = seen.insert(description.clone(), path.to_owned()) {
            // Pages without a description of their own share the general text: at most one page.
            panic!("{path} and {other} share {description:?}");
        }
    }
    let missing = get_with(&format!("{server}/validate/no-such-report"), &[HTML]).await;
    assert_eq!(
        (missing.status().as_u16(), header(&missing, "cache-control")),
        (404, "private, no-store")
    );
    assert!(missing.text().await.unwrap().contains("role=\"search\""));
}

#[tokio::test]
async fn the_title_names_the_content_of_the_page() {
    let server = shared_demo();
    let titled = async |path: &str| title(&page(&format!("{server}{path}")).await).to_owned();
    assert!(titled("/?q=harbour").await.contains("harbour"));
    let network = page(&format!("{server}/networks/city")).await;
    let (_, line) = network.split_once("href=\"/routes/city/").unwrap();
    let line = page(&format!("{server}/routes/city/{}", line.split('"').next().unwrap())).await;
    let name = title(&network).split(" · ").next().unwrap();
    let description = attribute(&line, "name=\"description\"", "content").unwrap();
    assert!(title(&line).contains(name) && description.contains(name), "{name}: {description}");
    let url = format!("{server}/api/v1/stops?limit=1");
    let stops = crate::support::http::get_json(&url).await;
    let stop = &stops["items"][0];
    let (id, name) = (stop["id"].as_str().unwrap(), stop["name"].as_str().unwrap());
    let on_map = titled(&format!("/map?stop=city:{id}")).await;
    assert!(on_map.contains(name), "{on_map}");
    assert!(titled(&format!("/stops/city/{id}")).await.contains(name));
    // A line of another network may have the same name.
    let line = page(&format!("{server}/routes/city/B21")).await;
    let description = attribute(&line, "name=\"description\"", "content").unwrap();
    for text in [title(&line), description] {
        assert!(text.contains("Line 21") && text.contains("Lindhaven"), "{text}");
    }
    assert_eq!(titled("/map").await, "Map · Lineside");
    // A shared link to a stop keeps the stop, without the rest of the view.
    let shared = page(&format!("{server}/map?at=1,2,3&stop=city-vehicles:{id}")).await;
    for (mark, name) in [("rel=\"canonical\"", "href"), ("og:url", "content")] {
        let address = attribute(&shared, mark, name).unwrap();
        assert!(address.ends_with(&format!("/map?stop=city:{id}")), "{address}");
    }
}

#[tokio::test]
async fn icons_manifest_and_robots_txt_are_served() {
    let server = shared_demo();
    for (path, kind) in [
        ("/favicon.ico", "image/x-icon"),
        ("/apple-touch-icon.png", "image/png"),
        ("/site/preview.png", "image/png"),
        ("/site.webmanifest", "application/manifest+json"),
        ("/robots.txt", "text/plain"),
    ] {
        let reply = get(&format!("{server}{path}")).await;
        assert_eq!(reply.status(), 200, "{path}");
        assert!(header(&reply, "content-type").starts_with(kind), "{path}");
    }
    let manifest = crate::support::http::get_json(&format!("{server}/site.webmanifest")).await;
    assert_eq!(manifest["name"], "Lineside");
    for icon in manifest["icons"].as_array().unwrap() {
        let icon = format!("{server}{}", icon["src"].as_str().unwrap());
        assert_eq!(get(&icon).await.status(), 200, "{icon}");
    }
}

#[tokio::test]
async fn the_documentation_can_be_searched() {
    let server = shared_demo();
    let page = get(&format!("{server}/docs?q=polling+retry-after")).await.text().await.unwrap();
    let (_, found) = page.split_once("id=\"found\"").unwrap();
    let (found, _) = found.split_once("</section>").unwrap();
    assert!(found.contains("href=\"/docs/operate/polling\""), "{found}");
    let page = get(&format!("{server}/docs?q=xyzzy")).await.text().await.unwrap();
    assert!(page.contains("data-found=\"0\""), "{page}");
}

#[tokio::test]
async fn a_missing_page_suggests_similar_addresses() {
    let server = shared_demo();
    for (path, suggested) in [
        ("/feeds/cites", "/feeds/city"),
        ("/feeds/city-vehicle", "/feeds/city-vehicles"),
        ("/feed/city", "/feeds/city"),
        ("/routes/city/nowhere", "/networks/city"),
        ("/maps", "/map"),
        ("/network", "/networks"),
        ("/network/city", "/networks/city"),
        ("/alert/city", "/alerts/city"),
        ("/rule", "/rules"),
    ] {
        let reply = get_with(&format!("{server}{path}"), &[HTML]).await;
        assert_eq!(reply.status(), 404, "{path}");
        let page = reply.text().await.unwrap();
        let (_, suggestions) =
            page.split_once("class=\"suggestions\"").unwrap_or_else(|| panic!("{path}"));
        let (suggestions, _) = suggestions.split_once("</p>").unwrap();
        assert!(suggestions.contains(&format!("href=\"{suggested}\"")), "{path}: {suggestions}");
        assert!(page.contains("role=\"search\"") && page.contains("noindex"), "{path}");
    }
    for path in ["/nothing/like/this", "/nope"] {
        let page = get_with(&format!("{server}{path}"), &[HTML]).await;
        assert_eq!(page.status(), 404);
        let page = page.text().await.unwrap();
        assert!(!page.contains("class=\"suggestions\""), "{page}");
        assert!(page.contains(&format!("class=\"missing-path\">{path}<")), "{page}");
    }
    assert_problem(404, "not_found", problem(&format!("{server}/nowhere")).await);
}

fn write_config(folder: &std::path::Path, site: &str) {
    let text = format!("[server]\nlisten = \"127.0.0.1:0\"\ndrain = \"0s\"\n{site}");
    let (new, file) = (folder.join("new.toml"), folder.join("lineside.toml"));
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, file).unwrap();
}

#[tokio::test]
async fn every_page_has_the_name_logo_and_links_of_the_operator() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("logo.svg"), "<svg xmlns=\"http://www.w3.org/2000/svg\"/>")
        .unwrap();
    let site = "[site]\nname = \"Transit & Co\"\nlogo = \"logo.svg\"\ncontact = \"data@example.org\"\n\
                imprint = \"https://example.org/imprint\"\nprivacy = \"https://example.org/privacy\"\n\
                accessibility = \"https://example.org/accessible\"\n";
    write_config(folder.path(), site);
    let config = folder.path().join("lineside.toml");
    let server = ServerProcess::start(&["serve", "--config", config.to_str().unwrap()]);
    wait_until_ready(&server.url).await;
    let url = &server.url;
    for path in ["/", "/map", "/login", "/nowhere"] {
        let page = get_with(&format!("{url}{path}"), &[HTML]).await.text().await.unwrap();
        assert!(title(&page).ends_with("· Transit &amp; Co"), "{path}: {}", title(&page));
        for link in [
            "mailto:data@example.org",
            "https://example.org/imprint",
            "https://example.org/privacy",
            "https://example.org/accessible",
        ] {
            assert!(page.contains(&format!("href=\"{link}\"")), "{path}: {link}");
        }
        assert!(page.contains("src=\"/site/logo\""), "{path}");
    }
    let logo = get(&format!("{url}/site/logo")).await;
    assert_eq!(header(&logo, "content-type"), "image/svg+xml");
    assert!(header(&logo, "content-security-policy").contains("sandbox"));
    write_config(folder.path(), "[site]\nname = \"Renamed\"\n");
    let is_renamed = async || title(&page(url).await).ends_with("· Renamed");
    wait_until("the new name is on the page", is_renamed).await;
    assert_eq!(get(&format!("{url}/site/logo")).await.status(), 404);
}
