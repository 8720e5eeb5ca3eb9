//! Recent incidents, and the alert rules of the configuration.

use std::cmp::Reverse;
use std::time::Duration;

use lineside_config::{AlertConfig, AlertTarget, format_duration};
use lineside_http::app::App;
use lineside_http::read_poll_archive;
use lineside_model::{FeedId, FeedStatePeriod};
use maud::{Markup, html};

use super::INCIDENTS_ATOM;
use crate::{availability, states, words};

/// The most recent incidents that the page shows at first.
const INCIDENTS_SHOWN_MAX: usize = 10;
/// The incidents of the page.
const INCIDENTS_MAX: usize = 100;
/// Incidents that are read: they are ordered by their detection, and an expired timetable ended long before that.
const INCIDENTS_READ_MAX: usize = 1_000;
/// The time span of the incidents.
const SPAN: Duration = Duration::from_secs(7 * 86_400);

/// The incidents of all feeds, the newest first, each with the name of its feed.
pub(super) struct RecentIncidents {
    incidents: Vec<(FeedId, String, FeedStatePeriod)>,
    /// Their number before the list was cut.
    total: usize,
}

/// Returns the incidents of all feeds; `None` if they cannot be read.
pub(super) async fn read_recent_incidents(app: &App) -> Option<RecentIncidents> {
    let from = app.now() - SPAN;
    let read = read_poll_archive(app, move |archive| {
        archive.list_failure_periods(from, INCIDENTS_READ_MAX)
    })
    .await;
    let named = |(id, mut incident): (FeedId, FeedStatePeriod)| {
        let feed = app.ingest().find_feed(id.as_str())?;
        availability::align_current_incident(&mut incident, &feed.status());
        Some((id, feed.config().display_name().to_owned(), incident))
    };
    let mut named: Vec<_> = read.ok()?.into_iter().filter_map(named).collect();
    named.sort_by_key(|(_, _, incident)| Reverse(incident.began));
    let total = named.len();
    named.truncate(INCIDENTS_MAX);
    Some(RecentIncidents { incidents: named, total })
}

pub(super) fn render_incidents(recent: Option<&RecentIncidents>) -> Markup {
    html! {
        section.card #incidents aria-labelledby="incidents-title" {
            div.card-head {
                h2 #incidents-title { "Open and recent incidents" }
                a.small href=(INCIDENTS_ATOM) type="application/atom+xml" { "Atom feed" }
            }
            @match recent {
                None => p.card-body.soft { "The incidents cannot be read right now." },
                Some(recent) if recent.total == 0 => p.card-body.soft { "No incidents in the last 7 days." },
                Some(recent) => (render_incident_list(recent)),
            }
        }
    }
}

fn render_incident_list(recent: &RecentIncidents) -> Markup {
    let RecentIncidents { incidents, total } = recent;
    let (first, more) = incidents.split_at(incidents.len().min(INCIDENTS_SHOWN_MAX));
    html! {
        (render_incident_table("Table of recent incidents", first))
        @if !more.is_empty() {
            details.more-incidents data-total=(total) {
                summary { "Show " (more.len()) " more" @if *total > incidents.len() { ", of " (words::format_number(*total as u64)) " in the last 7 days" } }
                (render_incident_table("Table of further incidents", more))
            }
        }
    }
}

fn render_incident_table(label: &str, incidents: &[(FeedId, String, FeedStatePeriod)]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table.list-table.incidents {
                thead { tr { @for head in ["Began", "Feed", "State", "Lasted", "Reason"] { th scope="col" { (head) } } } }
                tbody { @for (id, name, incident) in incidents { (render_incident_row(id, name, incident)) } }
            }
        }
    }
}

fn render_incident_row(id: &FeedId, name: &str, incident: &FeedStatePeriod) -> Markup {
    let lasted = incident.ended.map(|ended| ended.duration_since(incident.began).as_secs_f64());
    html! {
        tr {
            td.nowrap { (super::render_utc(incident.began)) }
            td { a href=(format!("/feeds/{id}")) { (name) } }
            td { (states::render_static_state(incident.state)) }
            td.nowrap { @match lasted { Some(seconds) => (words::format_short_duration(seconds)), None => "ongoing" } }
            td { (incident.reason) }
        }
    }
}

/// Renders the configured `[[alert]]` tables. Addresses are shown to admins only, and only the host of a webhook.
pub(super) fn render_alert_rules(app: &App, is_admin: bool) -> Markup {
    let config = app.config();
    html! {
        section.card #alert-rules aria-labelledby="alerts-title" {
            h2 #alerts-title { "Alert rules" }
            @if config.alerts.is_empty() {
                p.card-body.soft {
                    "No alert rules. Add " code { "[[alert]]" } " to the configuration to be notified by webhook or mail."
                }
            } @else {
                div.scroll tabindex="0" role="region" aria-labelledby="alerts-title" {
                    table.list-table {
                        thead { tr { @for head in ["Notify", "Feeds", "On", "After", "Silent for"] { th scope="col" { (head) } } } }
                        tbody { @for alert in &config.alerts { (render_alert_rule(alert, is_admin)) } }
                    }
                }
            }
        }
    }
}

fn render_alert_rule(alert: &AlertConfig, is_admin: bool) -> Markup {
    let events = [
        (alert.on_state, "state changes"),
        (alert.on_expiry, "schedules about to expire"),
        (alert.on_findings, "new errors"),
    ];
    let events: Vec<&str> = events.into_iter().filter(|(is_on, _)| *is_on).map(|it| it.1).collect();
    html! {
        tr {
            td { (describe_recipient(&alert.target, is_admin)) }
            td { @if alert.feeds.is_empty() { "all" } @else { (alert.feeds.join(", ")) } }
            td { (events.join(", ")) }
            td.nowrap { (format_duration(alert.after)) }
            td.nowrap { (format_duration(alert.quiet)) }
        }
    }
}

fn describe_recipient(target: &AlertTarget, is_admin: bool) -> String {
    match target {
        AlertTarget::Webhook { url, .. } if is_admin => {
            let url = url::Url::parse(url.reveal()).ok();
            let host = url.as_ref().and_then(url::Url::host_str).unwrap_or_default();
            format!("Webhook at {host}")
        }
        AlertTarget::Webhook { .. } => "Webhook".to_owned(),
        AlertTarget::Mail(mailbox) if is_admin => format!("Mail to {}", mailbox.email),
        AlertTarget::Mail(_) => "Mail".to_owned(),
    }
}
