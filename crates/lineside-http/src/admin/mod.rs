//! `/api/v1/admin/…`: the part of the API for admins only.
//!
//! To add an address, merge its routes in [`routes`]: the guard there refuses others with 401, 403 or 429 before a
//! handler runs or a body is read. A handler that needs the admin's credential takes an
//! [`AdminCredential`](crate::admin_auth::AdminCredential) as an argument. The same argument guards a handler
//! elsewhere, and `Option<AdminCredential>` tells a page if an admin requests it. Replies are not cached unless a
//! handler sets `Cache-Control`.

mod config;
mod feeds;
mod guard;
mod profile;
mod session;

use axum::middleware;
use utoipa_axum::router::OpenApiRouter;

pub use self::feeds::{
    BODY_BYTES_MAX, next_page_before, parse_before_parameter, poll_now,
    source_test_timeout_message, test_source_with_timeout,
};
pub(super) use self::guard::authenticate_admin_for_reading;
pub use self::guard::{
    build_session_cookie, client_address, is_request_from_own_page, session_id_from_cookie,
};
pub use self::profile::{ProfileRequestGuard, record_profile};

use crate::app::App;
use crate::page_paths;

/// The prefix of all addresses here.
const PREFIX: &str = "/api/v1/admin";

/// Returns true if pages of other origins may not use an address.
pub(super) fn is_admin_path(path: &str) -> bool {
    [PREFIX, page_paths::OPS].iter().any(|path_prefix| path.starts_with(path_prefix))
        || path == page_paths::LOGIN
}

pub(super) fn routes(app: &App) -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(profile::routes())
        .merge(session::routes())
        .merge(feeds::routes())
        .merge(config::routes())
        .layer(middleware::from_fn_with_state(app.clone(), guard::require_admin))
}
