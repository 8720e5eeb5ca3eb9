//! Recent incidents, and the alert rules of the configuration.

use std::cmp::Reverse;
use std::time::Duration;

use lineside_ingest::{FeedId, Incident};
use maud::{Markup, html};

use super::INCIDENTS_ATOM;
use crate::app::App;
use crate::config::{Alert, Target, duration_text};
use crate::http::remembered;
use crate::pages::{availability, states, words};

/// Incidents on the page, the newest.
const INCIDENTS_MAX: usize = 10;
/// How far back they go.
const SPAN: Duration = Duration::from_secs(7 * 86_400);

/// Incidents of all feeds with the name of each feed, newest first; none if they cannot be read.
pub(super) async fn recent_incidents(app: &App) -> Option<Vec<(FeedId, String, Incident)>> {
    let from = app.now() - SPAN;
    let read = remembered(app, move |archive| archive.list_troubles(from, INCIDENTS_MAX)).await;
    let named = |(id, mut incident): (FeedId, Incident)| {
        let feed = app.ingest().feed(id.as_str())?;
        incident.began = availability::began(&incident, &feed.status());
        Some((id, feed.config().display_name().to_owned(), incident))
    };
    let mut named: Vec<_> = read.ok()?.into_iter().filter_map(named).collect();
    named.sort_by_key(|(_, _, incident)| Reverse(incident.began));
    Some(named)
}

pub(super) fn incidents(incidents: &Option<Vec<(FeedId, String, Incident)>>) -> Markup {
    html! {
        section.card #incidents aria-labelledby="incidents-title" {
            div.card-head {
                h2 #incidents-title { "Recent incidents" }
                a.small href=(INCIDENTS_ATOM) type="application/atom+xml" { "Atom feed" }
            }
            @match incidents.as_deref() {
                None => p.card-body.soft { "The incidents cannot be read right now." },
                Some([]) => p.card-body.soft { "No incidents in the last 7 days." },
                Some(incidents) => div.scroll tabindex="0" role="region" aria-label="Table of recent incidents" {
                    table.list-table.incidents {
                        thead { tr { @for head in ["Began", "Feed", "State", "Lasted", "Reason"] { th scope="col" { (head) } } } }
                        tbody { @for (id, name, incident) in incidents { (row(id, name, incident)) } }
                    }
                },
            }
        }
    }
}

fn row(id: &FeedId, name: &str, incident: &Incident) -> Markup {
    let lasted = incident.ended.map(|ended| ended.since(incident.began).as_secs_f64());
    html! {
        tr {
            td.nowrap { (super::utc(incident.began)) }
            td { a href=(format!("/feeds/{id}")) { (name) } }
            td { (states::mark(incident.state)) }
            td.nowrap { @match lasted { Some(seconds) => (words::duration(seconds)), None => "ongoing" } }
            td { (incident.reason) }
        }
    }
}

/// The `[[alert]]` tables in force. Addresses are shown to admins only, and of a webhook only its host.
pub(super) fn alert_rules(app: &App, is_admin: bool) -> Markup {
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
                        tbody { @for alert in &config.alerts { (rule(alert, is_admin)) } }
                    }
                }
            }
        }
    }
}

fn rule(alert: &Alert, is_admin: bool) -> Markup {
    let events = [
        (alert.on_state, "state changes"),
        (alert.on_expiry, "schedules about to expire"),
        (alert.on_findings, "new errors"),
    ];
    let events: Vec<&str> = events.into_iter().filter(|(is_on, _)| *is_on).map(|it| it.1).collect();
    html! {
        tr {
            td { (recipient(&alert.target, is_admin)) }
            td { @if alert.feeds.is_empty() { "all" } @else { (alert.feeds.join(", ")) } }
            td { (events.join(", ")) }
            td.nowrap { (duration_text(alert.after)) }
            td.nowrap { (duration_text(alert.quiet)) }
        }
    }
}

fn recipient(target: &Target, is_admin: bool) -> String {
    match target {
        Target::Webhook { url, .. } if is_admin => {
            let url = url::Url::parse(url.reveal()).ok();
            let host = url.as_ref().and_then(url::Url::host_str).unwrap_or_default();
            format!("Webhook at {host}")
        }
        Target::Webhook { .. } => "Webhook".to_owned(),
        Target::Mail(mailbox) if is_admin => format!("Mail to {}", mailbox.email),
        Target::Mail(_) => "Mail".to_owned(),
    }
}
