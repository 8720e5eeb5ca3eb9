//! The elements of a NeTEx publication that its timetable does not have.

use lineside_formats::{ConversionReport, DroppedObjectsByReason};
use maud::{Markup, html};

use super::words;
use crate::layout::render_foldable_section;

/// Renders the section; nothing if no element is dropped.
pub(super) fn render_card(losses: &ConversionReport) -> Markup {
    if losses.is_empty() {
        return html! {};
    }
    let note = words::format_count(losses.dropped_object_count(), "element", "elements");
    let body = html! {
        p.card-body.soft.small { "These elements of the publication have no counterpart in GTFS and are not in the timetable." }
        ul.problem-list { @for loss in losses.iter() { (render_dropped_elements(loss)) } }
    };
    render_foldable_section("losses", "Dropped in the conversion", &html! { (note) }, false, &body)
}

/// Renders the elements dropped for one reason: their number, and the ids of a few.
fn render_dropped_elements(loss: DroppedObjectsByReason<'_>) -> Markup {
    let more =
        loss.count - u64::try_from(loss.examples.len()).unwrap_or(loss.count).min(loss.count);
    html! {
        li {
            details {
                summary { strong { (loss.kind) } ": " (loss.why) span.tag { (words::format_number(loss.count)) } }
                ul {
                    @for id in loss.examples { li.mono { (id) } }
                    @if loss.examples.is_empty() { li.soft { "without ids" } }
                    @else if more > 0 { li.soft { "and " (words::format_number(more)) " more" } }
                }
            }
        }
    }
}
