//! Style, scripts and signs, embedded in the binary.
//!
//! Two folders: `web/plain` is served as it is written and is always there; `web/dist` is what the
//! bundler makes of the map, and may be missing from a binary built by `cargo build` alone. Every
//! address holds a hash of the content, so that browsers may keep it for ever: the bundler puts
//! one into each name, and the plain files, which import each other by relative names, share one
//! for their folder. Whatever is not there is 404, never a page.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rust_embed::{EmbeddedFile, RustEmbed};
use serde::Deserialize;
use xxhash_rust::xxh3::Xxh3Default;

/// A year, the longest that caches are known to honor (RFC 9111 sets no bound).
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");

/// The bundler's list of what it made of which source.
const MANIFEST: &str = "manifest.json";

#[derive(RustEmbed)]
#[folder = "../../web/plain/"]
struct Plain;

#[derive(RustEmbed)]
#[folder = "../../web/dist/"]
#[allow_missing = true]
#[exclude = "*.map"]
struct Dist;

/// One entry of the bundler's manifest.
#[derive(Debug, Deserialize)]
struct Chunk {
    file: String,
    #[serde(default)]
    css: Vec<String>,
}

/// What a page has to load for one of the bundled parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bundle {
    /// The address of the module.
    pub(super) script: String,
    /// The addresses of its style sheets.
    pub(super) styles: Vec<String>,
}

static PLAIN_HASH: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Xxh3Default::new();
    for name in sorted_names(Plain::iter()) {
        if let Some(file) = Plain::get(&name) {
            hash.update(name.as_bytes());
            hash.update(&file.data);
        }
    }
    format!("{:016x}", hash.digest())
});

static BUNDLES: LazyLock<BTreeMap<String, Chunk>> = LazyLock::new(|| {
    let manifest = Dist::get(MANIFEST).map(|file| file.data).unwrap_or_default();
    serde_json::from_slice(&manifest).unwrap_or_default()
});

pub(super) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/assets/plain/{hash}/{name}", get(serve_plain))
        .route("/assets/{name}", get(serve_bundled))
}

/// The address of a file of `web/plain`.
pub(super) fn plain(name: &str) -> String {
    format!("/assets/plain/{}/{name}", *PLAIN_HASH)
}

/// The bundle made of a source of `web/`, or nothing when this binary was built without.
pub(super) fn bundle(source: &str) -> Option<Bundle> {
    let chunk = BUNDLES.get(source)?;
    let address = |file: &String| format!("/assets/{file}");
    Some(Bundle { script: address(&chunk.file), styles: chunk.css.iter().map(address).collect() })
}

async fn serve_plain(Path((hash, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    // An old page may ask for files of an older binary: better none than ones that do not fit.
    let file = if hash == *PLAIN_HASH { Plain::get(&name) } else { None };
    serve(&name, file, &headers)
}

async fn serve_bundled(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let file = if name == MANIFEST { None } else { Dist::get(&name) };
    serve(&name, file, &headers)
}

fn serve(name: &str, file: Option<EmbeddedFile>, headers: &HeaderMap) -> Response {
    let Some(file) = file else { return not_found() };
    let etag = etag_of(&file);
    if headers.get(header::IF_NONE_MATCH).is_some_and(|held| *held == etag) {
        return (StatusCode::NOT_MODIFIED, [(header::ETAG, etag), (header::CACHE_CONTROL, FOR_EVER)])
            .into_response();
    }
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(media_type(name))),
        (header::CACHE_CONTROL, FOR_EVER),
        (header::ETAG, etag),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    match file.data {
        Cow::Borrowed(bytes) => (headers, bytes).into_response(),
        Cow::Owned(bytes) => (headers, bytes).into_response(),
    }
}

fn not_found() -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (StatusCode::NOT_FOUND, headers, "there is no such file\n").into_response()
}

fn etag_of(file: &EmbeddedFile) -> HeaderValue {
    let hash = file.metadata.sha256_hash();
    let hex: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    HeaderValue::try_from(format!("\"{hex}\""))
        .unwrap_or_else(|_| HeaderValue::from_static("\"\""))
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("css") => "text/css; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
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
    fn the_style_and_the_client_are_always_there() {
        for name in ["lineside.css", "state.js", "events.js", "board.js"] {
            assert!(Plain::get(name).is_some(), "{name} is missing from web/plain");
        }
    }

    #[test]
    fn every_module_that_a_plain_module_imports_is_there() {
        for name in Plain::iter().filter(|name| name.ends_with(".js")) {
            let file = Plain::get(&name).expect("it was just listed");
            let text = String::from_utf8(file.data.into_owned()).expect("modules are UTF-8");
            for imported in text.split("from \"./").skip(1).filter_map(|rest| rest.split('"').next()) {
                assert!(Plain::get(imported).is_some(), "{name} imports {imported}");
            }
        }
    }

    #[test]
    fn what_is_missing_is_not_found_and_what_is_there_is_kept_for_ever() {
        assert_eq!(serve("x.js", None, &HeaderMap::new()).status(), StatusCode::NOT_FOUND);
        let reply = serve("lineside.css", Plain::get("lineside.css"), &HeaderMap::new());
        assert_eq!(reply.headers()[header::CACHE_CONTROL], FOR_EVER);
        let mut again = HeaderMap::new();
        again.insert(header::IF_NONE_MATCH, reply.headers()[header::ETAG].clone());
        let reply = serve("lineside.css", Plain::get("lineside.css"), &again);
        assert_eq!(reply.status(), StatusCode::NOT_MODIFIED);
    }
}
