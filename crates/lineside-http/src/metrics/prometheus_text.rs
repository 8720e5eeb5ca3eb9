//! Conversion of OpenMetrics text to the classic Prometheus text format, for older parsers.
//!
//! The samples do not change. The metadata does: a counter is declared under the name of its samples, and there are no
//! units, no types beyond the classic five, and no end marker.

/// Rewrites OpenMetrics text into the classic format, version 0.0.4.
pub(super) fn from_open_metrics(text: &str) -> String {
    let mut classic = String::with_capacity(text.len());
    let mut help = None;
    for line in text.lines() {
        if let Some(about) = line.strip_prefix("# HELP ") {
            help = about.split_once(' ');
        } else if let Some(about) = line.strip_prefix("# TYPE ") {
            let (name, kind) = about.split_once(' ').unwrap_or((about, "unknown"));
            let (suffix, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                "stateset" => ("", "gauge"),
                "gauge" | "histogram" | "summary" => ("", kind),
                _ => ("", "untyped"),
            };
            if let Some((_, help_text)) = help.take().filter(|(help_name, _)| *help_name == name) {
                classic.extend(["# HELP ", name, suffix, " ", help_text, "\n"]);
            }
            classic.extend(["# TYPE ", name, suffix, " ", kind, "\n"]);
        } else if !line.starts_with('#') {
            classic.extend([line, "\n"]);
        }
    }
    classic
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_metadata_uses_the_name_of_the_samples() {
        let open = "# HELP x_polls Polls.\n# TYPE x_polls counter\n# UNIT x_polls polls\nx_polls_total{feed=\"a\"} 3\n\
                    # HELP x_age Age.\n# TYPE x_age gauge\nx_age 1.5\n# TYPE x_odd unknown\nx_odd 1\n# EOF\n";
        let classic = "# HELP x_polls_total Polls.\n# TYPE x_polls_total counter\nx_polls_total{feed=\"a\"} 3\n\
                       # HELP x_age Age.\n# TYPE x_age gauge\nx_age 1.5\n# TYPE x_odd untyped\nx_odd 1\n";
        assert_eq!(from_open_metrics(open), classic);
    }
}
