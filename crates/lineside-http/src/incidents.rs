//! `/incidents.atom` and `/feeds/{feed}/incidents.atom`: incidents of feeds, for feed readers.

use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue};
use lineside_config::times::format_rfc3339;
use lineside_model::{FeedId, FeedStatePeriod};
use lineside_sync::UnixMillis;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::blocking::read_poll_archive;
use super::errors::{Problem, Refusal};
use super::lookup;
use super::reply::{ReplyPreferences, Representation};
use crate::app::App;

/// Largest number of entries in one document; the newest are included.
const ENTRIES_MAX: usize = 100;
/// Age of the oldest incident.
const SPAN: Duration = Duration::from_secs(30 * 86_400);

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(get_incidents_atom))
        .routes(routes!(get_feed_incidents_atom))
}

/// Lists the incidents of all feeds as Atom
///
/// Each entry is one time that a feed was late, stale, expired, failing or empty in the last 30 days; the newest 100.
#[utoipa::path(
    get, path = "/incidents.atom", tag = "catalog",
    responses(
        (status = 200, description = "The document", body = String, content_type = "application/atom+xml"),
        (status = 503, description = "`storage_unavailable`", body = Problem)
    )
)]
async fn get_incidents_atom(
    State(app): State<App>,
    headers: HeaderMap,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let from = app.now() - SPAN;
    let incidents =
        read_poll_archive(&app, move |it| it.list_failure_periods(from, ENTRIES_MAX)).await?;
    let base = app.base_url(&headers);
    Ok(reply_with_incidents(
        &app,
        &AtomFeedHead { base: &base, path: "/incidents.atom", subject: "feeds" },
        incidents,
        &preferences,
    )
    .await)
}

/// Lists the incidents of a feed as Atom
#[utoipa::path(
    get, path = "/feeds/{feed}/incidents.atom", tag = "catalog",
    params(("feed" = String, Path, description = "The feed's id")),
    responses(
        (status = 200, description = "The document", body = String, content_type = "application/atom+xml"),
        (status = 404, description = "`unknown_feed`", body = Problem),
        (status = 503, description = "`storage_unavailable`", body = Problem)
    )
)]
async fn get_feed_incidents_atom(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_feed(&app, &id)?;
    let (from, feed_id) = (app.now() - SPAN, feed.id().clone());
    let read =
        read_poll_archive(&app, move |it| it.list_feed_state_periods(&feed_id, from, ENTRIES_MAX))
            .await?;
    let incidents = read.into_iter().filter(|incident| incident.state.is_problem_state());
    let incidents = incidents.map(|incident| (feed.id().clone(), incident)).collect();
    let (base, path) = (app.base_url(&headers), format!("/feeds/{}/incidents.atom", feed.id()));
    let subject = feed.config().display_name();
    Ok(reply_with_incidents(
        &app,
        &AtomFeedHead { base: &base, path: &path, subject },
        incidents,
        &preferences,
    )
    .await)
}

/// The head of an Atom document.
struct AtomFeedHead<'a> {
    base: &'a str,
    path: &'a str,
    subject: &'a str,
}

async fn reply_with_incidents(
    app: &App,
    document: &AtomFeedHead<'_>,
    incidents: Vec<(FeedId, FeedStatePeriod)>,
    preferences: &ReplyPreferences,
) -> Response {
    let named: Vec<(FeedId, String, FeedStatePeriod)> = incidents
        .into_iter()
        .filter_map(|(id, incident)| {
            let name = app.ingest().find_feed(id.as_str())?.config().display_name().to_owned();
            Some((id, name, incident))
        })
        .collect();
    let updated = named.iter().map(|(_, _, incident)| incident_last_change(incident)).max();
    let text = write_atom(document, &named, updated.unwrap_or(app.started_at()));
    let kind = HeaderValue::from_static("application/atom+xml; charset=utf-8");
    Representation::new(kind, text)
        .with_modified_time(updated, app.now())
        .into_reply(preferences, app)
        .await
}

/// Returns the time of an incident's last change: its end, or its start while it lasts.
fn incident_last_change(incident: &FeedStatePeriod) -> UnixMillis {
    incident.ended.unwrap_or(incident.began)
}

/// Writes the Atom document (RFC 4287).
fn write_atom(
    AtomFeedHead { base, path, subject }: &AtomFeedHead<'_>,
    incidents: &[(FeedId, String, FeedStatePeriod)],
    updated: UnixMillis,
) -> String {
    let time = |at| format_rfc3339(at).unwrap_or_default();
    let (base, subject, updated) = (escape_xml(base), escape_xml(subject), time(updated));
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <id>{base}{path}</id>\n<title>Incidents of {subject}</title>\n<updated>{updated}</updated>\n\
         <author><name>Lineside</name></author>\n<link rel=\"self\" href=\"{base}{path}\"/>\n"
    );
    for (id, name, incident) in incidents {
        let (name, state, reason) =
            (escape_xml(name), incident.state, escape_xml(&incident.reason));
        let (began, changed) = (time(incident.began), time(incident_last_change(incident)));
        let until =
            incident.ended.map_or("Ongoing.".to_owned(), |end| format!("Until {}.", time(end)));
        let at = incident.began.0;
        text += &format!(
            "<entry>\n<id>{base}/feeds/{id}#{state}-{at}</id>\n<title>{name}: {state}</title>\n\
             <published>{began}</published>\n<updated>{changed}</updated>\n\
             <link href=\"{base}/feeds/{id}\"/>\n<content type=\"text\">{reason}. {until}</content>\n</entry>\n"
        );
    }
    text + "</feed>\n"
}

/// Escapes a text for XML elements and attributes.
fn escape_xml(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\t' | '\n' | '\r' => safe.push(' '),
            // XML 1.0 cannot represent these characters.
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use lineside_model::FeedState;

    use super::*;

    #[test]
    fn text_of_a_producer_is_escaped_in_the_atom_feed() {
        let incident = FeedStatePeriod {
            state: FeedState::Stale,
            reason: "http_500: <b>\u{1}\"&".to_owned(),
            began: UnixMillis(0),
            ended: Some(UnixMillis(1_000)),
        };
        let document = AtomFeedHead { base: "http://h", path: "/incidents.atom", subject: "feeds" };
        let incidents = [(FeedId::new("a").unwrap(), "A & B".to_owned(), incident)];
        let text = write_atom(&document, &incidents, UnixMillis(1_000));
        assert!(text.contains("<title>A &amp; B: stale</title>"), "{text}");
        assert!(
            text.contains("http_500: &lt;b&gt;\u{fffd}&quot;&amp;. Until 1970-01-01T00:00:01Z.")
        );
        assert!(text.contains("<id>http://h/feeds/a#stale-0</id>"));
    }
}
