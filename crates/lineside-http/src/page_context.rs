//! The request that a page answers, and the site of the page.
//!
//! A page's layout needs both for its links: the operator's name, the server's own address, and the requested address.
//! The router provides them around each request once, so no page passes them on.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::middleware::Next;
use axum::response::Response;
use lineside_config::SiteConfig;

use crate::app::App;

tokio::task_local! {
    static CONTEXT: PageContext;
}

/// A request as seen by the layout of its page.
#[derive(Debug, Clone)]
pub struct PageContext {
    app: App,
    uri: Uri,
    host: Option<HeaderValue>,
}

/// Handles a request within its context.
pub async fn run_with_page_context(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Response {
    let host = request.headers().get(header::HOST).cloned();
    let context = PageContext { app, uri: request.uri().clone(), host };
    CONTEXT.scope(context, next.run(request)).await
}

/// Runs `work` within the current context, also on another thread.
pub fn bind_page_context<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let context = current_page_context();
    move || match context {
        Some(context) => CONTEXT.sync_scope(context, work),
        None => work(),
    }
}

/// Returns the context of the current request; `None` outside of the router, as in unit tests.
pub fn current_page_context() -> Option<PageContext> {
    CONTEXT.try_with(PageContext::clone).ok()
}

/// Returns the operator's name, logo and links.
pub fn current_site_config() -> SiteConfig {
    current_page_context()
        .map_or_else(SiteConfig::default, |context| context.app.config().site.clone())
}

impl PageContext {
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Returns the requested path, as it was sent.
    pub fn request_path(&self) -> &str {
        self.uri.path()
    }

    /// Returns the server's address as the client wrote it, without a trailing slash.
    pub fn base_url(&self) -> String {
        let headers: HeaderMap =
            self.host.iter().map(|host| (header::HOST, host.clone())).collect();
        self.app.base_url(&headers)
    }

    /// Returns the server's configured address; `None` without `public_url`.
    pub fn configured_public_url(&self) -> Option<String> {
        let server = &self.app.config().server;
        server.public_url.as_ref().map(|_| server.base_url())
    }
}
