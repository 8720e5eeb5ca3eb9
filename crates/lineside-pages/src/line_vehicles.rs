//! A vehicle on a line's page, as `web/plain/route.js` renders it.

use lineside_model::Record;
use maud::{Markup, html};

use super::words;
use crate::links;

/// The prefixes of ids that Lineside derives from a trip or an entity for a vehicle without one; they mean nothing to
/// riders.
pub(super) const GENERATED_ID_PREFIXES: [&str; 2] = ["trip:", "entity:"];

/// Renders a vehicle with a link to its trip; grey if its feed is unreliable.
pub(super) fn render_vehicle(network: &str, record: &Record, is_stale: bool) -> Markup {
    let delay_text = match record.join.delay {
        Some(delay) => words::format_delay("realtime", Some(i64::from(delay))),
        None => words::format_delay("scheduled", None),
    };
    let vehicle = record.vehicle().and_then(|vehicle| vehicle.vehicle.as_ref());
    let label = vehicle.and_then(|it| it.label.as_deref()).filter(|label| !label.is_empty());
    let is_named = GENERATED_ID_PREFIXES.iter().all(|prefix| !record.id.starts_with(prefix));
    let name = label.or(is_named.then_some(&*record.id)).map(|name| format!("Vehicle {name}"));
    let headsign = record.join.headsign.as_deref();
    let title = match headsign {
        Some(headsign) => format!("to {}", words::shorten_name(headsign)),
        None => name.clone().unwrap_or_else(|| "Vehicle".to_owned()),
    };
    html! {
        li.vehicle.is-stale[is_stale] data-id=(record.id) data-source=(record.feed) {
            span.vehicle-sign aria-hidden="true" { "▼" }
            span.vehicle-name {
                @match vehicle_trip_url(network, record) { Some(address) => a.target href=(address) { (title) }, None => (title) }
            }
            @if let (Some(name), Some(_)) = (&name, headsign) { span.soft.small { (name) } }
            @if record.join.delay.is_some() { span class=(format!("delay tone-{}", delay_text.tone)) { (delay_text.text) } }
        }
    }
}

/// Returns the address of the page of a vehicle's trip, if its feed states the trip's id.
fn vehicle_trip_url(network: &str, record: &Record) -> Option<String> {
    let trip = record.trip_descriptor()?;
    let id = trip.trip_id.as_deref().filter(|id| !id.is_empty())?;
    let (date, start) = (trip.start_date.as_deref(), trip.start_time.as_deref());
    Some(links::trip_page_url(network, id, date.unwrap_or_default(), start.unwrap_or_default()))
}
