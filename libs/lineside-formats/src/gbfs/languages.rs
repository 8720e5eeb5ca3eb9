//! What several files say of one thing: the same in other languages, which before version 3 have files of their own, and the
//! hours of a system.

use std::collections::HashMap;

use smol_str::SmolStr;

use super::{
    file::{Content, FileKind, Listed},
    hours::opening_hours,
    record::Record,
    records::{Calendar, RentalHours},
    writing::Version,
};

/// The name under which a file can go out in a version. What is only of later versions than ours stays in; which versions
/// and systems there are is for who serves them to say.
pub fn name_out(kind: FileKind, version: Version) -> Option<&'static str> {
    match kind {
        FileKind::VehicleAvailability | FileKind::Versions | FileKind::Manifest => None,
        _ => kind.name(version.major()),
    }
}

impl Content {
    /// Takes over the texts of the same file in another language, record by record, by their ids. Records that only the
    /// other has are left there, and so are zones, which have none.
    pub fn add_language(&mut self, other: &Content) {
        match (self, other) {
            (Content::SystemInformation(mine), Content::SystemInformation(other)) => {
                mine.add_language(other);
            }
            (Content::VehicleTypes(mine), Content::VehicleTypes(other)) => join(mine, other),
            (Content::StationInformation(mine), Content::StationInformation(other)) => {
                join(mine, other);
            }
            (Content::Regions(mine), Content::Regions(other)) => join(mine, other),
            (Content::PricingPlans(mine), Content::PricingPlans(other)) => join(mine, other),
            (Content::Alerts(mine), Content::Alerts(other)) => join(mine, other),
            _ => {}
        }
    }

    /// Adds to a system's information what version 3 asks for and others say elsewhere: its language, and its opening hours
    /// by its files of hours and of days of the year, where both could be read, or are not there.
    pub fn complete(&mut self, language: &str, hours: Option<(&[RentalHours], &[Calendar])>) {
        let Content::SystemInformation(system) = self else { return };
        if system.languages.0.is_empty() {
            system.languages.0.push(SmolStr::new(language));
        }
        if let (None, Some((hours, calendar))) = (&system.opening_hours, hours) {
            system.opening_hours = opening_hours(hours, calendar).map(SmolStr::new);
        }
    }
}

fn join<T: Listed + Record>(mine: &mut [T], other: &[T]) {
    let by_id: HashMap<&str, &T> = other.iter().filter_map(|it| Some((it.id()?, it))).collect();
    for record in mine {
        if let Some(other) = record.id().and_then(|id| by_id.get(id)) {
            record.add_language(other);
        }
    }
}
