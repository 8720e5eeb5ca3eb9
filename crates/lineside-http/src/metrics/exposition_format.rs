//! Negotiation of the exposition format with a scraper.

use http::{HeaderMap, header};

/// The media type of delimited protobuf messages; its required parameters are in [`PARAMETERS`].
const MESSAGES: &str = "application/vnd.google.protobuf";
const OPEN_METRICS: &str = "application/openmetrics-text";
const PARAMETERS: [(&str, &str); 2] =
    [("proto", "io.prometheus.client.MetricFamily"), ("encoding", "delimited")];

/// An exposition format of the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpositionFormat {
    /// OpenMetrics text, with classic histograms.
    Text,
    /// The Prometheus text format from before OpenMetrics.
    Classic,
    /// Prometheus's protobuf messages, with native and classic histograms.
    Messages,
}

impl ExpositionFormat {
    /// Returns the `Content-Type` of the format.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Text => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Classic => "text/plain; version=0.0.4; charset=utf-8",
            Self::Messages => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }

    /// Returns protobuf messages if a scraper names them and prefers no text; else the classic text if the scraper
    /// prefers that to OpenMetrics, as browsers and older parsers do.
    pub(crate) fn from_accept(headers: &HeaderMap) -> Self {
        let (mut any, mut messages, mut open, mut classic) = (0.0_f32, 0.0_f32, 0.0_f32, 0.0_f32);
        for value in headers.get_all(header::ACCEPT) {
            for range in value.to_str().unwrap_or_default().split(',').map(MediaRange::parse) {
                let weight = match range {
                    _ if range.is_protobuf() => &mut messages,
                    _ if range.kind.eq_ignore_ascii_case(OPEN_METRICS) => &mut open,
                    _ if range.is_plain_text() => &mut classic,
                    _ => &mut any,
                };
                *weight = range.weight.max(*weight);
            }
        }
        if messages > 0.0 && messages >= any.max(open).max(classic) {
            Self::Messages
        } else if classic > open {
            Self::Classic
        } else {
            Self::Text
        }
    }
}

/// One item of `Accept` (RFC 9110 §12.5.1).
struct MediaRange<'a> {
    kind: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    weight: f32,
}

impl<'a> MediaRange<'a> {
    fn parse(item: &'a str) -> Self {
        let mut parts = item.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let mut range = Self { kind, parameters: Vec::new(), weight: 1.0 };
        for (name, value) in parts.filter_map(|part| part.split_once('=')) {
            if name.eq_ignore_ascii_case("q") {
                range.weight = value.parse().unwrap_or(0.0_f32).clamp(0.0, 1.0);
            } else {
                range.parameters.push((name, value.trim_matches('"')));
            }
        }
        range
    }

    /// Returns true for the media types of browsers and of programs that show text.
    fn is_plain_text(&self) -> bool {
        ["text/plain", "text/html", "text/*"]
            .iter()
            .any(|kind| self.kind.eq_ignore_ascii_case(kind))
    }

    fn is_protobuf(&self) -> bool {
        self.kind.eq_ignore_ascii_case(MESSAGES)
            && PARAMETERS.iter().all(|parameter| self.parameters.contains(parameter))
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn check(accept: Option<&str>, expect: ExpositionFormat) {
        let mut headers = HeaderMap::new();
        if let Some(accept) = accept {
            headers.insert(header::ACCEPT, HeaderValue::from_str(accept).unwrap());
        }
        assert_eq!(ExpositionFormat::from_accept(&headers), expect, "{accept:?}");
    }

    #[test]
    fn clients_that_prefer_protobuf_receive_protobuf() {
        let messages = ExpositionFormat::Messages.content_type();
        check(Some(messages), ExpositionFormat::Messages);
        let prometheus = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.6,\
             application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        check(Some(prometheus), ExpositionFormat::Messages);
        check(Some(&format!("text/plain;q=0.5, {messages};q=0.5")), ExpositionFormat::Messages);
    }

    #[test]
    fn clients_that_prefer_the_classic_text_receive_it() {
        check(Some("text/plain;version=0.0.4"), ExpositionFormat::Classic);
        check(Some("text/plain;version=0.0.4;q=1,*/*;q=0.1"), ExpositionFormat::Classic);
        check(
            Some("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
            ExpositionFormat::Classic,
        );
        check(
            Some("application/openmetrics-text;q=0.5,text/plain;q=0.6"),
            ExpositionFormat::Classic,
        );
        check(Some("application/openmetrics-text,text/plain"), ExpositionFormat::Text);
    }

    #[test]
    fn other_clients_receive_openmetrics_text() {
        let messages = ExpositionFormat::Messages.content_type();
        check(None, ExpositionFormat::Text);
        check(Some("*/*"), ExpositionFormat::Text);
        check(Some("application/openmetrics-text;version=1.0.0,*/*;q=0.1"), ExpositionFormat::Text);
        check(Some(&format!("{messages};q=0")), ExpositionFormat::Text);
        check(Some(&format!("{messages};q=none")), ExpositionFormat::Text);
        check(
            Some(&format!("{messages};q=0.4, application/openmetrics-text;q=0.5")),
            ExpositionFormat::Text,
        );
        check(
            Some(
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
            ),
            ExpositionFormat::Text,
        );
        check(Some("application/vnd.google.protobuf"), ExpositionFormat::Text);
        check(Some(";;q=,=,"), ExpositionFormat::Text);
    }
}
