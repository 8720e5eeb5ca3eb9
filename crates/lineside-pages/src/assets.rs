//! Style sheets, scripts and icons, embedded in the binary.
//!
//! Two folders: `web/plain` is served as written and is always present; `web/dist` is the bundler's output for the map,
//! and may be missing from a binary built by `cargo build` alone. Every address contains a hash of the content, so that
//! browsers may cache it for a year: the bundler puts one into each name, and the plain files, which import each other
//! by relative names, share one for their folder. An unknown address returns a bare 404, never a page.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::HeaderValue;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use lineside_http::app::App;
use lineside_http::{Refusal, ReplyPreferences, Representation};
use rust_embed::{EmbeddedFile, RustEmbed};
use serde::Deserialize;
use xxhash_rust::xxh3::Xxh3Default;

/// The longest cache lifetime that caches honor (a year, as RFC 2616 said).
const FRESH_FOR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The bundler's list of outputs by source.
const MANIFEST: &str = "manifest.json";

#[derive(RustEmbed)]
#[folder = "../../web/plain/"]
struct UnbundledAssets;

#[derive(RustEmbed)]
#[folder = "../../web/dist/"]
#[allow_missing = true]
#[exclude = "*.map"]
struct BundledAssets;

/// One entry of the bundler's manifest.
#[derive(Debug, Deserialize)]
struct ManifestChunk {
    file: String,
    #[serde(default)]
    css: Vec<String>,
    /// Further entries that it imports.
    #[serde(default)]
    imports: Vec<String>,
}

/// The files that a page loads for one of the bundled parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AssetBundle {
    /// The address of the module.
    pub(super) script: String,
    /// The addresses of its style sheets.
    pub(super) styles: Vec<String>,
}

static PLAIN_HASH: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Xxh3Default::new();
    for name in sorted_names(UnbundledAssets::iter()) {
        if let Some(file) = UnbundledAssets::get(&name) {
            hash.update(name.as_bytes());
            hash.update(&file.data);
        }
    }
    format!("{:016x}", hash.digest())
});

static BUNDLES: LazyLock<BTreeMap<String, ManifestChunk>> = LazyLock::new(|| {
    let manifest = BundledAssets::get(MANIFEST).map(|file| file.data).unwrap_or_default();
    serde_json::from_slice(&manifest).unwrap_or_default()
});

pub(super) fn router() -> Router<App> {
    Router::new()
        .route("/assets/plain/{hash}/{name}", get(serve_unbundled_asset))
        .route("/assets/{name}", get(serve_bundled))
}

/// Returns the address of a file of `web/plain`.
pub(super) fn unbundled_asset_url(name: &str) -> String {
    format!("/assets/plain/{}/{name}", *PLAIN_HASH)
}

/// Returns the content of a file of `web/plain`.
pub(super) fn unbundled_asset_bytes(name: &str) -> Option<Bytes> {
    UnbundledAssets::get(name).map(|file| into_bytes(file.data))
}

/// Returns the bundle built from a source of `web/`, or `None` if this binary was built without it.
pub(super) fn find_bundle(source: &str) -> Option<AssetBundle> {
    resolve_bundle(&BUNDLES, source)
}

fn resolve_bundle(chunks: &BTreeMap<String, ManifestChunk>, source: &str) -> Option<AssetBundle> {
    let address = |file: &str| format!("/assets/{file}");
    let script = address(&chunks.get(source)?.file);
    let (mut styles, mut seen, mut open) = (BTreeSet::new(), BTreeSet::new(), vec![source]);
    while let Some(name) = open.pop() {
        if let Some(chunk) = chunks.get(name).filter(|_| seen.insert(name)) {
            styles.extend(chunk.css.iter().map(|file| address(file)));
            open.extend(chunk.imports.iter().map(String::as_str));
        }
    }
    Some(AssetBundle { script, styles: styles.into_iter().collect() })
}

async fn serve_unbundled_asset(
    State(app): State<App>,
    Path((hash, name)): Path<(String, String)>,
    preferences: ReplyPreferences,
) -> Response {
    // A cached page may request files of an older binary: no file is better than one that does not fit.
    let file = if hash == *PLAIN_HASH { UnbundledAssets::get(&name) } else { None };
    serve_file(&app, &name, file, &preferences).await
}

async fn serve_bundled(
    State(app): State<App>,
    Path(name): Path<String>,
    preferences: ReplyPreferences,
) -> Response {
    let file = if name == MANIFEST { None } else { BundledAssets::get(&name) };
    serve_file(&app, &name, file, &preferences).await
}

async fn serve_file(
    app: &App,
    name: &str,
    file: Option<EmbeddedFile>,
    preferences: &ReplyPreferences,
) -> Response {
    let Some(file) = file else { return Refusal::UnknownPath.into_response() };
    let body = into_bytes(file.data);
    let kind = HeaderValue::from_static(media_type(name));
    Representation::new(kind, body).with_freshness(FRESH_FOR).into_reply(preferences, app).await
}

fn into_bytes(data: Cow<'static, [u8]>) -> Bytes {
    match data {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => Bytes::from(bytes),
    }
}

pub(super) fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("gz") => "application/gzip",
        _ => "application/octet-stream",
    }
}

fn sorted_names(names: impl Iterator<Item = Cow<'static, str>>) -> Vec<Cow<'static, str>> {
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_sheet_and_client_scripts_are_embedded() {
        for name in ["lineside.css", "state.js", "events.js", "board.js"] {
            assert!(UnbundledAssets::get(name).is_some(), "{name} is missing from web/plain");
        }
    }

    #[test]
    fn every_import_of_a_plain_module_is_embedded() {
        for name in UnbundledAssets::iter().filter(|name| name.ends_with(".js")) {
            let file = UnbundledAssets::get(&name).expect("it was just listed");
            let text = String::from_utf8(file.data.into_owned()).expect("modules are UTF-8");
            for imported in
                text.split("from \"./").skip(1).filter_map(|rest| rest.split('"').next())
            {
                assert!(UnbundledAssets::get(imported).is_some(), "{name} imports {imported}");
            }
        }
    }

    #[test]
    fn a_bundle_includes_the_styles_of_its_imports() {
        let manifest = r#"{
            "map/main.js": {"file": "main-1.js", "imports": ["_a.js"]},
            "_a.js": {"file": "a-2.js", "css": ["a-3.css"], "imports": ["map/main.js"]}
        }"#;
        let chunks = serde_json::from_str(manifest).expect("a manifest");
        let bundle = resolve_bundle(&chunks, "map/main.js").expect("the bundle is there");
        assert_eq!(bundle.script, "/assets/main-1.js");
        assert_eq!(bundle.styles, ["/assets/a-3.css"]);
        assert_eq!(resolve_bundle(&chunks, "map/other.js"), None);
    }
}
