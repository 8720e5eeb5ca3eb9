//! `/api/v1/feeds/{id}/matches`: the trip matching of a real-time feed.

use axum::extract::{Path, State};
use axum::response::Response;
use lineside_config::times::format_rfc3339;
use lineside_ingest::Network;
use lineside_model::{FeedMatchCounts, MatchCount, MatchReasonCount, UnmatchedReason, match_rate};
use lineside_quality::trip_matching::{MismatchCause, TripMatchingReport, find_likely_causes};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::errors::{Problem, Refusal};
use crate::lookup;
use crate::reply::{ReplyPreferences, Representation};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_trip_matches))
}

/// The trip matching of a real-time feed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Matches)]
struct MatchesItem {
    /// The feed.
    feed: String,
    /// The schedule that it belongs to; null if it names none.
    #[serde(rename = "static")]
    schedule: Option<String>,
    /// The version of the schedule that it was compared with, as in its dataset's record; null if there is no
    /// timetable to compare with. Then all counts are null too.
    dataset: Option<String>,
    /// Reason why there is no timetable: `no_static`, the feed names no schedule; `no_dataset`, the schedule could not
    /// be read yet.
    why: Option<&'static str>,
    /// Time at which Lineside received the data, RFC 3339.
    at: Option<String>,
    /// Number of trip updates, vehicles and informed entities of alerts that are in the timetable.
    matched: Option<u64>,
    /// Number of those that are not.
    unmatched: Option<u64>,
    /// The share that is matched, 0 to 1; null if there is nothing to match.
    match_rate: Option<f64>,
    /// Trip updates, by their trips.
    trip_updates: Option<MatchCountItem>,
    /// Vehicles, by their trips, or by their lines if they name no trip.
    vehicles: Option<MatchCountItem>,
    /// The informed entities of alerts, each counted separately.
    alerts: Option<MatchCountItem>,
    /// Lines that trip updates and vehicles name, each id once.
    routes: Option<MatchCountItem>,
    /// Stops that trip updates and vehicles name, each id once.
    stops: Option<MatchCountItem>,
    /// Likely causes of ids that do not match, the most certain first; empty if nearly all match.
    causes: Option<Vec<MismatchCauseItem>>,
}

/// A likely cause of ids that do not match.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = MatchCause)]
struct MismatchCauseItem {
    /// `extra_prefix`, `missing_prefix`, `netex_ids`, `timetable_ended`, `dates_outside_service`, `other_day`,
    /// `other_version`, `own_trip_ids`, `no_trip_ids` or `other_network`.
    cause: &'static str,
    /// Kind of ids that a prefix or NeTEx explains: `trip`, `route` or `stop`; else null.
    kind: Option<&'static str>,
    /// The prefix that the feed's ids have in excess, or lack.
    prefix: Option<String>,
    /// First day of the timetable, if the days are the cause.
    first: Option<String>,
    /// Last day of the timetable, if the days are the cause.
    last: Option<String>,
}

/// The matches of one kind, and the reasons of the others.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = MatchCount)]
struct MatchCountItem {
    /// The number in the timetable.
    matched: u64,
    /// The number that is not.
    unmatched: u64,
    /// The share that is matched, 0 to 1; null if there is nothing to match.
    match_rate: Option<f64>,
    /// The reasons of those that do not match.
    reasons: Vec<MatchReasonItem>,
}

/// The entities with one reason.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = MatchReason)]
struct MatchReasonItem {
    /// `unknown_trip`, `not_running`, `no_trip`, `unknown_route`, `unknown_stop`, `unknown_agency`, `added`,
    /// `no_reference` or `day_before`.
    reason: &'static str,
    /// The count.
    count: u64,
    /// True if they count as unmatched: not `added` and `no_reference`; `day_before` is matched.
    unmatched: bool,
    /// The first different ids in their order, at most 10; with `:<start_date>` after a trip whose day is the reason.
    samples: Vec<String>,
    /// A few ids of the timetable for comparison.
    known_ids: Vec<String>,
}

