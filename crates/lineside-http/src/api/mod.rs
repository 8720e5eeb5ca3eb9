//! `/api/v1`: the catalog, availability, versions, channel states, stops and vehicles as JSON.

mod availability;
mod delays;
mod departures;
mod feeds;
mod files;
mod list;
mod conversion_report;
mod trip_matching;
mod external_reports;
pub(super) mod report;
mod state;
mod stops;
mod vehicles;
pub(super) mod versions;

use utoipa_axum::router::OpenApiRouter;

use crate::app::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(feeds::routes())
        .merge(availability::routes())
        .merge(state::routes())
        .merge(stops::routes())
        .merge(departures::routes())
        .merge(delays::routes())
        .merge(trip_matching::routes())
        .merge(report::routes())
        .merge(vehicles::routes())
        .merge(versions::routes())
}
