//! A request that is answered and not yet counted.

use std::time::Duration;

use axum::response::Response;
use http::{HeaderName, StatusCode, header};

use crate::app::App;
use crate::http_metrics::EndpointFamily;

/// A request that is answered and not yet counted: until the reply goes out, a refusal can still replace it.
#[derive(Debug, Clone)]
pub(crate) struct UncountedRequest {
    pub family: EndpointFamily,
    pub duration: Duration,
    pub app: App,
}

impl UncountedRequest {
    /// Removes the count from a reply.
    pub(crate) fn take_from_response(response: &mut Response) -> Option<Self> {
        response.extensions_mut().remove()
    }

    /// Counts the request by the status that its client receives.
    pub(crate) fn count_with_status(self, status: StatusCode) {
        self.app.http_metrics().count_request(self.family, status, self.duration);
    }
}

/// Headers of every reply, including refusals.
const COMMON: [HeaderName; 6] = [
    header::DATE,
    header::ACCESS_CONTROL_ALLOW_ORIGIN,
    header::ACCESS_CONTROL_EXPOSE_HEADERS,
    header::STRICT_TRANSPORT_SECURITY,
    header::X_CONTENT_TYPE_OPTIONS,
    header::REFERRER_POLICY,
];

/// Copies the headers that every reply has from a reply that is discarded to the refusal that replaces it.
pub(crate) fn copy_common_headers(response: Response, mut refusal: Response) -> Response {
    for name in COMMON {
        if let Some(value) = response.headers().get(&name) {
            refusal.headers_mut().insert(name, value.clone());
        }
    }
    refusal
}
