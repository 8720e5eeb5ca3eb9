//! The request that a page answers, and the site that it is a page of.
//!
//! A page's frame needs both for its links: the operator's name, the server's own address, and the address that was asked
//! for. The router puts them around each request once, so no page passes them on.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;
use crate::config::SiteConfig;

tokio::task_local! {
    static CONTEXT: PageContext;
}

/// A request, as the frame of its page sees it.
#[derive(Debug, Clone)]
pub(crate) struct PageContext {
    app: App,
    uri: Uri,
    host: Option<HeaderValue>,
}

/// Answers a request within its context.
pub(crate) async fn provide_context(
    State(app): State<App>,
    request: Request,
    next: Next,
) -> Response {
    let host = request.headers().get(header::HOST).cloned();
    let context = PageContext { app, uri: request.uri().clone(), host };
    CONTEXT.scope(context, next.run(request)).await
}

/// Runs `work` within the present context, also on another thread.
pub(crate) fn keep_context<T>(work: impl FnOnce() -> T) -> impl FnOnce() -> T {
    let context = current_context();
    move || match context {
        Some(context) => CONTEXT.sync_scope(context, work),
        None => work(),
    }
}

/// The context of the request that is answered; none outside of the router, as in unit tests.
pub(super) fn current_context() -> Option<PageContext> {
    CONTEXT.try_with(PageContext::clone).ok()
}

/// The operator's name, logo and links.
pub(super) fn current_site() -> SiteConfig {
    current_context().map_or_else(SiteConfig::default, |context| context.app.config().site.clone())
}

impl PageContext {
    /// The running server.
    pub(super) fn app(&self) -> &App {
        &self.app
    }

    /// The path that was asked for, as it was sent.
    pub(super) fn request_path(&self) -> &str {
        self.uri.path()
    }

    /// The server's address, as the sender of this request wrote it, without a slash at its end.
    pub(super) fn base_address(&self) -> String {
        let headers: HeaderMap =
            self.host.iter().map(|host| (header::HOST, host.clone())).collect();
        self.app.base_url(&headers)
    }

    /// The server's address by its configuration; none without `public_url`.
    pub(super) fn public_address(&self) -> Option<String> {
        let server = &self.app.config().server;
        server.public_url.as_ref().map(|_| server.base_url())
    }
}
