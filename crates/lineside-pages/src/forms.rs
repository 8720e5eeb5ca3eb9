//! The parser of submitted forms.

use axum::body::Bytes;
use axum::extract::Request;
use http::request::Parts;
use lineside_http::{QueryParameters, Refusal, limits};
use lineside_sync::real_time::run_with_timeout;

/// Reads the form's fields, with a size limit and a timeout.
pub(super) async fn read_form(
    request: Request,
    bytes_max: usize,
) -> Result<(Parts, QueryParameters), Refusal> {
    let (parts, body) = request.into_parts();
    let read = axum::body::to_bytes(body, bytes_max);
    let read: Option<Bytes> =
        run_with_timeout(limits::CALL_TIMEOUT, read).await.and_then(Result::ok);
    let body = read.ok_or_else(|| {
        lineside_http::bad_parameter_refusal("body", "is too large or did not come")
    })?;
    let text = String::from_utf8_lossy(&body);
    Ok((parts, QueryParameters::parse_query(&text)))
}
