//! Replies to questions about delays, and the sampling of delays for the day's history.

mod question;
mod sampling;

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;

pub use self::question::has_only_alerts;
pub use self::sampling::{sample_delays, save_current_quarter_hour};

use self::question::resolve_delay_request;
use crate::app::App;
use crate::delays::{DelayReport, DelayReportRequest, DelayReportView, RenderedDelayReport};
use crate::{QueryParameters, Refusal, ReplyPreferences, Representation, lookup, run_blocking};

/// The longest `max-age` of an answer: polls may be hours apart, and a source may fail in between.
const FRESH_FOR_MAX: Duration = Duration::from_secs(15);

/// Returns the reply to a question in one view; `make` renders it if it is not cached.
pub async fn reply_with_delay_report(
    app: &App,
    question: DelayReportRequest,
    view: DelayReportView,
    preferences: &ReplyPreferences,
    make: fn(&DelayReport) -> RenderedDelayReport,
) -> Result<Response, Refusal> {
    let fresh_for = lookup::time_until_network_poll(app, &question.network).min(FRESH_FOR_MAX);
    let key = (
        view,
        question.report_cache_key(),
        question.report_fingerprint(app.delay_reports().day_history().sampling_generation()),
    );
    let load = async || {
        let permit = app.delay_reports().render_slots.acquire_permit().await?;
        let day = app.delay_reports().find_day_history(&question, app.now());
        let now = app.now();
        let work = move || {
            let _permit = permit;
            make(&DelayReport::compute_report(question, day, now))
        };
        Ok(Arc::new(run_blocking(work).await?))
    };
    let rendered = app.delay_reports().rendered.get_or_load(key, load).await?;
    let reply =
        Representation::with_hash(rendered.kind.clone(), rendered.body.clone(), rendered.hash);
    let reply = reply.with_modified_time(Some(rendered.at), app.now()).with_freshness(fresh_for);
    Ok(reply.into_reply(preferences, app).await)
}

/// Parses the line and the stop of a request's parameters.
pub fn parse_delay_request(
    app: &App,
    feed: &str,
    parameters: &QueryParameters,
) -> Result<DelayReportRequest, Refusal> {
    resolve_delay_request(app, feed, parameters.find_value("route"), parameters.find_value("stop"))
}
