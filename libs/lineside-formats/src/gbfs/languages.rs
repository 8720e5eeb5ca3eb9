//! What several files say of one thing: the same in other languages, which before version 3 have files of their own, and the
//! hours of a system.

use std::collections::HashMap;

use smol_str::SmolStr;

use super::{
    file::{FileContent, FileKind, ListRecord},
    hours::format_opening_hours,
    record::GbfsRecord,
    record_writer::GbfsVersion,
    records::{Calendar, RentalHours},
};

/// The name under which a file can go out in a version. What is only of later versions than ours stays in; which versions
/// and systems there are is for who serves them to say.
pub fn output_name(kind: FileKind, version: GbfsVersion) -> Option<&'static str> {
    match kind {
        FileKind::VehicleAvailability | FileKind::Versions | FileKind::Manifest => None,
        _ => kind.file_name(version.major_version()),
    }
}

impl FileContent {
    /// Takes over the texts of the same file in another language, record by record, by their ids. Records that only the
    /// other has are left there, and so are zones, which have none.
    pub fn add_language(&mut self, other: &FileContent) {
        match (self, other) {
            (FileContent::SystemInformation(mine), FileContent::SystemInformation(other)) => {
                mine.add_language(other);
            }
            (FileContent::VehicleTypes(mine), FileContent::VehicleTypes(other)) => {
                merge_languages_by_id(mine, other)
            }
            (FileContent::StationInformation(mine), FileContent::StationInformation(other)) => {
                merge_languages_by_id(mine, other);
            }
            (FileContent::Regions(mine), FileContent::Regions(other)) => {
                merge_languages_by_id(mine, other)
            }
            (FileContent::PricingPlans(mine), FileContent::PricingPlans(other)) => {
                merge_languages_by_id(mine, other)
            }
            (FileContent::Alerts(mine), FileContent::Alerts(other)) => {
                merge_languages_by_id(mine, other)
            }
            _ => {}
        }
    }

    /// Adds to a system's information what version 3 asks for and others say elsewhere: its language, and its opening hours
    /// by its files of hours and of days of the year, where both could be read, or are not there.
    pub fn complete_for_v3(
        &mut self,
        language: &str,
        hours: Option<(&[RentalHours], &[Calendar])>,
    ) {
        let FileContent::SystemInformation(system) = self else { return };
        if system.languages.0.is_empty() {
            system.languages.0.push(SmolStr::new(language));
        }
        if let (None, Some((hours, calendar))) = (&system.opening_hours, hours) {
            system.opening_hours = format_opening_hours(hours, calendar).map(SmolStr::new);
        }
    }
}

fn merge_languages_by_id<T: ListRecord + GbfsRecord>(mine: &mut [T], other: &[T]) {
    let by_id: HashMap<&str, &T> =
        other.iter().filter_map(|it| Some((it.record_id()?, it))).collect();
    for record in mine {
        if let Some(other) = record.record_id().and_then(|id| by_id.get(id)) {
            record.add_language(other);
        }
    }
}
