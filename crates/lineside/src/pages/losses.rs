//! The elements of a NeTEx publication that its timetable does not have.

use lineside_formats::{Loss, Losses};
use maud::{Markup, html};

use super::feed::fold;
use super::words;

/// The section; nothing where nothing is lost.
pub(super) fn card(losses: &Losses) -> Markup {
    if losses.is_empty() {
        return html! {};
    }
    let note = words::count(losses.total(), "element", "elements");
    let body = html! {
        p.card-body.soft.small { "These elements of the publication have no counterpart in GTFS and are not in the timetable." }
        ul.problem-list { @for loss in losses.iter() { (kind(loss)) } }
    };
    fold("losses", "Dropped in the conversion", &html! { (note) }, false, &body)
}

/// What was left out for one reason: how many, and the ids of a few.
fn kind(loss: Loss<'_>) -> Markup {
    let more =
        loss.count - u64::try_from(loss.examples.len()).unwrap_or(loss.count).min(loss.count);
    html! {
        li {
            details {
                summary { strong { (loss.kind) } ": " (loss.why) span.tag { (words::number(loss.count)) } }
                ul {
                    @for id in loss.examples { li.mono { (id) } }
                    @if loss.examples.is_empty() { li.soft { "without ids" } }
                    @else if more > 0 { li.soft { "and " (words::number(more)) " more" } }
                }
            }
        }
    }
}
