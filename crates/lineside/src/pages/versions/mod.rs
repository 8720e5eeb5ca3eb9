//! `/feeds/<feed>/versions`: what the schedule of a feed was, and when, each version to be downloaded.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use jiff::{Timestamp, civil::Date, tz::TimeZone};
use lineside_ingest::{Feed, FeedId};
use lineside_store::Version;
use maud::{Markup, html};

use super::layout::{self, Page, Section};
use super::report::in_brief;
use super::words;
use crate::app::App;
use crate::http::{Parameters, Refusal, limits, read_reports, read_versions};
use crate::reports::Briefs;

/// Versions on one page.
const SHOWN: usize = 50;
/// Digits of a hash that are shown: enough to tell one from another.
const DIGITS: usize = 12;

pub(super) async fn page(
    State(app): State<App>,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Response {
    let Some(feed) = app.ingest().feed(&id) else {
        return layout::not_found("No feed has this name.");
    };
    let offset = match parameters.number("offset", limits::OFFSET_MAX) {
        Ok(offset) => offset.unwrap_or(0),
        Err(refusal) => return refusal.into_response(),
    };
    let versions = match read_versions(&app, feed.id(), offset, SHOWN + 1).await {
        Ok(versions) => Some(versions),
        Err(Refusal::NotReadable) => None,
        Err(refusal) => return refusal.into_response(),
    };
    let reports = read_reports(&app, feed.id()).await;
    let title = format!("Versions of {}", feed.config().display_name());
    let mut page = Page::new(&title, Section::Catalog);
    page.description = Some(format!(
        "Published versions of the schedule {}: when each was served, its validity, report and download.",
        feed.config().display_name()
    ));
    page.alternates.push(("application/json", format!("/api/v1/feeds/{id}/versions")));
    let zone = words::zone_of(&feed.network());
    let shown =
        Shown { feed: &feed, versions, reports, offset, zone, is_kept: app.store().is_some() };
    layout::reply(StatusCode::OK, page.render(&shown.markup()))
}

struct Shown<'a> {
    feed: &'a Feed,
    /// None if they cannot be read now. One more than is shown, if there is one.
    versions: Option<Vec<Version>>,
    /// What was found in them.
    reports: Briefs,
    offset: usize,
    zone: TimeZone,
    /// Whether versions are kept here at all.
    is_kept: bool,
}

impl Shown<'_> {
    fn id(&self) -> &FeedId {
        self.feed.id()
    }

    fn markup(&self) -> Markup {
        let config = self.feed.config();
        html! {
            div.page {
                div.page-head {
                    p.crumbs {
                        a href="/" { "Feeds" } " / "
                        a href=(format!("/feeds/{}", config.id)) { (config.display_name()) }
                    }
                    h1 { "Versions" }
                }
                section.card #versions aria-labelledby="versions-title" {
                    div.card-head {
                        h2 #versions-title { "Published versions" }
                        span.small { a href=(format!("/api/v1/feeds/{}/versions", config.id)) { "JSON" } }
                    }
                    (self.body())
                }
            }
        }
    }

    fn body(&self) -> Markup {
        let Some(versions) = &self.versions else {
            return html! { p.card-body.soft { "The history cannot be read at the moment. The feed is polled and served all the same." } };
        };
        if versions.is_empty() {
            return html! { p.card-body.soft { (self.why_none()) } };
        }
        html! {
            div.scroll {
                table.list-table.stacked role="table" {
                    thead role="rowgroup" { tr role="row" {
                        th scope="col" role="columnheader" { "Seen" }
                        th scope="col" role="columnheader" { "Report" }
                        th scope="col" role="columnheader" { "Valid" }
                        th scope="col" role="columnheader" { "Publisher's version" }
                        th scope="col" role="columnheader" { "Lines, stops, trips" }
                        th scope="col" role="columnheader" { "Bytes" }
                    } }
                    tbody role="rowgroup" { @for version in versions.iter().take(SHOWN) { (self.row(version)) } }
                }
            }
            (self.pager(versions.len() > SHOWN))
        }
    }

    fn why_none(&self) -> &'static str {
        match self.feed.format() {
            _ if self.offset > 0 => "There are no more versions.",
            Some(format) if !format.is_schedule() => {
                "Only schedules keep versions; this feed keeps its latest data."
            }
            _ if !self.is_kept => "Versions are kept only if the server has a data_dir.",
            _ => "No valid data has arrived yet.",
        }
    }

    fn row(&self, version: &Version) -> Markup {
        let facts = &version.facts;
        let hash = version.hash.to_string();
        let day = |said: &Option<String>| said.clone().unwrap_or_else(|| "unknown".to_owned());
        html! {
            tr role="row" {
                td.nowrap role="cell" data-label="Seen" {
                    span { "from " (words::time_at(version.first_seen, &self.zone)) }
                    br;
                    span { "to " (words::time_at(version.last_seen, &self.zone)) }
                    @if version.is_current { br; strong { "served now" } }
                }
                td.nowrap role="cell" data-label="Report" {
                    @match self.reports.get(&hash) {
                        Some(brief) => a href=(format!("/feeds/{}/versions/{hash}/report", self.id())) { (brief.as_ref().map_or_else(|| "Report".to_owned(), in_brief)) },
                        None => span.soft { "none" },
                    }
                }
                td.numeric.nowrap role="cell" data-label="Valid" { (day(&facts.valid_from)) " to " br; (day(&facts.valid_until)) @if self.has_ended(version) { br; span.soft data-ended { "(ended)" } } }
                td role="cell" data-label="Publisher's version" { (facts.publisher_version.as_deref().unwrap_or("unknown")) }
                td.numeric role="cell" data-label="Lines, stops, trips" { (words::number(facts.routes)) ", " (words::number(facts.stops)) ", " (words::number(facts.trips)) }
                td.nowrap role="cell" data-label="Bytes" {
                    a href=(format!("/feeds/{}/versions/{hash}.zip", self.id())) download { (words::bytes(version.size)) }
                    br;
                    span.mono.soft.small title=(format!("SHA-256 {hash}")) { (&hash[..DIGITS]) }
                }
            }
        }
    }

    /// Whether its last service day is past, in the zone of the agency of the version that is served.
    fn has_ended(&self, version: &Version) -> bool {
        let until = version.facts.valid_until.as_deref().and_then(|day| day.parse::<Date>().ok());
        let now = Timestamp::from_millisecond(self.feed.network().now().0).unwrap_or_default();
        until.is_some_and(|until| until < now.to_zoned(self.zone.clone()).date())
    }

    fn pager(&self, has_more: bool) -> Markup {
        let at = |offset: usize| format!("/feeds/{}/versions?offset={offset}", self.id());
        html! {
            @if self.offset > 0 || has_more {
                nav.pager aria-label="Pages of versions" {
                    @if self.offset > 0 { a href=(at(self.offset.saturating_sub(SHOWN))) { "Newer" } }
                    @if has_more { a href=(at(self.offset + SHOWN)) { "Older" } }
                }
            }
        }
    }
}