/// Returns the matched and unmatched trips, lines and stops of a real-time feed, with reasons
///
/// Added trips are not in the timetable by design, and entities without a trip, route or stop cannot be matched: both
/// are listed, but do not count as unmatched. The report is computed once per change of the feed.
#[utoipa::path(
    get, path = "/api/v1/feeds/{id}/matches", tag = "catalog",
    params(("id" = String, Path, description = "The id of a real-time feed")),
    responses(
        (status = 200, description = "The counts, the reasons, and example ids", body = MatchesItem),
        (status = 404, description = "`unknown_feed` or `other_format`", body = Problem),
        (status = 503, description = "`no_data`: the feed's format is not known yet", body = Problem)
    )
)]
async fn get_trip_matches(
    State(app): State<App>,
    Path(id): Path<String>,
    preferences: ReplyPreferences,
) -> Result<Response, Refusal> {
    let feed = lookup::find_realtime_feed(&app, &id, "trip matching of real-time feeds")?;
    let network = feed.network();
    let report =
        TripMatchingReport::for_feed(&feed, &network).await.map_err(|_| Refusal::Internal)?;
    let fresh_for = lookup::time_until_network_poll(&app, &network);
    let reply = Representation::from_json(&matches_item(feed.id().as_str(), &report, &network));
    Ok(reply
        .with_modified_time(Some(report.at), app.now())
        .with_freshness(fresh_for)
        .into_reply(&preferences, &app)
        .await)
}

fn matches_item(feed: &str, report: &TripMatchingReport, network: &Network) -> MatchesItem {
    let matches = report.matches.as_deref();
    let of = |counts: fn(&FeedMatchCounts) -> &MatchCount| {
        matches.map(|it| match_count_item(counts(it)))
    };
    let entities = matches.map(FeedMatchCounts::count_matched_and_unmatched);
    MatchesItem {
        feed: feed.to_owned(),
        schedule: report.schedule.as_ref().map(|schedule| schedule.id().to_string()),
        dataset: matches.map(|matches| matches.dataset.to_string()),
        why: match (matches, &report.schedule) {
            (Some(_), _) => None,
            (None, None) => Some("no_static"),
            (None, Some(_)) => Some("no_dataset"),
        },
        at: format_rfc3339(report.at),
        matched: entities.map(|(matched, _)| matched),
        unmatched: entities.map(|(_, unmatched)| unmatched),
        match_rate: entities.and_then(|(matched, unmatched)| match_rate(matched, unmatched)),
        trip_updates: of(|it| &it.trip_updates),
        vehicles: of(|it| &it.vehicles),
        alerts: of(|it| &it.alerts),
        routes: of(|it| &it.routes),
        stops: of(|it| &it.stops),
        causes: matches.map(|matches| mismatch_cause_items(matches, network)),
    }
}

fn mismatch_cause_items(matches: &FeedMatchCounts, network: &Network) -> Vec<MismatchCauseItem> {
    let Some(timetable) = network.timetable() else { return Vec::new() };
    let today = timetable.local_date_at(network.data_time_now().unix_seconds());
    find_likely_causes(matches, &timetable, today).iter().map(mismatch_cause_item).collect()
}

fn mismatch_cause_item(cause: &MismatchCause) -> MismatchCauseItem {
    let none = MismatchCauseItem {
        cause: cause.as_str(),
        kind: None,
        prefix: None,
        first: None,
        last: None,
    };
    match cause {
        MismatchCause::ExtraPrefix { kind, prefix }
        | MismatchCause::MissingPrefix { kind, prefix } => {
            MismatchCauseItem { kind: Some(kind.as_str()), prefix: Some(prefix.clone()), ..none }
        }
        MismatchCause::NetexIds { kind } => MismatchCauseItem { kind: Some(kind.as_str()), ..none },
        MismatchCause::TimetableEnded { last } => {
            MismatchCauseItem { last: Some(last.to_string()), ..none }
        }
        MismatchCause::DatesOutsideService { first, last } => MismatchCauseItem {
            first: Some(first.to_string()),
            last: Some(last.to_string()),
            ..none
        },
        MismatchCause::OtherDay
        | MismatchCause::OtherVersion
        | MismatchCause::OwnTripIds
        | MismatchCause::NoTripIds
        | MismatchCause::OtherNetwork => none,
    }
}

fn match_count_item(counts: &MatchCount) -> MatchCountItem {
    MatchCountItem {
        matched: counts.matched,
        unmatched: counts.unmatched_count(),
        match_rate: counts.matched_share(),
        reasons: counts.reasons().map(|(reason, found)| match_reason_item(reason, found)).collect(),
    }
}

fn match_reason_item(reason: UnmatchedReason, found: &MatchReasonCount) -> MatchReasonItem {
    MatchReasonItem {
        reason: reason.as_str(),
        count: found.count,
        unmatched: reason.is_counted_as_unmatched(),
        samples: found.sample_ids().map(str::to_owned).collect(),
        known_ids: found.timetable_sample_ids().map(str::to_owned).collect(),
    }
}
