//! The badge: the answer as a small picture for other sites.

use lineside_http::delays::{DelayReport, DelayVerdict, RenderedDelayReport};

use crate::badge_picture::BACKGROUND;
use crate::badge_picture::BAD;
use crate::badge_picture::GOOD;
use crate::badge_picture::UNKNOWN;
use crate::badge_picture::draw_badge;

use super::body::{describe_delay_counts, has_single_verdict};
use super::unknown::explain_unknown;
use crate::words;

const VERDICT_COLORS: [(DelayVerdict, &str); 3] =
    [(DelayVerdict::Yes, BAD), (DelayVerdict::No, GOOD), (DelayVerdict::Unknown, UNKNOWN)];

pub(super) fn render_badge(answer: &DelayReport) -> RenderedDelayReport {
    let label = match answer.question.route_name() {
        Some(line) => format!("{} {line}", answer.noun.many),
        None => answer.noun.many.to_owned(),
    };
    // A few late trips make a line late, but say little about a network or a station: those show a share, in neutral
    // colour.
    let share = answer.on_time_share().filter(|_| !has_single_verdict(answer));
    let badge_label = match (answer.verdict, answer.counts) {
        (DelayVerdict::Unknown, _) => "unknown".to_owned(),
        (_, Some(_)) if let Some(share) = share => {
            format!("{} on time", words::format_percent(share))
        }
        (DelayVerdict::Yes, Some(counts)) => describe_late(counts.late, counts.cancelled),
        _ => "on time".to_owned(),
    };
    let title = match answer.counts.filter(|_| answer.verdict != DelayVerdict::Unknown) {
        Some(counts) => describe_delay_counts(&counts),
        None => explain_unknown(answer),
    };
    let ground = match share {
        Some(_) => UNKNOWN,
        None => VERDICT_COLORS
            .iter()
            .find(|(verdict, _)| *verdict == answer.verdict)
            .map_or(BACKGROUND, |(_, it)| it),
    };
    RenderedDelayReport::new(
        "image/svg+xml",
        draw_badge(&label, &badge_label, &title, ground).into_string(),
        answer.made_at,
    )
}

fn describe_late(late: usize, cancelled: usize) -> String {
    match (late, cancelled) {
        (late, 0) => format!("{late} late"),
        (0, cancelled) => format!("{cancelled} cancelled"),
        (late, cancelled) => format!("{late} late, {cancelled} cancelled"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_badge_counts_late_and_cancelled_trips() {
        let texts = [describe_late(3, 0), describe_late(0, 2), describe_late(3, 2)];
        assert_eq!(texts, ["3 late", "2 cancelled", "3 late, 2 cancelled"]);
    }

    #[test]
    fn text_of_a_feed_is_escaped() {
        let svg = draw_badge("<script>", "3 late", "a & b", "#17693f").into_string();
        assert!(svg.starts_with("<svg xmlns=") && !svg.contains("<script>"), "{svg}");
        assert!(svg.contains("aria-label=\"&lt;script&gt;: 3 late\""), "{svg}");
    }
}
