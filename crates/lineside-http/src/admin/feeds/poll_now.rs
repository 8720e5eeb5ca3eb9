//! Polling a feed at once on an admin's request.

use axum::extract::{Path, State};
use http::StatusCode;
use lineside_ingest::PollNowRefusal;
use lineside_sync::real_time::run_with_timeout;

use crate::app::App;
use crate::errors::{Problem, Refusal};
use crate::lookup;

/// Longest wait for a feed's task, which may be loading a large schedule.
const ANSWER_MAX: std::time::Duration = std::time::Duration::from_secs(5);

/// Polls a feed's source at once
///
/// The request respects the `rate` of its host and credential, and waits for other requests to the host.
#[utoipa::path(
    post, path = "/api/v1/admin/feeds/{id}/poll", tag = "admin", security(("admin" = [])),
    params(("id" = String, Path, description = "The feed's id")),
    responses(
        (status = 202, description = "The poll is requested"),
        (status = 401, description = "`not_admin`", body = Problem),
        (status = 404, description = "`unknown_feed`", body = Problem),
        (status = 409, description = "`feed_paused`", body = Problem),
        (status = 429, description = "`rate_limited`: the rate limit of the source is reached; `Retry-After` has the wait", body = Problem)
    )
)]
pub(super) async fn request_poll(
    State(app): State<App>,
    Path(id): Path<String>,
) -> Result<StatusCode, Refusal> {
    poll_now(&app, &id).await.map(|()| StatusCode::ACCEPTED)
}

/// Has a feed polled as soon as its rate limit allows.
pub async fn poll_now(app: &App, id: &str) -> Result<(), Refusal> {
    // A feed's task that does not answer in time is busy, and polls as soon as it can.
    let Some(answer) = run_with_timeout(ANSWER_MAX, app.ingest().poll_now(id)).await else {
        return Ok(());
    };
    let refusal = |status, code, why: PollNowRefusal| {
        Err(Refusal::NotEdited { status, code, reason: why.to_string() })
    };
    match answer {
        Ok(()) => Ok(()),
        Err(PollNowRefusal::UnknownFeed) => Err(Refusal::UnknownFeed(lookup::shorten_id(id))),
        Err(PollNowRefusal::RateLimited(wait)) => Err(Refusal::RateLimited(wait)),
        Err(why @ PollNowRefusal::Paused) => refusal(StatusCode::CONFLICT, "feed_paused", why),
        Err(why @ PollNowRefusal::Unavailable) => {
            refusal(StatusCode::SERVICE_UNAVAILABLE, "not_now", why)
        }
    }
}
