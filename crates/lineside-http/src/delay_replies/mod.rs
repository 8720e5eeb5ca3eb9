//! Replies to questions about delays, and the sampling of delays for the day's history.

mod question;
mod sampling;

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;

pub use self::question::has_only_alerts;
pub use self::sampling::{sample_delays, save_quarter};

use self::question::find_question;
use crate::app::App;
use crate::delays::{DelayQuestion, DelayReport, DelayView, RenderedReport};
use crate::{QueryParameters, Refusal, ReplyPreferences, Representation, lookup, run_blocking};

/// The longest `max-age` of an answer: polls may be hours apart, and a source may fail in between.
const FRESH_FOR_MAX: Duration = Duration::from_secs(15);

/// Returns the reply to a question in one view; `make` renders it if it is not cached.
pub async fn reply_with_report(
    app: &App,
    question: DelayQuestion,
    view: DelayView,
    preferences: &ReplyPreferences,
    make: fn(&DelayReport) -> RenderedReport,
) -> Result<Response, Refusal> {
    let fresh_for = lookup::network_fresh_for(app, &question.network).min(FRESH_FOR_MAX);
    let key = (
        view,
        question.question_key(),
        question.report_fingerprint(app.delays().day().generation()),
    );
    let load = async || {
        let permit = app.delays().render_slots.acquire_permit().await?;
        let day = app.delays().find_history(&question, app.now());
        let now = app.now();
        let work = move || {
            let _permit = permit;
            make(&DelayReport::for_question(question, day, now))
        };
        Ok(Arc::new(run_blocking(work).await?))
    };
    let rendered = app.delays().rendered.load(key, load).await?;
    let reply =
        Representation::with_hash(rendered.kind.clone(), rendered.body.clone(), rendered.hash);
    let reply = reply.modified_at(Some(rendered.at), app.now()).fresh_for(fresh_for);
    Ok(reply.into_reply(preferences, app).await)
}

/// Parses the line and the stop of a request's parameters.
pub fn parse_question(
    app: &App,
    feed: &str,
    parameters: &QueryParameters,
) -> Result<DelayQuestion, Refusal> {
    find_question(app, feed, parameters.find_value("route"), parameters.find_value("stop"))
}
