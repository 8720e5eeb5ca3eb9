//! `/api/v1/admin/profile`: a profile of the server's threads over some seconds.

use std::time::Duration;

use axum::extract::{FromRequestParts, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{HeaderValue, Method, header};
use lineside_profile::{ProfileFormat, RecordingError, SymbolizedProfile};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::guard::{is_request_from_own_page, is_url_typed_or_bookmarked};
use crate::admin_auth::AdminCredential;
use crate::app::App;
use crate::blocking::run_blocking;
use crate::errors::{Problem, Refusal};
use crate::parameters::{QueryParameters, bad_parameter_refusal};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_profile))
}

impl From<RecordingError> for Refusal {
    fn from(why: RecordingError) -> Self {
        match why {
            // The recording may have ended by the time that the client reads this.
            RecordingError::Busy(left) => Self::ProfileRunning(left.max(Duration::from_secs(1))),
            RecordingError::Unable(error) => Self::CannotProfile(error.to_string()),
        }
    }
}

/// Records a profile of the server's threads
///
/// The reply is sent when the recording has ended. Each thread is sampled 99 times per second of processor time; the
/// root of a stack is the thread's name, then its stage.
#[utoipa::path(
    get, path = "/api/v1/admin/profile", tag = "admin", security(("admin" = [])),
    params(
        ("seconds" = Option<u64>, Query, description = "Length in seconds, 1 to 60; default 10"),
        ("format" = Option<String>, Query, description = "`html`, an interactive flame graph (default); `svg`, the same as a picture; `folded` stacks; `pb`, gzip-compressed for pprof")
    ),
    responses(
        (status = 200, description = "The profile", content(
            (String = "text/html"), (String = "image/svg+xml"), (String = "text/plain"), (Vec<u8> = "application/octet-stream")
        )),
        (status = 400, description = "`bad_parameter`", body = Problem),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 403, description = "`other_origin`: a browser session and a link from another site", body = Problem),
        (status = 409, description = "`profile_running`: another recording is running; `Retry-After` has the wait", body = Problem),
        (status = 429, description = "`too_many_attempts`", body = Problem),
        (status = 501, description = "`cannot_profile`: the system does not support it", body = Problem)
    )
)]
async fn get_profile(
    State(app): State<App>,
    _: ProfileRequestGuard,
    parameters: QueryParameters,
) -> Result<Response, Refusal> {
    reply_with_profile(&app, &parameters).await
}

/// Replies with a recording of the requested length and format.
async fn reply_with_profile(app: &App, parameters: &QueryParameters) -> Result<Response, Refusal> {
    let choices = ProfileFormat::ALL
        .into_iter()
        .map(|profile_format| (profile_format.file_extension(), profile_format));
    let profile_format = parameters.parse_choice("format", choices)?.unwrap_or(ProfileFormat::Html);
    let recorded = record_profile(app, parameters).await?;
    let written =
        run_blocking(move || recorded.encode_profile(profile_format)).await?.map_err(|error| {
            tracing::error!(%error, "a profile could not be encoded");
            Refusal::Internal
        })?;
    Ok(build_profile_response(profile_format, written))
}

/// Extracts nothing, but refuses requests that should not start a recording: recording is a GET with a side effect, so
/// HEAD is refused, and so is an admin's browser that followed a link of another site.
#[derive(Debug)]
pub struct ProfileRequestGuard;

impl FromRequestParts<App> for ProfileRequestGuard {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        if parts.method == Method::HEAD {
            return Err(Refusal::MethodNotAllowed);
        }
        let credential =
            <AdminCredential as FromRequestParts<App>>::from_request_parts(parts, app).await?;
        let is_ours = || is_request_from_own_page(app, &parts.headers).unwrap_or(false);
        if credential == AdminCredential::Token
            || is_url_typed_or_bookmarked(&parts.headers)
            || is_ours()
        {
            Ok(Self)
        } else {
            Err(Refusal::OtherOrigin)
        }
    }
}

/// Records for the number of seconds that a request asks for.
pub async fn record_profile(
    app: &App,
    parameters: &QueryParameters,
) -> Result<SymbolizedProfile, Refusal> {
    let seconds = match parameters.find_value("seconds") {
        None => lineside_profile::SECONDS_DEFAULT,
        Some(text) => text
            .parse()
            .ok()
            .filter(|n| lineside_profile::SECONDS.contains(n))
            .ok_or_else(|| {
                let (min, max) =
                    (lineside_profile::SECONDS.start(), lineside_profile::SECONDS.end());
                bad_parameter_refusal("seconds", format!("expected a number from {min} to {max}"))
            })?,
    };
    let seen = lineside_profile::record_samples(Duration::from_secs(seconds), app.now()).await?;
    run_blocking(|| seen.symbolize()).await
}

fn build_profile_response(profile_format: ProfileFormat, written: Vec<u8>) -> Response {
    let headers = [(header::CONTENT_TYPE, HeaderValue::from_static(profile_format.content_type()))];
    let mut response = (headers, written).into_response();
    let headers = response.headers_mut();
    if let Some(policy) = profile_format.content_security_policy() {
        let policy = HeaderValue::try_from(policy).expect("a base64 hash is a valid header value");
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    if let ProfileFormat::Pprof = profile_format {
        let disposition = HeaderValue::from_static("attachment; filename=\"profile.pb.gz\"");
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    response
}
