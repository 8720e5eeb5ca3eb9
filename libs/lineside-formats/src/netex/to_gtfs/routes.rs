//! `routes.txt`: the lines.

use std::collections::HashMap;

use super::{Writer, agencies::AgencyOf, find, first_given, modes::route_type};
use crate::{
    Error,
    gtfs::Text,
    netex::record::{Journey, Line},
};

/// What a line runs with whose mode nobody names: a bus.
const MODE_UNKNOWN: u16 = 3;

impl<'p> Writer<'p, '_> {
    pub(super) fn write_routes(&mut self, agencies: &AgencyOf) -> Result<(), Error> {
        let [id, agency, short, long, about] =
            ["route_id", "agency_id", "route_short_name", "route_long_name", "route_desc"];
        let [kind, url, color, text_color] =
            ["route_type", "route_url", "route_color", "route_text_color"];
        self.tables
            .begin("routes.txt", &[id, agency, short, long, about, kind, url, color, text_color])?;
        let modes = self.modes_of_journeys();
        for (number, line) in (0..).zip(&self.publication.lines) {
            if self.index.lines.get(&line.id) != Some(&number) {
                self.complain(
                    line.file,
                    "duplicate_in_timetable",
                    "stands there twice; the first counts",
                    line.id,
                );
                continue;
            }
            let mode = first_given(&[line.mode, modes.get(&line.id).copied().unwrap_or_default()]);
            let kind = route_type(self.text(mode), self.text(line.submode)).unwrap_or_else(|| {
                let detail = "has no mode that GTFS knows and is taken for a bus";
                self.complain(line.file, "unknown_transport_mode", detail, line.id);
                MODE_UNKNOWN
            });
            let agency = agencies.get(&line.id).copied().unwrap_or_default();
            self.write_route(line, agency, kind)?;
        }
        Ok(())
    }

    fn write_route(&mut self, line: &Line, agency: Text, kind: u16) -> Result<(), Error> {
        let short = self.text(first_given(&[line.public_code, line.short_name]));
        let name = self.text(first_given(&[line.name, line.id]));
        let long = if name == short { "" } else { name };
        self.tables.row(&[
            self.text(line.id),
            self.text(agency),
            short,
            long,
            self.text(line.description),
            &kind.to_string(),
            self.text(line.url),
            color(self.text(line.colour)),
            color(self.text(line.text_colour)),
        ])
    }

    /// The modes of journeys, by line: for lines that name none themselves.
    fn modes_of_journeys(&self) -> HashMap<Text, Text> {
        let mut modes = HashMap::new();
        if self.publication.lines.iter().any(|line| line.mode == Text::EMPTY) {
            for journey in self.publication.journeys.iter().filter(|it| it.mode != Text::EMPTY) {
                if let Some(line) = self.line_of(journey) {
                    modes.entry(line.id).or_insert(journey.mode);
                }
            }
        }
        modes
    }

    /// The line of a journey: its own, its pattern's, or that of the route.
    pub(super) fn line_of(&self, journey: &Journey) -> Option<&'p Line> {
        let publication = self.publication;
        let pattern = find(&publication.patterns, &self.index.patterns, journey.pattern);
        let of_route = |id: Text| {
            let route = find(&publication.routes, &self.index.routes, id);
            let listed = self.index.line_of_route.get(&id).copied().unwrap_or_default();
            first_given(&[route.map_or(Text::EMPTY, |route| route.line), listed])
        };
        let named = [
            journey.line,
            pattern.map_or(Text::EMPTY, |pattern| pattern.line),
            pattern.map_or(Text::EMPTY, |pattern| of_route(pattern.route)),
            of_route(journey.route),
        ];
        named.into_iter().find_map(|line| find(&publication.lines, &self.index.lines, line))
    }
}

/// The last six digits of a color: some have transparency before them. Empty if it is none.
fn color(text: &str) -> &str {
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
    use super::color;

    #[test]
    fn colors_are_six_digits_or_nothing() {
        for (text, expected) in [
            ("757575", "757575"),
            ("#00ff7A", "00ff7A"),
            ("FFFF0000", "FF0000"),
            ("red", ""),
            ("ÿÿÿ", ""),
            ("", ""),
        ] {
            assert_eq!(color(text), expected, "{text}");
        }
    }
}
