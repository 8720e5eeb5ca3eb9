//! What a browser sends of a form.

use axum::body::Bytes;
use axum::extract::Request;
use http::request::Parts;

use crate::http::{Parameters, Refusal, limits};
use crate::patience::within;

/// The form's fields; a browser that stops in the middle is not waited for.
pub(super) async fn read_form(
    request: Request,
    bytes_max: usize,
) -> Result<(Parts, Parameters), Refusal> {
    let (parts, body) = request.into_parts();
    let read = axum::body::to_bytes(body, bytes_max);
    let read: Option<Bytes> = within(limits::CALL_TIMEOUT, read).await.and_then(Result::ok);
    let body = read.ok_or_else(|| crate::http::bad("body", "is too large or did not come"))?;
    let text = String::from_utf8_lossy(&body);
    Ok((parts, Parameters::parse(&text)))
}
