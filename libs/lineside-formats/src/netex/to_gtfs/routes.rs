//! Writes `routes.txt`: the lines.

use std::collections::HashMap;

use super::{
    GtfsWriter, agencies::AgencyIdByLine, find_record_by_id, first_non_empty,
    modes::gtfs_route_type_for_mode,
};
use crate::{
    Error,
    gtfs::TextId,
    netex::record::{Line, ServiceJourney},
};

/// The route type of a line without a known mode: bus.
const MODE_UNKNOWN: u16 = 3;

impl<'p> GtfsWriter<'p, '_> {
    pub(super) fn write_routes(&mut self, agencies: &AgencyIdByLine) -> Result<(), Error> {
        let [id, agency, short, long, about] =
            ["route_id", "agency_id", "route_short_name", "route_long_name", "route_desc"];
        let [kind, url, color, text_color] =
            ["route_type", "route_url", "route_color", "route_text_color"];
        self.tables.begin_table(
            "routes.txt",
            &[id, agency, short, long, about, kind, url, color, text_color],
        )?;
        let modes = self.journey_modes_by_line();
        for (number, line) in (0..).zip(&self.publication.lines) {
            if self.index.lines.get(&line.id) != Some(&number) {
                self.report_record_problem(
                    line.file,
                    "duplicate_in_timetable",
                    "appears twice; the first is used",
                    line.id,
                );
                continue;
            }
            let mode =
                first_non_empty(&[line.mode, modes.get(&line.id).copied().unwrap_or_default()]);
            let kind =
                gtfs_route_type_for_mode(self.resolve_text(mode), self.resolve_text(line.submode))
                    .unwrap_or_else(|| {
                        let detail = "has no mode that GTFS supports; it is converted to a bus";
                        self.report_record_problem(
                            line.file,
                            "unknown_transport_mode",
                            detail,
                            line.id,
                        );
                        MODE_UNKNOWN
                    });
            let agency = agencies.get(&line.id).copied().unwrap_or_default();
            self.write_route(line, agency, kind)?;
        }
        Ok(())
    }

    fn write_route(&mut self, line: &Line, agency: TextId, kind: u16) -> Result<(), Error> {
        let short = self.resolve_text(first_non_empty(&[line.public_code, line.short_name]));
        let name = self.resolve_text(first_non_empty(&[line.name, line.id]));
        let long = if name == short { "" } else { name };
        self.tables.write_row(&[
            self.resolve_text(line.id),
            self.resolve_text(agency),
            short,
            long,
            self.resolve_text(line.description),
            &kind.to_string(),
            self.resolve_text(line.url),
            normalize_hex_color(self.resolve_text(line.colour)),
            normalize_hex_color(self.resolve_text(line.text_colour)),
        ])
    }

    /// Returns the modes of journeys by line, for lines without a mode.
    fn journey_modes_by_line(&self) -> HashMap<TextId, TextId> {
        let mut modes = HashMap::new();
        if self.publication.lines.iter().any(|line| line.mode == TextId::EMPTY) {
            for journey in self.publication.journeys.iter().filter(|it| it.mode != TextId::EMPTY) {
                if let Some(line) = self.line_for_journey(journey) {
                    modes.entry(line.id).or_insert(journey.mode);
                }
            }
        }
        modes
    }

    /// Returns the line of a journey: its own, that of its pattern, or that of the route.
    pub(super) fn line_for_journey(&self, journey: &ServiceJourney) -> Option<&'p Line> {
        let publication = self.publication;
        let pattern =
            find_record_by_id(&publication.patterns, &self.index.patterns, journey.pattern);
        let of_route = |id: TextId| {
            let route = find_record_by_id(&publication.routes, &self.index.routes, id);
            let listed = self.index.line_of_route.get(&id).copied().unwrap_or_default();
            first_non_empty(&[route.map_or(TextId::EMPTY, |route| route.line), listed])
        };
        let named = [
            journey.line,
            pattern.map_or(TextId::EMPTY, |pattern| pattern.line),
            pattern.map_or(TextId::EMPTY, |pattern| of_route(pattern.route)),
            of_route(journey.route),
        ];
        named
            .into_iter()
            .find_map(|line| find_record_by_id(&publication.lines, &self.index.lines, line))
    }
}

/// Returns the last six digits of a color, because some are preceded by transparency. Empty if it is invalid.
fn normalize_hex_color(text: &str) -> &str {
    let digits = text.strip_prefix('#').unwrap_or(text);
    let color = match digits.len() {
        6 => digits,
        8 => digits.get(2..).unwrap_or_default(),
        _ => "",
    };
    if color.bytes().all(|byte| byte.is_ascii_hexdigit()) { color } else { "" }
}

#[cfg(test)]
mod tests {
    use super::normalize_hex_color;

    #[test]
    fn colors_have_six_digits_or_are_empty() {
        for (text, expected) in [
            ("757575", "757575"),
            ("#00ff7A", "00ff7A"),
            ("FFFF0000", "FF0000"),
            ("red", ""),
            ("ÿÿÿ", ""),
            ("", ""),
        ] {
            assert_eq!(normalize_hex_color(text), expected, "{text}");
        }
    }
}
