//! Files that browsers, search engines and other sites request by fixed names: icons, manifest, robots.txt, logo.

use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::response::Response;
use axum::routing::get;
use lineside_config::LOGO_BYTES_MAX;
use lineside_http::app::App;
use lineside_http::reply::producer_bytes_csp;
use lineside_http::{Refusal, ReplyPreferences, Representation};
use serde_json::json;
use tokio::io::AsyncReadExt as _;

use super::assets;

/// The address of the operator's logo.
pub(super) const LOGO: &str = "/site/logo";
/// The picture that other sites show next to a link to a page, 1200 by 630 pixels.
pub(super) const PREVIEW: &str = "/site/preview.png";
/// The manifest of the web application.
pub(super) const MANIFEST: &str = "/site.webmanifest";
/// The icon for the home screen of a phone, 180 by 180 pixels.
pub(super) const TOUCH_ICON: &str = "/apple-touch-icon.png";
/// The icon for browsers without SVG support.
pub(super) const ICON: &str = "/favicon.ico";

/// The cache lifetime of an icon.
const FRESH_FOR: Duration = Duration::from_secs(24 * 60 * 60);
/// The cache lifetime of files that depend on the configuration.
const CHANGING_FRESH_FOR: Duration = Duration::from_secs(5 * 60);

/// Excludes streams, files and the dashboard from search engines.
const ROBOTS: &str = "User-agent: *\n\
    Disallow: /api/\nDisallow: /connection/\nDisallow: /events\nDisallow: /geojson/\nDisallow: /gbfs/\n\
    Disallow: /gtfs/\nDisallow: /gtfs-rt/\nDisallow: /login\nDisallow: /metrics\nDisallow: /ops\n\
    Disallow: /proxy/\nDisallow: /resource/\nDisallow: /siri/\nDisallow: /validate/\n";

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(
            ICON,
            get(async |app, preferences| serve_embedded(app, preferences, "favicon.ico").await),
        )
        .route(
            TOUCH_ICON,
            get(async |app, preferences| serve_embedded(app, preferences, "icon-180.png").await),
        )
        .route(
            PREVIEW,
            get(async |app, preferences| serve_embedded(app, preferences, "preview.png").await),
        )
        .route(MANIFEST, get(get_web_app_manifest))
        .route("/robots.txt", get(get_robots))
        .route(LOGO, get(get_logo))
}

async fn serve_embedded(
    State(app): State<App>,
    preferences: ReplyPreferences,
    name: &'static str,
) -> Result<Response, Refusal> {
    let body = assets::unbundled_asset_bytes(name).ok_or(Refusal::UnknownPath)?;
    let kind = HeaderValue::from_static(assets::media_type(name));
    Ok(Representation::new(kind, body)
        .with_freshness(FRESH_FOR)
        .into_reply(&preferences, &app)
        .await)
}

async fn get_web_app_manifest(State(app): State<App>, preferences: ReplyPreferences) -> Response {
    let name = &app.config().site.name;
    let icon = |name: &str, sizes: &str, kind: &str| json!({ "src": assets::unbundled_asset_url(name), "sizes": sizes, "type": kind });
    let manifest = json!({
        "name": name,
        "short_name": name,
        "start_url": "/",
        "display": "minimal-ui",
        "background_color": "#f6f5f1",
        "theme_color": "#0b5a87",
        "icons": [
            icon("icon.svg", "any", "image/svg+xml"),
            icon("icon-192.png", "192x192", "image/png"),
            icon("icon-512.png", "512x512", "image/png"),
        ],
    });
    let kind = HeaderValue::from_static("application/manifest+json");
    let reply = Representation::new(kind, manifest.to_string());
    reply.with_freshness(CHANGING_FRESH_FOR).into_reply(&preferences, &app).await
}

async fn get_robots(State(app): State<App>, preferences: ReplyPreferences) -> Response {
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    Representation::new(kind, ROBOTS).with_freshness(FRESH_FOR).into_reply(&preferences, &app).await
}

async fn get_logo(
    State(app): State<App>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let config = app.config();
    let logo = config.site.logo.as_ref().ok_or(Refusal::UnknownPath)?;
    let unreadable = |error: std::io::Error| {
        tracing::warn!(path = %logo.path.display(), %error, "cannot read the logo");
        Refusal::UnknownPath
    };
    let file = tokio::fs::File::open(&logo.path).await.map_err(unreadable)?;
    let mut body = Vec::new();
    file.take(LOGO_BYTES_MAX).read_to_end(&mut body).await.map_err(unreadable)?;
    // Opened directly, an SVG would otherwise be a page of this server, with its scripts.
    let (policy, nothing) = producer_bytes_csp();
    let reply = Representation::new(HeaderValue::from_static(logo.media_type), body);
    let reply = reply.with_freshness(CHANGING_FRESH_FOR).with_header(policy, nothing);
    Ok(reply.into_reply(&preferences, &app).await)
}
