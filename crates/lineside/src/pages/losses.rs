//! What a schedule says and its timetable does not hold.

use lineside_formats::{Loss, Losses};
use maud::{Markup, html};

use super::words;

/// The card; nothing where nothing is lost.
pub(super) fn card(losses: &Losses) -> Markup {
    html! {
        @if !losses.is_empty() {
            section.card #losses aria-labelledby="losses-title" {
                div.card-head {
                    h2 #losses-title { "What this timetable does not hold" }
                    span.soft.small { (words::count(losses.total(), "thing", "things")) " that the publication says and GTFS does not" }
                }
                ul.problem-list { @for loss in losses.iter() { (kind(loss)) } }
            }
        }
    }
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
                    @if loss.examples.is_empty() { li.soft { "They have no ids." } }
                    @else if more > 0 { li.soft { "and " (words::number(more)) " more" } }
                }
            }
        }
    }
}
